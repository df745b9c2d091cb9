/*
 * random_ensemble.h - random ensembles of any shape, and rows that hit their thresholds.
 */
#ifndef HES_TESTS_RANDOM_ENSEMBLE_H
#define HES_TESTS_RANDOM_ENSEMBLE_H

#include "base/rng.h"
#include "trees/regressor.h"

enum shape {
	SHAPE_ANY,   /* a random leaf is split next */
	SHAPE_FULL,  /* the oldest: all leaves at the same depth, or one off */
	SHAPE_CHAIN, /* the youngest right one: as deep as can be */
};

struct ensemble_spec {
	enum shape shape;
	size_t features, outputs;
	size_t trees;   /* per output */
	uint32_t nodes; /* of a tree; odd */
};

/** ensemble_finish() it. */
struct ensemble ensemble_draw(const struct ensemble_spec *s, struct hes_rng *rng);
/** n rows: values at thresholds, next to them, 0 and -0, infinite, missing. free() them. */
float *rows_draw(size_t n, size_t features, struct hes_rng *rng);
/** A forest with a random ensemble, names and provenance, ready to predict. */
struct hes_regressor *regressor_draw(const struct ensemble_spec *s, struct hes_rng *rng);

#endif
