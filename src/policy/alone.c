/*
 * alone.c - policies that run one job at a time on a GPU. They differ in the GPU and the clock; a
 * variant (decide.h) in the order, too. Without one, the first to come is the first served.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "policy/decide.h"

#define MAX_SLOWDOWN 1.2 /* of muserve's clocks against the default clock */
#define POWER_CAP                                                                             \
	0.5 /* of the power limit, of batchdvfs: of .4, .5, .6, .7, .8 and 1 it has the least \
	       energy-delay product */

typedef uint32_t choose_clock_fn(const struct hes_problem *p, uint32_t type,
				 const struct hes_group *alone);

/* By the request's variant. Without one in order, each on the next free GPU with the least
 * @dislike, or without it on a random one. */
static int run_one_by_one(const struct hes_problem *p, struct hes_plan *plan,
			  hes_dislike_fn *dislike, choose_clock_fn *choose_clock,
			  hes_alone_fn *alone_cost)
{
	const bool variant = *p->request->prefer;
	struct hes_placed *placed = calloc(p->n + 1, sizeof(*placed));
	int rc = placed ? 0 : -ENOMEM;

	if (!rc && variant)
		rc = hes_place_by_variant(p, alone_cost, placed);
	for (size_t i = 0; i < p->n && !rc; i++) {
		const uint32_t job = variant ? placed[i].job : (uint32_t)i;
		const size_t gpu = variant   ? placed[i].gpu
				   : dislike ? hes_next_free_gpu(p, plan, i, dislike)
					     : hes_draw_gpu(p, i);
		const struct hes_group alone = { 1, { { job, 100 } } };

		rc = hes_compose_batch(p, plan, gpu, choose_clock(p, p->gpus[gpu].type, &alone),
				       &alone);
	}
	free(placed);
	return rc;
}

static struct hes_cost alone_at(const struct hes_problem *p, size_t job, uint32_t type,
				choose_clock_fn *choose_clock)
{
	const struct hes_group alone = { 1, { { (uint32_t)job, 100 } } };
	struct hes_group_cost c;

	hes_group_run(p, type, choose_clock(p, type, &alone), &alone, &c);
	return (struct hes_cost){ c.last_us, c.energy_mj };
}

static uint32_t default_clock(const struct hes_problem *p, uint32_t type,
			      const struct hes_group *alone)
{
	(void)alone;
	return p->types[type]->clock_default_mhz;
}

static uint32_t static_clock(const struct hes_problem *p, uint32_t type,
			     const struct hes_group *alone)
{
	(void)alone;
	return hes_gpu_type_static_clock(p->types[type]);
}

struct hes_cost hes_alone_static(const struct hes_problem *p, size_t job, uint32_t type)
{
	return alone_at(p, job, type, static_clock);
}

/* The clock with the least energy, of those that keep the job within a slowdown bound. */
static uint32_t low_energy_clock(const struct hes_problem *p, uint32_t type,
				 const struct hes_group *alone)
{
	const struct hes_gpu_type *g = p->types[type];
	const struct hes_cost *base = &p->cost[type * p->n + alone->m[0].job];
	uint32_t best = g->clock_default_mhz;
	double least_mj = base->energy_mj;

	for (size_t i = 0; i < g->n_clocks; i++) {
		struct hes_group_cost c;

		hes_group_run(p, type, g->clocks_mhz[i], alone, &c);
		if (!c.far && c.last_us <= MAX_SLOWDOWN * base->time_us && c.energy_mj < least_mj) {
			best = g->clocks_mhz[i];
			least_mj = c.energy_mj;
		}
	}
	return best;
}

struct hes_cost hes_alone_at_low_energy(const struct hes_problem *p, size_t job, uint32_t type)
{
	return alone_at(p, job, type, low_energy_clock);
}

