/*
 * cmd_front.c - `heshare front`: the trade-offs between energy and average
 * completion time of assigning jobs to GPUs, from tables of run time and
 * energy, by one of several algorithms.
 */
#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/plural.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "plan/assign/algorithms.h"
#include "plan/assign/instance.h"

struct front_opts {
	const char *ref;
	const char *counts;
	const char *algorithm;
	uint64_t    population;
	uint64_t    generations;
	uint64_t    evaluations;
	double      mutation;
	const char *without;
	const char *tolerance;
	uint64_t    weights;
	uint64_t    seed;
	uint64_t    threads;
	bool        json;
	/* Of the options that only some algorithms read, what was given; NULL: the default. */
	struct {
		const char *population, *generations, *evaluations, *mutation, *without, *tolerance, *weights;
	} given;
};

#define MAX_TIME_S   1e10
#define MAX_ENERGY_J 1e15

/* What of HeShare's genetic algorithm can be left out. */
static const struct {
	const char *name;
	size_t      plain; /* of the bool in struct hes_algorithm_options */
} improvements[] = {
	{ "init", offsetof(struct hes_algorithm_options, plain_start) },
	{ "crossover", offsetof(struct hes_algorithm_options, plain_crossover) },
	{ "mutation", offsetof(struct hes_algorithm_options, plain_mutation) },
};
#define N_IMPROVEMENTS (sizeof(improvements) / sizeof(improvements[0]))

static void offer_improvements(opt_say_fn *say, void *ctx)
{
	for (size_t i = 0; i < N_IMPROVEMENTS; i++)
		say(improvements[i].name, ctx);
}

static void offer_algorithms(opt_say_fn *say, void *ctx)
{
	for (size_t i = 0; hes_algorithms[i]; i++)
		say(hes_algorithms[i]->name, ctx);
}

#define GIVEN(option) offsetof(struct front_opts, given.option)

static const struct opt front_opts[] = {
	{ .name = "ref", .kind = OPT_FILE, .offset = offsetof(struct front_opts, ref), .arg = "FILE",
	  .help = "reference point of the hypervolume: last line energy (J), average completion (s)" },
	{ .name = "counts", .kind = OPT_TEXT, .offset = offsetof(struct front_opts, counts), .arg = "LIST",
	  .help = "GPUs that each column stands for, commas between them; without it, one" },
	{ .name = "algorithm", .letter = 'a', .kind = OPT_CHOICE, .offset = offsetof(struct front_opts, algorithm),
	  .arg = "NAME", .def = "heshare", .offer = offer_algorithms, .help = "how to search" },
	{ .name = "population", .kind = OPT_U64, .offset = offsetof(struct front_opts, population), .given = GIVEN(population),
	  .arg = "N", .def = "50", .min = 4, .max = 100000, .help = "heshare, nsga2, spea2, moead: assignments alive, an even number" },
	{ .name = "generations", .kind = OPT_U64, .offset = offsetof(struct front_opts, generations), .given = GIVEN(generations),
	  .arg = "N", .def = "500", .max = 1e9, .help = "heshare, nsga2, spea2, moead: rounds of as many offspring" },
	{ .name = "evaluations", .kind = OPT_U64, .offset = offsetof(struct front_opts, evaluations), .given = GIVEN(evaluations),
	  .arg = "N", .def = "0", .max = 1e15,
	  .help = "heshare, nsga2, spea2, moead, joint: end where a round like the last would go beyond so many; 0: no limit. joint judges about so many moves; 0: 2e8" },
	{ .name = "mutation", .kind = OPT_DOUBLE, .offset = offsetof(struct front_opts, mutation), .given = GIVEN(mutation),
	  .arg = "P", .def = "0", .max = 1,
	  .help = "heshare, nsga2, spea2, moead: probability that a job is moved; 0: 0.1 for heshare, else two jobs on average" },
	{ .name = "without", .kind = OPT_TEXT, .offset = offsetof(struct front_opts, without), .given = GIVEN(without),
	  .arg = "LIST", .offer = offer_improvements, .many = true,
	  .help = "heshare: improvements that it shall do without, commas between them" },
	{ .name = "tolerance", .kind = OPT_TEXT, .offset = offsetof(struct front_opts, tolerance), .given = GIVEN(tolerance),
	  .arg = "PART", .def = "auto",
	  .help = "exact, auction, joint: exact stops when its hull may gain no more than this part of its box; 0: complete; auto: 1e-9 a job. "
		"auction splits no gap below it; auto: 0.002. joint: of the one that it goes on from" },
	{ .name = "weights", .kind = OPT_U64, .offset = offsetof(struct front_opts, weights), .given = GIVEN(weights), .arg = "N",
	  .def = "0", .max = 1e9, .help = "exact, auction, joint: stop after solving so many weights; 0: no limit" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, .offset = offsetof(struct front_opts, seed),
	  .arg = "S", .def = "1", .max = 0x1p64, .help = "of the search; exact, auction and joint draw no lots: all seeds give one front" },
	{ .name = "threads", .letter = 't', .kind = OPT_U64, .offset = offsetof(struct front_opts, threads),
	  .arg = "T", .def = "0", .max = 1024, .help = "0: one a processor; the front is the same" },
	{ .name = "json", .kind = OPT_FLAG, .offset = offsetof(struct front_opts, json),
	  .help = "one JSON document on standard output" },
	{ 0 }
};

