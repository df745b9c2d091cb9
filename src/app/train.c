/*
 * train_samples.c - `heshare train SAMPLES`: fit a predictor, tell its errors
 * on samples it has not seen. Few samples are all fitted on, with modelled ones as a prior, and
 * left out in turn.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "cli/cli.h"
#include "app/catalogue.h"
#include "app/known_folder.h"
#include "cli/train/train.h"

#define PASSES 10  /* over the unseen samples, to time a prediction by the fastest */
#define FEW    100 /* below, modelled samples are added: from here on they would hardly count */
#define FOLDS  8   /* of few samples */

/* Errors of both outputs on some samples. */
struct scores {
	struct hes_accuracy time, power;
	struct hes_coverage cover;
	size_t rows;
};

/* What is left out of the samples, one name after the other. */
enum { WORKLOADS, TYPES, LEFT_OUT_KINDS };

static const struct {
	const char *noun;
	const char *list; /* in JSON */
	const char *plural;
	size_t offset; /* of the name in a sample */
} kinds[LEFT_OUT_KINDS] = {
	[WORKLOADS] = { "workload", "left_out", "workloads",
			offsetof(struct hes_sample, task.workload) },
	[TYPES] = { "gpu_type", "left_out_types", "GPU types",
		    offsetof(struct hes_sample, task.gpu_type) },
};

struct left_out {
	char (*names)[HES_NAME_MAX]; /* the predictor's */
	uint32_t n;                  /* 0: not requested */
	struct scores *scores;
};

struct job {
	const struct train_opts *o;
	struct hes_catalogue catalogue;
	struct app_rows rows;
	struct hes_samples all, fit, test; /* all: those of rows; fit and test: copies */
	struct hes_estimate *said;         /* of test, unseen */
	struct train_prior prior;
	struct hes_predictor *predictor;
	struct scores scores;
	double fit_s, row_s; /* row_s: of one prediction */
	struct left_out left_out[LEFT_OUT_KINDS];
};

static struct hes_train_options options_of(const struct job *j)
{
	const struct train_opts *o = j->o;

	return (struct hes_train_options){
		.prior = j->prior.samples.n ? &j->prior.samples : NULL,
		.trees = (uint32_t)o->trees,
		.seed = o->seed,
		.threads = (uint32_t)o->threads,
		.recipe = (enum hes_recipe)train_choice(train_recipes, o->recipe),
		.coverage = o->coverage_pct / 100,
	};
}

static int make_room(const struct job *j, struct hes_samples *fit, struct hes_samples *test,
		     struct hes_err *err)
{
	*fit = (struct hes_samples){ .v = calloc(j->all.n, sizeof(*fit->v)),
				     .known = j->all.known };
	*test = (struct hes_samples){ .v = calloc(j->all.n, sizeof(*test->v)),
				      .known = j->all.known };
	return fit->v && test->v
		       ? 0
		       : hes_fail(err, -ENOMEM, "out of memory for %zu samples", j->all.n);
}

