/*
 * train_csv.c - `heshare train --csv`: a regressor of some columns of a table
 * from all others, its errors on rows it has not seen, what it costs.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/plural.h"
#include "base/rng.h"
#include "cli/cli.h"
#include "cli/learn_table.h"
#include "cli/train/model_files.h"
#include "cli/train/speed.h"
#include "cli/train/train.h"
#include "predict/accuracy.h"

struct job {
	const struct train_opts *o;
	struct name_list         targets, ignored;
	char                    *units_text;
	const char             **units; /* one a target, within units_text; NULL: not told */
	struct hes_table         table, test_table;
	struct learn_columns     columns;
	struct learn_rows        fit, test;
	struct hes_regressor    *r;
	double                   fit_s, fit_cpu_s; /* by the clock; of all processors */
	struct hes_accuracy     *scores; /* of each output; NULL without test rows */
	struct speed             speed;
};

static struct hes_names names_of(const struct name_list *l)
{
	return (struct hes_names){ l->v, l->n };
}

/* One a target, in their order; empty ones are none. */
static int take_units(struct job *j, struct hes_err *err)
{
	char *rest, *unit;
	size_t n = 0;
	int rc = 0;

	if (!j->o->units)
		return 0;
	rest = j->units_text = strdup(j->o->units);
	j->units = calloc(j->targets.n + 1, sizeof(*j->units));
	if (!rest || !j->units)
		return hes_fail(err, -ENOMEM, "out of memory");
	while (!rc && (unit = strsep(&rest, ","))) {
		rc = hes_regressor_check_unit(unit, err);
		j->units[n < j->targets.n ? n : j->targets.n] = unit;
		n++;
	}
	if (rc)
		hes_fail_in(err, "--units");
	else if (n != j->targets.n)
		rc = hes_fail(err, -EINVAL, "--units: %zu for %zu targets", n, j->targets.n);
	return rc;
}

static int load(struct job *j, struct hes_err *err)
{
	int rc = name_list_parse("--target", j->o->target, &j->targets, err);

	if (!rc)
		rc = name_list_parse("--ignore", j->o->ignore, &j->ignored, err);
	if (!rc)
		rc = take_units(j, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < j->targets.n; i++)
		for (size_t k = 0; k < j->ignored.n; k++)
			if (strcmp(j->targets.v[i], j->ignored.v[k]) == 0)
				return hes_fail(err, -EINVAL, "--ignore: \"%.64s\" is a target", j->ignored.v[k]);
	return hes_table_load(j->o->csv, &(struct hes_table_wanted){ .ignored = names_of(&j->ignored),
								     .complete = names_of(&j->targets) },
			      &j->table, err);
}

/* Every row of the table is learnt from, the rows of another file are the test. */
static int take_test_file(struct job *j, struct hes_err *err)
{
	size_t n = j->table.n_columns;
	const char **names = calloc(n, sizeof(*names));
	int rc;

	if (!names)
		return hes_fail(err, -ENOMEM, "out of memory for %zu columns", n);
	for (size_t i = 0; i < n; i++)
		names[i] = j->table.names[i];
	rc = hes_table_load(j->o->test, &(struct hes_table_wanted){ .columns = { names, n },
								    .complete = names_of(&j->targets) },
			    &j->test_table, err);
	free(names);
	if (!rc && !j->test_table.n_rows)
		rc = hes_fail(err, -EINVAL, "%s: no rows to test on", j->o->test);
	if (!rc)
		rc = learn_rows_take(&j->table, &j->columns, NULL, j->table.n_rows, BY_COLUMN, &j->fit, err);
	if (!rc)
		rc = learn_rows_take(&j->test_table, &j->columns, NULL, j->test_table.n_rows, BY_ROW, &j->test, err);
	return rc;
}

/* Some rows, drawn by lot, are kept back. */
static int split(struct job *j, struct hes_err *err)
{
	size_t n = j->table.n_rows, n_test = (size_t)((double)n * j->o->validate_pct / 100);
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	struct hes_rng rng;
	int rc;

	if (!order)
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	hes_rng_seed(&rng, j->o->seed);
	hes_rng_shuffle(&rng, order, n);
	rc = learn_rows_take(&j->table, &j->columns, order + n_test, n - n_test, BY_COLUMN, &j->fit, err);
	if (!rc)
		rc = learn_rows_take(&j->table, &j->columns, order, n_test, BY_ROW, &j->test, err);
	free(order);
	return rc;
}

