/*
 * sharing.c - batches and shares of one queue; see sharing.h.
 */
#include "plan/batch/sharing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FAR_PENALTY 1e9 /* factor of a score, larger than the ratio of any two scores */
#define TUNING_GAIN \
	0.04           /* tuning seldom gains more, so a batch that is worse by more is not tuned */
#define CLOCKS_WORSE 3 /* clocks in a row without a gain that end the search */

bool hes_group_fits(const struct hes_problem *p, uint32_t type, const struct hes_group *g)
{
	uint64_t memory_mib = 0;

	if (g->n > 1 && p->types[type]->alone)
		return false;
	for (uint32_t i = 0; i < g->n; i++) {
		if (!hes_problem_runs(p, g->m[i].job, type))
			return false;
		memory_mib += hes_problem_memory_mib(p, g->m[i].job, type);
	}
	return memory_mib <= p->types[type]->memory_mib;
}

bool hes_default_is_far(const struct hes_problem *p)
{
	for (size_t t = 0; t < p->n_types; t++)
		for (size_t i = 0; i < p->n; i++) {
			const struct hes_group alone = { 1, { { (uint32_t)i, 100 } } };
			struct hes_group_cost cost;

			if (!hes_problem_runs(p, i, t))
				continue;
			hes_group_run(p, (uint32_t)t, p->types[t]->clock_default_mhz, &alone,
				      &cost);
			if (cost.far)
				return true;
		}
	return false;
}

void hes_share_by_use(const struct hes_problem *p, uint32_t type, struct hes_group *g)
{
	const struct hes_profile *solo = &p->solo[type * p->n_kinds];

	for (uint32_t i = 0; i < g->n; i++)
		g->m[i].sm_pct = HES_SHARE_STEP_PCT;
	for (uint32_t sum = g->n * HES_SHARE_STEP_PCT; sum < HES_SHARE_SUM_PCT;
	     sum += HES_SHARE_STEP_PCT) {
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

static uint32_t share_sum(const struct hes_group *g)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < g->n; i++)
		sum += g->m[i].sm_pct;
	return sum;
}

/* Move one step of share from one job to another. @return false where a share cannot be that small
 * or large */
static bool share_shift(struct hes_group *g, uint32_t from, uint32_t to)
{
	if (from == to || g->m[from].sm_pct <= HES_SHARE_STEP_PCT ||
	    g->m[to].sm_pct >= HES_SHARE_SUM_PCT)
		return false;
	g->m[from].sm_pct -= HES_SHARE_STEP_PCT;
	g->m[to].sm_pct += HES_SHARE_STEP_PCT;
	return true;
}

/* Raise or lower one job's share alone. @return false where that cannot be */
static bool share_alter(struct hes_group *g, uint32_t job, bool raise, uint32_t sum_pct)
{
	if (raise ? g->m[job].sm_pct >= HES_SHARE_SUM_PCT || share_sum(g) >= sum_pct
		  : g->m[job].sm_pct <= HES_SHARE_STEP_PCT)
		return false;
	if (raise)
		g->m[job].sm_pct += HES_SHARE_STEP_PCT;
	else
		g->m[job].sm_pct -= HES_SHARE_STEP_PCT;
	return true;
}

/* Move @i: from job to job, pair by pair; then each job alone, up and down. */
static bool share_move(struct hes_group *g, uint32_t i, uint32_t sum_pct)
{
	const uint32_t pairs = g->n * g->n;

	return i < pairs ? share_shift(g, i % g->n, i / g->n)
			 : share_alter(g, (i - pairs) / 2, (i - pairs) % 2 == 0, sum_pct);
}

double hes_share_judge(const struct hes_share_aim *aim, const struct hes_group_cost *c)
{
	return aim->score(c, aim->arg) * (c->far ? FAR_PENALTY : 1) *
	       (c->breaks_floor ? FAR_PENALTY : 1);
}

void hes_share_tune(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
		    uint32_t sum_pct, const struct hes_share_aim *aim, struct hes_group *g,
		    struct hes_group_cost *cost)
{
	uint32_t idle = 0; /* moves in a row without a gain */
	const uint32_t moves =
		g->n * g->n + (sum_pct > HES_SHARE_SUM_PCT && g->n > 1 ? 2 * g->n : 0);
	double least;

