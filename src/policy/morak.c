/*
 * morak.c - the policy `morak`: after Morak (Liu et al., MASS 2023) as the
 * HeShare paper compares it: every job on a random GPU, first come first served;
 * a variant (decide.h) chooses GPU and order otherwise, and its shares may overlap.
 * It tunes MPS shares and the clock together, for throughput and energy under a
 * bound on each job's latency.
 *
 * A GPU takes the next jobs of its queue together, as many as give the least
 * energy-delay product for their work; batch sizes are the jobs' own.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/batch/sharing.h"
#include "policy/decide.h"

#define MAX_SLOWDOWN 5 /* of a job's run against its run alone at the default clock */

/* A group's jobs one after the other. */
struct apart {
	uint32_t n;
	double time_us[HES_MAX_SHARING];
	double total_us;
	double total_mj;
};

static struct apart run_apart(const struct hes_problem *p, uint32_t type, const struct hes_group *g)
{
	struct apart a = { .n = g->n };

	for (uint32_t i = 0; i < g->n; i++) {
		const struct hes_cost *c = &p->cost[type * p->n + g->m[i].job];

		a.time_us[i] = c->time_us;
		a.total_us += c->time_us;
		a.total_mj += c->energy_mj;
	}
	return a;
}

/* Energy-delay product relative to the jobs one after the other; INFINITY beyond the latency bound.
 */
static double score(const struct hes_group_cost *c, const void *arg)
{
	const struct apart *a = arg;

	for (uint32_t i = 0; i < a->n; i++)
		if (c->end_us[i] > MAX_SLOWDOWN * a->time_us[i])
			return INFINITY;
	return c->energy_mj / a->total_mj * (c->last_us / a->total_us);
}

struct choice {
	struct hes_group group;
	uint32_t clock_mhz;
	double score;
};

/* The best shares at each clock in turn, starting from those at the clock before. */
static struct choice tune(const struct hes_problem *p, uint32_t type, const struct hes_group *g)
{
	const uint32_t sum_pct = *p->request->prefer ? p->shares_pct[type] : HES_SHARE_SUM_PCT;
	const struct hes_gpu_type *t = p->types[type];
	const struct apart apart = run_apart(p, type, g);
	const struct hes_share_aim aim = { score, &apart };
	struct choice best = { .group = *g, .clock_mhz = t->clock_default_mhz, .score = INFINITY };
	struct hes_group at = *g;

	hes_share_by_use(p, type, &at);
	for (size_t i = t->n_clocks; i-- > 0;) {
		struct hes_group_cost cost;
		double s;

		hes_share_tune(p, type, t->clocks_mhz[i], sum_pct, &aim, &at, &cost);
		s = hes_share_judge(&aim, &cost);
		if (s < best.score)
			best = (struct choice){ at, t->clocks_mhz[i], s };
		if (!isfinite(s) && isfinite(best.score))
			break; /* slower clocks only break the bound further */
	}
	return best;
}

/* The next batch of a queue: as many jobs as pay, in order of arrival. */
static struct choice next_batch(const struct hes_problem *p, uint32_t type, const uint32_t *jobs,
				size_t n)
{
	struct choice best = { .score = INFINITY };
	struct hes_group g = { .n = 0 };
	int worse = 0;

	while (g.n < HES_SHARE_MOST && g.n < n && worse < 2) {
		struct choice c;

		g.m[g.n].job = jobs[g.n];
		g.n++;
		if (!hes_group_fits(p, type, &g))
			break;
		c = tune(p, type, &g);
		worse = c.score < best.score ? 0 : worse + 1;
		if (c.score < best.score || g.n == 1)
			best = c;
	}
	return best;
}

static int run_queue(const struct hes_problem *p, struct hes_plan *plan, size_t gpu,
		     const uint32_t *jobs, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc;) {
		const struct choice c = next_batch(p, p->gpus[gpu].type, jobs + i, n - i);

		rc = hes_compose_batch(p, plan, gpu, c.clock_mhz, &c.group);
		i += c.group.n;
	}
	return rc;
}

struct hes_cost hes_alone_tuned(const struct hes_problem *p, size_t job, uint32_t type)
{
	const struct hes_group alone = { 1, { { (uint32_t)job, 100 } } };
	const struct choice c = tune(p, type, &alone);
	struct hes_group_cost cost;

	hes_group_run(p, type, c.clock_mhz, &c.group, &cost);
	return (struct hes_cost){ cost.last_us, cost.energy_mj };
}

int hes_decide_morak(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	uint32_t *jobs = calloc(p->n + 1, sizeof(*jobs));
	struct hes_placed *placed = calloc(p->n + 1, sizeof(*placed));
	int rc = jobs && placed ? 0 : -ENOMEM;

	(void)front;
	if (!rc && *p->request->prefer)
		rc = hes_place_by_variant(p, hes_alone_tuned, placed);
	else
		for (size_t i = 0; i < p->n && !rc; i++)
			placed[i] =
				(struct hes_placed){ (uint32_t)i, (uint32_t)hes_draw_gpu(p, i) };
	for (size_t g = 0; g < p->k && !rc; g++) {
		size_t n = 0;

		for (size_t i = 0; i < p->n; i++)
			if (placed[i].gpu == g)
				jobs[n++] = placed[i].job;
		rc = run_queue(p, plan, g, jobs, n);
	}
	free(jobs);
	free(placed);
	return rc;
}
