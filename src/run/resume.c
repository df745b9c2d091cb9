/*
 * resume.c - what the journal and the status files say of each job of a run that goes on, or that
 * will not; see resume.h and heshare/run.h.
 *
 * An attempt that is open in the journal has ended: its status file says how. Without a status the
 * job is tried again and not charged.
 */
#include "run/resume.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_map.h"
#include "base/plural.h"
#include "run/gpu_memory.h"
#include "run/run_files.h"
#include "run/run_place.h"

struct index {
	struct hes_hash_map ids; /* of tasks */
	struct run_task **tasks;
};

static bool task_has_id(const void *tasks, uint32_t index, const void *id)
{
	return strcmp(((struct run_task *const *)tasks)[index]->job->id, id) == 0;
}

static int make_index(const struct run_tasks *ts, struct index *out, struct hes_err *err)
{
	int rc = 0;

	out->tasks = ts->v;
	for (size_t i = 0; !rc && i < ts->n; i++)
		rc = hes_hash_map_add(&out->ids, hes_hash_text(HES_HASH_START, ts->v[i]->job->id),
				      (uint32_t)i);
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs", ts->n) : 0;
}

static struct run_task *index_find(const struct index *x, const char *id)
{
	const uint32_t at = hes_hash_map_find(&x->ids, hes_hash_text(HES_HASH_START, id),
					      task_has_id, x->tasks, id);

	return at == HES_HASH_NONE ? NULL : x->tasks[at];
}

/* Jobs that are done stay done; those that were given up, or ended early and are not accepted, are
 * tried again. */
static int take_results(const struct run_resume *x, const struct index *ix, struct hes_err *err)
{
	struct hes_run_job *v = NULL;
	size_t n = 0;
	int rc = hes_journal_jobs(x->log->journal, x->log->run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		struct run_task *t = index_find(ix, v[i].job);

		if (!t)
			rc = hes_fail(err, -EINVAL,
				      "run %" PRId64
				      " has a job %s, which is not in the plan for this machine",
				      x->log->run->id, v[i].job);
		else if (v[i].state == HES_RUN_JOB_DONE)
			task_restore(x->tasks, t, true);
		else if (v[i].state == HES_RUN_JOB_EARLY && x->early_ok)
			task_restore(x->tasks, t, false);
		else if (v[i].state == HES_RUN_JOB_EARLY)
			run_tell(x->log,
				 "job %s ended early before (%s); it runs again, and --early-ok "
				 "would accept it instead",
				 t->job->id, v[i].seen);
		if (t && !task_waits(t) && v[i].planned_mj)
			t->record.planned_mj = v[i].planned_mj;
		/* It had moved. */
		if (!rc && task_waits(t) && strcmp(v[i].gpu, run_gpu_name(t->gpu)) != 0)
			rc = run_note_place(x->log, t, err);
	}
	free(v);
	return rc;
}

/* What the status file of an open attempt says of its end. @param status  code -1: there is none */
static struct hes_run_job end_read(const struct run_log *log, const struct hes_attempt *a,
				   struct run_status *status)
{
	struct hes_run_job j = { .start_us = a->started_us,
				 .end_us = a->started_us,
				 .has_energy = a->has_energy,
				 .energy_mj = a->energy_mj };
	int64_t end_us;

	memcpy(j.job, a->job, sizeof(j.job));
	if (run_status_read(log->folder, a->job, a->number, status))
		return j;
	end_us = run_clock_at(log->clock, log->run, status->wall_us, status->boot_us);
	j.end_us = end_us > a->started_us ? end_us : a->started_us;
	return j;
}

/* @param j  of end_read(); its state is set */
static int end_note(const struct run_log *log, const struct hes_attempt *a, struct hes_run_job *j,
		    int code, enum hes_verdict verdict, const char *seen, struct hes_err *err)
{
	int rc =
		hes_journal_attempt_ended(log->journal, a->id, j->end_us, code, verdict, seen, err);

	j->state = verdict == HES_VERDICT_DONE ? HES_RUN_JOB_DONE : HES_RUN_JOB_EARLY;
	j->has_energy &= verdict == HES_VERDICT_DONE;
	return rc || verdict == HES_VERDICT_LOST
		       ? rc
		       : hes_journal_result(log->journal, log->run->id, j, err);
}

/* What the files of an attempt say of its end. Lines of earlier attempts are in the same log, so
 * progress counts in the first alone. */
static enum hes_verdict judge_from_files(const struct run_resume *x, const struct hes_attempt *a,
					 struct run_task *t, int64_t end_us)
{
	char output[RUN_FILE_NAME_MAX];
	enum hes_verdict verdict;

