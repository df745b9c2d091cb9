/*
 * learners.c - fit one of heshare's regressors to any CSV of numbers, print its errors on other
 * rows and its speed.
 *
 * table5.py and compare.py compare it with the learners of other libraries. Exit status: 0; 1 it
 * failed; 2 wrong usage.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/rng.h"
#include "../number_table.h"
#include "paper_regressor.h"
#include "predict/accuracy.h"
#include "usage.h"

#define MAX_COLUMNS (PAPER_MAX_FEATURES + ENSEMBLE_OUTPUTS)
#define PASSES      5
#define CALLS       1000 /* predictions of one row in a pass */

struct options {
	const char *target, *ignore, *test, *output, *model;
	uint64_t trees, seed, threads, features, min_leaf, max_depth, leaves;
	double learning_rate, row_pct, validate_pct;
};

/* By enum paper_learner. */
static const char *const models[] = { "rf", "et", "gbdt", "tree", "linear", NULL };

#define AT(member) offsetof(struct options, member)

/* clang-format off */
static const struct opt options[] = {
	{ .name = "target", .kind = OPT_TEXT, .offset = AT(target), .arg = "LIST",
	  .help = "columns to predict, commas between them; all others are features" },
	{ .name = "ignore", .kind = OPT_TEXT, .offset = AT(ignore), .arg = "LIST",
	  .help = "columns to leave out" },
	{ .name = "test", .kind = OPT_FILE, .offset = AT(test), .arg = "FILE",
	  .help = "fit on every row of FIT, test on this file" },
	{ .name = "validate", .kind = OPT_DOUBLE, .offset = AT(validate_pct), .arg = "PCT",
	  .def = "25", .max = 90,
	  .help = "without --test: rows to hold back at random, %" },
	{ .name = "output", .letter = 'o', .kind = OPT_FILE, .offset = AT(output), .arg = "FILE",
	  .help = "write the predictions of the test rows as CSV" },
	{ .name = "model", .letter = 'm', .kind = OPT_CHOICE, .offset = AT(model), .arg = "NAME",
	  .def = "rf", .choices = models,
	  .help = "learner" },
	{ .name = "trees", .kind = OPT_U64, .offset = AT(trees), .arg = "N", .def = "0",
	  .max = 10000,
	  .help = "trees per target; 0: the learner's default, as for all below" },
	{ .name = "seed", .kind = OPT_U64, .offset = AT(seed), .arg = "S", .def = "1",
	  .max = 0x1p64,
	  .help = "seed" },
	{ .name = "threads", .kind = OPT_U64, .offset = AT(threads), .arg = "T", .def = "0",
	  .max = 1024,
	  .help = "0: one per processor" },
	{ .name = "features", .kind = OPT_U64, .offset = AT(features), .arg = "N", .def = "0",
	  .max = PAPER_MAX_FEATURES, .help = "features per split" },
	{ .name = "min-leaf", .kind = OPT_U64, .offset = AT(min_leaf), .arg = "N", .def = "0",
	  .max = 1e6,
	  .help = "rows in a leaf at least" },
	{ .name = "max-depth", .kind = OPT_U64, .offset = AT(max_depth), .arg = "N", .def = "0",
	  .max = 1e6,
	  .help = "splits above a leaf at most" },
	{ .name = "leaves", .kind = OPT_U64, .offset = AT(leaves), .arg = "N", .def = "0",
	  .max = 1e6,
	  .help = "gbdt: leaves of a tree at most" },
	{ .name = "learning-rate", .kind = OPT_DOUBLE, .offset = AT(learning_rate), .arg = "RATE",
	  .def = "0", .max = 1,
	  .help = "gbdt: learning rate" },
	{ .name = "row-part", .kind = OPT_DOUBLE, .offset = AT(row_pct), .arg = "PCT", .def = "0",
	  .max = 100,
	  .help = "gbdt: rows per tree, %" },
	{ 0 }
};
/* clang-format on */

/* Names out of "a,b,c". */
struct names {
	char *text;
	const char *v[MAX_COLUMNS];
	size_t n;
};

/* Rows of a table as a regressor takes them. */
struct rows {
	size_t n;
	float *x;  /* column by column to fit, row by row to predict */
	double *y; /* target by target */
};

struct job {
	const struct options *o;
	struct names targets, ignored;
	struct hes_table table, test_table;
	const char *columns[MAX_COLUMNS]; /* features, then targets */
	size_t at[MAX_COLUMNS];           /* their columns in the table */
	size_t n_features;
	struct rows fit, test;
	double *predicted; /* row by row */
	struct paper_regressor r;
	double fit_s, fit_cpu_s, one_row_us;
};

static double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int choice(const char *const *names, const char *name)
{
	int i = 0;

	while (strcmp(names[i], name))
		i++;
	return i;
}

static bool has_name(const struct names *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], name) == 0)
			return true;
	return false;
}