static struct hes_regressor_options options_of(const struct train_opts *o)
{
	return (struct hes_regressor_options){
		.kind = o->model ? (enum hes_regressor_kind)train_choice(train_models, o->model)
				 : HES_REGRESSOR_FOREST,
		.criterion = (enum hes_criterion)train_choice(train_criteria, o->criterion),
		.joint = o->joint,
		.trees = (uint32_t)o->trees,
		.seed = o->seed,
		.threads = (uint32_t)o->threads,
		.features_per_split = (uint32_t)o->features,
		.min_leaf = (uint32_t)o->min_leaf,
		.max_depth = (uint32_t)o->max_depth,
		.max_leaves = (uint32_t)o->leaves,
		.learning_rate = o->learning_rate,
		.row_fraction = o->row_pct / 100,
		.column_fraction = o->column_pct / 100,
		.stop_fraction = o->stop_pct / 100,
		.patience = (uint32_t)o->patience,
	};
}

/* Of what is learnt from: features, then targets, column by column. */
static uint32_t checksum_of(const struct hes_rows *rows)
{
	uLong crc = crc32_z(0, (const Bytef *)rows->x, rows->n * rows->n_features * sizeof(*rows->x));

	return (uint32_t)crc32_z(crc, (const Bytef *)rows->y, rows->n * rows->n_outputs * sizeof(*rows->y));
}

static int fit(struct job *j, struct hes_err *err)
{
	const struct hes_rows rows = {
		.x = j->fit.x,
		.y = j->fit.y,
		.n = j->fit.n,
		.n_features = j->columns.n_features,
		.n_outputs = j->columns.n_outputs,
		.feature_names = j->columns.names,
		.output_names = j->columns.names + j->columns.n_features,
	};
	const struct hes_regressor_options options = options_of(j->o);
	double start = hes_monotonic_s(), start_cpu = (double)hes_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9;
	int rc = hes_regressor_fit(&rows, &options, &j->r, err);

	j->fit_s = hes_monotonic_s() - start;
	j->fit_cpu_s = (double)hes_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9 - start_cpu;
	if (rc)
		return hes_fail_in(err, "%s", j->o->csv);
	hes_regressor_set_rows_crc(j->r, checksum_of(&rows));
	for (size_t k = 0; j->units && k < j->columns.n_outputs && !rc; k++)
		rc = hes_regressor_set_unit(j->r, k, j->units[k], err);
	return rc;
}

/* An error that has no meaning is kept as none. */
static double percent_or_0(double part)
{
	return isfinite(part) ? 100 * part : 0;
}

/* The model file tells how well its outputs were predicted. */
static int keep_errors(struct job *j, struct hes_err *err)
{
	int rc = 0;

	for (size_t k = 0; k < j->columns.n_outputs && !rc; k++) {
		const struct hes_accuracy *a = &j->scores[k];
		const struct hes_regressor_errors e = { j->test.n, a->mae, a->r2, percent_or_0(a->abs_error),
							percent_or_0(a->rel_error) };

		rc = hes_regressor_set_errors(j->r, k, &e, err);
	}
	return rc;
}

static int score(struct job *j, struct hes_err *err)
{
	size_t n = j->test.n, outputs = j->columns.n_outputs;
	double *p;
	int rc;

	if (!n)
		return 0;
	p = calloc(n * outputs, sizeof(*p));
	j->scores = calloc(outputs, sizeof(*j->scores));
	if (!p || !j->scores) {
		free(p);
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);
	}
	hes_regressor_predict_rows(j->r, j->test.x, n, p, (uint32_t)j->o->threads);
	for (size_t k = 0; k < outputs; k++)
		j->scores[k] = accuracy_measure(j->test.y + k * n, p + k, outputs, n);
	free(p);
	rc = keep_errors(j, err);
	if (rc)
		return rc;
	return speed_measure(j->r, j->test.x, n, (uint32_t)j->o->threads, &j->speed, err);
}

static int run(struct job *j, struct hes_err *err)
{
	int rc = load(j, err);

	if (!rc)
		rc = learn_columns_of(&j->table, &j->targets, &j->columns, err);
	if (!rc)
		rc = j->o->test ? take_test_file(j, err) : split(j, err);
	if (!rc)
		rc = fit(j, err);
	if (!rc)
		rc = score(j, err);
	if (!rc && j->o->out)
		rc = hes_regressor_save(j->o->out, j->r, err);
	if (!rc && j->o->export_lightgbm)
		rc = cli_regressor_export(j->o->export_lightgbm, j->r, err);
	return rc;
}

