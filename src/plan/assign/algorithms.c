/*
 * algorithms.c - the table of algorithms; see algorithms.h.
 */
#include "plan/assign/algorithms.h"

#include <stdlib.h>
#include <string.h>

#include "plan/assign/assign_search.h"
#include "plan/assign/between.h"
#include "plan/assign/genetic.h"
#include "plan/assign/near.h"

#define MOST_EXACT      5e6  /* jobs times columns that joint has solved exactly */
#define TOLERANCE_A_JOB 1e-9 /* a complete front of n jobs has about as many points */

const struct hes_algorithm_options hes_algorithm_defaults = {
	.population = 50, .generations = 500, .seed = 1, .threads = 1, .tolerance = -1,
};

static int run_plain(const struct hes_assign *a, const struct hes_algorithm_options *o, hes_evolve_fn *search,
		     struct hes_algorithm_result *out)
{
	const struct hes_evolve_options e = {
		.population = o->population, .generations = o->generations, .evaluations = o->evaluations,
		.seed = o->seed, .threads = o->threads,
	};
	struct hes_assign_search s;
	struct hes_algorithm_result found = { 0 };
	int rc = hes_assign_search_init(&s, a);

	if (rc)
		return rc;
	s.crossover = 0.9;
	s.mutation_gap = hes_mutation_gap(o->mutation > 0 ? o->mutation : 2 / (double)a->n);
	rc = hes_assign_search_run(&s, search, &e, &found.front, &found.evaluations);
	if (!rc)
		*out = found;
	hes_assign_search_finish(&s);
	return rc;
}

static int run_nsga2(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     struct hes_algorithm_result *out)
{
	return run_plain(a, o, hes_nsga2, out);
}

static int run_spea2(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     struct hes_algorithm_result *out)
{
	return run_plain(a, o, hes_spea2, out);
}

static int run_moead(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     struct hes_algorithm_result *out)
{
	return run_plain(a, o, hes_moead, out);
}

static int run_heshare(const struct hes_assign *a, const struct hes_algorithm_options *o,
		       struct hes_algorithm_result *out)
{
	const struct hes_genetic_options g = {
		.population = o->population, .generations = o->generations, .evaluations = o->evaluations,
		.seed = o->seed, .threads = o->threads,
		.mutation = o->mutation > 0 ? o->mutation : hes_genetic_defaults.mutation,
		.plain_start = o->plain_start, .plain_crossover = o->plain_crossover,
		.plain_mutation = o->plain_mutation,
	};
	struct hes_algorithm_result found = { 0 };
	int rc = hes_genetic_run(a, &g, &found.front, &found.evaluations);

	if (!rc)
		*out = found;
	return rc;
}

static int run_exact(const struct hes_assign *a, const struct hes_algorithm_options *o,
		     struct hes_algorithm_result *out)
{
	const double tolerance = o->tolerance >= 0 ? o->tolerance : TOLERANCE_A_JOB * (double)a->n;
	const struct hes_exact_options e = { tolerance, o->weights };
	struct hes_exact_front found;
	int rc = hes_exact_run(a, &e, &found);

	if (!rc)
		*out = (struct hes_algorithm_result){ found.front, found.solves, found.halfplanes, found.n_halfplanes };
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
		*out = (struct hes_algorithm_result){ found.front, found.solves, found.halfplanes, found.n_halfplanes };
	return rc;
}

/* Whether exact would take minutes: a weight takes it time in proportion to jobs times columns, and more. */
static bool is_large(const struct hes_assign *a)
{
	return (double)a->n * (double)a->n_types * (double)(a->n / a->k + 1) > MOST_EXACT;
}

static int run_joint(const struct hes_assign *a, const struct hes_algorithm_options *o, struct hes_algorithm_result *out)
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

static const struct hes_algorithm heshare = {
	"heshare", "the paper's genetic algorithm: ranked start, inherited segments, priority mutation",
	{ "population", "generations", "evaluations", "mutation", "without" }, run_heshare,
};
static const struct hes_algorithm nsga2 = {
	"nsga2", "NSGA-II with plain operators", { "population", "generations", "evaluations", "mutation" }, run_nsga2,
};
static const struct hes_algorithm spea2 = {
	"spea2", "SPEA2 with plain operators", { "population", "generations", "evaluations", "mutation" }, run_spea2,
};
static const struct hes_algorithm moead = {
	"moead", "MOEA/D with plain operators", { "population", "generations", "evaluations", "mutation" }, run_moead,
};
static const struct hes_algorithm exact = {
	"exact", "the supported front, exactly, with a bound on every front", { "tolerance", "weights" }, run_exact,
};
static const struct hes_algorithm auction = {
	"auction", "near the supported front, with a bound: for GPUs that all differ, by the thousand", { "tolerance", "weights" }, run_auction,
};
static const struct hes_algorithm joint = {
	"joint", "the supported front and what lies between its points", { "evaluations", "tolerance", "weights" }, run_joint,
};

const struct hes_algorithm *const hes_algorithms[] = { &heshare, &nsga2, &spea2, &moead, &exact, &auction, &joint, NULL };

const struct hes_algorithm *hes_algorithm_find(const char *name)
{
	for (size_t i = 0; hes_algorithms[i]; i++)
		if (strcmp(hes_algorithms[i]->name, name) == 0)
			return hes_algorithms[i];
	return NULL;
}

bool hes_algorithm_reads(const struct hes_algorithm *algorithm, const char *option)
{
	for (size_t i = 0; i < HES_ALGORITHM_MAX_READS && algorithm->reads[i]; i++)
		if (strcmp(algorithm->reads[i], option) == 0)
			return true;
	return false;
}
