/*
 * regressor.c - what a regressor is, and what it says of rows; see
 * include/heshare/regressor.h.
 *
 * Fitting is next door (grow*.c), as are files (regressor_file.c,
 * lightgbm*.c); trees are walked by walk*.c.
 */
#include "trees/regressor.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "trees/walk.h"

#define ROWS_A_TURN 4096 /* one of several threads takes at once, at most: two of the walker's largest blocks */
#define TURNS_EACH  4    /* at least, so that others can help a thread that was held up, but for turns of FEW_ROWS */
#define FEW_ROWS    512

int regressor_ready(struct hes_regressor *r)
{
	r->about.n_trees = r->ensemble.n_trees;
	r->about.n_nodes = r->ensemble.n_nodes;
	if (r->about.options.kind == HES_REGRESSOR_LINEAR)
		return 0;
	r->walker = walker_create(&r->ensemble);
	return r->walker ? 0 : -ENOMEM;
}

void hes_regressor_free(struct hes_regressor *r)
{
	if (!r)
		return;
	walker_destroy(r->walker);
	ensemble_finish(&r->ensemble);
	free(r->feature_names);
	free(r->outputs);
	free(r->weights);
	free(r->means);
	free(r);
}

const struct hes_regressor_info *hes_regressor_about(const struct hes_regressor *r)
{
	return &r->about;
}

const char *hes_regressor_feature_name(const struct hes_regressor *r, size_t i)
{
	return r->feature_names[i];
}

const char *hes_regressor_output_name(const struct hes_regressor *r, size_t i)
{
	return r->outputs[i].name;
}

const char *hes_regressor_output_unit(const struct hes_regressor *r, size_t i)
{
	return r->outputs[i].unit;
}

const struct hes_regressor_errors *hes_regressor_errors(const struct hes_regressor *r, size_t i)
{
	return &r->outputs[i].errors;
}

int hes_regressor_check_unit(const char *unit, struct hes_err *err)
{
	if (strlen(unit) >= HES_REGRESSOR_UNIT_MAX || !hes_is_utf8(unit))
		return hes_fail(err, -EINVAL, "unit \"%.32s\": at most %d bytes of UTF-8", unit,
				HES_REGRESSOR_UNIT_MAX - 1);
	return 0;
}

int hes_regressor_set_unit(struct hes_regressor *r, size_t output, const char *unit, struct hes_err *err)
{
	int rc = hes_regressor_check_unit(unit, err);

	if (output >= r->about.n_outputs)
		return hes_fail(err, -EINVAL, "output %zu: there are %zu", output, r->about.n_outputs);
	if (!rc)
		strcpy(r->outputs[output].unit, unit);
	return rc;
}

int hes_regressor_set_errors(struct hes_regressor *r, size_t output, const struct hes_regressor_errors *e,
			     struct hes_err *err)
{
	if (output >= r->about.n_outputs)
		return hes_fail(err, -EINVAL, "output %zu: there are %zu", output, r->about.n_outputs);
	if (!isfinite(e->mae) || !isfinite(e->r2) || !isfinite(e->abs_error_pct) || !isfinite(e->rel_error_pct) ||
	    e->mae < 0 || e->r2 > 1)
		return hes_fail(err, -EINVAL, "errors of output %zu: not finite, below 0, or r2 above 1", output);
	r->outputs[output].errors = *e;
	return 0;
}

void hes_regressor_set_rows_crc(struct hes_regressor *r, uint32_t crc)
{
	r->about.rows_crc = crc;
}

static void predict_line(const struct hes_regressor *r, const float *row, double *out)
{
	size_t n = r->about.n_features;

	for (size_t o = 0; o < r->about.n_outputs; o++) {
		const double *slope = r->weights + o * (n + 1);
		double sum = slope[n];

		for (size_t f = 0; f < n; f++)
			sum += slope[f] * (isnan(row[f]) ? r->means[f] : (double)row[f]);
		out[o] = sum;
	}
}

const struct sieve *regressor_sieve(const struct hes_regressor *r)
{
	return r->walker ? walker_sieve(r->walker) : NULL;
}

void hes_regressor_predict(const struct hes_regressor *r, const float *row, double *out)
{
	if (r->walker)
		walker_predict(r->walker, row, out);
	else
		predict_line(r, row, out);
}

static void predict_some(const struct hes_regressor *r, const float *rows, size_t n, double *out)
{
	if (r->walker) {
		walker_predict_rows(r->walker, rows, n, out);
		return;
	}
	for (size_t i = 0; i < n; i++)
		predict_line(r, rows + i * r->about.n_features, out + i * r->about.n_outputs);
}

void hes_regressor_predict_rows(const struct hes_regressor *r, const float *rows, size_t n, double *out,
				uint32_t threads)
{
	int team = threads ? (int)threads : omp_get_max_threads();
	size_t some = n / ((size_t)team * TURNS_EACH), turns;

	some = team == 1 ? n : some < FEW_ROWS ? FEW_ROWS : some < ROWS_A_TURN ? some : ROWS_A_TURN;
	turns = n ? (n + some - 1) / some : 0;
#pragma omp parallel for num_threads(team) schedule(dynamic) if (turns > 1 && team > 1)
	for (size_t t = 0; t < turns; t++) {
		size_t first = t * some, count = n - first < some ? n - first : some;

		predict_some(r, rows + first * r->about.n_features, count, out + first * r->about.n_outputs);
	}
}
