/*
 * added.c - jobs that are added to a run while it goes on, or while it is interrupted; see steps.h.
 *
 * `heshare add` writes a job and its placement into the journal. Here it becomes a task: in its
 * GPU's queue before the job that the placement names, but behind all that were ever started. Jobs
 * of the plan stay where they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/environment.h"
#include "run/steps.h"

static struct run_gpu *gpu_named(struct runner *r, const char *name)
{
	for (size_t i = 0; i < r->n_gpus; i++)
		if (strcmp(run_gpu_name(&r->gpus[i]), name) == 0)
			return &r->gpus[i];
	return NULL;
}

/* The one with the fewest jobs, for a job without a place; the planner may choose another one. */
static struct run_gpu *gpu_for(struct runner *r)
{
	struct run_gpu *best = NULL;

	for (size_t i = 0; i < r->n_gpus; i++) {
		struct run_gpu *g = &r->gpus[i];

		if (!g->lost &&
		    (!best || g->queue.n - g->queue.over < best->queue.n - best->queue.over))
			best = g;
	}
	return best;
}

static const struct run_task *task_at(const struct run_queue *q, size_t i)
{
	return q->v[i].task;
}

static size_t position_of(const struct run_queue *q, const char *before)
{
	size_t at = 0;

	while (at < q->n && strcmp(task_at(q, at)->job->id, before) != 0)
		at++;
	at = at > q->reach ? at : q->reach;
	return at > q->over ? at : q->over;
}

/* With a barrier, added jobs with one planned start are a batch. */
static uint32_t batch_at(const struct run_queue *q, size_t at, int64_t planned_start_us)
{
	const struct run_task *last = at ? task_at(q, at - 1) : NULL;

	if (!last)
		return 0;
	return q->v[at - 1].batch +
	       (q->together || !last->added || last->planned_start_us != planned_start_us);
}

/* MPS serves one user at a time, so from now on it matters whose the jobs are. */
static void want_mps(struct run_gpu *g)
{
	g->mps.wanted = g->mps.late = true;
	for (size_t i = 0; i < g->queue.n; i++)
		g->queue.v[i].user = run_user(task_at(&g->queue, i)->job->user);
}

/* Where a job is alone on its GPU, with all of it, nothing is shared. */
static bool shares(const struct run_gpu *g, const struct run_place *p, size_t at)
{
	return !p->alone && (p->sm_pct < 100 || (g->queue.together > 1 && g->queue.n) ||
			     (!g->queue.together && at && g->queue.v[at - 1].batch == p->batch));
}

static void queue_insert(struct run_queue *q, size_t at, const struct run_place *p)
{
	memmove(&q->v[at + 1], &q->v[at], (q->n - at) * sizeof(*q->v));
	q->v[at] = *p;
	q->n++;
	for (size_t i = 0; i < q->n; i++)
		if (q->v[i].task)
			((struct run_task *)q->v[i].task)->place = &q->v[i];
}

int run_queue_grow(struct run_queue *q, size_t n, struct hes_err *err)
{
	struct run_place *v = reallocarray(q->v, q->n + n + 1, sizeof(*v));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu more jobs", n);
	q->v = v;
	for (size_t i = 0; i < q->n; i++)
		if (v[i].task)
			((struct run_task *)v[i].task)->place = &v[i];
	return 0;
}

void run_queue_close_ranks(struct run_queue *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++) {
		if (!q->v[i].task)
			continue;
		q->v[n] = q->v[i];
		((struct run_task *)q->v[n].task)->place = &q->v[n];
		n++;
	}
	q->n = q->reach = n;
	q->over = 0;
}

void run_task_place(struct runner *r, struct run_task *t, struct run_gpu *g,
		    const struct run_place *p, size_t at)
{
	if (!r->q->no_mps && !g->mps.wanted && shares(g, p, at))
		want_mps(g);
	queue_insert(&g->queue, at, p);
	run_task_init(r->q, t, g, &g->queue.v[at]);
	if (g->closed) {
		g->closed = false;
		g->mps.due = g->mps.wanted && !g->mps.refused;
	}
}

