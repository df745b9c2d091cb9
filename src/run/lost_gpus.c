/*
 * lost_gpus.c - move waiting jobs of a GPU that is lost to other GPUs of the run; see steps.h.
 *
 * On a GPU of the same type what was planned holds: jobs of a batch stay together, with their
 * shares and clock. On another type nothing is known of sharing: each job runs alone, at the
 * default clock. Each goes where the least work waits.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/texts.h"
#include "run/steps.h"

#define NAMES_SHOWN 200 /* bytes of a message */

static struct run_task *task_of(const struct run_place *p)
{
	return p->task;
}

static double planned_us(const struct run_task *t)
{
	return (double)(t->planned_end_us - t->planned_start_us);
}

static bool waits(const struct run_place *p)
{
	return p->state == RUN_WAITING && task_of(p)->state == TASK_WAITING;
}

/* Time of the whole GPU that its jobs still take. */
static double work_left_us(const struct run_gpu *g)
{
	double sum = 0;

	for (size_t i = 0; i < g->queue.n; i++)
		if (g->queue.v[i].state != RUN_OVER)
			sum += planned_us(task_of(&g->queue.v[i])) * g->queue.v[i].sm_pct / 100;
	return sum;
}

static bool is_same_type(const struct run_gpu *a, const struct run_gpu *b)
{
	return strcmp(a->planned->type->name, b->planned->type->name) == 0;
}

/* How much longer a job takes on another type, by SMs and clock; never less than 1, so that its
 * time limit is not too short. */
static double stretch(const struct run_gpu *from, const struct run_gpu *to)
{
	const struct hes_gpu_type *a = from->planned->type, *b = to->planned->type;

	return fmax(1, (double)a->sm_count * a->clock_default_mhz /
			       ((double)b->sm_count * b->clock_default_mhz));
}

/* A job whose memory is not known may take what the GPU has that it was planned for. */
static bool has_memory(const struct run_gpu *g, const struct run_gpu *from,
		       const struct run_task *t)
{
	return hes_memory_on(from->planned->type, hes_job_memory_mib(t->job)) <=
	       g->planned->type->memory_mib;
}

/* The GPU for a job: of the same type if there is one, with the least work. @return NULL: none has
 * the memory */
static struct run_gpu *choose_gpu(struct runner *r, const struct run_gpu *from,
				  const struct run_task *t)
{
	struct run_gpu *best = NULL;

	for (size_t i = 0; i < r->n_gpus; i++) {
		struct run_gpu *g = &r->gpus[i];

		if (g->lost || g->stuck || !has_memory(g, from, t))
			continue;
		if (!best || is_same_type(g, from) > is_same_type(best, from) ||
		    (is_same_type(g, from) == is_same_type(best, from) &&
		     work_left_us(g) < work_left_us(best)))
			best = g;
	}
	return best;
}

static int64_t planned_end_us(const struct run_gpu *g)
{
	int64_t end = 0;

	for (size_t i = 0; i < g->queue.n; i++) {
		const struct run_task *t = task_of(&g->queue.v[i]);

		end = t->planned_end_us > end ? t->planned_end_us : end;
	}
	return end;
}

/* Jobs of one batch of a lost GPU to the end of another's queue. */
static int move_batch(struct runner *r, struct run_gpu *from, struct run_gpu *to,
		      struct run_place *const *places, size_t n, struct hes_err *err)
{
	const bool same = is_same_type(from, to), fresh = !to->queue.n;
	const double longer = same ? 1 : stretch(from, to);
	const uint32_t last = fresh ? 0 : to->queue.v[to->queue.n - 1].batch + 1;
	int64_t start = planned_end_us(to);
	int rc = run_queue_grow(&to->queue, n, err);

	if (rc)
		return rc;
	if (fresh) {
		to->queue.together = from->queue.together;
		to->queue.shares_pct = from->queue.shares_pct;
	}
	for (size_t i = 0; i < n; i++) {
		struct run_task *t = task_of(places[i]);
		const int64_t us = (int64_t)(planned_us(t) * longer);
		const struct run_place p = {
			.batch = last + (same && !to->queue.together ? 0 : (uint32_t)i),
			.sm_pct = same ? places[i]->sm_pct : 100,
			.clock_mhz = same ? places[i]->clock_mhz : RUN_UNLOCKED,
			.alone = places[i]->alone || !same,
		};

		t->planned_start_us = start;
		t->planned_end_us = start + us;
		start += same ? 0 : us;
		t->activity = same ? t->activity : 0;
		places[i]->task = NULL;
		run_task_place(r, t, to, &p, to->queue.n);
	}
	return 0;
}

/* Write down where the jobs are now. @param from  where they were */
static int note_moved(struct runner *r, const struct run_gpu *from, struct run_task *const *v,
		      size_t n, struct hes_err *err)
{
	int rc = hes_journal_begin(r->log.journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++) {
		rc = run_note_place(r, v[i], err);
		if (!rc)
			rc = run_act(&r->log, run_gpu_name(v[i]->gpu), v[i]->job->id, err,
				     "moved from %s, which is lost", run_gpu_name(from));
	}
	return hes_journal_end(r->log.journal, rc, err);
}

