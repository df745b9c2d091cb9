/*
 * exact_tree.h - a tree whose every split is the best of all cuts of the features drawn for it, or
 * of one cut at random of each (extra trees: Geurts, Ernst and Wehenkel, 2006).
 *
 * Rows have a count, so that a bootstrap sample and all rows take the same path. Ties go to the
 * feature drawn first and to its lowest cut.
 */
#ifndef PAPERS_HESHARE_EXACT_TREE_H
#define PAPERS_HESHARE_EXACT_TREE_H

#include "trees/boosting.h"
#include "sorted_rows.h"

struct tree_options {
	uint32_t features_per_split, min_leaf;
	uint32_t max_depth; /* 0: no limit */
	bool random_cuts;
};

/** What the trees of a forest share. Constant while they are fitted. */
struct exact_rows {
	const float *x; /* column by column; the caller's */
	struct sorted_rows sorted;
	double *inverse; /* 1 / weight, for weights 0 (0) to n */
	size_t n, n_features;
};

/** Memory of one thread. */
struct exact_work;

/** @return 0 or -ENOMEM */
int exact_rows_init(struct exact_rows *r, const struct training_rows *rows);
void exact_rows_finish(struct exact_rows *r);

struct exact_work *exact_work_create(const struct exact_rows *r);
void exact_work_destroy(struct exact_work *w);

/**
 * @param count  how often each row counts; at least one counts, and they sum to n at most
 * @param out    free its nodes
 * @return 0 or -ENOMEM
 */
int exact_tree_fit(const struct exact_rows *r, const double *y, const uint32_t *count,
		   const struct tree_options *o, struct hes_rng *rng, struct exact_work *w,
		   struct fitted_tree *out);

#endif