struct tables {
	struct hes_matrix time_s, energy_j;
};

static void tables_free(struct tables *t)
{
	hes_matrix_free(&t->time_s);
	hes_matrix_free(&t->energy_j);
}

static int read_tables(char **paths, struct tables *t, struct hes_err *err)
{
	int rc = hes_matrix_read(paths[0], 0, MAX_TIME_S, &t->time_s, err);

	if (!rc)
		rc = hes_matrix_read(paths[1], 0, MAX_ENERGY_J, &t->energy_j, err);
	if (rc)
		return rc;
	if (t->time_s.rows != t->energy_j.rows || t->time_s.columns != t->energy_j.columns)
		return hes_fail(err, -EINVAL, "%s has %zu rows of %zu numbers, %s %zu of %zu; they must be of one shape",
				paths[0], t->time_s.rows, t->time_s.columns, paths[1], t->energy_j.rows,
				t->energy_j.columns);
	return 0;
}

/* The counts of a list "2500,2500,5000", one a column. */
static int parse_counts(const char *list, size_t columns, uint32_t **out, struct hes_err *err)
{
	uint32_t *counts = calloc(columns, sizeof(*counts));
	char *text = strdup(list), *rest, *one;
	size_t n = 0, gpus = 0;
	int rc = counts && text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	for (one = rc ? NULL : strtok_r(text, ",", &rest); one && !rc; one = strtok_r(NULL, ",", &rest), n++) {
		if (n == columns)
			rc = hes_fail(err, -EINVAL, "--counts: more numbers than the %zu columns", columns);
		else
			rc = hes_parse_u32("--counts", one, 1, HES_INSTANCE_MAX_GPUS, &counts[n], err);
		gpus += rc ? 0 : counts[n];
	}
	if (!rc && n < columns)
		rc = hes_fail(err, -EINVAL, "--counts: %zu numbers where there are %zu columns", n, columns);
	if (!rc && gpus > HES_INSTANCE_MAX_GPUS)
		rc = hes_fail(err, -E2BIG, "--counts: %zu GPUs are more than %d", gpus, HES_INSTANCE_MAX_GPUS);
	free(text);
	if (rc)
		free(counts);
	else
		*out = counts;
	return rc;
}

