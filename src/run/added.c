/*
 * added.c - jobs that are added become tasks; see added.h.
 */
#include "run/added.h"

#include <errno.h>
#include <stdlib.h>

#include "base/plural.h"

/* The usable one with the fewest jobs; the planner may choose another one. */
static struct run_gpu *gpu_with_least(const struct run_gpus *gs)
{
	struct run_gpu *best = &gs->v[0];

	for (size_t i = 1; i < gs->n; i++) {
		struct run_gpu *g = &gs->v[i];

		if (run_gpu_is_usable(g) &&
		    (!run_gpu_is_usable(best) ||
		     g->queue.n - g->queue.over < best->queue.n - best->queue.over))
			best = g;
	}
	return best;
}

/* @row is taken, and then empty, on success */
static int take_one(const struct run_places *ps, struct hes_run_added *row, struct hes_err *err)
{
	struct run_gpu *g = gpu_with_least(ps->gpus);
	struct run_queue *q = &g->queue;
	const struct run_place p = { .batch = q->n ? q->v[q->n - 1].batch + 1 : 0,
				     .sm_pct = 100,
				     .clock_mhz = RUN_UNLOCKED,
				     .alone = true };
	struct hes_run_added *own = run_queue_grow(q, 1, NULL) ? NULL : malloc(sizeof(*own));
	struct run_task *t = own ? run_tasks_add(ps->tasks) : NULL;

	if (!t) {
		free(own);
		return hes_fail(err, -ENOMEM, "out of memory for job %s", row->job.id);
	}
	*own = *row;
	row->job.command = row->job.progress = NULL;
	t->added = own;
	t->job = &own->job;
	t->command = own->job.command;
	t->unknown = t->unplaced = true;
	run_place_task(ps, t, g, &p, q->n);
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
		rc = take_one(in->places, &v[i], err);
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
