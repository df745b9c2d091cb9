/*
 * interference.c - learn the constants of a GPU type in the closed form; see interference.h.
 */
#include "partition/interference.h"

#include <math.h>
#include <string.h>

#define MEASURED  0.06 /* error of the logarithm of a rate or a power by the closed form */
#define STEP      0.01 /* of a numeric derivative */
#define ROUNDS    4
#define REST      0.06 /* spread of work per watt before any co-run, */
#define REST_SETS 5    /* ... which counts as so many co-runs */

/*
 * V100: iGniter's pairs, of which the form without memory waits was fitted. H100: five pairs of
 * networks at equal shares. Other types may be like either.
 */
static const struct {
	const char *types; /* their names begin so */
	double mean[CO_CONSTANTS], sd[CO_CONSTANTS];
} priors[] = {
	{ "V100-", { 0, 0 }, { 0.1, 0.03 } },
	{ "H100-", { 0.65, 0.06 }, { 0.25, 0.05 } },
	{ "", { 0.35, 0.03 }, { 0.35, 0.05 } },
};

void interference_prior(const struct hes_gpu_type *g, struct interference *out)
{
	size_t i = 0;

	while (strncmp(g->name, priors[i].types, strlen(priors[i].types)) != 0)
		i++;
	memcpy(out->mean, priors[i].mean, sizeof(out->mean));
	memcpy(out->sd, priors[i].sd, sizeof(out->sd));
	out->rest = REST;
}

/* Logarithms of the composed rates, then of the power. */
static void compose_logs(struct co_run *r, const double *constant, double *out)
{
	memcpy(r->constant, constant, sizeof(r->constant));
	co_run_compose(r);
	for (size_t i = 0; i < r->n; i++)
		out[i] = log(r->rate[i]);
	out[r->n] = log(r->power_w);
}

/* One step of Gauss and Newton for one constant. @return its precision */
static double improve_constant(const struct interference *prior, struct interference *x, size_t k,
			       const struct co_set *sets, struct co_run *runs, size_t n)
{
	double weight = 1 / (prior->sd[k] * prior->sd[k]),
	       pull = (prior->mean[k] - x->mean[k]) * weight, moved[CO_CONSTANTS];

	memcpy(moved, x->mean, sizeof(moved));
	moved[k] += STEP;
	for (size_t s = 0; s < n; s++) {
		double at[HES_PARTITION_MAX_JOBS + 1], there[HES_PARTITION_MAX_JOBS + 1];

		compose_logs(&runs[s], moved, there);
		compose_logs(&runs[s], x->mean, at);
		for (size_t i = 0; i <= runs[s].n; i++) {
			double right = log(i < runs[s].n ? sets[s].rate[i] : sets[s].power_w),
			       slope = (there[i] - at[i]) / STEP / MEASURED;

			pull += slope * (right - at[i]) / MEASURED;
			weight += slope * slope;
		}
	}
	x->mean[k] += pull / weight;
	if (k == CO_MEMORY)
		x->mean[k] = fmax(x->mean[k], 0);
	return weight;
}

/* What is left of work per watt, with the constants in place. */
static double rest_of(const struct interference *x, const struct co_set *sets, struct co_run *runs,
		      size_t n)
{
	double squares = REST_SETS * REST * REST;

	for (size_t s = 0; s < n; s++) {
		double at[HES_PARTITION_MAX_JOBS + 1], work = 0, measured = 0;

		compose_logs(&runs[s], x->mean, at);
		for (size_t i = 0; i < runs[s].n; i++) {
			work += runs[s].rate[i] / runs[s].job[i].alone.rate;
			measured += sets[s].rate[i] / runs[s].job[i].alone.rate;
		}
		squares += pow(log(measured / sets[s].power_w) - log(work / runs[s].power_w), 2);
	}
	return sqrt(squares / (double)(REST_SETS + n));
}

void interference_learn(struct interference *x, const struct co_set *sets, struct co_run *runs,
			size_t n)
{
	const struct interference prior = *x;

	for (int round = 0; round < ROUNDS; round++)
		for (size_t k = 0; k < CO_CONSTANTS; k++)
			x->sd[k] = 1 / sqrt(improve_constant(&prior, x, k, sets, runs, n));
	x->rest = rest_of(x, sets, runs, n);
}