/* The reference point: the last line of a small CSV, which may have a header. */
static int read_reference(const char *path, size_t n_jobs, struct hes_objectives *out, struct hes_err *err)
{
	char *text, *line, *comma;
	size_t text_len;
	double energy_j = 0, jct_s = 0;
	int rc = hes_file_slurp(path, 4096, &text, &text_len, err);

	if (rc)
		return rc;
	for (size_t len = text_len; len && strchr(" \t\r\n", text[len - 1]); len--)
		text[len - 1] = '\0';
	line = strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
	comma = strchr(line, ',');
	if (comma)
		*comma++ = '\0';
	rc = comma ? 0 : hes_fail(err, -EINVAL, "the last line is not \"energy,average completion\"");
	if (!rc)
		rc = hes_parse_double("energy", line, 1e-9, MAX_ENERGY_J * 1e6, &energy_j, err);
	if (!rc)
		rc = hes_parse_double("average completion", comma, 1e-9, MAX_TIME_S * 1e6, &jct_s, err);
	free(text);
	if (rc)
		return hes_fail_in(err, "%s", path);
	*out = (struct hes_objectives){ energy_j * 1e3, jct_s * 1e6 * (double)n_jobs };
	return 0;
}

static int parse_without(const char *list, struct hes_algorithm_options *a, struct hes_err *err)
{
	char *text = strdup(list), *rest, *one;
	int rc = text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	for (one = rc ? NULL : strtok_r(text, ",", &rest); one && !rc; one = strtok_r(NULL, ",", &rest)) {
		size_t i = 0, at = 0;
		char all[64];

		while (i < N_IMPROVEMENTS && strcmp(one, improvements[i].name))
			i++;
		if (i < N_IMPROVEMENTS) {
			*(bool *)((char *)a + improvements[i].plain) = true;
			continue;
		}
		for (i = 0; i < N_IMPROVEMENTS && at < sizeof(all); i++)
			at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s", i ? ", " : "", improvements[i].name);
		rc = hes_fail(err, -EINVAL, "--without: no improvement \"%.40s\"; there are: %s", one, all);
	}
	free(text);
	return rc;
}

static int parse_tolerance(const char *text, double *out, struct hes_err *err)
{
	*out = hes_algorithm_defaults.tolerance;
	return strcmp(text, "auto") == 0 ? 0 : hes_parse_double("--tolerance", text, 0, 1, out, err);
}

/* An option that makes no difference was meant for another algorithm. @return 0; -EINVAL with those that read it */
static int check_read(const struct opt *option, const char *given, const struct hes_algorithm *algorithm, struct hes_err *err)
{
	char readers[128] = "";

	if (hes_algorithm_reads(algorithm, option->name))
		return 0;
	for (size_t i = 0, at = 0; hes_algorithms[i] && at < sizeof(readers); i++)
		if (hes_algorithm_reads(hes_algorithms[i], option->name))
			at += (size_t)snprintf(readers + at, sizeof(readers) - at, "%s%s", at ? ", " : "", hes_algorithms[i]->name);
	return hes_fail(err, -EINVAL, "--%s %.40s: algorithm %s has no such option; those that have it: %s", option->name, given,
			algorithm->name, readers);
}

static int check_options(const struct front_opts *o, const struct hes_algorithm *algorithm, struct hes_err *err)
{
	for (const struct opt *row = front_opts; row->name; row++) {
		const char *given = row->given ? *(const char *const *)((const char *)o + row->given) : NULL;

		if (given && check_read(row, given, algorithm, err))
			return -EINVAL;
	}
	return 0;
}

/* The algorithm and its options. @return 0 or negative errno: wrong usage */
static int choose(const struct front_opts *o, const struct hes_algorithm **algorithm,
		  struct hes_algorithm_options *a, struct hes_err *err)
{
	*algorithm = hes_algorithm_find(o->algorithm);
	if (check_options(o, *algorithm, err))
		return -EINVAL;
	if (o->population % 2)
		return hes_fail(err, -EINVAL, "--population: %" PRIu64 " is odd; parents come in pairs", o->population);
	*a = (struct hes_algorithm_options){
		.population = (uint32_t)o->population, .generations = (uint32_t)o->generations,
		.evaluations = o->evaluations, .mutation = o->mutation, .weights = (uint32_t)o->weights, .seed = o->seed,
		.threads = (uint32_t)(o->threads ? o->threads : (uint64_t)omp_get_max_threads()),
	};
	if (parse_tolerance(o->tolerance, &a->tolerance, err))
		return -EINVAL;
	return o->without ? parse_without(o->without, a, err) : 0;
}

