/*
 * front.c - the trade-offs between energy and average completion time of assigning jobs to GPUs, by
 * one of several algorithms, from two tables. Prints one JSON document. README.md describes the
 * files and the output.
 */
#include <errno.h>
#include <jansson.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "instance.h"
#include "usage.h"

#define MAX_TIME_S   1e10
#define MAX_ENERGY_J 1e15

struct front_opts {
	const char *ref, *counts, *usage, *algorithm, *without;
	uint64_t population, generations, evaluations, weights, seed, threads;
	double mutation, tolerance;
};

static void offer_algorithms(opt_say_fn *say, void *ctx)
{
	for (const struct hes_algorithm *a = hes_algorithms; a->name; a++)
		say(a->name, ctx);
}

/* clang-format off */
static const struct opt front_opts[] = {
	{ .name = "ref", .kind = OPT_FILE, .offset = offsetof(struct front_opts, ref),
	  .arg = "FILE",
	  .help = "reference point of the hypervolume: last line energy (J), average completion "
		  "(s)" },
	{ .name = "counts", .kind = OPT_TEXT, .offset = offsetof(struct front_opts, counts),
	  .arg = "LIST",
	  .help = "number of GPUs in each column, with commas; default one" },
	{ .name = "usage", .kind = OPT_FILE, .offset = offsetof(struct front_opts, usage),
	  .arg = "FILE",
	  .help = "heshare: recovery compares jobs by these parts of SMs, bandwidth and memory, "
		  "three columns for each of TIME.csv, and not by their run times" },
	{ .name = "algorithm", .letter = 'a', .kind = OPT_CHOICE,
	  .offset = offsetof(struct front_opts, algorithm), .arg = "NAME", .def = "heshare",
	  .offer = offer_algorithms,
	  .help = "heshare, nsga2, spea2, moead, exact, auction or joint" },
	{ .name = "population", .kind = OPT_U64, .offset = offsetof(struct front_opts, population),
	  .arg = "N", .def = "50", .min = 4, .max = 100000,
	  .help = "evolutionary algorithms: assignments alive, even" },
	{ .name = "generations", .kind = OPT_U64, .offset = offsetof(struct front_opts,
	  generations), .arg = "N", .def = "500", .max = 1e9,
	  .help = "evolutionary algorithms: generations" },
	{ .name = "evaluations", .kind = OPT_U64, .offset = offsetof(struct front_opts,
	  evaluations), .arg = "N", .def = "0", .max = 1e15,
	  .help = "evolutionary algorithms: limit, 0: none; joint: moves tried, 0: 2e8" },
	{ .name = "mutation", .kind = OPT_DOUBLE, .offset = offsetof(struct front_opts, mutation),
	  .arg = "P", .def = "0", .max = 1,
	  .help = "probability that a job moves; 0: 0.1 for heshare, else two jobs on average" },
	{ .name = "without", .kind = OPT_TEXT, .offset = offsetof(struct front_opts, without),
	  .arg = "LIST",
	  .help = "heshare: leave out init, crossover, mutation, recovery (of mutation), with "
		  "commas" },
	{ .name = "tolerance", .kind = OPT_DOUBLE, .offset = offsetof(struct front_opts, tolerance),
	  .arg = "PART", .def = "-1", .min = -1, .max = 1,
	  .help = "exact: stop when the hull can gain less, as a part of its box; auction: do not "
		  "split smaller gaps; -1: 1e-9 per job, 0.002" },
	{ .name = "weights", .kind = OPT_U64, .offset = offsetof(struct front_opts, weights),
	  .arg = "N", .def = "0", .max = 1e9,
	  .help = "exact, auction, joint: stop after N weights; 0: no limit" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, .offset = offsetof(struct front_opts,
	  seed), .arg = "S", .def = "1", .max = 0x1p64,
	  .help = "evolutionary algorithms: random seed" },
	{ .name = "threads", .letter = 't', .kind = OPT_U64, .offset = offsetof(struct front_opts,
	  threads), .arg = "T", .def = "0", .max = 1024,
	  .help = "0: one per processor; the front does not depend on it" },
	{ 0 }
};
/* clang-format on */

static int read_tables(char **paths, struct hes_matrix *time_s, struct hes_matrix *energy_j,
		       struct hes_err *err)
{
	int rc = hes_matrix_read(paths[0], 0, MAX_TIME_S, time_s, err);

	if (!rc)
		rc = hes_matrix_read(paths[1], 0, MAX_ENERGY_J, energy_j, err);
	if (!rc && (time_s->rows != energy_j->rows || time_s->columns != energy_j->columns))
		rc = hes_fail(
			err, -EINVAL,
			"%s has %zu rows of %zu numbers, %s %zu of %zu; they must have one shape",
			paths[0], time_s->rows, time_s->columns, paths[1], energy_j->rows,
			energy_j->columns);
	return rc;
}

