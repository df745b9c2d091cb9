/*
 * mps_equal.c - the policy `mps-equal`: first come first served, the next free GPU takes up to two
 * jobs with equal shares, at the default clock. Where GPUs outnumber jobs, each job gets a GPU of
 * its own. With a variant (variants.h), two jobs have a half of the SMs each, or all of them each,
 * whichever needs less energy x time.
 */
#include <errno.h>
#include <stdlib.h>

#include "plan/batch/sharing.h"
#include "policy/variants.h"

#define JOBS_A_GPU 2

/* GPUs that are free no later than @gpu. */
static size_t count_free(const struct hes_problem *p, const struct hes_plan *plan, size_t gpu)
{
	const int64_t at_us = hes_compose_free_us(p, plan, gpu);
	size_t n = 0;

	for (size_t g = 0; g < p->k; g++)
		n += hes_compose_free_us(p, plan, g) <= at_us;
	return n;
}

/* The next jobs in turn, as many as fit. */
static struct hes_group take_next(const struct hes_problem *p, uint32_t type, size_t next,
				  size_t most)
{
	struct hes_group g = { .n = 0 };

	while (g.n < most && next < p->n) {
		struct hes_group grown = g;

		grown.m[grown.n++].job = (uint32_t)next++;
		if (!hes_group_fits(p, type, &grown))
			break;
		g = grown;
	}
	for (uint32_t i = 0; i < g.n; i++)
		g.m[i].sm_pct = HES_SHARE_SUM_PCT / g.n;
	return g;
}

/* Every share at its limit, if that is better. */
static void overlap(const struct hes_problem *p, uint32_t type, struct hes_group *g)
{
	const uint32_t clock_mhz = p->types[type]->clock_default_mhz;
	struct hes_group over = *g;
	struct hes_group_cost apart_cost, over_cost;

	for (uint32_t i = 0; i < g->n; i++)
		over.m[i].sm_pct = p->shares_pct[type] / g->n < HES_SHARE_SUM_PCT
					   ? p->shares_pct[type] / g->n
					   : HES_SHARE_SUM_PCT;
	hes_group_run(p, type, clock_mhz, g, &apart_cost);
	hes_group_run(p, type, clock_mhz, &over, &over_cost);
	if (!over_cost.far &&
	    over_cost.energy_mj * over_cost.last_us < apart_cost.energy_mj * apart_cost.last_us)
		*g = over;
}

/* Append a batch, if it has jobs. */
static int append_batch(const struct hes_problem *p, struct hes_plan *plan, size_t gpu,
			struct hes_group *g)
{
	const uint32_t type = p->gpus[gpu].type;

	for (uint32_t i = 0; i < g->n; i++)
		g->m[i].sm_pct = HES_SHARE_SUM_PCT / g->n;
	if (g->n > 1)
		overlap(p, type, g);
	return g->n ? hes_compose_batch(p, plan, gpu, p->types[type]->clock_default_mhz, g) : 0;
}

static int run_variant(const struct hes_problem *p, struct hes_plan *plan)
{
	struct hes_placed *placed = calloc(p->n + 1, sizeof(*placed));
	struct hes_group *next = calloc(p->k + 1, sizeof(*next));
	int rc = placed && next ? hes_place_by_variant(p, hes_alone_at_default, placed) : -ENOMEM;

	for (size_t i = 0; i < p->n && !rc; i++) {
		const size_t gpu = placed[i].gpu;
		struct hes_group grown = next[gpu];

		grown.m[grown.n++].job = placed[i].job;
		if (grown.n > JOBS_A_GPU || !hes_group_fits(p, p->gpus[gpu].type, &grown)) {
			rc = append_batch(p, plan, gpu, &next[gpu]);
			grown = (struct hes_group){ 1, { { placed[i].job, 0 } } };
		}
		next[gpu] = grown;
	}
	for (size_t g = 0; g < p->k && !rc; g++)
		rc = append_batch(p, plan, g, &next[g]);
	free(placed);
	free(next);
	return rc;
}

int hes_decide_mps_equal(const struct hes_problem *p, struct hes_plan *plan,
			 struct hes_front *front)
{
	struct hes_group g;
	int rc = 0;

	(void)front;
	if (*p->request->prefer)
		return run_variant(p, plan);
	for (size_t i = 0; i < p->n && !rc; i += g.n) {
		const size_t gpu = hes_next_free_gpu(p, plan, i, hes_alone_us);
		const uint32_t type = p->gpus[gpu].type;
		const size_t free_gpus = count_free(p, plan, gpu),
			     each = (p->n - i + free_gpus - 1) / free_gpus;

		g = take_next(p, type, i, each < JOBS_A_GPU ? each : JOBS_A_GPU);
		rc = hes_compose_batch(p, plan, gpu, p->types[type]->clock_default_mhz, &g);
	}
	return rc;
}