static int split(struct job *j, struct hes_err *err)
{
	uint32_t *order = malloc(j->all.n * sizeof(*order));
	size_t n_test =
		j->prior.samples.n ? 0 : (size_t)((double)j->all.n * j->o->validate_pct / 100);
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

static int score(const struct job *j, const struct hes_samples *s, const struct hes_estimate *said,
		 struct scores *out, struct hes_err *err)
{
	int rc = s->n ? hes_estimates_test(s, said, &out->time, &out->power, err) : 0;

	out->rows = s->n;
	return rc ? rc
		  : hes_estimates_cover(s, said,
					hes_predictor_about(j->predictor)->options.coverage,
					&out->cover, err);
}

/* Seconds of one prediction with co-runners that are known by their sums. */
static double time_prediction(const struct job *j)
{
	double start = hes_monotonic_s();

	for (size_t i = 0; i < j->test.n; i++) {
		const struct hes_sample *s = &j->test.v[i];
		const struct hes_gpu_type *g =
			hes_gpu_type_find(&j->catalogue, s->task.gpu_type, NULL);
		const struct hes_setting setting = { s->sm_pct,
						     hes_gpu_type_clock(g, s->clock_mhz) };
		struct hes_estimate e;

		hes_predict(j->predictor, g, &s->task, &setting, &s->co_runners, &e);
	}
	return (hes_monotonic_s() - start) / (double)j->test.n;
}

/* Estimates of unseen samples: of those held back, or of few ones that are left out in turn. */
static int estimate_unseen(struct job *j, struct hes_err *err)
{
	const struct hes_train_options options = options_of(j);
	int rc;

	j->said = calloc(j->all.n, sizeof(*j->said));
	if (!j->said)
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", j->all.n);
	if (!options.prior)
		return hes_predict_samples(j->predictor, &j->test, &j->catalogue, j->said, err);
	if (j->o->validate_pct <= 0)
		return 0;
	memcpy(j->test.v, j->fit.v, j->fit.n * sizeof(*j->fit.v));
	j->test.n = j->fit.n;
	rc = hes_predict_left_out(&j->test, &j->catalogue, &options, FOLDS, j->said, err);
	if (rc == -ENODATA)
		j->test.n = 0;
	return rc == -ENODATA ? 0 : rc;
}

static int train(struct job *j, struct hes_err *err)
{
	struct hes_train_options options = options_of(j);
	double start = hes_monotonic_s();
	int rc = hes_predictor_train(&j->fit, &j->catalogue, &options, &j->predictor, err);

	j->fit_s = hes_monotonic_s() - start;
	if (!rc)
		rc = estimate_unseen(j, err);
	if (!rc)
		rc = score(j, &j->test, j->said, &j->scores, err);
	if (!rc && j->test.n)
		rc = hes_predictor_keep_errors(j->predictor, j->test.n, &j->scores.time,
					       &j->scores.power, err);
	for (int i = 0; i < PASSES && j->test.n && !rc; i++) {
		double s = time_prediction(j);

		j->row_s = i && j->row_s < s ? j->row_s : s;
	}
	return rc;
}

static int leave_one_out(const struct job *j, size_t offset, const char *name,
			 struct hes_samples *fit, struct hes_samples *test, struct scores *out,
			 struct hes_err *err)
{
	struct hes_train_options options = options_of(j);
	struct hes_predictor *p;
	int rc;

	fit->n = test->n = 0;
	for (size_t i = 0; i < j->all.n; i++) {
		struct hes_samples *to =
			strcmp((const char *)&j->all.v[i] + offset, name) ? fit : test;

		to->v[to->n++] = j->all.v[i];
	}
	if (!test->n)
		return 0;
	rc = hes_predictor_train(fit, &j->catalogue, &options, &p, err);
	if (rc)
		return rc;
	rc = hes_predict_samples(p, test, &j->catalogue, j->said, err);
	if (!rc)
		rc = score(j, test, j->said, out, err);
	hes_predictor_free(p);
	return rc;
}

static int leave_each_out(struct job *j, int kind, struct hes_err *err)
{
	const struct hes_predictor_info *about = hes_predictor_about(j->predictor);
	struct left_out *l = &j->left_out[kind];
	struct hes_samples fit = { 0 }, test = { 0 };
	char what[32];
	int rc = make_room(j, &fit, &test, err);

	l->n = kind == WORKLOADS ? about->n_workloads : about->n_types;
	l->names = kind == WORKLOADS ? about->workloads : about->types;
	l->scores = calloc(l->n, sizeof(*l->scores));
	snprintf(what, sizeof(what), "%s left out", kinds[kind].plural);
	if (!rc && !l->scores)
		rc = hes_fail(err, -ENOMEM, "out of memory");
	if (!rc && l->n < 2)
		rc = hes_fail(err, -EINVAL, "all samples are of %s; left out, nothing remains",
			      l->names[0]);
	for (uint32_t i = 0; i < l->n && !rc; i++) {
		cli_progress(what, i, l->n);
		rc = leave_one_out(j, kinds[kind].offset, l->names[i], &fit, &test, &l->scores[i],
				   err);
	}
	cli_progress(what, l->n, l->n);
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

static json_t *coverage_json(const struct hes_coverage *c)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:I}", "stated_pct", 100 * c->stated,
			 "time_pct", 100 * c->time, "power_pct", 100 * c->power, "time_width_pct",
			 100 * c->time_width, "power_width_pct", 100 * c->power_width,
			 "extrapolated", (json_int_t)c->outside);
}

