/*
 * regressor.c - rows checked, learnt from and asked about; see
 * heshare/regressor.h. The growers are grow_*.c and linear.c.
 */
#include "predict/regressor.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/grow.h"
#include "predict/linear.h"
#include "predict/options.h"

#define MAX_TARGET 1e37 /* leaves are single precision */

static int check_size(const struct hes_rows *rows, struct hes_err *err)
{
	if (rows->n < 2 || rows->n > HES_REGRESSOR_MAX_ROWS)
		return hes_fail(err, -EINVAL, "%zu rows; a regressor learns from 2 to %d", rows->n,
				HES_REGRESSOR_MAX_ROWS);
	if (rows->n_features < 1 || rows->n_features > HES_REGRESSOR_MAX_FEATURES)
		return hes_fail(err, -EINVAL, "%zu features; a regressor has from 1 to %d", rows->n_features,
				HES_REGRESSOR_MAX_FEATURES);
	if (rows->n_outputs < 1 || rows->n_outputs > HES_REGRESSOR_MAX_OUTPUTS)
		return hes_fail(err, -EINVAL, "%zu outputs; a regressor has from 1 to %d", rows->n_outputs,
				HES_REGRESSOR_MAX_OUTPUTS);
	return 0;
}

static int check_values(const struct hes_rows *rows, struct hes_err *err)
{
	for (size_t i = 0; i < rows->n_features * rows->n; i++)
		if (isinf(rows->x[i]))
			return hes_fail(err, -EINVAL, "row %zu: feature %zu is infinite; it must be a number or missing",
					i % rows->n + 1, i / rows->n + 1);
	for (size_t i = 0; i < rows->n_outputs * rows->n; i++)
		if (!(fabs(rows->y[i]) <= MAX_TARGET))
			return hes_fail(err, -EINVAL, "row %zu: output %zu is %g; it must be a number of at most %g",
					i % rows->n + 1, i / rows->n + 1, rows->y[i], MAX_TARGET);
	return 0;
}

/* Copy names, or make some up. @return 0, -EINVAL or -ENOMEM */
static int take_names(const char *const *names, size_t n, const char *what, char letter,
		      char (**out)[HES_REGRESSOR_NAME_MAX], struct hes_err *err)
{
	char (*v)[HES_REGRESSOR_NAME_MAX] = calloc(n, sizeof(*v));

	*out = v;
	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu names", n);
	for (size_t i = 0; i < n; i++) {
		if (names && (!names[i][0] || strlen(names[i]) >= sizeof(*v)))
			return hes_fail(err, -EINVAL, "%s %zu: its name has %zu bytes; it must have from 1 to %zu",
					what, i + 1, strlen(names[i]), sizeof(*v) - 1);
		if (names)
			strcpy(v[i], names[i]);
		else
			snprintf(v[i], sizeof(*v), "%c%zu", letter, i);
	}
	return 0;
}

static int learn(const struct hes_rows *rows, struct hes_regressor *r, uint32_t threads)
{
	struct hes_regressor_options o = r->about.options;

	o.threads = threads;
	if (o.kind == HES_REGRESSOR_BOOSTING)
		return grow_boosting(rows, &o, &r->ensemble);
	if (o.kind != HES_REGRESSOR_LINEAR)
		return grow_forest(rows, &o, &r->ensemble);
	r->weights = malloc((rows->n_features + 1) * rows->n_outputs * sizeof(*r->weights));
	r->means = malloc(rows->n_features * sizeof(*r->means));
	return r->weights && r->means ? linear_fit(rows, r->weights, r->means) : -ENOMEM;
}

static int fit(const struct hes_rows *rows, const struct hes_regressor_options *o, struct hes_regressor *r,
	       struct hes_err *err)
{
	int rc = check_size(rows, err);

	if (!rc)
		rc = options_settle(o, rows->n_features, &r->about.options, err);
	if (!rc)
		rc = check_values(rows, err);
	if (!rc)
		rc = take_names(rows->feature_names, rows->n_features, "feature", 'x', &r->feature_names, err);
	if (!rc)
		rc = take_names(rows->output_names, rows->n_outputs, "output", 'y', &r->output_names, err);
	if (rc)
		return rc;
	r->about.options.threads = 0;
	if (learn(rows, r, o->threads))
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows of %zu features", rows->n, rows->n_features);
	r->about.rows = rows->n;
	r->about.n_features = rows->n_features;
	r->about.n_outputs = rows->n_outputs;
	r->about.n_trees = r->ensemble.n_trees;
	r->about.n_nodes = r->ensemble.n_nodes;
	return 0;
}

int hes_regressor_fit(const struct hes_rows *rows, const struct hes_regressor_options *o,
		      struct hes_regressor **out, struct hes_err *err)
{
	struct hes_regressor *r = calloc(1, sizeof(*r));
	int rc = r ? fit(rows, o, r, err) : hes_fail(err, -ENOMEM, "out of memory for a regressor");

	if (rc)
		hes_regressor_free(r);
	else
		*out = r;
	return rc;
}

void hes_regressor_free(struct hes_regressor *r)
{
	if (!r)
		return;
	free(r->feature_names);
	free(r->output_names);
	ensemble_finish(&r->ensemble);
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
	return r->output_names[i];
}

void hes_regressor_predict(const struct hes_regressor *r, const float *row, double *out)
{
	if (r->weights)
		linear_predict(r->weights, r->means, r->about.n_features, r->about.n_outputs, row, out);
	else
		ensemble_predict(&r->ensemble, row, out);
}

void hes_regressor_predict_rows(const struct hes_regressor *r, const float *rows, size_t n, double *out,
				uint32_t threads)
{
#pragma omp parallel for num_threads(grow_threads(threads, n)) if (n > 1)
	for (size_t i = 0; i < n; i++)
		hes_regressor_predict(r, rows + i * r->about.n_features, out + i * r->about.n_outputs);
}
