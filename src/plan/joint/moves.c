/*
 * moves.c - the joint search's objective of annealing: queues run as timelines, and moves. A job
 * goes elsewhere, two jobs exchange their positions, an SM share or clocks change; see anneal.h.
 *
 * A job that moves chooses the best of some random positions by a quick estimate. A job that runs
 * for d from t on, with m jobs behind it, adds about
 *
 *     d (P_alone - P_idle) + a P_idle + lambda (t + d + m a),    a = d s / S
 *
 * to the cost: its own work and completion time, and its part a of the GPU's time. d is its run
 * time alone with its share s and clock, a tenth longer; P_alone is the power alone; S is what the
 * SM shares on the GPU may sum to. A start-up comes on top of d, but for the energy.
 */
#include "plan/joint/anneal.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define POSITIONS 24  /* that a job chooses from */
#define PARTNERS  24  /* that a job chooses from to exchange positions with */
#define STRETCH   1.1 /* of a run time by co-runners, on average */
/* a job behind the last one starts after this part of the last one's time */
#define LAST_WAIT 0.4

/* Moves of a kind in a hundred. */
enum { RELOCATE = 40, EXCHANGE = 25, RESHARE = 15 }; /* the rest: RECLOCK */

static uint32_t below(struct anneal *a, size_t n)
{
	return hes_rng_small(&a->rng, (uint32_t)n);
}

/* One job in two at random, the other in proportion to its run time: a few long jobs make most of
 * the cost. */
