/*
 * pwr_shared.c - the variant `pwr:shared`: the whole of PWR (Lettich et al., CCGrid 2025), which
 * weighs the power that a job adds against the fragmentation that it leaves (Weng et al., "Beware
 * of Fragmentation", USENIX ATC 2023).
 *
 * First come first served, at the default clock. A job asks for the SMs that it uses alone, and
 * starts at the first moment at which a GPU has that share and its memory free; of several such
 * GPUs, where
 *
 *   alpha * power added / most power added + (1 - alpha) * fragmentation added / most fragmentation
 * added
 *
 * is least. A GPU's fragmentation is the part of it that is free but of no use to a job of the
 * workload drawn at random (Weng et al., Eq. 1 to 3). Of several alphas the one whose plan has the
 * least energy-delay product counts: PWR's authors leave alpha to the operator.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/decide.h"

static const double alphas[] = { 0, 0.1, 0.25, 0.5, 0.75, 1 };

/* A GPU with the jobs placed on it so far. */
struct place {
	struct hes_timeline_item *items; /* room for all jobs */
	struct hes_timeline_times *times;
	size_t n;
	struct hes_timeline_times running[HES_MAX_SHARING]; /* of the jobs that run there already */
	struct hes_timeline_cost cost;
};

/* What a GPU has left at some moment, and the jobs that run there. */
struct left {
	struct hes_set set;
	uint32_t sm_pct, memory_mib;
};

/* The share for what a job uses alone: tens of percent, rounded up. All for one with a floor. */
static uint32_t demand_pct(const struct hes_problem *p, uint32_t job, uint32_t type)
{
	const double used = p->solo[type * p->n_kinds + p->jobs[job].kind].sm_util * 100;
	const double pct = HES_SHARE_STEP_PCT * ceil(used / HES_SHARE_STEP_PCT);

	if (p->jobs[job].keep > 0)
		return HES_SHARE_SUM_PCT;
	return (uint32_t)fmin(fmax(pct, HES_SHARE_STEP_PCT), HES_SHARE_SUM_PCT);
}

static void occupy(const struct hes_problem *p, struct left *l, uint32_t job, uint32_t sm_pct)
{
	const struct hes_member m = { (uint16_t)p->jobs[job].kind, (uint16_t)sm_pct };
	const uint32_t memory_mib = hes_problem_memory_mib(p, job, l->set.type);
	uint32_t i = l->set.n++;

	for (; i && (l->set.m[i - 1].kind > m.kind ||
		     (l->set.m[i - 1].kind == m.kind && l->set.m[i - 1].sm_pct > m.sm_pct));
	     i--)
		l->set.m[i] = l->set.m[i - 1];
	l->set.m[i] = m;
	l->sm_pct -= sm_pct < l->sm_pct ? sm_pct : l->sm_pct;
	l->memory_mib -= memory_mib < l->memory_mib ? memory_mib : l->memory_mib;
}

static struct left left_at(const struct hes_problem *p, size_t gpu, const struct place *at,
			   double start_us)
{
	const uint32_t type = p->gpus[gpu].type;
	struct left l = {
		.set = { .type = type, .clock_mhz = p->types[type]->clock_default_mhz },
		.sm_pct = HES_SHARE_SUM_PCT,
		.memory_mib = p->types[type]->memory_mib,
	};

	for (size_t i = p->first_running[gpu]; i < p->first_running[gpu + 1]; i++)
		if (start_us < at->running[i - p->first_running[gpu]].end_us &&
		    l.set.n < HES_MAX_SHARING - 1)
			occupy(p, &l, p->running[i].at, p->running[i].sm_pct);
	for (size_t i = 0; i < at->n; i++)
		if (at->times[i].start_us <= start_us && start_us < at->times[i].end_us &&
		    l.set.n < HES_MAX_SHARING - 1)
			occupy(p, &l, at->items[i].job, at->items[i].sm_pct);
	return l;
}

static double power_mw(const struct hes_problem *p, const struct left *l)
{
	struct hes_set_rates r;

	if (!l->set.n)
		return p->types[l->set.type]->idle_power_mw;
	hes_rates_of(p->rates, &l->set, &r);
	return r.power_mw;
}

/* Part of the GPU that is free, times the part of the jobs that could not use it. */
static double fragmentation(const struct hes_problem *p, const struct left *l)
{
	size_t useless = 0;

	for (uint32_t i = 0; i < p->n; i++)
		useless += !hes_problem_runs(p, i, l->set.type) ||
			   demand_pct(p, i, l->set.type) > l->sm_pct ||
			   hes_problem_memory_mib(p, i, l->set.type) > l->memory_mib;
	return l->sm_pct / (double)HES_SHARE_SUM_PCT * (double)useless / (double)p->n;
}

