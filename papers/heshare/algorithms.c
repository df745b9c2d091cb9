/*
 * algorithms.c - the table of algorithms; see algorithms.h.
 */
#include "algorithms.h"

#include <stdlib.h>
#include <string.h>

#include "between.h"
#include "near.h"
#include "plan/assign/genetic.h"
#include "search.h"

#define MOST_EXACT      5e6  /* jobs times columns that joint has solved exactly */
#define TOLERANCE_A_JOB 1e-9 /* a complete front of n jobs has about as many points */

const struct hes_algorithm_options hes_algorithm_defaults = {
	.population = 50,
	.generations = 500,
	.seed = 1,
	.threads = 1,
	.tolerance = -1,
};

static int run_search(const struct hes_assign *a, const struct hes_algorithm_options *o,
		      struct search_options *s, hes_evolve_fn *search,
		      struct hes_algorithm_result *out)
{
	struct hes_algorithm_result found = { 0 };
	int rc;

	s->evolve = (struct hes_evolve_options){
		.population = o->population,
		.generations = o->generations,
		.evaluations = o->evaluations,
		.seed = o->seed,
		.threads = o->threads,
	};
	rc = search_assignments(a, s, search, &found.front, &found.evaluations);
	if (!rc)
		*out = found;
	return rc;
}

static int run_plain(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     hes_evolve_fn *search, struct hes_algorithm_result *out)
{
	struct search_options s = { .mutation = o->mutation > 0 ? o->mutation : 2 / (double)a->n };

	return run_search(a, o, &s, search, out);
}

static int run_nsga2(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     struct hes_algorithm_result *out)
{
	return run_plain(a, o, hes_nsga2, out);
}

static int run_spea2(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     struct hes_algorithm_result *out)
{
	return run_plain(a, o, paper_spea2, out);
}

static int run_moead(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     struct hes_algorithm_result *out)
{
	return run_plain(a, o, paper_moead, out);
}

static int run_heshare(const struct hes_assign *a, const struct hes_algorithm_options *o,
		       struct hes_algorithm_result *out)
{
	struct search_options s = {
		.mutation = o->plain_mutation ? 2 / (double)a->n
			    : o->mutation > 0 ? o->mutation
					      : hes_genetic_defaults.mutation,
		.ranked_start = !o->plain_start,
		.inherit = !o->plain_crossover,
		.migrate = !o->plain_mutation,
		.no_recovery = o->no_recovery,
	};

	return run_search(a, o, &s, hes_nsga2, out);
}

static int run_exact(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     struct hes_algorithm_result *out)
{
	const double tolerance = o->tolerance >= 0 ? o->tolerance : TOLERANCE_A_JOB * (double)a->n;
	const struct hes_exact_options e = { tolerance, o->weights };
	struct hes_exact_front found;
	int rc = hes_exact_run(a, &e, &found);

	if (!rc)
		*out = (struct hes_algorithm_result){ found.front, found.solves, found.halfplanes,
						      found.n_halfplanes };
	return rc;
}

static int run_auction(const struct hes_assign *a, const struct hes_algorithm_options *o,
		       struct hes_algorithm_result *out)
{
	struct hes_near_options n = hes_near_defaults;
	struct hes_exact_front found;
	int rc;

	n.tolerance = o->tolerance >= 0 ? o->tolerance : n.tolerance;
	n.weights = o->weights;
	n.threads = o->threads;
	rc = hes_near_run(a, &n, &found);
	if (!rc)
		*out = (struct hes_algorithm_result){ found.front, found.solves, found.halfplanes,
						      found.n_halfplanes };
	return rc;
}

/* Whether exact would take minutes: a weight takes it time in proportion to jobs times columns, and
 * more. */
static bool is_large(const struct hes_assign *a)
{
	return (double)a->n * (double)a->n_types * (double)(a->n / a->k + 1) > MOST_EXACT;
}

static int run_joint(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     struct hes_algorithm_result *out)
{
	const struct hes_between_options b = { o->evaluations, o->threads };
	struct hes_algorithm_result found;
	uint64_t evaluations;
	int rc = is_large(a) ? run_auction(a, o, &found) : run_exact(a, o, &found);

	if (rc)
		return rc;
	rc = hes_between_search(a, &b, &found.front, &evaluations);
	found.evaluations += evaluations;
	if (rc) {
		free(found.front.v);
		free(found.halfplanes);
		return rc;
	}
	*out = found;
	return 0;
}

const struct hes_algorithm hes_algorithms[] = {
	{ "heshare", "the paper's genetic algorithm", run_heshare },
	{ "nsga2", "NSGA-II with plain operators", run_nsga2 },
	{ "spea2", "SPEA2 with plain operators", run_spea2 },
	{ "moead", "MOEA/D with plain operators", run_moead },
	{ "exact", "the supported front, exactly, with a bound on every front", run_exact },
	{ "auction", "near the supported front, with a bound: for thousands of different GPUs",
	  run_auction },
	{ "joint", "the supported front and what lies between its points", run_joint },
	{ 0 }
};

const struct hes_algorithm *hes_algorithm_find(const char *name)
{
	for (const struct hes_algorithm *a = hes_algorithms; a->name; a++)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}
