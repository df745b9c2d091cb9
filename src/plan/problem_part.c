/*
 * problem_part.c - a part of a problem as a problem of its own; see problem.h.
 */
#include "plan/problem.h"

#include <errno.h>
#include <stdlib.h>

/* Numbers for those of @used that are true, in their order. @return how many */
static size_t renumber(const bool *used, size_t n, uint32_t *number_of, uint32_t *old)
{
	size_t next = 0;

	for (size_t i = 0; i < n; i++) {
		if (!used[i])
			continue;
		old[next] = (uint32_t)i;
		number_of[i] = (uint32_t)next++;
	}
	return next;
}

/* Which kinds and types a part has. */
struct contents {
	bool     *has;       /* [kinds, then types] */
	uint32_t *number_of; /* in the part, likewise; */
	uint32_t *old;       /* and in the whole */
	size_t    n_kinds, n_types;
};

static int find_contents(const struct hes_problem *whole, const struct hes_problem *part, struct contents *c)
{
	const size_t room = whole->n_kinds + whole->n_types + 1;

	*c = (struct contents){ calloc(room, sizeof(*c->has)), calloc(room, sizeof(*c->number_of)), calloc(room, sizeof(*c->old)), 0, 0 };
	if (!c->has || !c->number_of || !c->old)
		return -ENOMEM;
	for (size_t i = 0; i < part->n_jobs; i++)
		c->has[part->jobs[i].kind] = true;
	for (size_t g = 0; g < part->k; g++)
		c->has[whole->n_kinds + part->gpus[g].type] = true;
	c->n_kinds = renumber(c->has, whole->n_kinds, c->number_of, c->old);
	c->n_types = renumber(c->has + whole->n_kinds, whole->n_types, c->number_of + whole->n_kinds, c->old + whole->n_kinds);
	return 0;
}

static void take_part(struct hes_problem *part, const struct hes_problem *whole, const uint32_t *jobs, const uint32_t *gpus)
{
	size_t running = 0;

	for (size_t i = 0; i < part->n; i++)
		part->jobs[i] = whole->jobs[jobs[i]];
	for (size_t g = 0; g < part->k; g++) {
		part->gpus[g] = whole->gpus[gpus[g]];
		for (size_t i = whole->first_running[gpus[g]]; i < whole->first_running[gpus[g] + 1]; i++) {
			part->jobs[part->n + running] = whole->jobs[whole->running[i].at];
			part->running[running] = whole->running[i];
			part->running[running].at = (uint32_t)(part->n + running);
			running++;
		}
		part->first_running[g + 1] = running;
	}
}

/* Tables of the part's own kinds and types. @return 0 or -ENOMEM */
static int cut_tables(struct hes_problem *part, const struct hes_problem *whole, const struct contents *c, const uint32_t *jobs)
{
	const uint32_t *kinds = c->old, *types = c->old + whole->n_kinds;

	part->n_kinds = part->n_kinds_now = c->n_kinds;
	part->n_types = c->n_types;
	part->types = calloc(c->n_types + 1, sizeof(*part->types));
	part->shares_pct = calloc(c->n_types + 1, sizeof(*part->shares_pct));
	part->solo = calloc(c->n_types * c->n_kinds + 1, sizeof(*part->solo));
	part->cost = calloc(c->n_types * part->n + 1, sizeof(*part->cost));
	if (!part->types || !part->shares_pct || !part->solo || !part->cost)
		return -ENOMEM;
	for (size_t t = 0; t < c->n_types; t++) {
		part->types[t] = whole->types[types[t]];
		part->shares_pct[t] = whole->shares_pct[types[t]];
		for (size_t i = 0; i < c->n_kinds; i++)
			part->solo[t * c->n_kinds + i] = whole->solo[types[t] * whole->n_kinds + kinds[i]];
		for (size_t i = 0; i < part->n; i++)
			part->cost[t * part->n + i] = whole->cost[types[t] * whole->n + jobs[i]];
	}
	for (size_t i = 0; i < part->n_jobs; i++)
		part->jobs[i].kind = c->number_of[part->jobs[i].kind];
	for (size_t g = 0; g < part->k; g++)
		part->gpus[g].type = c->number_of[whole->n_kinds + part->gpus[g].type];
	part->rates = hes_rates_new(part->request->predictor, part->types, part->solo, part->n_kinds);
	return part->rates ? 0 : -ENOMEM;
}

int hes_problem_part(struct hes_problem *part, const struct hes_problem *whole, const uint32_t *jobs, size_t n, const uint32_t *gpus,
		     size_t k)
{
	struct contents c = { 0 };
	size_t running = 0;
	int rc;

	for (size_t g = 0; g < k; g++)
		running += whole->first_running[gpus[g] + 1] - whole->first_running[gpus[g]];
	*part = (struct hes_problem){
		.request = whole->request, .n = n, .k = k, .n_running = running, .n_jobs = n + running, .room = n + running,
		.from_us = whole->from_us, .counts_running = whole->counts_running,
		.jobs = calloc(n + running + 1, sizeof(*part->jobs)), .running = calloc(running + 1, sizeof(*part->running)),
		.first_running = calloc(k + 1, sizeof(*part->first_running)), .gpus = calloc(k + 1, sizeof(*part->gpus)),
	};
	rc = part->jobs && part->running && part->first_running && part->gpus ? 0 : -ENOMEM;
	if (!rc) {
		take_part(part, whole, jobs, gpus);
		rc = find_contents(whole, part, &c);
	}
	if (!rc)
		rc = cut_tables(part, whole, &c, jobs);
	free(c.has);
	free(c.number_of);
	free(c.old);
	if (rc)
		hes_problem_finish(part);
	return rc;
}
