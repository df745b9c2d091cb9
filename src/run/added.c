/*
 * added.c - jobs that are added become tasks; see added.h.
 */
#include "run/added.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct run_gpu *gpu_named(struct run_gpus *gs, const char *name)
{
	for (size_t i = 0; i < gs->n; i++)
		if (strcmp(run_gpu_name(&gs->v[i]), name) == 0)
			return &gs->v[i];
	return NULL;
}

/* The one with the fewest jobs, for a job without a place; the planner may choose another one. */
static struct run_gpu *gpu_for(struct run_gpus *gs)
{
	struct run_gpu *best = NULL;

	for (size_t i = 0; i < gs->n; i++) {
		struct run_gpu *g = &gs->v[i];

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

static void task_add(const struct run_places *ps, struct run_task *t, struct run_gpu *g)
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
	run_place_task(ps, t, g, &p, at);
}

static bool is_sound(const struct hes_run_added *a)
{
	return a->sm_pct >= 1 && a->sm_pct <= 100 && a->planned_start_us >= 0 &&
	       a->planned_end_us >= a->planned_start_us &&
	       a->planned_end_us <= HES_PLAN_LONGEST_US && a->together <= HES_MAX_SHARING &&
	       a->shares_pct <= 100 * HES_MAX_SHARING;
}

/* @row is taken, and then empty, on success. @return -EINVAL: it is left out */
static int take_one(const struct run_places *ps, struct hes_run_added *row, struct hes_err *err)
{
	struct run_gpu *g = !is_sound(row) ? NULL
			    : *row->gpu    ? gpu_named(ps->gpus, row->gpu)
					   : gpu_for(ps->gpus);
	struct hes_run_added *own;
	struct run_task *t;

	if (!g)
		return hes_fail(err, -EINVAL,
				"job %s is left out: it was added to GPU %s with a placement that "
				"is not possible in this run",
				row->job.id, row->gpu);
	own = run_queue_grow(&g->queue, 1, NULL) ? NULL : malloc(sizeof(*own));
	t = own ? run_tasks_add(ps->tasks) : NULL;
	if (!t) {
		free(own);
		return hes_fail(err, -ENOMEM, "out of memory for job %s", row->job.id);
	}
	*own = *row;
	t->added = own;
	row->job.command = row->job.progress = NULL;
	task_add(ps, t, g);
	return 0;
}

int run_take_added(struct run_intake *in, struct hes_err *err)
{
	struct hes_run_added *v = NULL;
	size_t n = 0;
	int rc = hes_journal_added(in->log->journal, in->log->run->id, in->last, &v, &n, err);

	if (!rc && n && !in->places->q->takes_added) {
		run_tell(in->log,
			 "%zu added job%s left out: other users can change the store, its folder, "
			 "or a folder above it",
			 n, n == 1 ? " is" : "s are");
		in->last = v[n - 1].id;
		hes_run_added_free(v, n);
		return 0;
	}
	if (!rc && n)
		rc = run_tasks_grow(in->places->tasks, n, err);
	for (size_t i = 0; i < n && !rc; i++) {
		struct hes_err why;

		rc = take_one(in->places, &v[i], &why);
		if (rc == -EINVAL) {
			run_tell(in->log, "%s", why.msg);
			rc = 0;
		} else if (rc) {
			hes_fail(err, rc, "%s", why.msg);
		}
		in->last = rc ? in->last : v[i].id;
		in->unconfirmed |= !rc;
	}
	hes_run_added_free(v, n);
	if (rc || !in->unconfirmed)
		return rc;
	if (n)
		run_tell(in->log, "%zu job%s added: there are %zu now", n,
			 n == 1 ? " was" : "s were", in->places->tasks->n);
	if (n)
		run_replan_want_now(in->replans, "jobs were added");
	rc = hes_journal_added_taken(in->log->journal, in->log->run->id, in->last, err);
	in->unconfirmed = rc != 0;
	return rc;
}