/* What the search came to, as a person and a program read it. */
struct answer {
	const struct front_opts           *o;
	const struct hes_assign           *a;
	const struct hes_algorithm_result *found;
	const struct hes_objectives       *reference; /* NULL: none */
	uint32_t                           threads;
	double                             wall_s, cpu_s, hypervolume, bound; /* bound negative: none */
};

static double energy_j(const struct hes_assignment *x)
{
	return x->at.energy_mj * 1e-3;
}

static double avg_completion_s(const struct answer *w, const struct hes_assignment *x)
{
	return x->at.jct_us * 1e-6 / (double)w->a->n;
}

static int print_json(const struct answer *w)
{
	json_t *front = json_array();

	for (size_t i = 0; i < w->found->front.n; i++) {
		const struct hes_assignment *x = &w->found->front.v[i];

		json_array_append_new(front, json_pack("[f, f]", energy_j(x), avg_completion_s(w, x)));
	}
	return cli_print_json(json_pack(
		"{s:s, s:I, s:i, s:f, s:f, s:I, s:o, s:o, s:o}", "algorithm", w->o->algorithm, "seed", (json_int_t)w->o->seed,
		"threads", (int)w->threads, "wall_s", w->wall_s, "cpu_s", w->cpu_s, "evaluations", (json_int_t)w->found->evaluations,
		"hypervolume", w->reference ? json_real(w->hypervolume) : json_null(), "bound",
		w->bound >= 0 ? json_real(w->bound) : json_null(),
		"front", front));
}

#define ROWS_SHOWN 25 /* of a front, evenly spread */

static int print_text(const struct answer *w)
{
	const size_t n = w->found->front.n, shown = n < ROWS_SHOWN ? n : ROWS_SHOWN;

	printf("%zu job%s on %zu GPU%s of %zu type%s: %zu trade-off%s by %s in %.3f s\n", w->a->n, hes_s(w->a->n), w->a->k,
	       hes_s(w->a->k), w->a->n_types, hes_s(w->a->n_types), n, hes_s(n), w->o->algorithm, w->wall_s);
	if (w->reference)
		printf("hypervolume %.6f", w->hypervolume);
	if (w->bound >= 0)
		printf(", at most %.6f for any front", w->bound);
	if (w->reference)
		putchar('\n');
	printf("\n%16s %20s\n", "energy J", "avg completion s");
	for (size_t i = 0; i < shown; i++) {
		const struct hes_assignment *x = &w->found->front.v[shown > 1 ? i * (n - 1) / (shown - 1) : 0];

		printf("%16.1f %20.2f\n", energy_j(x), avg_completion_s(w, x));
	}
	if (shown < n)
		printf("(%zu of %zu; --json has them all)\n", shown, n);
	return 0;
}

static int hypervolume_of(struct answer *w, struct hes_err *err)
{
	struct hes_pareto p = { 0 };
	int rc = 0;

	for (size_t i = 0; i < w->found->front.n && rc >= 0; i++)
		rc = hes_pareto_insert(&p, &w->found->front.v[i].at, i);
	if (rc >= 0)
		w->hypervolume = hes_pareto_hypervolume(&p, w->reference);
	hes_pareto_free(&p);
	if (rc >= 0 && w->found->halfplanes) {
		w->bound = hes_halfplanes_bound(w->found->halfplanes, w->found->n_halfplanes, w->reference);
		rc = w->bound < 0 ? -ENOMEM : 0;
	}
	return rc < 0 ? hes_fail(err, rc, "out of memory") : 0;
}

static void warn_of_reference(const struct answer *w)
{
	const struct hes_assign_front *f = &w->found->front;

	fprintf(stderr, "heshare front: --ref %s: no trade-off is below both %.6g J and %.6g s, so the hypervolume is 0; "
		"the least are %.6g J and %.6g s\n", w->o->ref, w->reference->energy_mj * 1e-3,
		w->reference->jct_us * 1e-6 / (double)w->a->n, energy_j(&f->v[0]), avg_completion_s(w, &f->v[f->n - 1]));
}

