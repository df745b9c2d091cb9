/*
 * regressor.h - functions of many numbers, learnt from rows: random forests,
 * extra trees, gradient boosting, a single tree, a straight line.
 *
 * Knows nothing of GPUs; predict.h puts jobs and boards on top. One ensemble
 * an output, or joint trees, which answer twice as fast where there are two
 * outputs and are less accurate. Missing values (NaN) are legal in
 * rows that are learnt from and in rows that are asked about; each split
 * learns where to send them.
 *
 * A regressor is constant once made: any number of threads may share it.
 */
#ifndef HESHARE_REGRESSOR_H
#define HESHARE_REGRESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

#define HES_REGRESSOR_MAX_FEATURES 1000
#define HES_REGRESSOR_MAX_OUTPUTS  16
#define HES_REGRESSOR_MAX_ROWS     4000000
#define HES_REGRESSOR_MAX_TREES    10000  /* an output */
#define HES_REGRESSOR_NAME_MAX     64     /* bytes of a feature's or output's name, 0 included */
#define HES_REGRESSOR_UNIT_MAX     16     /* bytes of an output's unit, 0 included */

enum hes_regressor_kind {
	HES_REGRESSOR_FOREST,      /* Breiman, 2001: the paper's */
	HES_REGRESSOR_EXTRA_TREES, /* Geurts, Ernst, Wehenkel, 2006 */
	HES_REGRESSOR_BOOSTING,    /* Friedman, 2001 and 2002 */
	HES_REGRESSOR_TREE,        /* one tree on all rows */
	HES_REGRESSOR_LINEAR,      /* least squares; a missing value counts as the column's mean */
};

/** What a split makes small. */
enum hes_criterion {
	HES_CRITERION_SQUARED,
	HES_CRITERION_ABSOLUTE,
};

/** How to learn; 0 stands for the kind's default everywhere (docs/predictor.md lists them). */
struct hes_regressor_options {
	enum hes_regressor_kind kind;
	enum hes_criterion      criterion;
	bool     joint;              /* each tree is of all outputs, each in units of its own variance; squared error of
					forests, extra trees and single trees. Of one output: no difference, and false after */
	uint32_t trees;              /* 1..HES_REGRESSOR_MAX_TREES an output, or joint ones; boosting: at most */
	uint64_t seed;
	uint32_t threads;            /* default: all processors; the result is the same */
	uint32_t features_per_split; /* 1..number of features */
	uint32_t min_leaf;           /* rows in a leaf at least */
	uint32_t max_depth;          /* default: no limit; boosting: see max_leaves */
	uint32_t max_leaves;         /* boosting: leaves of a tree, best first */
	double   learning_rate;      /* boosting: 0 < rate <= 1 */
	double   row_fraction;       /* boosting: rows drawn for a tree, 0 < f <= 1 */
	double   column_fraction;    /* boosting: features drawn for a tree, 0 < f <= 1 */
	double   stop_fraction;      /* boosting: rows held back to stop on, 0 <= f <= 0.5; default 0: none */
	uint32_t patience;           /* boosting: trees without gain on them before it stops */
};

/** Rows to learn from; the caller's. Names may be NULL: x0, x1, ..., y0, ... then. */
struct hes_rows {
	const float  *x;               /* column by column: x[feature * n + row]; NaN: missing; infinite: refused */
	const double *y;               /* output by output: y[output * n + row]; finite */
	size_t        n;               /* 2..HES_REGRESSOR_MAX_ROWS */
	size_t        n_features;      /* 1..HES_REGRESSOR_MAX_FEATURES */
	size_t        n_outputs;       /* 1..HES_REGRESSOR_MAX_OUTPUTS */
	const char *const *feature_names;
	const char *const *output_names;
};

struct hes_regressor;

/** What a regressor is; owned by it. */
struct hes_regressor_info {
	struct hes_regressor_options options; /* as used: no defaults left; threads 0 */
	uint64_t rows;                        /* it was fitted on; 0: unknown (imported) */
	uint32_t rows_crc;                    /* CRC-32 of what it was fitted on, as whoever fitted it counts; 0: unknown */
	size_t   n_features, n_outputs;
	size_t   n_trees, n_nodes;            /* of all outputs */
};

