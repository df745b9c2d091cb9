/*
 * joint_moves.c - see joint_moves.h. A move changes copies of queues, in w->trial.
 */
#include "plan/joint_moves.h"

#include <errno.h>
#include <math.h>

#include "plan/sharing.h"

#define PLACES 4 /* where a job that goes elsewhere is tried */

void joint_moves_weigh(struct joint_walk *w)
{
	const struct hes_problem *p = w->p;
	double sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		double least_us = INFINITY;

		for (size_t t = 0; t < p->n_types; t++)
			least_us = fmin(least_us, p->cost[t * p->n + i].time_us);
		w->weight_to[i] = sum += least_us;
	}
}

/* Every second time by lot, else in proportion to run time: a few long jobs make most of the cost. */
static uint32_t draw_job(struct joint_walk *w)
{
	size_t lo = 0, hi = w->p->n - 1;
	double at;

	if (hes_rng_below(&w->rng, 2))
		return (uint32_t)hes_rng_below(&w->rng, w->p->n);
	at = hes_rng_unit(&w->rng) * w->weight_to[hi];
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->weight_to[mid] <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (uint32_t)lo;
}

/* A job's item, to be changed. */
static struct hes_flow_item *change(struct joint_queue *q, uint32_t job)
{
	const uint32_t at = joint_queue_find(q, job);

	joint_queue_touch(q, at);
	return &q->items[at];
}

static uint16_t random_share(struct joint_walk *w)
{
	return (uint16_t)(HES_SHARE_STEP_PCT * (1 + hes_rng_below(&w->rng, HES_SHARE_SUM_PCT / HES_SHARE_STEP_PCT)));
}

/* The clock a job takes in a queue: that of a neighbour, or its own in proportion. */
static uint16_t clock_there(struct joint_walk *w, const struct joint_queue *q, uint32_t at, uint16_t own,
			    uint32_t from_type, uint32_t to_type)
{
	const size_t from = w->p->types[from_type]->n_clocks, to = w->p->types[to_type]->n_clocks;

	if (from_type == to_type && hes_rng_below(&w->rng, 2))
		return own;
	if (q->n)
		return q->items[at < q->n ? at : q->n - 1].clock;
	return (uint16_t)((own + 1u) * to / from > 0 ? (own + 1u) * to / from - 1 : 0);
}

static int begin(struct joint_walk *w, struct joint_move *m, uint32_t a, uint32_t b)
{
	m->gpu[0] = a;
	m->gpu[1] = b;
	m->n = a == b ? 1 : 2;
	if (joint_queue_copy(&w->trial[0], &w->boards[a].queue))
		return -ENOMEM;
	return m->n == 2 ? joint_queue_copy(&w->trial[1], &w->boards[b].queue) : 0;
}

/* A job put somewhere in a queue of a board, with some share and clock; in @q, which has the queue without it. */
static int insert(struct joint_walk *w, struct joint_queue *q, struct hes_flow_item item, uint32_t from, uint32_t to)
{
	const uint32_t at = (uint32_t)hes_rng_below(&w->rng, q->n + 1u);

	item.clock = clock_there(w, q, at, item.clock, w->p->gpus[from].type, w->p->gpus[to].type);
	if (hes_rng_below(&w->rng, 2))
		item.sm_pct = random_share(w);
	joint_queue_put(q, at, item);
	return 1;
}

static void swap_trials(struct joint_walk *w, int a, int b)
{
	const struct joint_queue one = w->trial[a];

	w->trial[a] = w->trial[b];
	w->trial[b] = one;
}

/* Taken out once and put in some places: the one that estimates like best, in trial[1]. @return 0 none will do */
static int relocate_screened(struct joint_walk *w, struct joint_move *m, struct hes_flow_item item)
{
	const struct hes_problem *p = w->p;
	const uint32_t from = m->gpu[0];
	const double had = joint_walk_price(w, &w->boards[from].queue.cost);
	double without, least = w->slack;

	joint_walk_try(w, from, &w->trial[0], INFINITY, true);
	without = joint_walk_price(w, &w->trial[0].cost);
	m->n = 0;
	for (int i = 0; i < PLACES; i++) {
		const uint32_t to = (uint32_t)hes_rng_below(&w->rng, p->k);
		const double old = to == from ? had : had - without + joint_walk_price(w, &w->boards[to].queue.cost);

		if (!hes_problem_runs(p, item.job, p->gpus[to].type))
			continue;
		if (joint_queue_copy(&w->trial[2], to == from ? &w->trial[0] : &w->boards[to].queue))
			return -ENOMEM;
		insert(w, &w->trial[2], item, from, to);
		if (!joint_walk_try(w, to, &w->trial[2], (old + least) * (1 + 1e-9), true))
			continue;
		least = joint_walk_price(w, &w->trial[2].cost) - old;
		m->gpu[1] = to;
		m->n = to == from ? 1 : 2;
		swap_trials(w, 1, 2);
	}
	if (m->n == 1)
		swap_trials(w, 0, 1);
	m->screened = true;
	return m->n > 0;
}

