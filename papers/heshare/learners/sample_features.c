/*
 * sample_features.c - samples as a plain table: the features that a predictor sees, what was
 * measured, and what the baseline says of it. A learner of another program can so be given the very
 * rows that ours is.
 *
 * sample_features SAMPLES FILE: SAMPLES is a folder of `heshare profile`. Exit status: 0; 1 it
 * failed; 2 wrong usage.
 */
#include <stdio.h>

#include "app/train.h"
#include "base/file.h"
#include "predict/predictor.h"

static void write_header(FILE *f)
{
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		fprintf(f, "%s,", feature_names[i]);
	fputs("time_us,power_w,baseline_time_us,baseline_power_w\n", f);
}

static void write_row(FILE *f, const struct observation *o, const struct hes_predictor *p)
{
	float row[FEATURE_COUNT];
	struct query q;

	predictor_query(p, o->query.gpu, o->query.task, o->query.setting, o->query.co_runners, &q);
	features_fill(&q, row);
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		fprintf(f, "%.9g,", (double)row[i]);
	fprintf(f, "%.9g,%.9g,%.9g,%.9g\n", o->iteration_us, o->power_w,
		q.task->iteration_us * q.base.slowdown, q.base.power_w);
}

static int write_features(const char *path, const struct train_result *r, struct hes_err *err)
{
	struct observations all;
	struct hes_file file;
	int rc = observations_init(&all, &r->all, &r->catalogue, err);

	if (rc)
		return rc;
	rc = hes_file_create(&file, path, err);
	if (!rc) {
		write_header(file.f);
		for (size_t i = 0; i < all.n; i++) {
			predictor_set_load(r->predictor, &all.v[i]);
			write_row(file.f, &all.v[i], r->predictor);
		}
		rc = hes_file_commit(&file, err);
	}
	observations_finish(&all);
	return rc;
}

static const char *no_variable(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct app app = { .variable = no_variable };
	struct train_request q = {
		.app = &app, .trees = 1, .seed = 1, .validate_pct = 25, .coverage_pct = 90
	};
	struct train_result r;
	struct hes_err err;
	int rc;

	if (argc != 3) {
		fputs("usage: sample_features SAMPLES FILE\n", stderr);
		return 2;
	}
	q.samples = argv[1];
	rc = train_run(&q, &r, &err);
	if (!rc)
		rc = write_features(argv[2], &r, &err);
	if (rc)
		fprintf(stderr, "sample_features: %s\n", err.msg);
	train_free(&r);
	return rc ? 1 : 0;
}
