/*
 * fit.c - check rows, fit a regressor; see heshare/regressor.h.
 */
#include "trees/regressor.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trees/fit_options.h"
#include "trees/tree_fit.h"

#define MAX_TARGET 1e37 /* leaves are single precision */

static int check_size(const struct hes_rows *rows, struct hes_err *err)
{
	if (rows->n < 2 || rows->n > HES_REGRESSOR_MAX_ROWS)
		return hes_fail(err, -EINVAL, "%zu rows; a regressor learns from 2 to %d", rows->n,
				HES_REGRESSOR_MAX_ROWS);
	if (rows->n_features < 1 || rows->n_features > HES_REGRESSOR_MAX_FEATURES)
		return hes_fail(err, -EINVAL, "%zu features; a regressor has from 1 to %d",
				rows->n_features, HES_REGRESSOR_MAX_FEATURES);
	if (rows->n_outputs < 1 || rows->n_outputs > HES_REGRESSOR_MAX_OUTPUTS)
		return hes_fail(err, -EINVAL, "%zu outputs; a regressor has from 1 to %d",
				rows->n_outputs, HES_REGRESSOR_MAX_OUTPUTS);
	return 0;
}

static int check_values(const struct hes_rows *rows, struct hes_err *err)
{
	for (size_t i = 0; i < rows->n_features * rows->n; i++)
		if (isinf(rows->x[i]))
			return hes_fail(
				err, -EINVAL,
				"row %zu: feature %zu is infinite; it must be a number or missing",
				i % rows->n + 1, i / rows->n + 1);
	for (size_t i = 0; i < rows->n_outputs * rows->n; i++)
		if (!(fabs(rows->y[i]) <= MAX_TARGET))
			return hes_fail(
				err, -EINVAL,
				"row %zu: output %zu is %g; it must be a number of at most %g",
				i % rows->n + 1, i / rows->n + 1, rows->y[i], MAX_TARGET);
	return 0;
}

int fit_check_rows(const struct hes_rows *rows, struct hes_err *err)
{
	int rc = check_size(rows, err);

	return rc ? rc : check_values(rows, err);
}

static int check_names(const char *const *names, size_t n, const char *what, struct hes_err *err)
{
	for (size_t i = 0; names && i < n; i++)
		if (!names[i][0] || strlen(names[i]) >= HES_REGRESSOR_NAME_MAX)
			return hes_fail(err, -EINVAL,
					"%s %zu: its name has %zu bytes; it must have from 1 to %d",
					what, i + 1, strlen(names[i]), HES_REGRESSOR_NAME_MAX - 1);
	return 0;
}

/* One of the names, or a default. */
static void put_name(char *out, const char *const *names, size_t i, char letter)
{
	if (names)
		strcpy(out, names[i]);
	else
		snprintf(out, HES_REGRESSOR_NAME_MAX, "%c%zu", letter, i);
}

static int take_names(const struct hes_rows *rows, struct hes_regressor *r, struct hes_err *err)
{
	int rc = check_names(rows->feature_names, rows->n_features, "feature", err);

	if (!rc)
		rc = check_names(rows->output_names, rows->n_outputs, "output", err);
	if (rc)
		return rc;
	r->feature_names = calloc(rows->n_features, sizeof(*r->feature_names));
	r->outputs = calloc(rows->n_outputs, sizeof(*r->outputs));
	if (!r->feature_names || !r->outputs)
		return hes_fail(err, -ENOMEM, "out of memory for %zu names",
				rows->n_features + rows->n_outputs);
	for (size_t i = 0; i < rows->n_features; i++)
		put_name(r->feature_names[i], rows->feature_names, i, 'x');
	for (size_t i = 0; i < rows->n_outputs; i++)
		put_name(r->outputs[i].name, rows->output_names, i, 'y');
	return 0;
}

static int fit_kind(const struct hes_rows *rows, struct hes_regressor *r, uint32_t threads)
{
	struct hes_regressor_options o = r->about.options;

	o.threads = threads;
	return o.kind == HES_REGRESSOR_BOOSTING ? fit_boosting(rows, &o, &r->ensemble)
						: fit_extra_trees(rows, &o, &r->ensemble);
}

static int fit_checked(const struct hes_rows *rows, const struct hes_regressor_options *o,
		       struct hes_regressor *r, struct hes_err *err)
{
	int rc = fit_check_rows(rows, err);

	if (!rc)
		rc = options_settle(o, rows->n, rows->n_features, &r->about.options, err);
	if (!rc)
		rc = take_names(rows, r, err);
	if (rc)
		return rc;
	r->about.options.threads = 0;
	r->about.rows = rows->n;
	r->about.n_features = rows->n_features;
	r->about.n_outputs = rows->n_outputs;
	if (fit_kind(rows, r, o->threads))
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows of %zu features", rows->n,
				rows->n_features);
	regressor_ready(r);
	return 0;
}

int hes_regressor_fit(const struct hes_rows *rows, const struct hes_regressor_options *o,
		      struct hes_regressor **out, struct hes_err *err)
{
	struct hes_regressor *r = calloc(1, sizeof(*r));
	int rc = r ? fit_checked(rows, o, r, err)
		   : hes_fail(err, -ENOMEM, "out of memory for a regressor");

	if (rc)
		hes_regressor_free(r);
	else
		*out = r;
	return rc;
}
