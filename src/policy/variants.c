/*
 * variants.c - order and GPU of the jobs by a variant's rule; see decide.h.
 *
 * Jobs are placed one after the other. A rule knows how much work each GPU has so far, as if it ran
 * its jobs one by one.
 */
#include "policy/decide.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rule {
	const char *name;
	bool shortest_first; /* else first come first served */
	double (*dislike)(double queued_us, const struct hes_cost *alone);
};

static double finish_us(double queued_us, const struct hes_cost *alone)
{
	return queued_us + alone->time_us;
}

static double queued_work_us(double queued_us, const struct hes_cost *alone)
{
	(void)alone;
	return queued_us;
}

static double finish_by_energy(double queued_us, const struct hes_cost *alone)
{
	return (queued_us + alone->time_us) * alone->energy_mj;
}

static const struct rule rules[] = {
	{ "eft", false, finish_us },
	{ "least", false, queued_work_us },
	{ "edp-sjf", true, finish_by_energy },
};

static const struct rule *find_rule(const char *name)
{
	const struct rule *r = rules;

	while (strcmp(r->name, name) != 0)
		r++;
	return r;
}

struct hes_cost hes_alone_at_default(const struct hes_problem *p, size_t job, uint32_t type)
{
	return p->cost[type * p->n + job];
}

struct timed_job {
	double least_us; /* over the types */
	uint32_t job;
};

static int shorter(const void *a, const void *b)
{
	const struct timed_job *x = a, *y = b;

	if (x->least_us != y->least_us)
		return x->least_us < y->least_us ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

bool hes_variant_is_shortest_first(const char *variant)
{
	return *variant && find_rule(variant)->shortest_first;
}

double hes_variant_least_us(const struct hes_problem *p, hes_alone_fn *alone, size_t job)
{
	double least_us = INFINITY;

	for (uint32_t t = 0; t < p->n_types; t++)
		if (hes_problem_runs(p, job, t))
			least_us = fmin(least_us, alone(p, job, t).time_us);
	return least_us;
}

static void sort_jobs(const struct hes_problem *p, hes_alone_fn *alone, struct timed_job *order)
{
	for (size_t i = 0; i < p->n; i++)
		order[i].least_us = hes_variant_least_us(p, alone, i);
	qsort(order, p->n, sizeof(*order), shorter);
}

/* The least disliked GPU, of several the one that runs the job fastest. @param alone  [n_types] */
static size_t choose_gpu(const struct hes_problem *p, const struct rule *rule,
			 const double *queued_us, size_t job, const struct hes_cost *alone)
{
	size_t best = SIZE_MAX;
	double least = INFINITY;

	for (size_t g = 0; g < p->k; g++) {
		const struct hes_cost *c = &alone[p->gpus[g].type];
		double value;

		if (!hes_problem_runs(p, job, p->gpus[g].type))
			continue;
		value = rule->dislike(queued_us[g], c);
		if (best == SIZE_MAX || value < least ||
		    (value <= least && c->time_us < alone[p->gpus[best].type].time_us)) {
			best = g;
			least = value;
		}
	}
	return best;
}

static void place_all(const struct hes_problem *p, const struct rule *rule, hes_alone_fn *alone,
		      const struct timed_job *order, double *queued_us, struct hes_cost *of_type,
		      struct hes_placed *out)
{
	for (size_t g = 0; g < p->k; g++)
		queued_us[g] = p->gpus[g].wait_us;
	for (size_t i = 0; i < p->n; i++) {
		const uint32_t job = order[i].job;
		size_t gpu;

		for (uint32_t t = 0; t < p->n_types; t++)
			if (hes_problem_runs(p, job, t))
				of_type[t] = alone(p, job, t);
		gpu = choose_gpu(p, rule, queued_us, job, of_type);
		queued_us[gpu] += of_type[p->gpus[gpu].type].time_us;
		out[i] = (struct hes_placed){ job, (uint32_t)gpu };
	}
}

int hes_place_by_variant(const struct hes_problem *p, hes_alone_fn *alone, struct hes_placed *out)
{
	const struct rule *rule = find_rule(p->request->prefer);
	struct timed_job *order = calloc(p->n + 1, sizeof(*order));
	double *queued_us = calloc(p->k + 1, sizeof(*queued_us));
	struct hes_cost *of_type = calloc(p->n_types + 1, sizeof(*of_type));
	int rc = order && queued_us && of_type ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->n && !rc; i++)
		order[i].job = (uint32_t)i;
	if (!rc && rule->shortest_first)
		sort_jobs(p, alone, order);
	if (!rc)
		place_all(p, rule, alone, order, queued_us, of_type, out);
	free(order);
	free(queued_us);
	free(of_type);
	return rc;
}