static json_t *left_out_json(const struct left_out *l, const char *noun)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < l->n; i++)
		if (l->scores[i].rows)
			json_array_append_new(
				list, json_pack("{s:s, s:I, s:o, s:o}", noun, l->names[i], "rows",
						(json_int_t)l->scores[i].rows, "targets",
						targets_json(&l->scores[i]), "coverage",
						coverage_json(&l->scores[i].cover)));
	return list;
}

/* Mean |x| of a normal variable is 0.798 standard deviations. */
static double floor_pct(const struct job *j)
{
	return 0.7978845608 * j->o->noise_pct;
}

static int print_json(const struct job *j)
{
	json_t *doc =
		json_pack("{s:I, s:I, s:s, s:{s:I, s:I, s:o*}, s:f, s:f}", "trees",
			  (json_int_t)hes_predictor_about(j->predictor)->options.trees, "threads",
			  (json_int_t)train_threads(j->o->threads), "recipe", j->o->recipe, "rows",
			  "fit", (json_int_t)j->fit.n, "test", (json_int_t)j->test.n, "modelled",
			  j->prior.samples.n ? json_integer((json_int_t)j->prior.samples.n) : NULL,
			  "fit_s", j->fit_s, "noise_floor_pct", floor_pct(j));

	if (doc && j->test.n) {
		json_object_set_new(doc, "targets", targets_json(&j->scores));
		json_object_set_new(doc, "coverage", coverage_json(&j->scores.cover));
		json_object_set_new(doc, "predict",
				    json_pack("{s:f, s:f}", "one_row_us", j->row_s * 1e6,
					      "rows_per_s", 1 / j->row_s));
	}
	for (int k = 0; k < LEFT_OUT_KINDS && doc; k++)
		if (j->left_out[k].n)
			json_object_set_new(doc, kinds[k].list,
					    left_out_json(&j->left_out[k], kinds[k].noun));
	return cli_print_json("heshare-train", doc);
}

/* Errors in %, of four columns, and how often intervals hold; NULL: nobody has them. */
static void scores_row(struct table *t, const char *name, const char *rows, const double error[4],
		       const struct hes_coverage *c)
{
	const struct cell row[] = {
		cell_text(NULL, "error, %", name),
		cell_shown(cell_count(NULL, "rows", 0), rows),
		cell_real(NULL, "time abs.", 2, error[0]),
		cell_real(NULL, "rel.", 2, error[1]),
		cell_real(NULL, "power abs.", 2, error[2]),
		cell_real(NULL, "rel.", 2, error[3]),
		cell_shown(cell_real(NULL, "time holds", 1, c ? 100 * c->time : 0), c ? NULL : ""),
		cell_shown(cell_real(NULL, "+-", 1, c ? 100 * c->time_width : 0), c ? NULL : ""),
		cell_shown(cell_real(NULL, "power holds", 1, c ? 100 * c->power : 0),
			   c ? NULL : ""),
		cell_shown(cell_real(NULL, "+-", 1, c ? 100 * c->power_width : 0), c ? NULL : ""),
	};

	TABLE_ROW(t, row);
}

static void scored_row(struct table *t, const char *name, const struct scores *s)
{
	const double error[] = { 100 * s->time.abs_error, 100 * s->time.rel_error,
				 100 * s->power.abs_error, 100 * s->power.rel_error };
	char rows[24];

	snprintf(rows, sizeof(rows), "%zu", s->rows);
	scores_row(t, name, rows, error, &s->cover);
}