static uint32_t draw_job(struct anneal *a)
{
	size_t lo = 0, hi = a->n - 1;
	double at;

	if (below(a, 2))
		return below(a, a->n);
	at = hes_rng_unit(&a->rng) * a->run_us_to[hi];
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (a->run_us_to[mid] <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (uint32_t)lo;
}

static uint16_t draw_share(struct anneal *a)
{
	return (uint16_t)(HES_SHARE_STEP_PCT *
			  (1 + below(a, HES_SHARE_SUM_PCT / HES_SHARE_STEP_PCT)));
}

/* The estimate above, mJ. */
static double estimate_cost(const struct anneal *a, uint32_t gpu,
			    const struct hes_timeline_item *item, double start_us, uint32_t behind)
{
	const struct hes_problem *p = a->p;
	const uint32_t type = p->gpus[gpu].type,
		       share_pct = hes_timeline_share(p->types[type], item);
	const struct hes_member member = { (uint16_t)p->jobs[item->job].kind, (uint16_t)share_pct };
	const struct hes_alone alone =
		hes_rates_alone(a->rates, type, member, p->types[type]->clocks_mhz[item->clock]);
	const double idle_mw = p->types[type]->idle_power_mw;
	const double work_us = STRETCH * (double)alone.iteration_us * p->jobs[item->job].iterations;
	const double run_us = work_us + hes_problem_start_us(p, item->job, type);
	const double part_us = run_us * share_pct / p->shares_pct[type];

	return 1e-6 * (work_us * ((double)alone.power_mw - idle_mw) + part_us * idle_mw) +
	       a->lambda * (start_us + run_us + behind * part_us);
}

/* When a job would start that is put in front of the one at a position. */
static double start_at(const struct anneal_queue *q, uint32_t at)
{
	const double last_us = q->n ? q->starts_us[q->n - 1] : q->cost.last_us;

	return at < q->n ? q->starts_us[at] : last_us + LAST_WAIT * (q->cost.last_us - last_us);
}

/* The clock of a job that comes to a queue: that of the job at its position, or its own in
 * proportion. */
static uint16_t clock_there(struct anneal *a, const struct anneal_queue *q, uint32_t at,
			    uint16_t own, uint32_t from, uint32_t to)
{
	const size_t n_from = a->p->types[from]->n_clocks, n_to = a->p->types[to]->n_clocks;
	const size_t scaled = (own + 1u) * n_to / n_from;

	if (from == to && below(a, 2))
		return own;
	if (q->n)
		return q->items[at < q->n ? at : q->n - 1].clock;
	return (uint16_t)(scaled > 0 ? scaled - 1 : 0);
}

/* A position for a job, of the queues as they are; with the job there. */
struct candidate {
	struct anneal_position to;
	struct hes_timeline_item item;
	double cost_mj;
};

/* One GPU in two at random, the other in proportion to its jobs: most jobs are on a few GPUs. */
static bool draw_position(struct anneal *a, struct anneal_position is, struct candidate *out)
{
	const struct hes_problem *p = a->p;
	const uint32_t gpu = below(a, 2) ? below(a, p->k) : a->position_of[below(a, p->n)].gpu;
	const struct anneal_queue *q = &a->queues[gpu];
	const uint32_t at = below(a, q->n + 1u);
	uint32_t behind = q->n - at;

	out->item = a->queues[is.gpu].items[is.at];
	out->to = (struct anneal_position){ gpu, at };
	if (!hes_problem_runs(p, out->item.job, p->gpus[gpu].type))
		return false;
	if (gpu == is.gpu && at <= is.at)
		behind--; /* the job itself */
	out->item.clock =
		clock_there(a, q, at, out->item.clock, p->gpus[is.gpu].type, p->gpus[gpu].type);
	if (below(a, 2))
		out->item.sm_pct = draw_share(a);
	out->cost_mj = estimate_cost(a, gpu, &out->item, start_at(q, at), behind);
	return true;
}

/* While a constraint is violated, any position may be the best: the estimate does not know
 * constraints. */
static uint32_t choices(const struct anneal *a, uint32_t most)
{
	const bool violated =
		a->late_us > 0 || (a->power_cap_mw > 0 && a->peak_mw > a->power_cap_mw);

	return violated ? 1 : most;
}

static int relocate(struct anneal *a)
{
	const struct anneal_position is = a->position_of[draw_job(a)];
	struct candidate best = { .cost_mj = INFINITY }, c;
	uint32_t at;

	for (uint32_t i = choices(a, POSITIONS); i > 0; i--)
		if (draw_position(a, is, &c) && c.cost_mj < best.cost_mj)
			best = c;
	if (isinf(best.cost_mj))
		return 0;
	if (anneal_begin_move(a, is.gpu, best.to.gpu))
		return -ENOMEM;
	at = best.to.at - (best.to.gpu == is.gpu && best.to.at > is.at);
	anneal_queue_remove(&a->move.queue[0], is.at);
	anneal_queue_insert(&a->move.queue[a->move.n - 1], at, best.item);
	return 1;
}

static double estimate_at(const struct anneal *a, struct anneal_position at,
			  const struct hes_timeline_item *item)
{
	const struct anneal_queue *q = &a->queues[at.gpu];

	return estimate_cost(a, at.gpu, item, q->starts_us[at.at], q->n - at.at - 1);
}

/* Two jobs in each other's position. Clocks stay with the positions; shares go with the jobs or
 * stay, at random. */
struct partners {
	struct anneal_position at[2];
	struct hes_timeline_item item[2]; /* the new ones */
	double cost_mj;                   /* less the cost of the first job where it is */
};

static bool draw_partner(struct anneal *a, uint32_t job, struct partners *out)
{
	const uint32_t other = below(a, a->n);
	const struct anneal_position one = a->position_of[job], two = a->position_of[other];
	const struct hes_timeline_item x = a->queues[one.gpu].items[one.at],
				       y = a->queues[two.gpu].items[two.at];

	if (job == other || !hes_problem_runs(a->p, job, a->p->gpus[two.gpu].type) ||
	    !hes_problem_runs(a->p, other, a->p->gpus[one.gpu].type))
		return false;
	*out = (struct partners){ .at = { one, two },
				  .item = { { other, x.sm_pct, x.clock },
					    { job, y.sm_pct, y.clock } } };
	if (below(a, 2)) {
		out->item[0].sm_pct = y.sm_pct;
		out->item[1].sm_pct = x.sm_pct;
	}
	out->cost_mj = estimate_at(a, one, &out->item[0]) + estimate_at(a, two, &out->item[1]) -
		       estimate_at(a, two, &y);
	return true;
}

static int exchange(struct anneal *a)
{
	const uint32_t job = draw_job(a);
	struct partners best = { .cost_mj = INFINITY }, c;

	for (uint32_t i = choices(a, PARTNERS); i > 0; i--)
		if (draw_partner(a, job, &c) && c.cost_mj < best.cost_mj)
			best = c;
	if (isinf(best.cost_mj))
		return 0;
	if (anneal_begin_move(a, best.at[0].gpu, best.at[1].gpu))
		return -ENOMEM;
	a->move.queue[0].items[best.at[0].at] = best.item[0];
	a->move.queue[a->move.n - 1].items[best.at[1].at] = best.item[1];
	return 1;
}

/* One share changes, or a step of it goes from one job to the next. */
static int reshare(struct anneal *a)
{
	const struct anneal_position is = a->position_of[draw_job(a)];
	struct anneal_queue *q = &a->move.queue[0];
	const int step = below(a, 2) ? HES_SHARE_STEP_PCT : -HES_SHARE_STEP_PCT;
	uint16_t was;
	int one, next;

	if (anneal_begin_move(a, is.gpu, is.gpu))
		return -ENOMEM;
	was = q->items[is.at].sm_pct;
	if (is.at + 1 == q->n || below(a, 2)) {
		q->items[is.at].sm_pct = draw_share(a);
		return q->items[is.at].sm_pct != was;
	}
	one = was + step;
	next = q->items[is.at + 1].sm_pct - step;
	if (one < HES_SHARE_STEP_PCT || next < HES_SHARE_STEP_PCT || one > HES_SHARE_SUM_PCT ||
	    next > HES_SHARE_SUM_PCT)
		return 0;
	q->items[is.at].sm_pct = (uint16_t)one;
	q->items[is.at + 1].sm_pct = (uint16_t)next;
	return 1;
}

/* One step up or down: the clock of a job, of all jobs from it on, or of all jobs of the queue. */
static int reclock(struct anneal *a)
{
	const struct anneal_position is = a->position_of[draw_job(a)];
	const int last = (int)a->p->types[a->p->gpus[is.gpu].type]->n_clocks - 1,
		  step = below(a, 2) ? 1 : -1;
	const uint32_t draw = below(a, 4);
	struct anneal_queue *q = &a->move.queue[0];
	int any = 0;

	if (anneal_begin_move(a, is.gpu, is.gpu))
		return -ENOMEM;
	for (uint32_t i = draw == 0 ? 0 : is.at; i < (draw < 2 ? q->n : is.at + 1); i++) {
		const int to = q->items[i].clock + step;

		if (to < 0 || to > last)
			continue;
		q->items[i].clock = (uint16_t)to;
		any = 1;
	}
	return any;
}

static int timelines_propose(struct anneal *a)
{
	const uint32_t draw = below(a, 100);

	if (draw < RELOCATE)
		return relocate(a);
	if (draw < RELOCATE + EXCHANGE)
		return exchange(a);
	return draw < RELOCATE + EXCHANGE + RESHARE ? reshare(a) : reclock(a);
}

static bool timelines_run(struct anneal *a, uint32_t gpu, struct anneal_queue *q, double limit_mj)
{
	const struct hes_timeline_stop stop = { a->lambda, limit_mj };

	if (!hes_timeline_try(a->p, a->rates, gpu, q->items, q->n, &stop, q->starts_us, &q->cost))
		return false;
	/* A GPU that runs nothing draws its idle power. */
	q->cost.peak_mw = fmax(q->cost.peak_mw, a->p->types[a->p->gpus[gpu].type]->idle_power_mw);
	if (a->shun_far)
		q->cost.late_us += q->cost.far_us;
	return true;
}

const struct anneal_objective anneal_timelines = { timelines_run, timelines_propose };
