/*
 * fit_options.c - defaults and checks of options; see fit_options.h and the table in
 * docs/predictor.md.
 */
#include "trees/fit_options.h"

#include <errno.h>

#define MAX_THREADS 4096
#define MAX_LEAVES  65536

/* Default leaves of a boosted tree: rows / ROWS_PER_LEAF, within bounds. */
#define ROWS_PER_LEAF 100
#define FEW_LEAVES    8
#define MANY_LEAVES   31

static const struct {
	const char *name;
	struct hes_regressor_options o;
} kinds[] = {
	[HES_REGRESSOR_BOOSTING] = { "boosting",
				     {
					     .trees = 100,
					     .min_leaf = 5,
					     .learning_rate = 0.15,
					     .row_fraction = 0.7,
					     .column_fraction = 1,
				     } },
	[HES_REGRESSOR_EXTRA_TREES] = { "extra trees", { .trees = 100, .min_leaf = 1 } },
};

static int check_number(const struct hes_regressor_options *o, size_t n_features,
			struct hes_err *err)
{
	if (o->trees > HES_REGRESSOR_MAX_TREES)
		return hes_fail(err, -EINVAL, "%u trees; an output has from 1 to %d", o->trees,
				HES_REGRESSOR_MAX_TREES);
	if (o->features_per_split > n_features)
		return hes_fail(err, -EINVAL, "%u features a split; there are %zu",
				o->features_per_split, n_features);
	if (o->max_leaves == 1 || o->max_leaves > MAX_LEAVES)
		return hes_fail(err, -EINVAL, "%u leaves a tree; from 2 to %d are possible",
				o->max_leaves, MAX_LEAVES);
	if (o->threads > MAX_THREADS)
		return hes_fail(err, -EINVAL, "%u threads; at most %d are possible", o->threads,
				MAX_THREADS);
	return 0;
}

static int check_fraction(const char *what, double value, struct hes_err *err)
{
	if (value >= 0 && value <= 1)
		return 0;
	return hes_fail(err, -EINVAL, "%s %g; it must be above 0 and at most 1", what, value);
}

static int check_fractions(const struct hes_regressor_options *o, struct hes_err *err)
{
	int rc = check_fraction("learning rate", o->learning_rate, err);

	if (!rc)
		rc = check_fraction("fraction of rows", o->row_fraction, err);
	if (!rc)
		rc = check_fraction("fraction of columns", o->column_fraction, err);
	return rc;
}

/* Options that only boosting has. */
static int check_kind(const struct hes_regressor_options *o, struct hes_err *err)
{
	const char *what = o->max_leaves             ? "limit of leaves"
			   : o->learning_rate != 0   ? "learning rate"
			   : o->row_fraction != 0    ? "fraction of rows"
			   : o->column_fraction != 0 ? "fraction of columns"
						     : NULL;

	if (o->kind == HES_REGRESSOR_BOOSTING || !what)
		return 0;
	return hes_fail(err, -EINVAL, "%s takes no %s; boosting does", kinds[o->kind].name, what);
}

static int check(const struct hes_regressor_options *o, size_t n_features, struct hes_err *err)
{
	int rc;

	if ((unsigned)o->kind > HES_REGRESSOR_EXTRA_TREES)
		return hes_fail(err, -EINVAL, "kind %d of regressor is unknown", (int)o->kind);
	rc = check_number(o, n_features, err);
	if (!rc)
		rc = check_fractions(o, err);
	return rc ? rc : check_kind(o, err);
}

static uint32_t or_default(uint32_t given, uint32_t otherwise)
{
	return given ? given : otherwise;
}

/* A given depth limits the leaves; otherwise more rows allow more leaves. */
static uint32_t leaves_of(const struct hes_regressor_options *given, size_t n_rows)
{
	size_t leaves = n_rows / ROWS_PER_LEAF;

	if (given->max_leaves)
		return given->max_leaves;
	if (given->max_depth)
		return given->max_depth < 16 ? 1u << given->max_depth : MAX_LEAVES;
	return leaves < FEW_LEAVES    ? FEW_LEAVES
	       : leaves > MANY_LEAVES ? MANY_LEAVES
				      : (uint32_t)leaves;
}

static void settle_boosting(const struct hes_regressor_options *given,
			    const struct hes_regressor_options *d, size_t n_rows,
			    struct hes_regressor_options *out)
{
	out->max_leaves = leaves_of(given, n_rows);
	out->learning_rate = given->learning_rate > 0 ? given->learning_rate : d->learning_rate;
	out->row_fraction = given->row_fraction > 0 ? given->row_fraction : d->row_fraction;
	out->column_fraction =
		given->column_fraction > 0 ? given->column_fraction : d->column_fraction;
}

int options_settle(const struct hes_regressor_options *given, size_t n_rows, size_t n_features,
		   struct hes_regressor_options *out, struct hes_err *err)
{
	const struct hes_regressor_options *d;
	struct hes_regressor_options t = { 0 };
	int rc = check(given, n_features, err);

	if (rc)
		return rc;
	d = &kinds[given->kind].o;
	t.kind = given->kind;
	t.threads = given->threads;
	t.seed = given->seed;
	t.trees = or_default(given->trees, d->trees);
	t.min_leaf = or_default(given->min_leaf, d->min_leaf);
	t.max_depth = given->max_depth;
	t.features_per_split = or_default(given->features_per_split, (uint32_t)n_features);
	if (t.kind == HES_REGRESSOR_BOOSTING)
		settle_boosting(given, d, n_rows, &t);
	*out = t;
	return 0;
}