static int relocate(struct joint_walk *w, struct joint_move *m)
{
	const struct hes_problem *p = w->p;
	const uint32_t job = draw_job(w), from = w->gpu_of[job];
	const uint32_t to = w->screens ? from : (uint32_t)hes_rng_below(&w->rng, p->k);
	struct hes_flow_item item;

	if (!hes_problem_runs(p, job, p->gpus[to].type))
		return 0;
	if (begin(w, m, from, to))
		return -ENOMEM;
	item = joint_queue_take(&w->trial[0], joint_queue_find(&w->trial[0], job));
	return w->screens ? relocate_screened(w, m, item) : insert(w, &w->trial[m->n - 1], item, from, to);
}

static int swap(struct joint_walk *w, struct joint_move *m)
{
	const struct hes_problem *p = w->p;
	const uint32_t a = draw_job(w), b = (uint32_t)hes_rng_below(&w->rng, p->n);
	const uint32_t ga = w->gpu_of[a], gb = w->gpu_of[b];
	struct hes_flow_item *ia, *ib, old;

	if (a == b || !hes_problem_runs(p, a, p->gpus[gb].type) || !hes_problem_runs(p, b, p->gpus[ga].type))
		return 0;
	if (begin(w, m, ga, gb))
		return -ENOMEM;
	ia = change(&w->trial[0], a);
	ib = change(&w->trial[m->n - 1], b);
	old = *ia;
	/* Places and clocks belong to the queue, shares to the job or to the place, by lot. */
	ia->job = b;
	ib->job = a;
	if (hes_rng_below(&w->rng, 2)) {
		ia->sm_pct = ib->sm_pct;
		ib->sm_pct = old.sm_pct;
	}
	return 1;
}

static int reshare(struct joint_walk *w, struct joint_move *m)
{
	const uint32_t job = draw_job(w), gpu = w->gpu_of[job];
	struct joint_queue *q = &w->trial[0];
	uint32_t at;

	if (begin(w, m, gpu, gpu))
		return -ENOMEM;
	at = joint_queue_find(q, job);
	if (at + 1 < q->n && hes_rng_below(&w->rng, 2)) {
		/* Between neighbours. */
		int step = hes_rng_below(&w->rng, 2) ? HES_SHARE_STEP_PCT : -HES_SHARE_STEP_PCT;
		int a = q->items[at].sm_pct + step, b = q->items[at + 1].sm_pct - step;

		if (a < HES_SHARE_STEP_PCT || b < HES_SHARE_STEP_PCT || a > HES_SHARE_SUM_PCT || b > HES_SHARE_SUM_PCT)
			return 0;
		joint_queue_touch(q, at);
		q->items[at].sm_pct = (uint16_t)a;
		q->items[at + 1].sm_pct = (uint16_t)b;
		return 1;
	}
	joint_queue_touch(q, at);
	q->items[at].sm_pct = random_share(w);
	return q->items[at].sm_pct != w->boards[gpu].queue.items[at].sm_pct;
}

static int reclock(struct joint_walk *w, struct joint_move *m)
{
	const uint32_t job = draw_job(w), gpu = w->gpu_of[job];
	const int last = (int)w->p->types[w->p->gpus[gpu].type]->n_clocks - 1;
	const int step = hes_rng_below(&w->rng, 2) ? 1 : -1;
	struct joint_queue *q = &w->trial[0];
	uint32_t lo, hi;
	bool any = false;

	if (begin(w, m, gpu, gpu))
		return -ENOMEM;
	lo = joint_queue_find(q, job);
	hi = lo + 1;
	/* One job, those from it on, or all. */
	switch (hes_rng_below(&w->rng, 4)) {
	case 0: hi = q->n; break;
	case 1: lo = 0; hi = q->n; break;
	default: break;
	}
	joint_queue_touch(q, lo);
	for (uint32_t i = lo; i < hi; i++) {
		int to = q->items[i].clock + step;

		if (to < 0 || to > last)
			continue;
		q->items[i].clock = (uint16_t)to;
		any = true;
	}
	return any;
}

static const struct {
	uint32_t weight;
	int    (*make)(struct joint_walk *w, struct joint_move *m);
} moves[] = {
	{ 40, relocate }, { 25, swap }, { 15, reshare }, { 20, reclock },
};

int joint_moves_propose(struct joint_walk *w, struct joint_move *m)
{
	uint32_t draw = (uint32_t)hes_rng_below(&w->rng, 100), i = 0;

	while (draw >= moves[i].weight)
		draw -= moves[i++].weight;
	return moves[i].make(w, m);
}