/* "2500,2500,5000": one number for each column. */
static int parse_counts(const char *list, size_t columns, uint32_t **out, struct hes_err *err)
{
	uint32_t *counts = calloc(columns + 1, sizeof(*counts));
	char *text = strdup(list), *rest = text, *one;
	size_t n = 0, gpus = 0;
	int rc = counts && text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	while (!rc && n < columns && (one = strsep(&rest, ","))) {
		rc = hes_parse_u32("--counts", one, 1, HES_INSTANCE_MAX_GPUS, &counts[n], err);
		gpus += counts[n++];
	}
	if (!rc && (n < columns || rest))
		rc = hes_fail(err, -EINVAL, "--counts: give %zu numbers, one for each column",
			      columns);
	if (!rc && gpus > HES_INSTANCE_MAX_GPUS)
		rc = hes_fail(err, -E2BIG, "--counts: %zu GPUs are more than %d", gpus,
			      HES_INSTANCE_MAX_GPUS);
	free(text);
	*out = counts;
	return rc;
}

/* The last line of a small CSV file, which may have a header. */
static int read_reference(const char *path, size_t n_jobs, struct hes_objectives *out,
			  struct hes_err *err)
{
	char *text, *line, *comma;
	size_t len;
	double energy_j = 0, jct_s = 0;
	int rc = hes_file_slurp(path, 4096, &text, &len, err);

	if (rc)
		return rc;
	while (len && strchr(" \t\r\n", text[len - 1]))
		text[--len] = '\0';
	line = strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
	comma = strchr(line, ',');
	if (comma)
		*comma++ = '\0';
	rc = comma ? 0
		   : hes_fail(err, -EINVAL, "the last line is not \"energy,average completion\"");
	if (!rc)
		rc = hes_parse_double("energy", line, 1e-9, MAX_ENERGY_J * 1e6, &energy_j, err);
	if (!rc)
		rc = hes_parse_double("average completion", comma, 1e-9, MAX_TIME_S * 1e6, &jct_s,
				      err);
	free(text);
	*out = (struct hes_objectives){ energy_j * 1e3, jct_s * 1e6 * (double)n_jobs };
	return rc ? hes_fail_in(err, "%s", path) : 0;
}

static int parse_without(const char *list, struct hes_algorithm_options *a, struct hes_err *err)
{
	char *text = strdup(list), *rest = text, *one;
	int rc = text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	while (!rc && (one = strsep(&rest, ",")))
		if (strcmp(one, "init") == 0)
			a->plain_start = true;
		else if (strcmp(one, "crossover") == 0)
			a->plain_crossover = true;
		else if (strcmp(one, "mutation") == 0)
			a->plain_mutation = true;
		else if (strcmp(one, "recovery") == 0)
			a->no_recovery = true;
		else
			rc = hes_fail(
				err, -EINVAL,
				"--without: \"%.40s\" is not init, crossover, mutation or recovery",
				one);
	free(text);
	return rc;
}

static int parse_options(const struct front_opts *o, struct hes_algorithm_options *a,
			 struct hes_err *err)
{
	if (o->population % 2)
		return hes_fail(err, -EINVAL, "--population: an odd number; parents come in pairs");
	*a = (struct hes_algorithm_options){
		.population = (uint32_t)o->population,
		.generations = (uint32_t)o->generations,
		.evaluations = o->evaluations,
		.mutation = o->mutation,
		.weights = (uint32_t)o->weights,
		.seed = o->seed,
		.threads = (uint32_t)(o->threads ? o->threads : (uint64_t)omp_get_max_threads()),
		.tolerance = o->tolerance,
	};
	return o->without ? parse_without(o->without, a, err) : 0;
}

/* Hypervolume of a front, and the most that any front has; negative: not known. @return 0 or
 * -ENOMEM */
static int measure(const struct hes_algorithm_result *found, const struct hes_objectives *reference,
		   double *hypervolume, double *bound)
{
	struct hes_pareto p = { 0 };
	int rc = 0;

	for (size_t i = 0; i < found->front.n && rc >= 0; i++)
		rc = hes_pareto_insert(&p, &found->front.v[i].at, i);
	*hypervolume = hes_pareto_hypervolume(&p, reference);
	hes_pareto_free(&p);
	*bound = -1;
	if (rc >= 0 && found->halfplanes) {
		*bound = hes_halfplanes_bound(found->halfplanes, found->n_halfplanes, reference);
		rc = *bound < 0 ? -ENOMEM : 0;
	}
	return rc < 0 ? rc : 0;
}

