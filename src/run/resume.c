/*
 * resume.c - resume a run: what the journal and the status files say of each job; see steps.h.
 *
 * The guard has ended the jobs of the earlier process before, so no job runs. An attempt that is
 * open in the journal has ended: its status file says how. Without a status the job is tried again
 * and not charged.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/hash_map.h"
#include "base/plural.h"
#include "run/verdict.h"
#include "run/outside.h"
#include "run/start_jobs.h"
#include "run/steps.h"

struct index {
	struct hes_hash_map ids; /* of tasks */
	struct run_task **tasks;
};

static bool task_has_id(const void *tasks, uint32_t index, const void *id)
{
	return strcmp(((struct run_task *const *)tasks)[index]->job->id, id) == 0;
}

static int make_index(struct runner *r, struct index *out, struct hes_err *err)
{
	int rc = 0;

	out->tasks = r->tasks;
	for (size_t i = 0; !rc && i < r->n_tasks; i++)
		rc = hes_hash_map_add(&out->ids,
				      hes_hash_text(HES_HASH_START, r->tasks[i]->job->id),
				      (uint32_t)i);
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs", r->n_tasks) : 0;
}

static struct run_task *find(const struct index *x, const char *id)
{
	const uint32_t at = hes_hash_map_find(&x->ids, hes_hash_text(HES_HASH_START, id),
					      task_has_id, x->tasks, id);

	return at == HES_HASH_NONE ? NULL : x->tasks[at];
}

int run_status_read(const struct hes_job_folder *folder, const char *name, struct run_status *out)
{
	int fd = hes_job_file_read(folder, name, NULL);
	char text[HES_RUN_STATUS_BYTES + 1], *end;
	struct run_status s = { 0 };
	unsigned code;
	int used = 0, all = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strchr(text, '\n');
	if (!end)
		return -1;
	*end = '\0';
	/* The number of processes that it left comes last, if there are any. */
	if (sscanf(text, "%3u %18" SCNd64 " %18" SCNd64 "%n %9u%n", &code, &s.wall_us, &s.boot_us,
		   &used, &s.left, &all) < 3 ||
	    text[all ? all : used] || code > 255 || s.wall_us < 0 || s.boot_us < 0)
		return -1;
	s.code = (int)code;
	*out = s;
	return 0;
}

static void mark_over(struct runner *r, struct run_task *t, enum run_task_state state)
{
	t->state = state;
	t->place->state = RUN_OVER;
	r->counts.done += state == TASK_DONE;
	r->counts.early += state == TASK_EARLY;
}

int run_note_place(struct runner *r, const struct run_task *t, struct hes_err *err)
{
	struct hes_run_job j = { .sm_pct = t->place->sm_pct,
				 .planned_start_us = t->planned_start_us,
				 .planned_end_us = run_planned_end_us(t),
				 .planned_mj = t->planned_mj };

	snprintf(j.job, sizeof(j.job), "%s", t->job->id);
	snprintf(j.gpu, sizeof(j.gpu), "%s", run_gpu_name(t->gpu));
	return hes_journal_replan(r->log.journal, r->log.run->id, NULL, 0, &j, 1, err);
}

/* Jobs that are done stay done; those that were given up, or ended early and are not accepted, are
 * tried again. */
static int take_results(struct runner *r, const struct index *x, struct hes_err *err)
{
	struct hes_run_job *v = NULL;
	size_t n = 0;
	int rc = hes_journal_jobs(r->log.journal, r->log.run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		struct run_task *t = find(x, v[i].job);

		if (!t)
			rc = hes_fail(err, -EINVAL,
				      "run %" PRId64
				      " has a job %s, which is not in the plan for this machine",
				      r->log.run->id, v[i].job);
		else if (v[i].state == HES_RUN_JOB_DONE)
			mark_over(r, t, TASK_DONE);
		else if (v[i].state == HES_RUN_JOB_EARLY && r->q->early_ok)
			mark_over(r, t, TASK_EARLY);
		else if (v[i].state == HES_RUN_JOB_EARLY)
			run_tell(&r->log,
				 "job %s ended early before (%s); it runs again, and --early-ok "
				 "would accept it instead",
				 t->job->id, v[i].seen);
		if (t && t->state != TASK_WAITING && v[i].planned_mj)
			t->planned_mj = v[i].planned_mj;
		/* It had moved. */
		if (!rc && t->state == TASK_WAITING && strcmp(v[i].gpu, run_gpu_name(t->gpu)) != 0)
			rc = run_note_place(r, t, err);
	}
	free(v);
	return rc;
}