static int print_text(const struct job *j)
{
	const struct hes_predictor_info *about = hes_predictor_about(j->predictor);
	const double floor = floor_pct(j);
	struct table t = { 0 };

	printf("%u trees per output, fitted on %zu sample%s", about->options.trees, j->fit.n,
	       j->fit.n == 1 ? "" : "s");
	if (j->prior.samples.n)
		printf(" and, since they are few, on %zu modelled ones that count less,",
		       j->prior.samples.n);
	printf(" in %.3f s\n", j->fit_s);
	if (j->prior.samples.n && j->o->validate_pct > 0)
		printf(j->test.n
			       ? "Each sample was left out in turn, with those of its co-run set.\n"
			       : "All samples are of one co-run set: without it nothing tells the "
				 "errors.\n");
	if (!j->test.n && !j->o->left_out && !j->o->left_out_types)
		return 0;
	if (j->test.n)
		scored_row(&t, "on unseen samples", &j->scores);
	scores_row(&t, "the paper, Table V", "250", (double[]){ 3.10, 3.91, 3.10, 3.91 }, NULL);
	scores_row(&t, "noise floor", "", (double[]){ floor, floor, floor, floor }, NULL);
	for (int k = 0; k < LEFT_OUT_KINDS; k++)
		for (uint32_t i = 0; i < j->left_out[k].n; i++) {
			char name[HES_NAME_MAX + 10];

			if (!j->left_out[k].scores[i].rows)
				continue;
			snprintf(name, sizeof(name), "without %s", j->left_out[k].names[i]);
			scored_row(&t, name, &j->left_out[k].scores[i]);
		}
	printf("\nIntervals are to hold %.0f %%; +- is their half width.\n",
	       100 * about->options.coverage);
	cli_print_table(&t, stdout, 0);
	return 0;
}

/* Names of co-runners predict better than sums, but only with their profiles. */
static void note_unprofiled(const struct hes_samples *s, const char *path)
{
	bool named = false;

	for (size_t i = 0; i < s->n; i++)
		named |= s->v[i].co_runner_names[0] != 0;
	if (named && !s->known->n)
		fprintf(stderr,
			"heshare train: %s names co-runners, but there is no profiles.csv: only "
			"their sums are used; "
			"give the folder with both files\n",
			path);
}

static int run(struct job *j, const char *path, struct hes_err *err)
{
	int rc = app_catalogue_load(cli_app(), j->o->catalogue, true, &j->catalogue, err);

	if (!rc)
		rc = path ? app_samples_load(path, &j->rows, err)
			  : train_store_load(j->o, &j->rows, err);
	j->all = (struct hes_samples){ j->rows.samples.v, j->rows.samples.n, &j->rows.profiles };
	/* The model knows types at the clocks of their rows. */
	if (!rc && j->all.n < FEW)
		rc = train_prior_draw(&j->all, &j->catalogue, &j->prior, err);
	if (!rc)
		hes_profiles_hold(&j->rows.profiles, j->catalogue.types, j->catalogue.n);
	if (!rc && path)
		note_unprofiled(&j->all, path);
	if (!rc)
		rc = split(j, err);
	if (!rc)
		rc = train(j, err);
	if (!rc && j->o->features_csv)
		rc = train_write_features(j->o->features_csv, &j->all, &j->catalogue, j->predictor,
					  err);
	if (!rc && j->o->left_out)
		rc = leave_each_out(j, WORKLOADS, err);
	if (!rc && j->o->left_out_types)
		rc = leave_each_out(j, TYPES, err);
	if (!rc && j->o->out)
		rc = hes_predictor_save(j->o->out, j->predictor, err);
	if (!rc && j->o->out && !path) {
		rc = train_store_keep(j->o, j->predictor, &j->test, j->said, err);
		if (rc)
			hes_fail_in(err,
				    "%s is written and can be used, but its validation is not kept",
				    j->o->out);
	}
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
	for (int k = 0; k < LEFT_OUT_KINDS; k++)
		free(j.left_out[k].scores);
	hes_predictor_free(j.predictor);
	train_prior_free(&j.prior);
	free(j.said);
	app_rows_free(&j.rows);
	hes_samples_free(&j.fit);
	hes_samples_free(&j.test);
	hes_catalogue_free(&j.catalogue);
	return status;
}