size_t hes_draw_gpu(const struct hes_problem *p, size_t job)
{
	struct hes_rng all, own;
	size_t n = 0, nth;

	hes_rng_seed(&all, p->request->seed);
	own = hes_rng_fork(&all, p->jobs[job].job);
	for (size_t g = 0; g < p->k; g++)
		n += hes_problem_runs(p, job, p->gpus[g].type);
	nth = (size_t)hes_rng_below(&own, n);
	for (size_t g = 0;; g++)
		if (hes_problem_runs(p, job, p->gpus[g].type) && nth-- == 0)
			return g;
}

size_t hes_next_free_gpu(const struct hes_problem *p, const struct hes_plan *plan, size_t job,
			 hes_dislike_fn *dislike)
{
	size_t best = SIZE_MAX;
	int64_t first_us = INT64_MAX;
	double least = 0;

	for (size_t g = 0; g < p->k; g++) {
		int64_t free_us = hes_compose_free_us(p, plan, g);
		double value;

		if (!hes_problem_runs(p, job, p->gpus[g].type) || free_us > first_us)
			continue;
		value = dislike(p, job, p->gpus[g].type);
		if (free_us < first_us || value < least) {
			best = g;
			first_us = free_us;
			least = value;
		}
	}
	return best;
}

double hes_alone_us(const struct hes_problem *p, size_t job, uint32_t type)
{
	return p->cost[type * p->n + job].time_us;
}

static double added_power_mw(const struct hes_problem *p, size_t job, uint32_t type)
{
	const struct hes_cost *c = &p->cost[type * p->n + job];
	const double idle_mw = p->types[type]->idle_power_mw,
		     start_us = hes_problem_start_us(p, job, type);

	return (c->energy_mj - start_us * idle_mw * 1e-6) / (c->time_us - start_us) * 1e6 - idle_mw;
}

int hes_decide_random(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	(void)front;
	return run_one_by_one(p, plan, NULL, default_clock, NULL);
}

/* What most clusters do. */
int hes_decide_exclusive(const struct hes_problem *p, struct hes_plan *plan,
			 struct hes_front *front)
{
	(void)front;
	return run_one_by_one(p, plan, hes_alone_us, default_clock, hes_alone_at_default);
}

/* What an operator can do without measuring jobs: one clock for each GPU type. */
int hes_decide_static(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	(void)front;
	return run_one_by_one(p, plan, hes_alone_us, static_clock, hes_alone_static);
}

/* After Lettich et al. (CCGrid 2025): the free GPU whose power the job raises least. */
int hes_decide_pwr(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	(void)front;
	if (*p->request->prefer)
		return hes_decide_pwr_shared(p, plan);
	return run_one_by_one(p, plan, added_power_mw, default_clock, NULL);
}

/* The highest clock at which the power stays below a part of the power limit, if there is one. */
static uint32_t capped_clock(const struct hes_problem *p, uint32_t type,
			     const struct hes_group *alone)
{
	const struct hes_gpu_type *g = p->types[type];
	size_t i = g->n_clocks;

	while (i-- > 1) {
		struct hes_group_cost c;

		hes_group_run(p, type, g->clocks_mhz[i], alone, &c);
		if (!c.far && c.peak_mw <= POWER_CAP * g->power_limit_mw)
			break;
	}
	return g->clocks_mhz[i];
}

struct hes_cost hes_alone_capped(const struct hes_problem *p, size_t job, uint32_t type)
{
	return alone_at(p, job, type, capped_clock);
}

/* After BatchDVFS (Nabavinejad et al., IEEE TPDS 2022): throughput under a power cap by the clock.
 * Batch sizes are the jobs'. */
int hes_decide_batchdvfs(const struct hes_problem *p, struct hes_plan *plan,
			 struct hes_front *front)
{
	(void)front;
	return run_one_by_one(p, plan, NULL, capped_clock, hes_alone_capped);
}

/* After mu-Serve (Qiu et al., USENIX ATC 2024), as the HeShare paper compares it. */
int hes_decide_muserve(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	(void)front;
	return run_one_by_one(p, plan, NULL, low_energy_clock, hes_alone_at_low_energy);
}