/* What the files of an attempt say of its end. Lines of earlier attempts are in the same log, so
 * progress counts in the first alone. */
static void judge_from_files(struct runner *r, const struct hes_attempt *a, struct run_task *t,
			     int64_t end_us)
{
	char output[RUN_FILE_NAME_MAX];

	run_output_name(a->job, output);
	t->progress = (struct hes_progress){ .fd = -1 };
	if (a->number == 1 &&
	    !hes_progress_open(&t->progress, &r->folder, output, 0, t->job->progress, NULL))
		hes_progress_read(&t->progress);
	t->attempt = *a;
	t->ended_us = end_us;
	run_name_outside(r, t);
	run_judge_done(r, t);
	hes_progress_close(&t->progress);
}

static int close_attempt(struct runner *r, const struct hes_attempt *a, struct run_task *t,
			 struct hes_err *err)
{
	char name[RUN_FILE_NAME_MAX];
	struct hes_run_job j = { .has_energy = a->has_energy, .energy_mj = a->energy_mj };
	struct run_status status = { .code = -1 };
	int rc;

	run_status_name(a->job, a->number, name);
	run_status_read(&r->folder, name, &status);
	memcpy(j.job, a->job, sizeof(j.job));
	j.start_us = a->started_us;
	j.end_us = status.code < 0
			   ? a->started_us
			   : run_clock_at(&r->clock, r->log.run, status.wall_us, status.boot_us);
	j.end_us = j.end_us > a->started_us ? j.end_us : a->started_us;
	t->verdict = HES_VERDICT_LOST;
	if (!status.code)
		judge_from_files(r, a, t, j.end_us);
	rc = hes_journal_attempt_ended(r->log.journal, a->id, j.end_us, status.code, t->verdict,
				       t->seen, err);
	if (rc || status.code)
		return rc;
	j.state = t->verdict == HES_VERDICT_DONE ? HES_RUN_JOB_DONE : HES_RUN_JOB_EARLY;
	if (j.state == HES_RUN_JOB_EARLY)
		run_tell(&r->log,
			 "job %s had ended early when the runner died: %s; it is not tried again",
			 a->job, t->seen);
	j.has_energy &= j.state == HES_RUN_JOB_DONE;
	rc = hes_journal_result(r->log.journal, r->log.run->id, &j, err);
	if (!rc)
		mark_over(r, t, j.state == HES_RUN_JOB_DONE ? TASK_DONE : TASK_EARLY);
	return rc;
}

/* Whether processes of an attempt are, or may be, killed and still there. */
static bool is_stuck(const struct hes_undone *m, const struct hes_run_process *p)
{
	unsigned n = m->n_stuck < HES_STUCK_MAX ? m->n_stuck : HES_STUCK_MAX;

	for (unsigned i = 0; i < n; i++)
		if (m->stuck[i].pid == (pid_t)p->pid && m->stuck[i].started == (uint64_t)p->start)
			return true;
	return m->n_stuck > HES_STUCK_MAX;
}

/* Then the job is not started again, and its GPU may hang. */
static bool still_runs(struct runner *r, const struct hes_attempt *a, struct run_task *t)
{
	struct run_gpu *g = t->gpu;

	if (!a->process.pid || strcmp(a->process.boot, r->log.run->runner.boot) != 0 ||
	    !is_stuck(&r->repaired, &a->process))
		return false;
	g->stuck++;
	run_tell(&r->log,
		 "job %s: its processes of the run before are killed and do not end: they wait in "
		 "the driver; nothing starts on %s",
		 t->job->id, run_gpu_name(g));
	return true;
}

