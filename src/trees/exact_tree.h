/*
 * exact_tree.h - a tree whose every split is the best of all cuts of the
 * features that were drawn for it.
 *
 * Rows carry a count, so that a bootstrap sample and all rows are the same
 * call. Ties go to the feature drawn first and to its lowest cut.
 */
#ifndef HES_TREES_EXACT_TREE_H
#define HES_TREES_EXACT_TREE_H

#include "trees/grow.h"
#include "trees/sorted_rows.h"

/** What trees share. Constant while they grow. */
struct exact_rows {
	const float      *x;       /* column by column; the caller's */
	struct grow_order order;
	double           *inverse; /* of each weight 1..n */
	size_t            n, n_features;
};

/** Memory to grow trees in; one a thread. */
struct exact_work;

/** @return 0 or -ENOMEM */
int  exact_rows_init(struct exact_rows *r, const struct hes_rows *rows);
void exact_rows_finish(struct exact_rows *r);

/** @param n_outputs  of a tree */
struct exact_work *exact_work_create(const struct exact_rows *r, size_t n_outputs);
void exact_work_destroy(struct exact_work *w);

/**
 * @param y      of as many outputs as the work was made for
 * @param count  how often each row counts; 0: not at all; n in all at most, 1 at least
 * @param out    grown_finish() it
 * @return 0 or -ENOMEM
 */
int exact_grow(const struct exact_rows *r, const struct grow_targets *y, const uint32_t *count,
	       const struct hes_regressor_options *o, struct hes_rng *rng, struct exact_work *w,
	       struct grown *out);

#endif