/* Append a job to a GPU's queue. @return when it starts */
static double append(const struct hes_problem *p, struct place *at, size_t gpu, uint32_t job)
{
	const uint32_t type = p->gpus[gpu].type;
	const struct hes_gpu_type *t = p->types[type];

	at->items[at->n++] =
		(struct hes_timeline_item){ job, (uint16_t)demand_pct(p, job, type),
					    hes_problem_clock(t, t->clock_default_mhz) };
	hes_timeline_run_all(p, p->rates, gpu, at->items, at->n, &at->cost, at->times, at->running);
	return at->times[at->n - 1].start_us;
}

struct candidate {
	double start_us, power, fragments; /* added by the job */
};

static struct candidate try_gpu(const struct hes_problem *p, struct place *at, size_t gpu,
				uint32_t job)
{
	struct candidate c = { .start_us = append(p, at, gpu, job) };
	struct left before, after;

	at->n--;
	before = after = left_at(p, gpu, at, c.start_us);
	occupy(p, &after, job, demand_pct(p, job, p->gpus[gpu].type));
	c.power = power_mw(p, &after) - power_mw(p, &before);
	c.fragments = fragmentation(p, &after) - fragmentation(p, &before);
	return c;
}

static void place_job(const struct hes_problem *p, struct place *at, struct candidate *c,
		      uint32_t job, double alpha)
{
	double first_us = INFINITY, power = 1e-9, fragments = 1e-9, least = INFINITY;
	size_t best = 0;

	for (size_t g = 0; g < p->k; g++) {
		c[g].start_us = INFINITY;
		if (hes_problem_runs(p, job, p->gpus[g].type))
			c[g] = try_gpu(p, &at[g], g, job);
		first_us = fmin(first_us, c[g].start_us);
	}
	for (size_t g = 0; g < p->k; g++)
		if (c[g].start_us <= first_us) {
			power = fmax(power, fabs(c[g].power));
			fragments = fmax(fragments, fabs(c[g].fragments));
		}
	for (size_t g = 0; g < p->k; g++) {
		const double score =
			alpha * c[g].power / power + (1 - alpha) * c[g].fragments / fragments;

		if (c[g].start_us <= first_us && score < least) {
			least = score;
			best = g;
		}
	}
	append(p, &at[best], best, job);
}

/* @return the plan's energy times the sum of completion times */
static double place_all(const struct hes_problem *p, struct place *at, struct candidate *c,
			double alpha)
{
	double energy_mj = 0, ends_us = 0;

	for (size_t g = 0; g < p->k; g++)
		at[g].n = 0;
	for (uint32_t i = 0; i < p->n; i++)
		place_job(p, at, c, i, alpha);
	for (size_t g = 0; g < p->k; g++) {
		energy_mj += at[g].n ? at[g].cost.energy_mj : 0;
		ends_us += at[g].n ? at[g].cost.ends_us : 0;
	}
	return energy_mj * ends_us;
}

static int decide(const struct hes_problem *p, struct place *at, struct candidate *c,
		  struct hes_plan *plan)
{
	double least = INFINITY, alpha = 0;
	int rc = 0;

	for (size_t i = 0; i < sizeof(alphas) / sizeof(alphas[0]); i++) {
		const double product = place_all(p, at, c, alphas[i]);

		if (product < least) {
			least = product;
			alpha = alphas[i];
		}
	}
	place_all(p, at, c, alpha);
	for (size_t g = 0; g < p->k && !rc; g++)
		rc = hes_compose_open(p, plan, g, at[g].items, at[g].n);
	return rc;
}

int hes_decide_pwr_shared(const struct hes_problem *p, struct hes_plan *plan)
{
	struct place *at = calloc(p->k + 1, sizeof(*at));
	struct candidate *c = calloc(p->k + 1, sizeof(*c));
	struct hes_timeline_item *items = calloc(p->k * p->n + 1, sizeof(*items));
	struct hes_timeline_times *times = calloc(p->k * p->n + 1, sizeof(*times));
	int rc = at && c && items && times ? 0 : -ENOMEM;

	for (size_t g = 0; g < p->k && !rc; g++) {
		at[g].items = &items[g * p->n];
		at[g].times = &times[g * p->n];
	}
	if (!rc)
		rc = decide(p, at, c, plan);
	free(at);
	free(c);
	free(items);
	free(times);
	return rc;
}