static int names_parse(const char *what, const char *list, struct names *out, struct hes_err *err)
{
	char *rest = list ? strdup(list) : NULL, *name;

	out->text = rest;
	while ((name = strsep(&rest, ","))) {
		if (!*name || has_name(out, name))
			return hes_fail(err, -EINVAL,
					"%s: a name is empty or given twice in \"%.64s\"", what,
					list);
		if (out->n == MAX_COLUMNS)
			return hes_fail(err, -EINVAL, "%s: more than %d names", what, MAX_COLUMNS);
		out->v[out->n++] = name;
	}
	return 0;
}

static int choose_columns(struct job *j, struct hes_err *err)
{
	size_t n = j->table.n_columns;

	if (n > MAX_COLUMNS || n <= j->targets.n || j->targets.n < 1 ||
	    j->targets.n > ENSEMBLE_OUTPUTS)
		return hes_fail(err, -EINVAL,
				"%zu columns, %zu of them targets: from 1 to %d features and from "
				"1 to %d targets",
				n, j->targets.n, PAPER_MAX_FEATURES, ENSEMBLE_OUTPUTS);
	for (size_t i = 0; i < n; i++)
		if (!has_name(&j->targets, j->table.names[i]))
			j->at[j->n_features++] = i;
	for (size_t i = 0; i < j->targets.n; i++)
		j->at[j->n_features + i] = (size_t)hes_table_find(&j->table, j->targets.v[i]);
	for (size_t i = 0; i < n; i++)
		j->columns[i] = j->table.names[j->at[i]];
	return 0;
}

static int load(struct job *j, const char *path, struct hes_err *err)
{
	const char *all[MAX_COLUMNS];
	int rc = names_parse("--target", j->o->target, &j->targets, err);

	if (!rc)
		rc = names_parse("--ignore", j->o->ignore, &j->ignored, err);
	if (rc)
		return rc;
	rc = hes_table_load(
		path,
		&(struct hes_table_wanted){ .ignored = { j->ignored.v, j->ignored.n },
					    .complete = { j->targets.v, j->targets.n } },
		&j->table, err);
	if (!rc)
		rc = choose_columns(j, err);
	if (rc || !j->o->test)
		return rc;
	for (size_t i = 0; i < j->table.n_columns; i++)
		all[i] = j->table.names[i];
	return hes_table_load(
		j->o->test,
		&(struct hes_table_wanted){ .columns = { all, j->table.n_columns },
					    .complete = { j->targets.v, j->targets.n } },
		&j->test_table, err);
}

/* @param pick  rows of the table; NULL: the first n */
static int take_rows(const struct job *j, const struct hes_table *t, const uint32_t *pick, size_t n,
		     bool by_row, struct rows *out, struct hes_err *err)
{
	*out = (struct rows){ n, malloc((n * j->n_features + 1) * sizeof(*out->x)),
			      malloc((n * j->targets.n + 1) * sizeof(*out->y)) };
	if (!out->x || !out->y)
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);
	for (size_t i = 0; i < n; i++) {
		const double *from = t->v + (pick ? pick[i] : i) * t->n_columns;

		for (size_t f = 0; f < j->n_features; f++)
			out->x[by_row ? i * j->n_features + f : f * n + i] = (float)from[j->at[f]];
		for (size_t k = 0; k < j->targets.n; k++)
			out->y[k * n + i] = from[j->at[j->n_features + k]];
	}
	return 0;
}

/* Rows to fit, column by column, and rows to test, row by row. */
static int split(struct job *j, struct hes_err *err)
{
	size_t n = j->table.n_rows,
	       held = j->o->test ? 0 : (size_t)((double)n * j->o->validate_pct / 100);
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	struct hes_rng rng;
	int rc;

	if (!order)
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	hes_rng_seed(&rng, j->o->seed);
	if (!j->o->test)
		hes_rng_shuffle(&rng, order, n);
	rc = take_rows(j, &j->table, order + held, n - held, false, &j->fit, err);
	if (!rc)
		rc = j->o->test ? take_rows(j, &j->test_table, NULL, j->test_table.n_rows, true,
					    &j->test, err)
				: take_rows(j, &j->table, order, held, true, &j->test, err);
	free(order);
	return rc;
}

static int fit(struct job *j, struct hes_err *err)
{
	const struct options *o = j->o;
	const struct training_rows rows = {
		.x = j->fit.x,
		.y = j->fit.y,
		.n = j->fit.n,
		.n_features = j->n_features,
		.n_outputs = j->targets.n,
	};
	const struct paper_setting how = { (enum paper_learner)choice(models, o->model),
					   {
						   .trees = (uint32_t)o->trees,
						   .seed = o->seed,
						   .threads = (uint32_t)o->threads,
						   .min_leaf = (uint32_t)o->min_leaf,
						   .max_leaves = (uint32_t)o->leaves,
						   .learning_rate = o->learning_rate,
						   .row_fraction = o->row_pct / 100,
					   },
					   (uint32_t)o->features,
					   (uint32_t)o->max_depth };
	double start = clock_s(CLOCK_MONOTONIC), start_cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	int rc = paper_regressor_fit(&rows, &how, &j->r, err);

	j->fit_s = clock_s(CLOCK_MONOTONIC) - start;
	j->fit_cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - start_cpu;
	return rc;
}