/* An error relative to 0 is none: null. */
static json_t *percent(double part)
{
	return isfinite(part) ? json_real(100 * part) : json_null();
}

static json_t *targets_json(const struct job *j)
{
	json_t *all = json_object();

	for (size_t k = 0; k < j->columns.n_outputs; k++) {
		const struct hes_accuracy *a = &j->scores[k];
		const char *unit = hes_regressor_output_unit(j->r, k);

		json_object_set_new(all, hes_regressor_output_name(j->r, k),
				    json_pack("{s:f, s:s*, s:f, s:o, s:o}", "mae", a->mae, "unit", *unit ? unit : NULL,
					      "r2", a->r2, "abs_error_pct", percent(a->abs_error), "rel_error_pct",
					      percent(a->rel_error)));
	}
	return all;
}

static int print_json(const struct job *j)
{
	const struct hes_regressor_info *about = hes_regressor_about(j->r);
	json_t *doc = json_pack("{s:s, s:b, s:I, s:I, s:s, s:{s:I, s:I}, s:I, s:I, s:I, s:f, s:f}",
				"model", train_models[about->options.kind], "joint", about->options.joint, "trees",
				(json_int_t)about->options.trees, "threads", (json_int_t)train_threads(j->o->threads),
				"criterion", j->o->criterion,
				"rows", "fit", (json_int_t)j->fit.n, "test", (json_int_t)j->test.n,
				"features", (json_int_t)about->n_features, "trees_total", (json_int_t)about->n_trees,
				"nodes", (json_int_t)about->n_nodes, "fit_s", j->fit_s, "fit_cpu_s", j->fit_cpu_s);

	if (doc && j->scores) {
		json_object_set_new(doc, "targets", targets_json(j));
		json_object_set_new(doc, "predict", json_pack("{s:f, s:f}", "one_row_us", j->speed.one_row_us,
							      "rows_per_s", j->speed.rows_per_s));
	}
	return cli_print_json(doc);
}

static void print_percent(double part)
{
	if (isfinite(part))
		printf(" %9.2f", 100 * part);
	else
		printf(" %9s", "-");
}

static int print_text(const struct job *j)
{
	const struct hes_regressor_info *about = hes_regressor_about(j->r);

	printf("%s: %zu %strees with %zu nodes, fitted on %zu rows of %zu features in %.3f s\n",
	       train_models[about->options.kind], about->n_trees, about->options.joint ? "joint " : "", about->n_nodes,
	       j->fit.n, about->n_features,
	       j->fit_s);
	if (!j->scores)
		return 0;
	printf("\n%-22s %12s %8s %9s %9s\n", "on unseen rows", "mean error", "r2", "abs., %", "rel., %");
	for (size_t k = 0; k < j->columns.n_outputs; k++) {
		char name[HES_REGRESSOR_NAME_MAX + HES_REGRESSOR_UNIT_MAX + 2];
		const char *unit = hes_regressor_output_unit(j->r, k);

		snprintf(name, sizeof(name), "%s%s%s", hes_regressor_output_name(j->r, k), *unit ? ", " : "", unit);
		printf("%-22s %12.6g %8.4f", name, j->scores[k].mae, j->scores[k].r2);
		print_percent(j->scores[k].abs_error);
		print_percent(j->scores[k].rel_error);
		putchar('\n');
	}
	printf("\n%zu row%s; one at a time %.2f us a row, all at once %.0f rows/s\n", j->test.n, hes_s(j->test.n), j->speed.one_row_us,
	       j->speed.rows_per_s);
	return 0;
}

int train_csv(const struct train_opts *o)
{
	struct job j = { .o = o };
	struct hes_err err;
	int status;

	if (run(&j, &err))
		status = cli_fail("train", &err);
	else
		status = o->json ? print_json(&j) : print_text(&j);
	free(j.scores);
	hes_regressor_free(j.r);
	learn_rows_free(&j.fit);
	learn_rows_free(&j.test);
	learn_columns_free(&j.columns);
	hes_table_free(&j.table);
	hes_table_free(&j.test_table);
	name_list_free(&j.targets);
	name_list_free(&j.ignored);
	free(j.units_text);
	free(j.units);
	return status;
}