	hes_group_run(p, type, clock_mhz, g, cost);
	least = hes_share_judge(aim, cost);
	for (uint32_t i = 0; idle < moves; i = (i + 1) % moves) {
		struct hes_group trial = *g;
		struct hes_group_cost c;
		double score;

		idle++;
		while (share_move(&trial, i, sum_pct)) {
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

/* A queue on its way to batches. */
struct cutting {
	const struct hes_problem *p;
	const struct hes_sharing_aim *aim;
	const uint32_t *jobs;
	size_t n;
	struct cut *cuts;
	uint32_t type;
	uint32_t sum_pct; /* limit of the shares */
};

/* The best batches of a queue from some job on. */
struct cut {
	double value; /* sum of completion times from the start of this batch, or energy with them
		       */
	struct hes_group first;
};

struct delay {
	double behind;    /* jobs behind the batch */
	double jct_price; /* 0: energy does not count */
};

/* Sum of completion times in a batch and the delay of the jobs behind it; with a price, energy and
 * that. */
static double delay_score(const struct hes_group_cost *c, const void *arg)
{
	const struct delay *d = arg;
	const double jct_us = c->ends_us + c->last_us * d->behind;

	return d->jct_price > 0 ? c->energy_mj + d->jct_price * jct_us : jct_us;
}

/* INFINITY: it is far outside of the training range, or breaks a floor. A job alone is always
 * allowed. */
static double score_at(const struct hes_group_cost *c, const struct hes_group *g,
		       const struct delay *d)
{
	return (c->far || c->breaks_floor) && g->n > 1 ? INFINITY : delay_score(c, d);
}

/* A batch's cost with the best shares. INFINITY: tuning could not make it pay, or as above. */
static double value_at_default(const struct cutting *c, struct hes_group *g, const struct delay *d,
			       double worth)
{
	const uint32_t clock_mhz = c->p->types[c->type]->clock_default_mhz;
	const struct hes_share_aim aim = { delay_score, d };
	struct hes_group_cost cost;

	hes_share_by_use(c->p, c->type, g);
	hes_group_run(c->p, c->type, clock_mhz, g, &cost);
	if (delay_score(&cost, d) * (1 - TUNING_GAIN) >= worth)
		return INFINITY;
	hes_share_tune(c->p, c->type, clock_mhz, c->sum_pct, &aim, g, &cost);
	return score_at(&cost, g, d);
}

/* The same at the best clock: power falls with the clock to a floor, so the value falls and then
 * rises. */
static double value_at_best(const struct cutting *c, struct hes_group *g, const struct delay *d)
{
	const struct hes_gpu_type *t = c->p->types[c->type];
	const struct hes_share_aim aim = { delay_score, d };
	struct hes_group at = *g;
	double least = INFINITY;
	int worse = 0;

	hes_share_by_use(c->p, c->type, &at);
	for (size_t i = t->n_clocks; i-- > 0 && worse < CLOCKS_WORSE;) {
		struct hes_group_cost cost;
		double value;

		hes_share_tune(c->p, c->type, t->clocks_mhz[i], c->sum_pct, &aim, &at, &cost);
		value = score_at(&cost, &at, d);
		worse = value < least ? 0 : worse + 1;
		if (value < least) {
			least = value;
			*g = at;
		}
	}
	return least;
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
static void cut_at(const struct cutting *c, size_t i)
{
	struct hes_group g = { .n = 0 };
	struct cut *cut = &c->cuts[i];
	int worse = 0;

	cut->value = INFINITY;
	/* A batch grows while that pays. One bad step may hide a good one; two bad ones, or a very
	 * bad one, end it. */
	while (g.n < HES_SHARE_MOST && i + g.n < c->n && worse < 2) {
		struct delay d = { .jct_price = c->aim->jct_price };
		struct hes_group tuned;
		double rest, value;

		g.m[g.n].job = c->jobs[i + g.n];
		g.n++;
		if (!hes_group_fits(c->p, c->type, &g))
			break;
		tuned = g;
		d.behind = (double)(c->n - i - g.n);
		rest = c->cuts[i + g.n].value;
		value = rest + (d.jct_price > 0
					? value_at_best(c, &tuned, &d)
					: value_at_default(c, &tuned, &d, cut->value - rest));
		if (value < cut->value) {
			*cut = (struct cut){ value, tuned };
			worse = 0;
		} else {
			worse += isfinite(value) || leaves_room(c->p, c->type, &g) ? 1 : 2;
		}
	}
}

int hes_sharing_batches(const struct hes_problem *p, uint32_t type,
			const struct hes_sharing_aim *aim, const uint32_t *jobs, size_t n,
			struct hes_batches *out)
{
	struct cutting c = {
		.p = p,
		.aim = aim,
		.jobs = jobs,
		.n = n,
		.cuts = calloc(n + 1, sizeof(*c.cuts)),
		.type = type,
		.sum_pct = aim->overlap ? p->shares_pct[type] : HES_SHARE_SUM_PCT,
	};
	struct hes_batches b = { calloc(n + 1, sizeof(*b.v)), 0 };

	if (!c.cuts || !b.v) {
		free(c.cuts);
		free(b.v);
		return -ENOMEM;
	}
	for (size_t i = n; i-- > 0;)
		cut_at(&c, i);
	for (size_t i = 0; i < n; i += c.cuts[i].first.n)
		b.v[b.n++] = c.cuts[i].first;
	free(c.cuts);
	*out = b;
	return 0;
}
