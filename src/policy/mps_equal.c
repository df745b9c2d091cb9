/*
 * mps_equal.c - policies whose GPUs take up to two jobs at a time, with shares and a clock that do
 * not depend on the jobs: `mps-equal`, `mps-default` and `static-equal`.
 *
 * First come first served: the next free GPU takes the next jobs. Where GPUs outnumber jobs, each
 * job gets a GPU of its own. A variant (decide.h) has another order and GPU.
 */
#include <errno.h>
#include <stdlib.h>

#include "plan/batch/sharing.h"
#include "policy/decide.h"

#define JOBS_A_GPU 2

enum shares {
	HALVES,
	HALVES_OR_ALL, /* whichever needs less energy x time */
	ALL,           /* of the SMs for each job */
};

/* What a policy sets, whatever the jobs are. */
struct setting {
	enum shares shares, variant_shares;
	uint32_t (*clock_mhz)(const struct hes_gpu_type *g);
	hes_alone_fn *alone;
};

static uint32_t unlocked_mhz(const struct hes_gpu_type *g)
{
	return g->clock_default_mhz;
}

/* GPUs that are free no later than @gpu. */
static size_t count_free(const struct hes_problem *p, const struct hes_plan *plan, size_t gpu)
{
	const int64_t at_us = hes_compose_free_us(p, plan, gpu);
	size_t n = 0;

	for (size_t g = 0; g < p->k; g++)
		n += hes_compose_free_us(p, plan, g) <= at_us;
	return n;
}

/* All SMs for each job, as far as the predictor knows sums of shares. */
static void share_all(const struct hes_problem *p, uint32_t type, struct hes_group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		g->m[i].sm_pct = p->shares_pct[type] / g->n < HES_SHARE_SUM_PCT
					 ? p->shares_pct[type] / g->n
					 : HES_SHARE_SUM_PCT;
}

static void share(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
		  enum shares shares, struct hes_group *g)
{
	struct hes_group all = *g;
	struct hes_group_cost halves_cost, all_cost;

	for (uint32_t i = 0; i < g->n; i++)
		g->m[i].sm_pct = HES_SHARE_SUM_PCT / g->n;
	if (shares == HALVES || g->n < 2)
		return;
	share_all(p, type, &all);
	hes_group_run(p, type, clock_mhz, g, &halves_cost);
	hes_group_run(p, type, clock_mhz, &all, &all_cost);
	if (shares == ALL || (!all_cost.far && all_cost.energy_mj * all_cost.last_us <
						       halves_cost.energy_mj * halves_cost.last_us))
		*g = all;
}

/* With these shares no job of a group is below its floor. */
static bool group_fits(const struct hes_problem *p, uint32_t type, const struct setting *s,
		       enum shares shares, const struct hes_group *g)
{
	const uint32_t clock_mhz = s->clock_mhz(p->types[type]);
	struct hes_group shared = *g;
	struct hes_group_cost cost;

	if (!hes_group_fits(p, type, g) || g->n == 1)
		return hes_group_fits(p, type, g);
	share(p, type, clock_mhz, shares, &shared);
	hes_group_run(p, type, clock_mhz, &shared, &cost);
	return !cost.breaks_floor;
}

/* The next jobs in turn, as many as fit. */
static struct hes_group take_next(const struct hes_problem *p, uint32_t type,
				  const struct setting *s, size_t next, size_t most)
{
	struct hes_group g = { .n = 0 };

	while (g.n < most && next < p->n) {
		struct hes_group grown = g;

		grown.m[grown.n++].job = (uint32_t)next++;
		if (!group_fits(p, type, s, s->shares, &grown))
			break;
		g = grown;
	}
	return g;
}

/* Append a batch, if it has jobs. */
static int append_batch(const struct hes_problem *p, struct hes_plan *plan, size_t gpu,
			const struct setting *s, enum shares shares, struct hes_group *g)
{
	const uint32_t type = p->gpus[gpu].type, clock_mhz = s->clock_mhz(p->types[type]);

	share(p, type, clock_mhz, shares, g);
	return g->n ? hes_compose_batch(p, plan, gpu, clock_mhz, g) : 0;
}

static int run_variant(const struct hes_problem *p, struct hes_plan *plan, const struct setting *s)
{
	struct hes_placed *placed = calloc(p->n + 1, sizeof(*placed));
	struct hes_group *next = calloc(p->k + 1, sizeof(*next));
	int rc = placed && next ? hes_place_by_variant(p, s->alone, placed) : -ENOMEM;

	for (size_t i = 0; i < p->n && !rc; i++) {
		const size_t gpu = placed[i].gpu;
		struct hes_group grown = next[gpu];

		grown.m[grown.n++].job = placed[i].job;
		if (grown.n > JOBS_A_GPU ||
		    !group_fits(p, p->gpus[gpu].type, s, s->variant_shares, &grown)) {
			rc = append_batch(p, plan, gpu, s, s->variant_shares, &next[gpu]);
			grown = (struct hes_group){ 1, { { placed[i].job, 0 } } };
		}
		next[gpu] = grown;
	}
	for (size_t g = 0; g < p->k && !rc; g++)
		rc = append_batch(p, plan, g, s, s->variant_shares, &next[g]);
	free(placed);
	free(next);
	return rc;
}

static int run_pairs(const struct hes_problem *p, struct hes_plan *plan, const struct setting *s)
{
	struct hes_group g;
	int rc = 0;

	if (*p->request->prefer)
		return run_variant(p, plan, s);
	for (size_t i = 0; i < p->n && !rc; i += g.n) {
		const size_t gpu = hes_next_free_gpu(p, plan, i, hes_alone_us);
		const size_t free_gpus = count_free(p, plan, gpu),
			     each = (p->n - i + free_gpus - 1) / free_gpus;

		g = take_next(p, p->gpus[gpu].type, s, i, each < JOBS_A_GPU ? each : JOBS_A_GPU);
		rc = append_batch(p, plan, gpu, s, s->shares, &g);
	}
	return rc;
}

int hes_decide_mps_equal(const struct hes_problem *p, struct hes_plan *plan,
			 struct hes_front *front)
{
	(void)front;
	return run_pairs(
		p, plan,
		&(struct setting){ HALVES, HALVES_OR_ALL, unlocked_mhz, hes_alone_at_default });
}

/* MPS without CUDA_MPS_ACTIVE_THREAD_PERCENTAGE. */
int hes_decide_mps_default(const struct hes_problem *p, struct hes_plan *plan,
			   struct hes_front *front)
{
	(void)front;
	return run_pairs(p, plan,
			 &(struct setting){ ALL, ALL, unlocked_mhz, hes_alone_at_default });
}

int hes_decide_static_equal(const struct hes_problem *p, struct hes_plan *plan,
			    struct hes_front *front)
{
	(void)front;
	return run_pairs(p, plan,
			 &(struct setting){ HALVES, HALVES_OR_ALL, hes_gpu_type_static_clock,
					    hes_alone_static });
}