	run_output_name(a->job, output);
	t->progress = (struct hes_progress){ .fd = -1 };
	if (a->number == 1 &&
	    !hes_progress_open(&t->progress, x->log->folder, output, 0, t->job->progress, NULL))
		hes_progress_read(&t->progress);
	t->attempt = *a;
	t->ended_us = end_us;
	run_name_outside(x->gpus->devices, x->log, t);
	verdict = run_judge_work_of(x->judge, t);
	hes_progress_close(&t->progress);
	return verdict;
}

static int close_attempt(const struct run_resume *x, const struct hes_attempt *a,
			 struct run_task *t, struct hes_err *err)
{
	struct run_status status = { .code = -1 };
	struct hes_run_job j = end_read(x->log, a, &status);
	const enum hes_verdict verdict =
		status.code ? HES_VERDICT_LOST : judge_from_files(x, a, t, j.end_us);
	int rc = end_note(x->log, a, &j, status.code, verdict, t->seen, err);

	if (rc || status.code)
		return rc;
	if (verdict == HES_VERDICT_EARLY)
		run_tell(x->log,
			 "job %s had ended early when the runner died: %s; it is not tried again",
			 a->job, t->seen);
	task_restore(x->tasks, t, verdict == HES_VERDICT_DONE);
	return 0;
}

/* Whether processes of an attempt are, or may be, killed and still there. */
static bool process_is_stuck(const struct hes_undone *m, const struct hes_run_process *p)
{
	unsigned n = m->n_stuck < HES_STUCK_MAX ? m->n_stuck : HES_STUCK_MAX;

	for (unsigned i = 0; i < n; i++)
		if (m->stuck[i].pid == (pid_t)p->pid && m->stuck[i].started == (uint64_t)p->start)
			return true;
	return m->n_stuck > HES_STUCK_MAX;
}

/* Then the job is not started again, and its GPU may hang. */
static bool attempt_still_runs(const struct run_resume *x, const struct hes_attempt *a,
			       struct run_task *t)
{
	struct run_gpu *g = t->gpu;

