/*
 * walk.h - an ensemble laid out for walking (docs/predictor.md, "How trees
 * are walked").
 *
 * Gives the same bits as ensemble_predict() on every machine, for one row
 * and for many. Constant once made.
 */
#ifndef HES_TREES_WALK_H
#define HES_TREES_WALK_H

#include "trees/ensemble.h"

struct walker;
struct sieve;

/** @param e  is copied; its trees must be sound (ensemble.h). @return NULL: out of memory */
struct walker *walker_create(const struct ensemble *e);
void walker_destroy(struct walker *w);

/** What one row at a time is asked of; NULL: nodes are. */
const struct sieve *walker_sieve(const struct walker *w);

/** As ensemble_predict(). No allocation. */
void walker_predict(const struct walker *w, const float *row, double *out);
/** As hes_regressor_predict_rows(), by the calling thread alone. */
void walker_predict_rows(const struct walker *w, const float *rows, size_t n, double *out);

#endif
