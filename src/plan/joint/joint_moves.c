/*
 * joint_moves.c - see joint_moves.h. A move changes copies of queues, in w->trial.
 */
#include "plan/joint/joint_moves.h"

#include <errno.h>
#include <math.h>

#include "plan/joint/joint_places.h"
#include "plan/batch/sharing.h"

/* Where moves are screened: */
#define PLACES   24 /* are told for a job that goes elsewhere, */
#define TRIES    2  /* of which the best are run */
#define PARTNERS 24 /* are told for a job that changes places, of which the best one is run */

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

static uint32_t below(struct joint_walk *w, size_t n)
{
	return hes_rng_small(&w->rng, (uint32_t)n);
}

/* Every second time by lot, else in proportion to run time: a few long jobs make most of the cost. */
static uint32_t draw_job(struct joint_walk *w)
{
	size_t lo = 0, hi = w->p->n - 1;
	double at;

	if (below(w, 2))
		return below(w, w->p->n);
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

static uint16_t random_share(struct joint_walk *w)
{
	return (uint16_t)(HES_SHARE_STEP_PCT * (1 + below(w, HES_SHARE_SUM_PCT / HES_SHARE_STEP_PCT)));
}

/* The clock a job takes in a queue: that of a neighbour, or its own in proportion. */
static uint16_t clock_there(struct joint_walk *w, const struct joint_queue *q, uint32_t at, uint16_t own,
			    uint32_t from_type, uint32_t to_type)
{
	const size_t from = w->p->types[from_type]->n_clocks, to = w->p->types[to_type]->n_clocks;

	const bool keeps = (from_type == to_type) & (below(w, 2) > 0); /* drawn in any case, for no branch could be foretold */
	uint16_t there;

	if (q->n)
		there = q->items[at < q->n ? at : q->n - 1].clock;
	else
		there = (uint16_t)((own + 1u) * to / from > 0 ? (own + 1u) * to / from - 1 : 0);
	return keeps ? own : there;
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

/* Some share and clock for a job that comes to a place of a queue from a board. */
static void fit(struct joint_walk *w, const struct joint_queue *q, uint32_t at, uint32_t from, uint32_t to,
		struct hes_timeline_item *item)
{
	const uint16_t share = random_share(w); /* likewise */

	item->clock = clock_there(w, q, at, item->clock, w->p->gpus[from].type, w->p->gpus[to].type);
	item->sm_pct = below(w, 2) ? share : item->sm_pct;
}

/* A job put somewhere in a queue; in @q, which has the queue without it. */
static int insert(struct joint_walk *w, struct joint_queue *q, struct hes_timeline_item item, uint32_t from, uint32_t to)
{
	const uint32_t at = below(w, q->n + 1u);

	fit(w, q, at, from, to, &item);
	joint_queue_put(q, at, item);
	return 1;
}

static void swap_trials(struct joint_walk *w, int a, int b)
{
	const struct joint_queue one = w->trial[a];

	w->trial[a] = w->trial[b];
	w->trial[b] = one;
}

/*
 * A place for a job that was taken from a board: trial[0] is that without it. Every second time all boards are as likely,
 * else in proportion to their jobs: most lie on a few. @return 0 it does not run there
 */
static uint32_t draw_place(struct joint_walk *w, uint32_t from, const struct hes_timeline_item *item, struct joint_place *out)
{
	const struct hes_problem *p = w->p;
	const uint32_t any = below(w, p->k), busy = w->spot_of[below(w, p->n)].gpu; /* both in any case, as in clock_there() */
	const uint32_t to = below(w, 2) ? any : busy;
	const struct joint_queue *q = to == from ? &w->trial[0] : &w->boards[to].queue;

	if (!hes_problem_runs(p, item->job, p->gpus[to].type))
		return 0;
	*out = joint_place_in(w, to, q, below(w, q->n + 1u), item);
	fit(w, q, out->at, from, to, &out->item);
	joint_place_want(w, out->gpu, &out->item);
	return 1;
}

/* Take the best out of some places. */
static struct joint_place take_best(struct joint_place *v, uint32_t *n)
{
	struct joint_place best;
	uint32_t at = 0;

	for (uint32_t i = 1; i < *n; i++)
		if (v[i].told_mj < v[at].told_mj)
			at = i;
	best = v[at];
	v[at] = v[--*n];
	return best;
}

/* Of what is told no part is a constraint: while one is broken, any place is as good. */
static uint32_t to_tell(const struct joint_walk *w, uint32_t most, uint32_t least)
{
	return w->screens && !(joint_walk_excess(w, w->late_us, w->peak_mw) > 0) ? most : least;
}

/* Taken out once and put in the places told best: the one of these that estimates like best, in trial[1]. @return 0 none will do */
static int relocate_screened(struct joint_walk *w, struct joint_move *m, struct hes_timeline_item item)
{
	const uint32_t from = m->gpu[0];
	const double had = joint_walk_price(w, &w->boards[from].queue.cost);
	struct joint_place places[PLACES];
	double without, least = w->slack;
	uint32_t n = 0;

	for (uint32_t i = to_tell(w, PLACES, TRIES); i > 0; i--)
		n += draw_place(w, from, &item, &places[n]);
	joint_walk_try(w, from, &w->trial[0], INFINITY, true);
	without = joint_walk_price(w, &w->trial[0].cost);
	for (uint32_t i = 0; i < n; i++)
		joint_place_tell(w, &places[i]);
	m->n = 0;
	for (int i = 0; i < TRIES && n > 0; i++) {
		const struct joint_place x = take_best(places, &n);
		const double old = x.gpu == from ? had : had - without + joint_walk_price(w, &w->boards[x.gpu].queue.cost);

		if (joint_queue_copy(&w->trial[2], x.gpu == from ? &w->trial[0] : &w->boards[x.gpu].queue))
			return -ENOMEM;
		joint_queue_put(&w->trial[2], x.at, x.item);
		if (!joint_walk_try(w, x.gpu, &w->trial[2], (old + least) * (1 + 1e-9), true))
			continue;
		least = joint_walk_price(w, &w->trial[2].cost) - old;
		m->gpu[1] = x.gpu;
		m->n = x.gpu == from ? 1 : 2;
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
	const uint32_t job = draw_job(w), from = w->spot_of[job].gpu;
	const uint32_t to = w->screens ? from : below(w, p->k);
	struct hes_timeline_item item;

	if (!hes_problem_runs(p, job, p->gpus[to].type))
		return 0;
	if (begin(w, m, from, to))
		return -ENOMEM;
	item = joint_queue_take(&w->trial[0], w->spot_of[job].at);
	return w->screens ? relocate_screened(w, m, item) : insert(w, &w->trial[m->n - 1], item, from, to);
}

/* Two jobs in each other's place, with their shares or with those of the places. */
struct exchange {
	uint32_t             gpu[2], at[2];
	struct hes_timeline_item item[2]; /* what would be there */
};

static void find(const struct joint_walk *w, uint32_t job, struct exchange *out, int i)
{
	const struct joint_spot is = w->spot_of[job];

	out->gpu[i] = is.gpu;
	out->at[i] = is.at;
	out->item[i] = w->boards[is.gpu].queue.items[is.at];
}

/*
 * A partner for the job that is there as the first. Places and clocks belong to the queue, shares to the job or to the place, by lot.
 * @return 0 they cannot
 */
static uint32_t draw_partner(struct joint_walk *w, const struct exchange *one, struct exchange *out)
{
	const uint32_t a = one->item[0].job, b = below(w, w->p->n);
	const bool with_shares = below(w, 2);

	if (a == b || !hes_problem_runs(w->p, a, w->p->gpus[w->spot_of[b].gpu].type) ||
	    !hes_problem_runs(w->p, b, w->p->gpus[one->gpu[0]].type))
		return 0;
	*out = *one;
	find(w, b, out, 1);
	if (!with_shares) {
		out->item[0].sm_pct = out->item[1].sm_pct;
		out->item[1].sm_pct = one->item[0].sm_pct;
	}
	out->item[0].job = b;
	out->item[1].job = a;
	for (int i = 0; i < 2 && w->screens; i++)
		joint_place_want(w, out->gpu[i], &out->item[i]);
	return 1;
}

/* But for what the first job takes where it is. */
static double told_of(const struct joint_walk *w, const struct exchange *e)
{
	return joint_place_instead(w, e->gpu[0], e->at[0], &e->item[0]) + joint_place_instead(w, e->gpu[1], e->at[1], &e->item[1]) -
	       joint_place_instead(w, e->gpu[1], e->at[1], &w->boards[e->gpu[1]].queue.items[e->at[1]]);
}

static int swap(struct joint_walk *w, struct joint_move *m)
{
	struct exchange one, v[PARTNERS];
	const struct exchange *best = v;
	double least = INFINITY;
	uint32_t n = 0;

	find(w, draw_job(w), &one, 0);
	for (uint32_t i = to_tell(w, PARTNERS, 1); i > 0; i--)
		n += draw_partner(w, &one, &v[n]);
	for (uint32_t i = 0; i < n && n > 1; i++) {
		const double told = told_of(w, &v[i]);

		if (told < least) {
			least = told;
			best = &v[i];
		}
	}
	if (!n)
		return 0;
	if (begin(w, m, best->gpu[0], best->gpu[1]))
		return -ENOMEM;
	for (uint32_t i = 0; i < 2; i++) {
		struct joint_queue *q = &w->trial[m->n == 2 ? i : 0];

		joint_queue_touch(q, best->at[i]);
		q->items[best->at[i]] = best->item[i];
	}
	return 1;
}

static int reshare(struct joint_walk *w, struct joint_move *m)
{
	const struct joint_spot is = w->spot_of[draw_job(w)];
	const uint32_t gpu = is.gpu, at = is.at;
	struct joint_queue *q = &w->trial[0];

	if (begin(w, m, gpu, gpu))
		return -ENOMEM;
	if (at + 1 < q->n && below(w, 2)) {
		/* Between neighbours. */
		int step = below(w, 2) ? HES_SHARE_STEP_PCT : -HES_SHARE_STEP_PCT;
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
	const struct joint_spot is = w->spot_of[draw_job(w)];
	const uint32_t gpu = is.gpu;
	const int last = (int)w->p->types[w->p->gpus[gpu].type]->n_clocks - 1;
	const int step = below(w, 2) ? 1 : -1;
	struct joint_queue *q = &w->trial[0];
	uint32_t lo = is.at, hi = lo + 1;
	bool any = false;

	if (begin(w, m, gpu, gpu))
		return -ENOMEM;
	/* One job, those from it on, or all. */
	switch (below(w, 4)) {
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

/* Of a hundred moves; those of jobs to other places come first. */
#define RELOCATIONS 40
#define SWAPS       25

static const struct {
	uint32_t weight;
	int    (*make)(struct joint_walk *w, struct joint_move *m);
} moves[] = {
	{ RELOCATIONS, relocate }, { SWAPS, swap }, { 15, reshare }, { 20, reclock },
};

int joint_moves_propose(struct joint_walk *w, struct joint_move *m)
{
	const uint32_t from = w->stays ? RELOCATIONS + SWAPS : 0;
	uint32_t draw = from + below(w, 100 - from), i = 0;

	while (draw >= moves[i].weight)
		draw -= moves[i++].weight;
	return moves[i].make(w, m);
}
