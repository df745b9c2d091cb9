/*
 * random_ensemble.h - ensembles of any shape that nobody grew, and rows that hit their thresholds.
 */
#ifndef HES_TESTS_RANDOM_ENSEMBLE_H
#define HES_TESTS_RANDOM_ENSEMBLE_H

#include "base/rng.h"
#include "trees/regressor.h"

enum shape {
	SHAPE_ANY,   /* a leaf drawn by lot is split next */
	SHAPE_FULL,  /* the oldest: all leaves at the same depth, or one off */
	SHAPE_CHAIN, /* the youngest right one: as deep as can be */
};

struct ensemble_spec {
	enum shape shape;
	size_t     features, outputs;
	size_t     trees; /* an output */
	uint32_t   nodes; /* of a tree; odd */
	bool       joint; /* every tree is of all outputs; trees are not an output's */
};

/** ensemble_finish() it. */
struct ensemble ensemble_draw(const struct ensemble_spec *s, struct hes_rng *rng);
/** n rows: values at thresholds, beside them, 0 and -0, infinite, missing. free() them. */
float *rows_draw(size_t n, size_t features, struct hes_rng *rng);
/** A forest of an ensemble drawn, ready to be asked, with names and provenance. */
struct hes_regressor *regressor_draw(const struct ensemble_spec *s, struct hes_rng *rng);

#endif
