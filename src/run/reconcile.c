/*
 * reconcile.c - a run is resumed: what its journal and its jobs' files say of each job; see runner.h.
 *
 * The guard has ended what a dead runner left before this is called: no job runs. An attempt that the journal
 * has as open ended then, or before: its status file says how, or nobody knows, and it is tried again, not charged.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "run/runner.h"

static int by_id(const void *a, const void *b)
{
	const struct run_task *const *x = a, *const *y = b;

	return strcmp((*x)->job->id, (*y)->job->id);
}

struct index {
	struct run_task **v;
	size_t            n;
};

static int make_index(struct runner *r, struct index *out, struct hes_err *err)
{
	out->n = r->n_tasks;
	out->v = calloc(r->n_tasks + 1, sizeof(struct run_task *));
	if (!out->v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", r->n_tasks);
	for (size_t i = 0; i < r->n_tasks; i++)
		out->v[i] = &r->tasks[i];
	qsort(out->v, out->n, sizeof(struct run_task *), by_id);
	return 0;
}

static struct run_task *find(const struct index *x, const char *id)
{
	size_t low = 0, high = x->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = strcmp(x->v[mid]->job->id, id);

		if (!order)
			return x->v[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* What the job's wrapper kept (wrap.c). @return exit status; -1: none */
static int kept_status(const struct runner *r, const char *name, int64_t *wall_us, int64_t *boot_us)
{
	int fd = hes_job_file_read(&r->folder, name, NULL);
	char text[HES_RUN_STATUS_BYTES + 1], *end;
	unsigned code;
	int used = 0;
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
	if (sscanf(text, "%3u %18" SCNd64 " %18" SCNd64 "%n", &code, wall_us, boot_us, &used) != 3 || text[used] || code > 255 ||
	    *wall_us < 0 || *boot_us < 0)
		return -1;
	return (int)code;
}

static void mark_over(struct runner *r, struct run_task *t, enum run_task_state state)
{
	t->state = state;
	r->boards[t->board].queue.v[t->place].state = RUN_OVER;
	r->done += state == TASK_DONE;
}

/* Jobs that are done stay done; those that were given up get another chance. */
static int take_results(struct runner *r, const struct index *x, struct hes_err *err)
{
	struct hes_run_job *v = NULL;
	size_t n = 0;
	int rc = hes_journal_jobs(r->journal, r->run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		struct run_task *t = find(x, v[i].job);

		if (!t)
			rc = hes_fail(err, -EINVAL, "run %" PRId64 " has a job %s, which is not in the plan for this machine", r->run->id,
				      v[i].job);
		else if (v[i].state == HES_RUN_JOB_DONE)
			mark_over(r, t, TASK_DONE);
		if (t && v[i].has_energy)
			t->earlier_j = (double)v[i].energy_mj * 1e-3;
	}
	free(v);
	return rc;
}

static int close_attempt(struct runner *r, const struct hes_attempt *a, struct run_task *t, struct hes_err *err)
{
	char name[RUN_FILE_NAME_MAX];
	struct hes_run_job j = { .state = HES_RUN_JOB_DONE };
	int64_t wall_us, boot_us;
	int code, rc;

	run_status_name(a->job, a->number, name);
	code = kept_status(r, name, &wall_us, &boot_us);
	memcpy(j.job, a->job, sizeof(j.job));
	j.start_us = a->started_us;
	j.end_us = code < 0 ? a->started_us : run_time_of(r, wall_us, boot_us);
	j.end_us = j.end_us > a->started_us ? j.end_us : a->started_us;
	rc = hes_journal_attempt_ended(r->journal, a->id, j.end_us, code, code ? HES_VERDICT_LOST : HES_VERDICT_DONE, err);
	if (rc || code)
		return rc;
	rc = hes_journal_result(r->journal, r->run->id, &j, err);
	if (!rc)
		mark_over(r, t, TASK_DONE);
	return rc;
}

/* Whether processes of an attempt are killed and still there, or may be. */
static bool is_stuck(const struct hes_undone *m, const struct hes_run_process *p)
{
	unsigned n = m->n_stuck < HES_STUCK_MAX ? m->n_stuck : HES_STUCK_MAX;

	for (unsigned i = 0; i < n; i++)
		if (m->stuck[i].pid == (pid_t)p->pid && m->stuck[i].started == (uint64_t)p->start)
			return true;
	return m->n_stuck > HES_STUCK_MAX;
}

/* It is not started again beside itself, and its GPU may be hung. */
static bool still_runs(struct runner *r, const struct hes_attempt *a, struct run_task *t)
{
	struct run_board *b = &r->boards[t->board];

	if (!a->process.pid || strcmp(a->process.boot, r->run->runner.boot) != 0 || !is_stuck(&r->mended, &a->process))
		return false;
	b->stuck++;
	run_tell(r, "job %s: its processes of the run before are killed and do not end: they wait in the driver; nothing starts on %s",
		 t->job->id, run_gpu_name(r, b));
	return true;
}

static int take_attempts(struct runner *r, const struct index *x, struct hes_err *err)
{
	struct hes_attempt *v = NULL;
	size_t n = 0, done = r->done;
	int rc = hes_journal_attempts(r->journal, r->run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		struct run_task *t = find(x, v[i].job);

		if (!t)
			continue;
		t->tries = v[i].number > t->tries ? v[i].number : t->tries;
		if (v[i].verdict == HES_VERDICT_OPEN && !still_runs(r, &v[i], t))
			rc = close_attempt(r, &v[i], t, err);
	}
	free(v);
	if (!rc && r->done > done)
		run_tell(r, "done when the runner died, not run again: %zu job%s", r->done - done, hes_s(r->done - done));
	return rc;
}

static int take_gpus(struct runner *r, struct hes_err *err)
{
	struct hes_run_gpu *v = NULL;
	size_t n = 0;
	int rc = hes_journal_gpus(r->journal, r->run->id, &v, &n, err);

	if (!rc && n != r->n_boards)
		rc = hes_fail(err, -EINVAL, "run %" PRId64 " is on %zu board%s, the plan for this machine on %zu", r->run->id, n, hes_s(n), r->n_boards);
	for (size_t i = 0; !rc && i < n; i++) {
		if (strcmp(v[i].gpu, r->gpus[i].gpu) != 0)
			rc = hes_fail(err, -EINVAL, "run %" PRId64 " is on GPU %s where the plan has %s", r->run->id, v[i].gpu, r->gpus[i].gpu);
		r->boards[i].before = v[i];
	}
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
		rc = hes_journal_begin(r->journal, err);
	if (!rc) {
		rc = take_results(r, &x, err);
		if (!rc)
			rc = take_attempts(r, &x, err);
		rc = hes_journal_end(r->journal, rc, err);
	}
	free(x.v);
	if (!rc)
		run_tell(r, "run %" PRId64 " is resumed: done are %zu of %zu job%s", r->run->id, r->done, r->n_tasks, hes_s(r->n_tasks));
	return rc;
}
