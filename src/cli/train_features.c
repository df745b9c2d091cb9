/*
 * train_features.c - samples as a plain table: the features a predictor sees,
 * what was measured, and what the baseline says of it.
 *
 * A learner of another program can so be given the very rows that ours is.
 */
#include "cli/train.h"

#include "base/file.h"
#include "predict/predictor.h"

static void write_header(FILE *f, enum hes_recipe recipe)
{
	for (size_t i = 0; i < features_of(recipe); i++)
		fprintf(f, "%s,", features[i].name);
	fputs("time_us,power_w,baseline_time_us,baseline_power_w\n", f);
}

static int write_row(FILE *f, const struct hes_sample *s, const struct hes_catalogue *c,
		     const struct hes_predictor *p, struct hes_err *err)
{
	struct hes_setting setting = { s->sm_pct, s->clock_mhz };
	const struct hes_gpu_type *g = hes_gpu_type_find(c, s->task.gpu_type, err);
	enum hes_recipe recipe = hes_predictor_about(p)->options.recipe;
	float row[FEATURE_COUNT];
	struct query q;

	if (!g)
		return err->code;
	predictor_query(p, g, &s->task, &setting, &s->beside, &q);
	features_fill(&q, row, features_of(recipe));
	for (size_t i = 0; i < features_of(recipe); i++)
		fprintf(f, "%.9g,", (double)row[i]);
	fprintf(f, "%.9g,%.9g,%.9g,%.9g\n", s->iteration_us, s->power_mw * 1e-3,
		s->task.iteration_us * q.base.slowdown, q.base.power_w);
	return 0;
}

int train_write_features(const char *path, const struct hes_samples *s, const struct hes_catalogue *c,
			 const struct hes_predictor *p, struct hes_err *err)
{
	enum hes_recipe recipe = hes_predictor_about(p)->options.recipe;
	struct hes_file file;
	int rc = hes_file_create(&file, path, err);

	if (rc)
		return rc;
	write_header(file.f, recipe);
	for (size_t i = 0; i < s->n && !rc; i++)
		rc = write_row(file.f, &s->v[i], c, p, err);
	if (!rc)
		return hes_file_commit(&file, err);
	hes_file_abort(&file);
	return rc;
}