/* An attempt that did not end early, and of which something was seen, lacked memory or an MPS
 * client, or was the suspect: gpu_memory.c and verdict.c try such a job again alone. */
static bool next_is_alone(const struct hes_attempt *a)
{
	return a->seen[0] && a->verdict != HES_VERDICT_EARLY;
}

static int take_attempts(struct runner *r, const struct index *x, struct hes_err *err)
{
	struct hes_attempt *v = NULL;
	size_t n = 0, done = r->counts.done;
	int rc = hes_journal_attempts(r->log.journal, r->log.run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		struct run_task *t = find(x, v[i].job);

		if (!t)
			continue;
		t->tries = v[i].number > t->tries ? v[i].number : t->tries;
		t->place->alone |= next_is_alone(&v[i]);
		if (!t->began && strcmp(v[i].process.boot, r->log.run->runner.boot) == 0)
			t->began = (uint64_t)v[i].process.start;
		if (v[i].verdict == HES_VERDICT_OPEN && !still_runs(r, &v[i], t))
			rc = close_attempt(r, &v[i], t, err);
	}
	free(v);
	if (!rc && r->counts.done > done)
		run_tell(&r->log, "done when the runner died, not run again: %zu job%s",
			 r->counts.done - done, hes_s(r->counts.done - done));
	return rc;
}

static int take_gpus(struct runner *r, struct hes_err *err)
{
	struct hes_run_gpu *v = NULL;
	size_t n = 0;
	int rc = hes_journal_gpus(r->log.journal, r->log.run->id, &v, &n, err);

	if (!rc && n != r->n_gpus)
		rc = hes_fail(err, -EINVAL,
			      "run %" PRId64 " is on %zu GPU%s, the plan for this machine on %zu",
			      r->log.run->id, n, hes_s(n), r->n_gpus);
	for (size_t i = 0; !rc && i < n; i++) {
		if (strcmp(v[i].gpu, r->gpus[i].row.gpu) != 0)
			rc = hes_fail(err, -EINVAL,
				      "run %" PRId64 " is on GPU %s where the plan has %s",
				      r->log.run->id, v[i].gpu, r->gpus[i].row.gpu);
		r->gpus[i].before = v[i];
		if (!rc && strcmp(v[i].uuid, r->gpus[i].row.uuid) != 0)
			rc = hes_journal_replan(r->log.journal, r->log.run->id, &r->gpus[i].row, 1,
						NULL, 0, err);
	}
	free(v);
	return rc;
}

static int take_sessions(struct runner *r, struct hes_err *err)
{
	struct hes_run_meter *v = NULL;
	size_t n = 0;
	int rc = hes_journal_meters(r->log.journal, r->log.run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++)
		r->meter.session =
			v[i].session >= r->meter.session ? v[i].session + 1 : r->meter.session;
	free(v);
	return rc;
}

int run_reconcile(struct runner *r, struct hes_err *err)
{
	struct index x = { 0 };
	int rc = make_index(r, &x, err);

	if (!rc)
		rc = take_gpus(r, err);
	if (!rc)
		rc = take_sessions(r, err);
	if (!rc)
		rc = hes_journal_begin(r->log.journal, err);
	if (!rc) {
		rc = take_results(r, &x, err);
		if (!rc)
			rc = take_attempts(r, &x, err);
		rc = hes_journal_end(r->log.journal, rc, err);
	}
	hes_hash_map_finish(&x.ids);
	if (!rc)
		run_tell(&r->log, "run %" PRId64 " is resumed: done are %zu of %zu job%s",
			 r->log.run->id, r->counts.done, r->n_tasks, hes_s(r->n_tasks));
	return rc;
}
