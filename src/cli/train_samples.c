/*
 * train_samples.c - `heshare train SAMPLES`: fit a predictor, tell its errors
 * on samples it has not seen.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "cli/cli.h"
#include "cli/train.h"

#define PASSES 10 /* over the unseen samples, to time a prediction by the fastest */

/* Errors of both outputs on some samples. */
struct scores {
	struct hes_accuracy time, power;
	size_t              rows;
};

struct job {
	const struct train_opts *o;
	struct hes_catalogue     catalogue;
	struct hes_samples       all, fit, test; /* fit and test: copies */
	struct hes_predictor    *predictor;
	struct scores            scores;
	double                   fit_s, row_s;    /* row_s: of one prediction */
	struct scores           *left_out;       /* of each workload of the predictor */
};

static struct hes_train_options options_of(const struct train_opts *o)
{
	return (struct hes_train_options){
		.model = o->model ? HES_PREDICTOR_FOREST + (enum hes_predictor_model)train_choice(train_models, o->model)
				  : HES_PREDICTOR_BEST,
		.trees = (uint32_t)o->trees,
		.seed = o->seed,
		.threads = (uint32_t)o->threads,
		.criterion = (enum hes_criterion)train_choice(train_criteria, o->criterion),
		.recipe = (enum hes_recipe)train_choice(train_recipes, o->recipe),
		.features_per_split = (uint32_t)o->features,
		.min_leaf = (uint32_t)o->min_leaf,
		.max_depth = (uint32_t)o->max_depth,
		.max_leaves = (uint32_t)o->leaves,
		.learning_rate = o->learning_rate,
		.row_fraction = o->row_pct / 100,
		.column_fraction = o->column_pct / 100,
	};
}

/* A folder stands for the samples.csv in it. */
static int load_samples(const char *path, struct hes_samples *out, struct hes_err *err)
{
	struct stat st;
	char *file;
	int rc;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return hes_samples_load(path, out, err);
	if (asprintf(&file, "%s/samples.csv", path) < 0)
		return hes_fail(err, -ENOMEM, "out of memory");
	rc = hes_samples_load(file, out, err);
	free(file);
	return rc;
}

static int make_room(const struct job *j, struct hes_samples *fit, struct hes_samples *test, struct hes_err *err)
{
	*fit = (struct hes_samples){ calloc(j->all.n, sizeof(*fit->v)), 0 };
	*test = (struct hes_samples){ calloc(j->all.n, sizeof(*test->v)), 0 };
	return fit->v && test->v ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu samples", j->all.n);
}

static int split(struct job *j, struct hes_err *err)
{
	uint32_t *order = malloc(j->all.n * sizeof(*order));
	size_t n_test = (size_t)((double)j->all.n * j->o->validate_pct / 100);
	struct hes_rng rng;
	int rc = make_room(j, &j->fit, &j->test, err);

	if (!rc && !order)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu samples", j->all.n);
	if (!rc) {
		for (uint32_t i = 0; i < j->all.n; i++)
			order[i] = i;
		hes_rng_seed(&rng, j->o->seed);
		hes_rng_shuffle(&rng, order, j->all.n);
		for (size_t i = 0; i < j->all.n; i++) {
			struct hes_samples *to = i < n_test ? &j->test : &j->fit;

			to->v[to->n++] = j->all.v[order[i]];
		}
	}
	free(order);
	return rc;
}

static int score(const struct job *j, const struct hes_predictor *p, const struct hes_samples *s,
		 struct scores *out, struct hes_err *err)
{
	out->rows = s->n;
	return s->n ? hes_predictor_test(p, s, &j->catalogue, &out->time, &out->power, err) : 0;
}

static int train(struct job *j, struct hes_err *err)
{
	struct hes_train_options options = options_of(j->o);
	double start = train_clock_s();
	int rc = hes_predictor_train(&j->fit, &j->catalogue, &options, &j->predictor, err);

	j->fit_s = train_clock_s() - start;
	if (!rc)
		rc = score(j, j->predictor, &j->test, &j->scores, err);
	for (int i = 0; i < PASSES && j->test.n && !rc; i++) {
		struct scores again;

		start = train_clock_s();
		rc = score(j, j->predictor, &j->test, &again, err);
		start = (train_clock_s() - start) / (double)j->test.n;
		j->row_s = i && j->row_s < start ? j->row_s : start;
	}
	return rc;
}

static int leave_one_out(const struct job *j, const char *workload, struct hes_samples *fit,
			 struct hes_samples *test, struct scores *out, struct hes_err *err)
{
	struct hes_train_options options = options_of(j->o);
	struct hes_predictor *p;
	int rc;

	fit->n = test->n = 0;
	for (size_t i = 0; i < j->all.n; i++) {
		struct hes_samples *to = strcmp(j->all.v[i].task.workload, workload) ? fit : test;

		to->v[to->n++] = j->all.v[i];
	}
	rc = hes_predictor_train(fit, &j->catalogue, &options, &p, err);
	if (rc)
		return rc;
	rc = score(j, p, test, out, err);
	hes_predictor_free(p);
	return rc;
}

static int leave_each_out(struct job *j, struct hes_err *err)
{
	const struct hes_predictor_info *about = hes_predictor_about(j->predictor);
	struct hes_samples fit = { 0 }, test = { 0 };
	int rc = make_room(j, &fit, &test, err);

	j->left_out = calloc(about->n_workloads, sizeof(*j->left_out));
	if (!rc && !j->left_out)
		rc = hes_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < about->n_workloads && !rc; i++) {
		cli_progress("workloads left out", i, about->n_workloads);
		rc = leave_one_out(j, about->workloads[i], &fit, &test, &j->left_out[i], err);
	}
	cli_progress("workloads left out", about->n_workloads, about->n_workloads);
	hes_samples_free(&fit);
	hes_samples_free(&test);
	return rc;
}

