/*
 * walk_wide.h - many rows at once through an ensemble, by vectors: what
 * walk.c asks where processor and ensemble allow (docs/predictor.md, "How
 * trees are walked"). Gives the same bits as ensemble_predict().
 */
#ifndef HES_TREES_WALK_WIDE_H
#define HES_TREES_WALK_WIDE_H

#include "trees/ensemble.h"

#define WIDE_FEWEST 64 /* rows: fewer are quicker by other ways */

struct wide;

/**
 * @param e    is copied; its trees must be sound (ensemble.h)
 * @param out  NULL where this processor, or an ensemble of such trees, is better served by other ways
 * @return 0 or -ENOMEM
 */
int  wide_create(const struct ensemble *e, struct wide **out);
void wide_destroy(struct wide *w);

/** Rows that wide_predict() takes at once, at most. */
size_t wide_room(const struct wide *w);

/** As ensemble_predict() for each of n rows. No allocation. @return false: a value is missing, nothing was done */
bool wide_predict(const struct wide *w, const float *rows, size_t n, double *out);

#endif