/* One message for each GPU that got jobs. */
static void tell_moved(const struct runner *r, const struct run_gpu *from,
		       struct run_task *const *v, size_t n)
{
	for (size_t g = 0; g < r->n_gpus; g++) {
		char names[NAMES_SHOWN + HES_NAME_MAX] = "";
		size_t many = 0;

		for (size_t i = 0; i < n; i++) {
			if (v[i]->gpu != &r->gpus[g])
				continue;
			if (strlen(names) < NAMES_SHOWN)
				hes_text_add(names, sizeof(names), ", ", "%s", v[i]->job->id);
			many++;
		}
		if (many)
			run_tell(&r->log,
				 "%zu waiting job%s of %s, which is lost, moved to %s: %s%s", many,
				 hes_s(many), run_gpu_name(from), run_gpu_name(&r->gpus[g]), names,
				 strlen(names) < NAMES_SHOWN ? "" : ", ...");
	}
}

/* @param moved  room for all tasks */
static int move_all(struct runner *r, struct run_gpu *from, struct run_task **moved, size_t *n,
		    struct hes_err *err)
{
	struct run_queue *q = &from->queue;
	int rc = 0;

	for (size_t i = 0; i < q->n && !rc; i++) {
		struct run_place *batch[HES_MAX_SHARING];
		struct run_gpu *to =
			waits(&q->v[i]) ? choose_gpu(r, from, task_of(&q->v[i])) : NULL;
		const uint32_t number = q->v[i].batch;
		size_t many = 0;

		if (!to)
			continue;
		/* The rest of its batch goes with it. */
		for (size_t k = i; k < q->n && q->v[k].batch == number; k++)
			if (q->v[k].task && waits(&q->v[k]) && many < HES_MAX_SHARING &&
			    has_memory(to, from, task_of(&q->v[k]))) {
				moved[*n + many] = task_of(&q->v[k]);
				batch[many++] = &q->v[k];
			}
		rc = move_batch(r, from, to, batch, many, err);
		*n += rc ? 0 : many;
		while (i + 1 < q->n && !q->v[i + 1].task)
			i++;
	}
	run_queue_close_ranks(q);
	return rc;
}

/* Say once why jobs of a lost GPU wait while other GPUs of the run work. */
static void tell_unmoved(struct runner *r, struct run_gpu *from)
{
	size_t unknown = 0, large = 0, others = 0;

	for (size_t i = 0; i < r->n_gpus; i++)
		others += !r->gpus[i].lost && !r->gpus[i].stuck;
	for (size_t i = 0; i < from->queue.n; i++)
		if (waits(&from->queue.v[i]))
			*(hes_job_memory_mib(task_of(&from->queue.v[i])->job) ? &large
									      : &unknown) += 1;
	if (!from->lost || from->n_running || from->unmoved_reported || !others ||
	    !(unknown + large))
		return;
	from->unmoved_reported = true;
	if (unknown)
		run_tell(&r->log,
			 "%zu job%s of %s cannot move: how much memory %s need%s is not known, and "
			 "no "
			 "other GPU of the run has %" PRIu32 " MiB; write memory_mib into the jobs "
			 "file, then: heshare run PLAN JOBS --resume",
			 unknown, hes_s(unknown), run_gpu_name(from), unknown == 1 ? "it" : "they",
			 unknown == 1 ? "s" : "", from->planned->type->memory_mib);
	if (large)
		run_tell(&r->log,
			 "%zu job%s of %s cannot move: no other GPU of the run has the memory",
			 large, hes_s(large), run_gpu_name(from));
}

static bool has_moving(struct runner *r, const struct run_gpu *g)
{
	for (size_t i = 0; g->lost && i < g->queue.n; i++)
		if (waits(&g->queue.v[i]) && choose_gpu(r, g, task_of(&g->queue.v[i])))
			return true;
	return false;
}

int run_move_jobs(struct runner *r, struct hes_err *err)
{
	struct run_task **moved = NULL;
	int rc = 0;

	for (size_t i = 0; i < r->n_gpus && !rc; i++) {
		size_t n = 0;

		if (!has_moving(r, &r->gpus[i])) {
			tell_unmoved(r, &r->gpus[i]);
			continue;
		}
		if (!moved)
			moved = calloc(r->n_tasks + 1, sizeof(struct run_task *));
		rc = moved ? move_all(r, &r->gpus[i], moved, &n, err)
			   : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", r->n_tasks);
		tell_moved(r, &r->gpus[i], moved, n);
		if (!rc)
			rc = note_moved(r, &r->gpus[i], moved, n, err);
		tell_unmoved(r, &r->gpus[i]);
	}
	free(moved);
	return rc;
}
