/*
 * lost_gpus.c - a plan for the jobs that wait for a lost GPU; see run_place.h.
 *
 * No planner is needed. On a GPU of the same type what was planned holds: jobs of a batch stay
 * together, with their shares and clock. On another type nothing is known of sharing: each job runs
 * alone, at the default clock. Each goes where the least work waits.
 */
#include "run/run_place.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"

/* The moves so far, and what waits on each GPU with them. */
struct moves {
	const struct run_gpus *gpus;
	struct hes_plan plan;
	struct load {
		double work_us; /* of the whole GPU */
		int64_t end_us; /* planned end of its last job */
	} * loads;
	size_t n;
};

static const struct run_task *task_of(const struct run_place *p)
{
	return p->task;
}

static struct load load_of(const struct run_gpu *g)
{
	struct load x = { 0 };

	for (size_t i = 0; i < g->queue.n; i++) {
		const struct run_place *p = &g->queue.v[i];
		const struct run_task *t = p->task;

		if (p->state != RUN_OVER)
			x.work_us += (double)task_planned_us(t) * p->sm_pct / 100;
		x.end_us = t->planned_end_us > x.end_us ? t->planned_end_us : x.end_us;
	}
	return x;
}

static int moves_make(struct moves *m, const struct run_gpus *gs, struct hes_err *err)
{
	*m = (struct moves){ .gpus = gs, .loads = calloc(gs->n + 1, sizeof(*m->loads)) };
	if (!m->loads || hes_plan_init(&m->plan, gs->fleet->n))
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", gs->n);
	for (size_t i = 0; i < gs->n; i++)
		m->loads[i] = load_of(&gs->v[i]);
	return 0;
}

static void moves_free(struct moves *m)
{
	hes_plan_finish(&m->plan);
	free(m->loads);
}

static bool is_same_type(const struct run_gpu *a, const struct run_gpu *b)
{
	return strcmp(a->planned->type->name, b->planned->type->name) == 0;
}

/* How much longer a job takes on another type, by SMs and clock; never less than 1, so that its
 * time limit is not too short. */
static double gpu_stretch(const struct run_gpu *from, const struct run_gpu *to)
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
static struct run_gpu *choose_gpu(const struct moves *m, const struct run_gpu *from,
				  const struct run_task *t)
{
	struct run_gpu *best = NULL;

	for (size_t i = 0; i < m->gpus->n; i++) {
		struct run_gpu *g = &m->gpus->v[i];

		if (!run_gpu_is_usable(g) || !has_memory(g, from, t))
			continue;
		if (!best || is_same_type(g, from) > is_same_type(best, from) ||
		    (is_same_type(g, from) == is_same_type(best, from) &&
		     m->loads[i].work_us < m->loads[best - m->gpus->v].work_us))
			best = g;
	}
	return best;
}

static void batch_add(struct hes_batch *b, struct run_task *t, bool same, int64_t us)
{
	b->jobs[b->n++] = (struct hes_placement){
		.job = (uint32_t)t->index,
		.sm_pct = same ? t->place->sm_pct : 100,
		.start_us = b->start_us,
		.end_us = b->start_us + us,
		.activity_mw = same ? (uint32_t)(t->activity * 1e3) : 0,
		.energy_mj = t->record.planned_mj,
	};
	b->end_us = b->start_us + us > b->end_us ? b->start_us + us : b->end_us;
	b->energy_mj += t->record.planned_mj;
	b->unknown |= t->unknown;
	/* Alone from now on: its place says so where it goes. */
	t->place->alone |= !same;
}

/* Jobs of one batch of a lost GPU behind what waits on another. */
static int move_batch(struct moves *m, const struct run_gpu *from, const struct run_gpu *to,
		      struct run_task *const *v, size_t n, struct hes_err *err)
{
	const bool same = is_same_type(from, to);
	struct load *load = &m->loads[to - m->gpus->v];
	const size_t at = run_fleet_index(m->gpus, to);
	struct hes_queue *queue = &m->plan.queues[at];
	const struct run_queue *like = to->queue.n ? &to->queue : &from->queue;
	struct hes_batch b = { .start_us = load->end_us };
	int rc = 0;

