/*
 * regressor.h - functions of many numbers, learnt from rows by boosting or extra trees.
 *
 * This layer knows no GPUs or jobs; predict.h and partition.h use it for them. Missing values (NaN)
 * are allowed in rows to learn from and in rows to predict: each split learns a direction for them.
 * A trained regressor is constant, so any number of threads may share it.
 */
#ifndef HESHARE_REGRESSOR_H
#define HESHARE_REGRESSOR_H

#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

#define HES_REGRESSOR_MAX_FEATURES 1000
#define HES_REGRESSOR_MAX_OUTPUTS  16
#define HES_REGRESSOR_MAX_ROWS     4000000
#define HES_REGRESSOR_MAX_TREES    10000 /* per output */
#define HES_REGRESSOR_NAME_MAX     64 /* bytes of the name of a feature or an output, with the 0 */

enum hes_regressor_kind {
	HES_REGRESSOR_BOOSTING,    /* Friedman, 2001 and 2002 */
	HES_REGRESSOR_EXTRA_TREES, /* Geurts, Ernst, Wehenkel, 2006 */
};

/** How to fit; 0 means the kind's default (docs/predictor.md). */
struct hes_regressor_options {
	enum hes_regressor_kind kind;
	uint32_t trees; /* 1..HES_REGRESSOR_MAX_TREES per output */
	uint64_t seed;
	uint32_t threads;            /* default: all processors; the result is the same */
	uint32_t features_per_split; /* 1..number of features */
	uint32_t min_leaf;           /* rows in a leaf at least */
	uint32_t max_depth;          /* default: no limit; boosting: see max_leaves */
	uint32_t max_leaves;         /* boosting: leaves of a tree, best first */
	double learning_rate;        /* boosting: 0 < rate <= 1 */
	double row_fraction;         /* boosting: rows drawn for a tree, 0 < f <= 1 */
	double column_fraction;      /* boosting: features drawn for a tree, 0 < f <= 1 */
};

/** Rows to learn from, owned by the caller. Names may be NULL: then they are x0, x1, ..., y0, ...
 */
struct hes_rows {
	const float
		*x; /* column by column: x[feature * n + row]; NaN: missing; infinite: refused */
	const double *y;   /* output by output: y[output * n + row]; finite */
	size_t n;          /* 2..HES_REGRESSOR_MAX_ROWS */
	size_t n_features; /* 1..HES_REGRESSOR_MAX_FEATURES */
	size_t n_outputs;  /* 1..HES_REGRESSOR_MAX_OUTPUTS */
	const char *const *feature_names;
	const char *const *output_names;
};

struct hes_regressor;

/** What a regressor is; owned by it. */
struct hes_regressor_info {
	struct hes_regressor_options options; /* as used: no defaults left; threads 0 */
	uint64_t rows;                        /* it was fitted on */
	size_t n_features, n_outputs;
	size_t n_trees, n_nodes; /* of all outputs */
};

/** Errors of an output on rows that were held back. Rows 0: it was not tested. */
struct hes_regressor_errors {
	uint64_t rows;
	double mae; /* in the output's unit */
	double r2;
	double abs_error_pct; /* mean |y - prediction| / mean y */
	double rel_error_pct; /* mean of |y - prediction| / y */
};

/**
 * Fit. The same seed gives the same regressor, with any number of threads and any compiler.
 * @return 0; -EINVAL rows or options, with what would be right; -ENOMEM
 */
int hes_regressor_fit(const struct hes_rows *rows, const struct hes_regressor_options *o,
		      struct hes_regressor **out, struct hes_err *err);
void hes_regressor_free(struct hes_regressor *r);

const struct hes_regressor_info *hes_regressor_about(const struct hes_regressor *r);

/**
 * Predict one row. No allocation.
 * @param row  n_features values; NaN: missing
 * @param out  n_outputs values
 */
void hes_regressor_predict(const struct hes_regressor *r, const float *row, double *out);

#endif
