/*
 * sharing.c - batches and shares of one queue; see sharing.h.
 */
#include "plan/batch/sharing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FAR_PENALTY 1e9  /* factor of a score, larger than the ratio of any two scores */
#define TUNING_GAIN 0.04 /* tuning seldom gains more, so a batch that is worse by more is not tuned */

void hes_share_by_use(const struct hes_problem *p, uint32_t type, struct hes_group *g)
{
	const struct hes_profile *solo = &p->solo[type * p->n_kinds];

	for (uint32_t i = 0; i < g->n; i++)
		g->m[i].sm_pct = HES_SHARE_STEP_PCT;
	for (uint32_t sum = g->n * HES_SHARE_STEP_PCT; sum < HES_SHARE_SUM_PCT; sum += HES_SHARE_STEP_PCT) {
		double most = -1;
		uint32_t to = 0;

		for (uint32_t i = 0; i < g->n; i++) {
			double held = solo[p->jobs[g->m[i].job].kind].sm_util / g->m[i].sm_pct;

			if (held >= most) {
				most = held;
				to = i;
			}
		}
		g->m[to].sm_pct += HES_SHARE_STEP_PCT;
	}
}

/* Move one step of share from one job to another. @return false if it would leave the first without */
static bool share_shift(struct hes_group *g, uint32_t from, uint32_t to)
{
	if (from == to || g->m[from].sm_pct <= HES_SHARE_STEP_PCT)
		return false;
	g->m[from].sm_pct -= HES_SHARE_STEP_PCT;
	g->m[to].sm_pct += HES_SHARE_STEP_PCT;
	return true;
}

double hes_share_judge(const struct hes_share_aim *aim, const struct hes_group_cost *c)
{
	return aim->score(c, aim->arg) * (c->far ? FAR_PENALTY : 1);
}

void hes_share_tune(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
		    const struct hes_share_aim *aim, struct hes_group *g, struct hes_group_cost *cost)
{
	uint32_t idle = 0; /* moves in a row without a gain */
	const uint32_t pairs = g->n * g->n;
	double least;

	hes_group_run(p, type, clock_mhz, g, cost);
	least = hes_share_judge(aim, cost);
	for (uint32_t i = 0; idle < pairs; i = (i + 1) % pairs) {
		struct hes_group trial = *g;
		struct hes_group_cost c;
		double score;

		idle++;
		while (share_shift(&trial, i % g->n, i / g->n)) {
			hes_group_run(p, type, clock_mhz, &trial, &c);
			score = hes_share_judge(aim, &c);
			if (!(score < least))
				break;
			least = score;
			*g = trial;
			*cost = c;
			idle = 0;
		}
	}
}

/* Sum of completion times in a batch and the delay of the jobs behind it. */
static double jct_score(const struct hes_group_cost *c, const void *behind)
{
	return c->ends_us + c->last_us * *(const double *)behind;
}

/* The best batches of a queue from some job on. */
struct cut {
	double           jct_us;  /* sum of completion times, from the start of this batch */
	struct hes_group first;
};

/*
 * A batch's cost with the best shares. INFINITY: tuning could not make it pay, or it is far outside of the training
 * range. A job alone is always allowed.
 */
static double value_of(const struct hes_problem *p, uint32_t type, struct hes_group *g, double behind,
		       double worth_us)
{
	const uint32_t clock_mhz = p->types[type]->clock_default_mhz;
	const struct hes_share_aim aim = { jct_score, &behind };
	struct hes_group_cost cost;
	double first_us;

	hes_share_by_use(p, type, g);
	hes_group_run(p, type, clock_mhz, g, &cost);
	first_us = jct_score(&cost, &behind);
	if (first_us * (1 - TUNING_GAIN) >= worth_us)
		return INFINITY;
	hes_share_tune(p, type, clock_mhz, &aim, g, &cost);
	return cost.far && g->n > 1 ? INFINITY : jct_score(&cost, &behind);
}

/* Whether the jobs together leave SMs idle, so that one more may pay. */
static bool leaves_room(const struct hes_problem *p, uint32_t type, const struct hes_group *g)
{
	double used = 0;

	for (uint32_t i = 0; i < g->n; i++)
		used += p->solo[type * p->n_kinds + p->jobs[g->m[i].job].kind].sm_util;
	return used < 1;
}

/* The best first batch of the queue from job @i on; later cuts are known. */
static void cut_at(const struct hes_problem *p, uint32_t type, const uint32_t *jobs, size_t n, size_t i,
		   struct cut *cuts)
{
	struct hes_group g = { .n = 0 };
	int worse = 0;

	cuts[i].jct_us = INFINITY;
	/* A batch grows while that pays. One bad step may hide a good one; two bad ones, or a very bad one, end it. */
	while (g.n < HES_SHARE_MOST && i + g.n < n && worse < 2) {
		struct hes_group tuned;
		double rest_us, jct_us;

		g.m[g.n].job = jobs[i + g.n];
		g.n++;
		if (!hes_group_fits(p, type, &g))
			break;
		tuned = g;
		rest_us = cuts[i + g.n].jct_us;
		jct_us = rest_us + value_of(p, type, &tuned, (double)(n - i - g.n), cuts[i].jct_us - rest_us);
		if (jct_us < cuts[i].jct_us) {
			cuts[i] = (struct cut){ jct_us, tuned };
			worse = 0;
		} else {
			worse += isfinite(jct_us) || leaves_room(p, type, &g) ? 1 : 2;
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