	if (!a->process.pid || strcmp(a->process.boot, x->boot) != 0 ||
	    !process_is_stuck(x->repaired, &a->process))
		return false;
	g->stuck++;
	run_tell(x->log,
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

static int take_attempts(const struct run_resume *x, const struct index *ix, struct hes_err *err)
{
	struct hes_attempt *v = NULL;
	size_t n = 0, done = x->tasks->done;
	int rc = hes_journal_attempts(x->log->journal, x->log->run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		struct run_task *t = index_find(ix, v[i].job);

		if (!t)
			continue;
		t->record.attempts =
			v[i].number > t->record.attempts ? v[i].number : t->record.attempts;
		t->place->alone |= next_is_alone(&v[i]);
		if (!t->began && strcmp(v[i].process.boot, x->boot) == 0)
			t->began = (uint64_t)v[i].process.start;
		if (v[i].verdict == HES_VERDICT_OPEN && !attempt_still_runs(x, &v[i], t))
			rc = close_attempt(x, &v[i], t, err);
	}
	free(v);
	if (!rc && x->tasks->done > done)
		run_tell(x->log, "done when the runner died, not run again: %zu job%s",
			 x->tasks->done - done, hes_s(x->tasks->done - done));
	return rc;
}

static int take_gpus(const struct run_resume *x, struct hes_err *err)
{
	struct hes_run_gpu *v = NULL;
	size_t n = 0;
	int rc = hes_journal_gpus(x->log->journal, x->log->run->id, &v, &n, err);

	if (!rc && n != x->gpus->n)
		rc = hes_fail(err, -EINVAL,
			      "run %" PRId64 " is on %zu GPU%s, the plan for this machine on %zu",
			      x->log->run->id, n, hes_s(n), x->gpus->n);
	for (size_t i = 0; !rc && i < n; i++) {
		if (strcmp(v[i].gpu, x->gpus->v[i].row.gpu) != 0)
			rc = hes_fail(err, -EINVAL,
				      "run %" PRId64 " is on GPU %s where the plan has %s",
				      x->log->run->id, v[i].gpu, x->gpus->v[i].row.gpu);
		x->gpus->v[i].before = v[i];
		if (!rc && strcmp(v[i].uuid, x->gpus->v[i].row.uuid) != 0)
			rc = hes_journal_replan(x->log->journal, x->log->run->id,
						&x->gpus->v[i].row, 1, NULL, 0, err);
	}
	free(v);
	return rc;
}

static int take_sessions(struct run_resume *x, struct hes_err *err)
{
	struct hes_run_meter *v = NULL;
	size_t n = 0;
	int rc = hes_journal_meters(x->log->journal, x->log->run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++)
		x->session = v[i].session >= x->session ? v[i].session + 1 : x->session;
	free(v);
	return rc;
}

int run_take_over(struct run_resume *x, struct hes_err *err)
{
	struct index ix = { 0 };
	int rc = make_index(x->tasks, &ix, err);

	if (!rc)
		rc = take_gpus(x, err);
	if (!rc)
		rc = take_sessions(x, err);
	if (!rc)
		rc = hes_journal_begin(x->log->journal, err);
	if (!rc) {
		rc = take_results(x, &ix, err);
		if (!rc)
			rc = take_attempts(x, &ix, err);
		rc = hes_journal_end(x->log->journal, rc, err);
	}
	hes_hash_map_finish(&ix.ids);
	if (!rc)
		run_tell(x->log, "run %" PRId64 " is resumed: done are %zu of %zu job%s",
			 x->log->run->id, x->tasks->done, x->tasks->n, hes_s(x->tasks->n));
	return rc;
}

int run_resume_clock(const struct run_log *log, struct run_clock *clock, struct hes_err *err)
{
	struct hes_attempt *v = NULL;
	int64_t last = 0;
	size_t n = 0;
	int rc = hes_journal_attempts(log->journal, log->run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		last = v[i].started_us > last ? v[i].started_us : last;
		if (v[i].verdict != HES_VERDICT_OPEN && v[i].ended_us > last)
			last = v[i].ended_us;
	}
	free(v);
	if (!rc && run_clock_resume(clock, log->run, last))
		run_tell(log,
			 "the clock of this machine was set back while the run was interrupted; "
			 "the run goes on at %.1f s",
			 (double)last * 1e-6);
	return rc;
}

/* --- a run that will not go on --- */

/* Done or ended early if its wrapper wrote so, else lost with the runner. */
static int settle_attempt(const struct run_log *log, const struct hes_attempt *a,
			  struct hes_err *err)
{
	struct run_status status = { .code = -1 };
	struct hes_run_job j = end_read(log, a, &status);
	enum hes_verdict verdict = HES_VERDICT_LOST;
	char why[HES_JOURNAL_SEEN_MAX] = "";

	if (!status.code)
		verdict = run_judge_work(&(struct run_work_seen){ .left = status.left }, why,
					 sizeof(why)) == RUN_WORK_EARLY
				  ? HES_VERDICT_EARLY
				  : HES_VERDICT_DONE;
	return end_note(log, a, &j, status.code, verdict, why, err);
}

/* All at once: an attempt that is done without its job's result would be done again. */
static int settle_attempts(const struct run_log *log, const struct hes_attempt *v, size_t n,
			   struct hes_err *err)
{
	int rc = hes_journal_begin(log->journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++)
		if (v[i].verdict == HES_VERDICT_OPEN)
			rc = settle_attempt(log, &v[i], err);
	rc = hes_journal_end(log->journal, rc, err);
	for (size_t i = 0; i < n && !rc; i++)
		if (v[i].verdict == HES_VERDICT_OPEN)
			run_status_remove(log->folder, v[i].job, v[i].number);
	return rc;
}

int hes_run_settle(struct hes_journal *j, struct hes_run *run, struct hes_err *err)
{
	const struct run_clock wall_only = { .boot_us = RUN_NEVER_US };
	enum hes_run_state state = HES_RUN_STOPPED;
	struct hes_job_folder folder = { .fd = -1 };
	const struct run_log log = {
		.journal = j, .run = run, .clock = &wall_only, .folder = &folder
	};
	struct hes_attempt *v = NULL;
	int64_t last_us = 0;
	size_t n = 0;
	int rc;

	if (run->state != HES_RUN_GOING)
		return 0;
	rc = hes_job_folder_open(&folder, run->folder, err);
	if (!rc)
		rc = hes_journal_attempts(j, run->id, &v, &n, err);
	if (!rc)
		rc = settle_attempts(&log, v, n, err);
	for (size_t i = 0; i < n && !rc; i++)
		last_us = v[i].started_us > last_us ? v[i].started_us : last_us;
	free(v);
	hes_job_folder_close(&folder);
	run->ended_us = run->started_us + last_us;
	if (!rc)
		rc = hes_journal_run_ended(j, run->id, &state, run->ended_us, err);
	if (!rc)
		run->state = state;
	return rc;
}
