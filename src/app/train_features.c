/*
 * train_features.c - samples as a plain table: the features a predictor sees,
 * what was measured, and what the baseline says of it.
 *
 * A learner of another program can so be given the very rows that ours is.
 */
#include "app/train.h"

#include "base/file.h"
#include "predict/predictor.h"

static void write_header(FILE *f)
{
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		fprintf(f, "%s,", features[i].name);
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

int train_write_features(const char *path, const struct hes_samples *s,
			 const struct hes_catalogue *c, const struct hes_predictor *p,
			 struct hes_err *err)
{
	struct observations all;
	struct hes_file file;
	int rc = observations_init(&all, s, c, err);

	if (rc)
		return rc;
	rc = hes_file_create(&file, path, err);
	if (!rc) {
		write_header(file.f);
		for (size_t i = 0; i < all.n; i++) {
			predictor_set_load(p, &all.v[i]);
			write_row(file.f, &all.v[i], p);
		}
		rc = hes_file_commit(&file, err);
	}
	observations_finish(&all);
	return rc;
}