/** How well an output was predicted on rows that were not learnt from. Rows 0: nobody looked. */
struct hes_regressor_errors {
	uint64_t rows;
	double   mae;            /* in the output's unit */
	double   r2;
	double   abs_error_pct;  /* mean |y - prediction| / mean y */
	double   rel_error_pct;  /* mean of |y - prediction| / y */
};

/**
 * Learn. Deterministic for a seed whatever the number of threads and the compiler.
 * @return 0; -EINVAL rows or options, with what would be right; -ENOMEM
 */
int  hes_regressor_fit(const struct hes_rows *rows, const struct hes_regressor_options *o,
		       struct hes_regressor **out, struct hes_err *err);
void hes_regressor_free(struct hes_regressor *r);

const struct hes_regressor_info *hes_regressor_about(const struct hes_regressor *r);
const char *hes_regressor_feature_name(const struct hes_regressor *r, size_t i);
const char *hes_regressor_output_name(const struct hes_regressor *r, size_t i);
/** "ms", "W"; "": unknown. */
const char *hes_regressor_output_unit(const struct hes_regressor *r, size_t i);
const struct hes_regressor_errors *hes_regressor_errors(const struct hes_regressor *r, size_t i);

/** @return 0; -EINVAL not UTF-8, or HES_REGRESSOR_UNIT_MAX bytes and more with the 0 */
int hes_regressor_check_unit(const char *unit, struct hes_err *err);
/*
 * What fitting cannot know and a model file keeps; to be set before other threads have the regressor. Copied.
 * They return 0, or -EINVAL with the regressor as it was: no such output; a unit that hes_regressor_check_unit() refuses;
 * errors that are not finite, mae below 0 or r2 above 1.
 */
int hes_regressor_set_unit(struct hes_regressor *r, size_t output, const char *unit, struct hes_err *err);
int hes_regressor_set_errors(struct hes_regressor *r, size_t output, const struct hes_regressor_errors *e,
			     struct hes_err *err);
void hes_regressor_set_rows_crc(struct hes_regressor *r, uint32_t crc);

/**
 * One row. No allocation.
 * @param row  n_features values; NaN: missing
 * @param out  n_outputs values
 */
void hes_regressor_predict(const struct hes_regressor *r, const float *row, double *out);

/**
 * Many rows: the same bits as one by one, faster, most so by thousands. No allocation; 650 KiB of stack.
 * @param rows     row by row: rows[i * n_features + feature]
 * @param out      row by row: out[i * n_outputs + output]
 * @param threads  0: all processors
 */
void hes_regressor_predict_rows(const struct hes_regressor *r, const float *rows, size_t n, double *out,
				uint32_t threads);

/**
 * Write a model file (docs/formats/model.md): versioned, checksummed. @path "-" is standard output. The file appears
 * whole or not at all.
 * @return 0; -ENOMEM; -errno of creating or writing it
 */
int hes_regressor_save(const char *path, const struct hes_regressor *r, struct hes_err *err);
/**
 * @param out  written on success only; hes_regressor_free it
 * @return 0; -EINVAL no regressor's file, of another version, or damaged, with the reason; -EFBIG above 4 GiB; -ENOMEM;
 *         -errno of reading the file
 */
int hes_regressor_load(const char *path, struct hes_regressor **out, struct hes_err *err);

/**
 * LightGBM's text models: one output a file.
 * @param paths  a file an output, all of the same features
 * @return 0; -EINVAL not such a model, damaged, or one that this cannot stand for (which part, and where); -ENOMEM
 */
int hes_regressor_import_lightgbm(const char *const *paths, size_t n, struct hes_regressor **out,
				  struct hes_err *err);
/** Write an output as LightGBM's text model. @return 0; -ENOTSUP a linear regressor; -errno */
int hes_regressor_export_lightgbm(const char *path, const struct hes_regressor *r, size_t output,
				  struct hes_err *err);

#endif
