/*
 * random_tree.h - a tree of random cuts (extra trees: Geurts, Ernst and
 * Wehenkel, 2006): each feature that was drawn for a split is cut once,
 * uniformly between the least and the greatest value in the node, and the
 * best of these cuts is taken.
 */
#ifndef HES_TREES_RANDOM_TREE_H
#define HES_TREES_RANDOM_TREE_H

#include "trees/grow.h"

/** What trees share: a matrix row by row. Constant while they grow. */
struct random_rows {
	float  *x;       /* stride a row; what lies behind the features is 0 */
	size_t  stride;
	bool   *lacking; /* of each feature: some row is without it */
	size_t  n, n_features;
};

/** Memory to grow trees in; one a thread. */
struct random_work;

/** @return 0 or -ENOMEM */
int  random_rows_init(struct random_rows *r, const struct hes_rows *rows);
void random_rows_finish(struct random_rows *r);

/** @param n_outputs  of a tree */
struct random_work *random_work_create(const struct random_rows *r, size_t n_outputs);
void random_work_destroy(struct random_work *w);

/**
 * Grow a tree on all rows.
 * @param y    of as many outputs as the work was made for
 * @param out  grown_finish() it
 * @return 0 or -ENOMEM
 */
int random_grow(const struct random_rows *r, const struct grow_targets *y,
		const struct hes_regressor_options *o, struct hes_rng *rng, struct random_work *w, struct grown *out);

#endif