static int predict(struct job *j, struct hes_err *err)
{
	double out[ENSEMBLE_OUTPUTS];

	j->predicted = calloc(j->test.n * j->targets.n + 1, sizeof(*j->predicted));
	if (!j->predicted)
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", j->test.n);
	for (size_t i = 0; i < j->test.n; i++)
		paper_regressor_predict(&j->r, j->test.x + i * j->n_features,
					j->predicted + i * j->targets.n);
	for (int pass = 0; pass < PASSES && j->test.n; pass++) {
		double start = clock_s(CLOCK_MONOTONIC), us;

		for (size_t i = 0; i < CALLS; i++)
			paper_regressor_predict(&j->r,
						j->test.x + ((size_t)pass * CALLS + i) % j->test.n *
								    j->n_features,
						out);
		us = (clock_s(CLOCK_MONOTONIC) - start) * 1e6 / CALLS;
		j->one_row_us = pass && j->one_row_us < us ? j->one_row_us : us;
	}
	return 0;
}

static int write_predictions(const struct job *j, struct hes_err *err)
{
	struct hes_file file;
	int rc = hes_file_create(&file, j->o->output, err);

	if (rc)
		return rc;
	for (size_t k = 0; k < j->targets.n; k++)
		fprintf(file.f, "%s%c", j->targets.v[k], k + 1 < j->targets.n ? ',' : '\n');
	for (size_t i = 0; i < j->test.n; i++)
		for (size_t k = 0; k < j->targets.n; k++)
			fprintf(file.f, "%.9g%c", j->predicted[i * j->targets.n + k],
				k + 1 < j->targets.n ? ',' : '\n');
	return hes_file_commit(&file, err);
}

/* JSON has no number for an error relative to 0. */
static json_t *percent(double pct)
{
	return isfinite(pct) ? json_real(pct) : json_null();
}

static void print(const struct job *j)
{
	const size_t n_nodes = j->r.trees.n_nodes;
	json_t *targets = json_object(), *doc;

	for (size_t k = 0; k < j->targets.n && j->test.n; k++) {
		struct hes_accuracy e = accuracy_measure(j->test.y + k * j->test.n,
							 j->predicted + k, j->targets.n, j->test.n);

		json_object_set_new(targets, j->targets.v[k],
				    json_pack("{s:f, s:f, s:o, s:o}", "mae", e.mae, "r2", e.r2,
					      "abs_error_pct", percent(e.abs_error_pct),
					      "rel_error_pct", percent(e.rel_error_pct)));
	}
	doc = json_pack("{s:s, s:I, s:{s:I, s:I}, s:I, s:I, s:f, s:f, s:f, s:o}", "model",
			j->o->model, "trees", (json_int_t)j->r.setting.o.trees, "rows", "fit",
			(json_int_t)j->fit.n, "test", (json_int_t)j->test.n, "features",
			(json_int_t)j->n_features, "nodes", (json_int_t)n_nodes, "fit_s", j->fit_s,
			"fit_cpu_s", j->fit_cpu_s, "one_row_us", j->one_row_us, "targets", targets);
	json_dumpf(doc, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(doc);
}

int main(int argc, char **argv)
{
	static const struct command about = {
		.name = "learners",
		.args = "FIT.csv",
		.min_args = 1,
		.max_args = 1,
		.summary = "fit a regressor to a table of numbers, print errors and speed",
		.opts = options,
		.opts_size = sizeof(struct options)
	};
	struct options o = { 0 };
	struct job j = { .o = &o };
	struct hes_err err;
	int status = 0, rc = usage_parse(&about, argc, argv, &o, &status);

	if (rc < 0)
		return status;
	if (rc != 1 || !o.target) {
		fprintf(stderr, "learners: one FIT.csv and --target LIST are needed; see --help\n");
		return 2;
	}
	rc = load(&j, argv[1], &err);
	if (!rc)
		rc = split(&j, &err);
	if (!rc)
		rc = fit(&j, &err);
	if (!rc)
		rc = predict(&j, &err);
	if (!rc && o.output)
		rc = write_predictions(&j, &err);
	if (rc)
		fprintf(stderr, "learners: %s\n", err.msg);
	else
		print(&j);
	paper_regressor_free(&j.r);
	hes_table_free(&j.table);
	hes_table_free(&j.test_table);
	free(j.fit.x);
	free(j.fit.y);
	free(j.test.x);
	free(j.test.y);
	free(j.predicted);
	free(j.targets.text);
	free(j.ignored.text);
	return rc != 0;
}