static json_t *accuracy_json(const struct hes_accuracy *a, const char *unit)
{
	return json_pack("{s:f, s:s, s:f, s:f, s:f}", "mae", a->mae, "unit", unit, "r2", a->r2,
			 "abs_error_pct", 100 * a->abs_error, "rel_error_pct", 100 * a->rel_error);
}

static json_t *targets_json(const struct scores *s)
{
	return json_pack("{s:o, s:o}", "time", accuracy_json(&s->time, "us"), "power",
			 accuracy_json(&s->power, "mW"));
}

static json_t *left_out_json(const struct job *j)
{
	const struct hes_predictor_info *about = hes_predictor_about(j->predictor);
	json_t *list = json_array();

	for (uint32_t i = 0; i < about->n_workloads; i++)
		json_array_append_new(list, json_pack("{s:s, s:I, s:o}", "workload", about->workloads[i], "rows",
						      (json_int_t)j->left_out[i].rows, "targets",
						      targets_json(&j->left_out[i])));
	return list;
}

/* Mean |x| of a normal variable is 0.798 standard deviations. */
static double floor_pct(const struct job *j)
{
	return 0.7978845608 * j->o->noise_pct;
}

static int print_json(const struct job *j)
{
	json_t *doc = json_pack("{s:s, s:I, s:I, s:s, s:s, s:{s:I, s:I}, s:f, s:f}", "model",
				train_models[hes_predictor_about(j->predictor)->options.model - HES_PREDICTOR_FOREST],
				"trees", (json_int_t)hes_predictor_about(j->predictor)->options.trees, "threads",
				(json_int_t)train_threads(j->o->threads), "criterion",
				j->o->criterion, "recipe", j->o->recipe, "rows", "fit", (json_int_t)j->fit.n, "test",
				(json_int_t)j->test.n, "fit_s", j->fit_s, "noise_floor_pct", floor_pct(j));

	if (doc && j->test.n) {
		json_object_set_new(doc, "targets", targets_json(&j->scores));
		json_object_set_new(doc, "predict", json_pack("{s:f, s:f}", "one_row_us",
							      j->row_s * 1e6, "rows_per_s", 1 / j->row_s));
	}
	if (doc && j->left_out)
		json_object_set_new(doc, "left_out", left_out_json(j));
	return cli_print_json(doc);
}

static void print_scores(const char *name, const struct scores *s)
{
	printf("%-22s %6zu %9.2f %9.2f %9.2f %9.2f\n", name, s->rows, 100 * s->time.abs_error,
	       100 * s->time.rel_error, 100 * s->power.abs_error, 100 * s->power.rel_error);
}

static int print_text(const struct job *j)
{
	const struct hes_predictor_info *about = hes_predictor_about(j->predictor);

	printf("%u trees an output, fitted on %u samples in %.3f s\n", about->options.trees, about->rows, j->fit_s);
	if (!j->test.n && !j->left_out)
		return 0;
	printf("\n%-22s %6s %19s %19s\n", "error, %", "", "time", "power");
	printf("%-22s %6s %9s %9s %9s %9s\n", "", "rows", "absolute", "relative", "absolute", "relative");
	if (j->test.n)
		print_scores("on unseen samples", &j->scores);
	printf("%-22s %6s %9.2f %9.2f %9.2f %9.2f\n", "the paper, Table V", "250", 3.10, 3.91, 3.10, 3.91);
	printf("%-22s %6s %9.2f %9.2f %9.2f %9.2f\n", "noise floor", "", floor_pct(j), floor_pct(j), floor_pct(j),
	       floor_pct(j));
	for (uint32_t i = 0; j->left_out && i < about->n_workloads; i++) {
		char name[HES_NAME_MAX + 10];

		snprintf(name, sizeof(name), "without %s", about->workloads[i]);
		print_scores(name, &j->left_out[i]);
	}
	return 0;
}

static int run(struct job *j, const char *path, struct hes_err *err)
{
	int rc = hes_catalogue_load(NULL, &j->catalogue, err);

	if (!rc)
		rc = path ? load_samples(path, &j->all, err) : train_store_load(j->o, &j->all, err);
	if (!rc)
		rc = split(j, err);
	if (!rc)
		rc = train(j, err);
	if (!rc && j->o->features_csv)
		rc = train_write_features(j->o->features_csv, &j->all, &j->catalogue, j->predictor, err);
	if (!rc && j->o->left_out)
		rc = leave_each_out(j, err);
	if (!rc && j->o->out)
		rc = hes_predictor_save(j->o->out, j->predictor, err);
	if (!rc && j->o->out && !path)
		rc = train_store_keep(j->o, j->predictor, &j->catalogue, &j->test, err);
	return rc;
}

int train_samples(const struct train_opts *o, const char *path)
{
	struct job j = { .o = o };
	struct hes_err err;
	int status;

	if (run(&j, path, &err))
		status = cli_fail("train", &err);
	else
		status = o->json ? print_json(&j) : print_text(&j);
	free(j.left_out);
	hes_predictor_free(j.predictor);
	hes_samples_free(&j.all);
	hes_samples_free(&j.fit);
	hes_samples_free(&j.test);
	hes_catalogue_free(&j.catalogue);
	return status;
}
