/*
 * random_tree.h - a tree of random cuts (extra trees: Geurts, Ernst and Wehenkel, 2006).
 *
 * Each feature that is drawn for a split is cut once, uniformly between its least and greatest
 * value in the node. The best of these cuts is taken.
 */
#ifndef HES_TREES_RANDOM_TREE_H
#define HES_TREES_RANDOM_TREE_H

#include "trees/tree_fit.h"

/** What the trees share: a matrix row by row. Constant while they are fitted. */
struct random_rows {
	float *x; /* stride per row; padding behind the features is 0 */
	size_t stride;
	bool *incomplete; /* of each feature: some row lacks it */
	size_t n, n_features;
};

/** Memory of one thread. */
struct random_work;

/** @return 0 or -ENOMEM */
int random_rows_init(struct random_rows *r, const struct hes_rows *rows);
void random_rows_finish(struct random_rows *r);

struct random_work *random_work_create(const struct random_rows *r);
void random_work_destroy(struct random_work *w);

/** Fit a tree to all rows. @param out  free its nodes. @return 0 or -ENOMEM */
int random_tree_fit(const struct random_rows *r, const double *y,
		    const struct hes_regressor_options *o, struct hes_rng *rng,
		    struct random_work *w, struct fitted_tree *out);

#endif