static json_t *front_json(const struct hes_assign_front *f, size_t n_jobs)
{
	json_t *front = json_array();

	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(front, json_pack("[f, f]", f->v[i].at.energy_mj * 1e-3,
						       f->v[i].at.jct_us * 1e-6 / (double)n_jobs));
	return front;
}

static int search(const struct front_opts *o, const struct hes_algorithm_options *ao,
		  const struct hes_assign *a, const struct hes_objectives *reference,
		  struct hes_err *err)
{
	struct hes_algorithm_result found;
	const int64_t start_ns = hes_clock_ns(CLOCK_MONOTONIC),
		      start_cpu_ns = hes_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int rc = hes_algorithm_find(o->algorithm)->run(a, ao, &found);
	const double wall_s = (double)(hes_clock_ns(CLOCK_MONOTONIC) - start_ns) * 1e-9;
	const double cpu_s = (double)(hes_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_ns) * 1e-9;
	double hypervolume = -1, bound = -1;
	json_t *doc;

	if (rc)
		return hes_fail(err, rc, "out of memory for %zu jobs on %zu GPUs", a->n, a->k);
	if (reference)
		rc = measure(&found, reference, &hypervolume, &bound);
	doc = rc ? NULL
		 : json_pack("{s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:f, s:f, s:I, s:o, s:o, s:o}",
			     "algorithm", o->algorithm, "seed", (json_int_t)o->seed, "threads",
			     (json_int_t)ao->threads, "jobs", (int)a->n, "gpus", (int)a->k, "types",
			     (int)a->n_types, "trade_offs", (int)found.front.n, "wall_s", wall_s,
			     "cpu_s", cpu_s, "evaluations", (json_int_t)found.evaluations,
			     "hypervolume", hypervolume < 0 ? json_null() : json_real(hypervolume),
			     "bound", bound < 0 ? json_null() : json_real(bound), "front",
			     front_json(&found.front, a->n));
	if (!doc || json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) ||
	    putchar('\n') == EOF)
		rc = hes_fail(err, -EIO, "cannot write JSON to standard output");
	json_decref(doc);
	free(found.front.v);
	free(found.halfplanes);
	return rc;
}

static int read_usage(const char *path, const uint32_t *counts, struct hes_instance *in,
		      struct hes_err *err)
{
	struct hes_matrix usage = { 0 };
	int rc = hes_matrix_read(path, 0, 1, &usage, err);

	if (!rc) {
		rc = hes_instance_set_usage(in, &usage, counts, err);
		rc = rc ? hes_fail_in(err, "%s", path) : 0;
	}
	hes_matrix_free(&usage);
	return rc;
}

static int run_on_files(const struct front_opts *o, char **paths,
			const struct hes_algorithm_options *ao, struct hes_err *err)
{
	struct hes_matrix time_s = { 0 }, energy_j = { 0 };
	struct hes_instance in = { 0 };
	struct hes_objectives reference;
	uint32_t *counts = NULL;
	int rc = read_tables(paths, &time_s, &energy_j, err);

	if (!rc && o->counts)
		rc = parse_counts(o->counts, time_s.columns, &counts, err);
	if (!rc && o->ref)
		rc = read_reference(o->ref, time_s.rows, &reference, err);
	if (!rc)
		rc = hes_instance_init(&in, &time_s, &energy_j, counts, err);
	hes_matrix_free(&time_s);
	hes_matrix_free(&energy_j);
	if (!rc && o->usage)
		rc = read_usage(o->usage, counts, &in, err);
	free(counts);
	if (!rc)
		rc = search(o, ao, &in.a, o->ref ? &reference : NULL, err);
	hes_instance_finish(&in);
	return rc;
}

static const struct command program = {
	.name = "front",
	.args = "TIME.csv ENERGY.csv",
	.min_args = 2,
	.max_args = 2,
	.summary = "Trade-offs between energy and completion time of assigning jobs to GPUs: a row "
		   "for each job,\n"
		   "a column for each GPU, seconds in TIME.csv, joules in ENERGY.csv.",
	.opts = front_opts,
	.opts_size = sizeof(struct front_opts),
};

int main(int argc, char **argv)
{
	struct front_opts o = { 0 };
	struct hes_algorithm_options ao;
	struct hes_err err;
	int status;

	if (usage_parse(&program, argc, argv, &o, &status) < 0)
		return status;
	if (parse_options(&o, &ao, &err)) {
		fprintf(stderr, "front: %s\n", err.msg);
		return 2;
	}
	if (!run_on_files(&o, argv + 1, &ao, &err))
		return 0;
	fprintf(stderr, "front: %s\n", err.msg);
	return 1;
}