static void task_add(struct runner *r, struct run_task *t, struct run_gpu *g)
{
	const struct hes_run_added *a = t->added;
	struct run_queue *q = &g->queue;
	struct run_place p = { .sm_pct = a->sm_pct,
			       .clock_mhz = a->clock_mhz ? a->clock_mhz : RUN_UNLOCKED,
			       .alone = !a->gpu[0] };
	size_t at = position_of(q, a->before);

	if (!q->n) {
		q->together = a->together;
		q->shares_pct = a->shares_pct;
	}
	p.batch = batch_at(q, at, a->planned_start_us);
	t->job = &a->job;
	t->command = a->job.command;
	t->planned_start_us = a->planned_start_us;
	t->planned_end_us = a->planned_end_us;
	t->planned_mj = a->planned_mj;
	t->activity = a->activity_mw * 1e-3;
	t->unknown = t->unplaced = !a->gpu[0];
	run_task_place(r, t, g, &p, at);
	r->tasks[r->n_tasks++] = t;
}

static int make_room(struct runner *r, size_t n, struct hes_err *err)
{
	void *tasks = reallocarray(r->tasks, r->n_tasks + n + 1, sizeof(struct run_task *)),
	     *ended = NULL;

	if (tasks) {
		r->tasks = tasks;
		ended = reallocarray(r->ended, r->n_tasks + n + 1, sizeof(struct run_task *));
	}
	if (!ended)
		return hes_fail(err, -ENOMEM, "out of memory for %zu more jobs", n);
	r->ended = ended;
	return 0;
}

static bool is_sound(const struct hes_run_added *a)
{
	return a->sm_pct >= 1 && a->sm_pct <= 100 && a->planned_start_us >= 0 &&
	       a->planned_end_us >= a->planned_start_us &&
	       a->planned_end_us <= HES_PLAN_LONGEST_US && a->together <= HES_MAX_SHARING &&
	       a->shares_pct <= 100 * HES_MAX_SHARING;
}

/* @row is taken, and then empty, on success. @return -EINVAL: it is left out */
static int take_one(struct runner *r, struct hes_run_added *row, struct hes_err *err)
{
	struct run_gpu *g = !is_sound(row) ? NULL : *row->gpu ? gpu_named(r, row->gpu) : gpu_for(r);
	struct run_task *t;

	if (!g)
		return hes_fail(err, -EINVAL,
				"job %s is left out: it was added to GPU %s with a placement that "
				"is not possible in this run",
				row->job.id, row->gpu);
	t = run_queue_grow(&g->queue, 1, NULL) ? NULL : calloc(1, sizeof(*t));
	if (t)
		t->added = malloc(sizeof(*row));
	if (!t || !t->added) {
		free(t);
		return hes_fail(err, -ENOMEM, "out of memory for job %s", row->job.id);
	}
	*t->added = *row;
	row->job.command = row->job.progress = NULL;
	task_add(r, t, g);
	return 0;
}

int run_take_added(struct runner *r, struct hes_err *err)
{
	struct hes_run_added *v = NULL;
	size_t n = 0;
	int rc = hes_journal_added(r->log.journal, r->log.run->id, r->added, &v, &n, err);

	if (!rc && n && !r->q->takes_added) {
		run_tell(&r->log,
			 "%zu added job%s left out: other users can change the store, its folder, "
			 "or a folder above it",
			 n, n == 1 ? " is" : "s are");
		r->added = v[n - 1].id;
		hes_run_added_free(v, n);
		return 0;
	}
	if (!rc && n)
		rc = make_room(r, n, err);
	for (size_t i = 0; i < n && !rc; i++) {
		struct hes_err why;

		rc = take_one(r, &v[i], &why);
		if (rc == -EINVAL) {
			run_tell(&r->log, "%s", why.msg);
			rc = 0;
		} else if (rc) {
			hes_fail(err, rc, "%s", why.msg);
		}
		r->added = rc ? r->added : v[i].id;
		r->added_unconfirmed |= !rc;
	}
	hes_run_added_free(v, n);
	if (rc || !r->added_unconfirmed)
		return rc;
	if (n)
		run_tell(&r->log, "%zu job%s added: there are %zu now", n,
			 n == 1 ? " was" : "s were", r->n_tasks);
	if (n) {
		run_replan_want(r, "jobs were added");
		r->replanning.not_before_us = r->replanning.idle_not_before_us = 0;
	}
	rc = hes_journal_added_taken(r->log.journal, r->log.run->id, r->added, err);
	r->added_unconfirmed = rc != 0;
	return rc;
}