	queue->together = like->together;
	queue->shares_pct = like->shares_pct;
	for (size_t i = 0; i < n && !rc; i++) {
		const struct run_place *p = v[i]->place;
		const int64_t us = (int64_t)((double)task_planned_us(v[i]) *
					     (same ? 1 : gpu_stretch(from, to)));

		b.unlocked = !same || p->clock_mhz == RUN_UNLOCKED;
		b.clock_mhz = !same ? 0 : b.unlocked ? p->expected_mhz : p->clock_mhz;
		batch_add(&b, v[i], same, us);
		load->work_us += (double)us * b.jobs[b.n - 1].sm_pct / 100;
		load->end_us = b.end_us > load->end_us ? b.end_us : load->end_us;
		if (same && !queue->together && i + 1 < n)
			continue;
		rc = hes_plan_append(&m->plan, at, &b);
		b = (struct hes_batch){ .start_us = same ? b.start_us : b.end_us };
	}
	m->n += n;
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs", n) : 0;
}

/* @param batch  tasks of one batch of @from that have not moved, with @first before all; room for
 * HES_MAX_SHARING. @return how many go with it */
static size_t batch_of(const struct run_gpu *from, size_t first, const struct run_gpu *to,
		       const bool *moved, struct run_task **batch)
{
	const struct run_queue *q = &from->queue;
	size_t n = 0;

	for (size_t k = first; k < q->n && q->v[k].batch == q->v[first].batch; k++)
		if (task_waits(task_of(&q->v[k])) && n < HES_MAX_SHARING && !moved[k] &&
		    has_memory(to, from, task_of(&q->v[k])))
			batch[n++] = q->v[k].task;
	return n;
}

static int move_all(struct moves *m, const struct run_gpu *from, struct hes_err *err)
{
	const struct run_queue *q = &from->queue;
	bool *moved = calloc(q->n + 1, sizeof(*moved));
	int rc = moved ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", q->n);

	for (size_t i = 0; i < q->n && !rc; i++) {
		struct run_task *batch[HES_MAX_SHARING];
		const struct run_gpu *to = !moved[i] && task_waits(task_of(&q->v[i]))
						   ? choose_gpu(m, from, task_of(&q->v[i]))
						   : NULL;
		size_t n;

		if (!to)
			continue;
		n = batch_of(from, i, to, moved, batch);
		for (size_t k = 0; k < n; k++)
			moved[batch[k]->place - q->v] = true;
		rc = move_batch(m, from, to, batch, n, err);
	}
	free(moved);
	return rc;
}

/* Say once why jobs of a lost GPU wait while other GPUs of the run work. */
static void tell_unmoved(const struct run_places *ps, struct run_gpu *from)
{
	size_t unknown = 0, large = 0, others = 0;

	for (size_t i = 0; i < ps->gpus->n; i++)
		others += run_gpu_is_usable(&ps->gpus->v[i]);
	for (size_t i = 0; i < from->queue.n; i++)
		if (task_waits(task_of(&from->queue.v[i])))
			*(hes_job_memory_mib(task_of(&from->queue.v[i])->job) ? &large
									      : &unknown) += 1;
	if (!from->lost || run_gpu_started(from) || from->unmoved_reported || !others ||
	    !(unknown + large))
		return;
	from->unmoved_reported = true;
	if (unknown)
		run_tell(ps->log,
			 "%zu job%s of %s cannot move: how much memory %s need%s is not known, and "
			 "no other GPU of the run has %" PRIu32 " MiB; write memory_mib into the "
			 "jobs file, then: heshare run PLAN JOBS --resume",
			 unknown, hes_s(unknown), run_gpu_name(from), unknown == 1 ? "it" : "they",
			 unknown == 1 ? "s" : "", from->planned->type->memory_mib);
	if (large)
		run_tell(ps->log,
			 "%zu job%s of %s cannot move: no other GPU of the run has the memory",
			 large, hes_s(large), run_gpu_name(from));
}

int run_move_jobs(struct run_places *ps, struct hes_err *err)
{
	struct moves m;
	int rc = 0;
	bool lost = false;

	for (size_t i = 0; i < ps->gpus->n; i++)
		lost |= ps->gpus->v[i].lost;
	if (!lost)
		return 0;
	for (size_t i = 0; i < ps->tasks->n; i++)
		ps->tasks->v[i]->index = i;
	rc = moves_make(&m, ps->gpus, err);
	for (size_t i = 0; i < ps->gpus->n && !rc; i++)
		if (ps->gpus->v[i].lost)
			rc = move_all(&m, &ps->gpus->v[i], err);
	if (!rc && m.n)
		rc = run_places_apply(ps, &m.plan, NULL, err);
	for (size_t i = 0; i < ps->gpus->n; i++)
		tell_unmoved(ps, &ps->gpus->v[i]);
	moves_free(&m);
	return rc;
}