static int search(const struct front_opts *o, const struct hes_algorithm *algorithm,
		  const struct hes_algorithm_options *ao, const struct hes_assign *a,
		  const struct hes_objectives *reference, struct hes_err *err)
{
	struct hes_algorithm_result found;
	struct answer w = { .o = o, .a = a, .found = &found, .reference = reference, .threads = ao->threads,
			    .bound = -1 };
	double start_s = hes_monotonic_s(), start_cpu_s = (double)hes_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9;
	int rc = algorithm->run(a, ao, &found);

	if (rc)
		return hes_fail(err, rc, "out of memory for %zu jobs on %zu GPUs", a->n, a->k);
	w.wall_s = hes_monotonic_s() - start_s;
	w.cpu_s = (double)hes_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9 - start_cpu_s;
	rc = reference ? hypervolume_of(&w, err) : 0;
	if (!rc && reference && w.hypervolume <= 0 && found.front.n)
		warn_of_reference(&w);
	if (!rc)
		rc = o->json ? print_json(&w) : print_text(&w);
	free(found.front.v);
	free(found.halfplanes);
	return rc;
}

static int run_on_files(const struct front_opts *o, char **paths, const struct hes_algorithm *algorithm,
			const struct hes_algorithm_options *ao, struct hes_err *err)
{
	struct tables t = { 0 };
	struct hes_instance in = { 0 };
	struct hes_objectives reference;
	uint32_t *counts = NULL;
	int rc = read_tables(paths, &t, err);

	if (!rc && o->counts)
		rc = parse_counts(o->counts, t.time_s.columns, &counts, err);
	if (!rc && o->ref)
		rc = read_reference(o->ref, t.time_s.rows, &reference, err);
	if (!rc)
		rc = hes_instance_init(&in, &t.time_s, &t.energy_j, counts, err);
	tables_free(&t);
	free(counts);
	if (!rc)
		rc = search(o, algorithm, ao, &in.a, o->ref ? &reference : NULL, err);
	hes_instance_finish(&in);
	return rc;
}

static int run_front(const void *opts, int n_args, char **args)
{
	const struct front_opts *o = opts;
	const struct hes_algorithm *algorithm;
	struct hes_algorithm_options ao;
	struct hes_err err;

	(void)n_args;
	if (choose(o, &algorithm, &ao, &err)) {
		cli_fail("front", &err);
		return 2;
	}
	return run_on_files(o, args, algorithm, &ao, &err) ? cli_fail("front", &err) : 0;
}

const struct command cmd_front = {
	.name = "front",
	.args = "TIME.csv ENERGY.csv",
	.min_args = 2,
	.max_args = 2,
	.summary = "trade-offs between energy and completion time of assigning jobs to GPUs",
	.text = "Each job runs alone on one GPU, each GPU's jobs shortest first. TIME.csv has a row a job and a\n"
		"column a GPU: seconds; ENERGY.csv the same: joules. No header; .gz is read as well; a field empty\n"
		"in both: the job cannot run there. GPUs with equal columns are of one type; --counts lets a\n"
		"column stand for many.\n\n"
		"exact finds the corners of the convex hull of all assignments, and with --ref the hypervolume\n"
		"that no front can exceed. What it has found when it stops holds: --tolerance and --weights say when.\n"
		"auction is for thousands of GPUs that all differ: a few weights, each solved to within half a\n"
		"percent, and the same kind of bound, a little higher. joint goes on from exact, or from auction\n"
		"where exact would take minutes: between neighbours it moves jobs, alone and in pairs, and keeps\n"
		"every trade-off that nothing dominates; --evaluations says how many such moves it judges.",
	.example = "  heshare front time.csv energy.csv --ref ref.csv --algorithm nsga2 --json",
	.opts = front_opts,
	.opts_size = sizeof(struct front_opts),
	.run = run_front,
};
