/*
 * sharing.c - batches and shares of one queue; see sharing.h.
 */
#include "plan/sharing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MAX_ROUNDS 4 /* of tuning; two are the rule */

void hes_share_equally(struct hes_group *g)
{
	uint32_t steps = HES_SHARE_SUM_PCT / HES_SHARE_STEP_PCT;
	uint32_t each = steps / g->n, more = steps % g->n;

	for (uint32_t i = 0; i < g->n; i++)
		g->m[i].sm_pct = (each + (i >= g->n - more)) * HES_SHARE_STEP_PCT;
}

static uint32_t share_sum(const struct hes_group *g)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < g->n; i++)
		sum += g->m[i].sm_pct;
	return sum;
}

/* Give one job a share; the others yield, the largest first. @return false if they cannot */
static bool give(struct hes_group *g, uint32_t to, uint32_t sm_pct)
{
	g->m[to].sm_pct = sm_pct;
	while (share_sum(g) > HES_SHARE_SUM_PCT) {
		uint32_t most = g->n;

		for (uint32_t i = 0; i < g->n; i++)
			if (i != to && (most == g->n || g->m[i].sm_pct > g->m[most].sm_pct))
				most = i;
		if (most == g->n || g->m[most].sm_pct <= HES_SHARE_STEP_PCT)
			return false;
		g->m[most].sm_pct -= HES_SHARE_STEP_PCT;
	}
	return true;
}

void hes_share_tune(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
		    const struct hes_share_aim *aim, struct hes_group *g, struct hes_group_cost *cost)
{
	bool better = g->n > 1;
	double least;

	hes_group_run(p, type, clock_mhz, g, cost);
	least = aim->score(cost, aim->arg);
	for (int round = 0; round < MAX_ROUNDS && better; round++) {
		better = false;
		for (uint32_t i = 0; i < g->n; i++) {
			const struct hes_group from = *g;

			for (uint32_t pct = HES_SHARE_STEP_PCT; pct <= HES_SHARE_SUM_PCT; pct += HES_SHARE_STEP_PCT) {
				struct hes_group trial = from;
				struct hes_group_cost c;
				double score;

				if (pct == from.m[i].sm_pct || !give(&trial, i, pct))
					continue;
				hes_group_run(p, type, clock_mhz, &trial, &c);
				score = aim->score(&c, aim->arg);
				if (score < least) {
					least = score;
					*g = trial;
					*cost = c;
					better = true;
				}
			}
		}
	}
}

/* Sum of completion times in a batch and the delay of the jobs behind it. */
static double jct_score(const struct hes_group_cost *c, const void *behind)
{
	return c->ends_us + c->last_us * *(const double *)behind;
}

/* The best way to run a queue from some job on. */
struct cut {
	double           jct_us;  /* sum of completion times, from the start of this batch */
	struct hes_group first;
};

/* The best first batch of the queue from job @i on; later cuts are known. */
static void cut_at(const struct hes_problem *p, uint32_t type, const uint32_t *jobs, size_t n, size_t i,
		   struct cut *cuts)
{
	struct hes_group g = { .n = 0 };
	int worse = 0;

	cuts[i].jct_us = INFINITY;
	/* A batch grows while that pays; one bad step may hide a good one, two do not. */
	while (g.n < HES_MAX_SHARING && i + g.n < n && worse < 2) {
		struct hes_group_cost cost;
		struct hes_group tuned;
		double behind, jct_us;

		g.m[g.n].job = jobs[i + g.n];
		g.n++;
		if (!hes_group_fits(p, type, &g))
			break;
		tuned = g;
		hes_share_equally(&tuned);
		behind = (double)(n - i - g.n);
		hes_share_tune(p, type, p->types[type]->clock_default_mhz,
			       &(struct hes_share_aim){ jct_score, &behind }, &tuned, &cost);
		jct_us = jct_score(&cost, &behind) + cuts[i + g.n].jct_us;
		if (jct_us < cuts[i].jct_us) {
			cuts[i] = (struct cut){ jct_us, tuned };
			worse = 0;
		} else {
			worse++;
		}
	}
}

int hes_sharing_batches(const struct hes_problem *p, uint32_t type, const uint32_t *jobs, size_t n,
			struct hes_batches *out)
{
	struct cut *cuts = calloc(n + 1, sizeof(*cuts));
	struct hes_batches b = { calloc(n + 1, sizeof(*b.v)), 0 };

	if (!cuts || !b.v) {
		free(cuts);
		free(b.v);
		return -ENOMEM;
	}
	for (size_t i = n; i-- > 0;)
		cut_at(p, type, jobs, n, i, cuts);
	for (size_t i = 0; i < n; i += cuts[i].first.n)
		b.v[b.n++] = cuts[i].first;
	free(cuts);
	*out = b;
	return 0;
}
