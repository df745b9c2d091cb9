/*
 * histogram_tree.h - one tree of a boosted ensemble: the leaf whose split gains
 * most is split next, on histograms.
 *
 * Gradients are integers, so that sums are exact: a child's histogram is its
 * parent's less its sibling's to the last bit, whatever the order of rows.
 */
#ifndef HES_TREES_HISTOGRAM_TREE_H
#define HES_TREES_HISTOGRAM_TREE_H

#include "trees/grow.h"
#include "trees/bins.h"

#define STEP_RIDGE 1.0 /* rows without gradient that each leaf is thought to have besides its own */

struct step_node {
	struct ensemble_node node;
	uint32_t             bin;  /* inner: rows up to this bin of the feature go left */
};

/** Rows that came to a leaf. */
struct step_leaf {
	uint32_t node;
	uint32_t begin, end; /* of step_rows */
};

/** Memory to grow in; of one thread. */
struct step;

/** @param rows  that a tree is grown on at most */
struct step *step_create(const struct bins *b, const struct hes_regressor_options *o, size_t rows);
void step_destroy(struct step *s);

/**
 * Grow a tree; its leaves' values are the caller's to set.
 * @param rows      n of them, to be grown on
 * @param gradient  of every row of the bins
 * @param features  n_features of them, that may be used
 * @return 0 or -ENOMEM
 */
int step_grow(struct step *s, const uint32_t *rows, size_t n, const double *gradient,
	      const uint32_t *features, size_t n_features, struct hes_rng *rng);

struct step_node       *step_nodes(struct step *s, uint32_t *n);
const struct step_leaf *step_leaves(const struct step *s, size_t *n);
/** Rows, those of a leaf together and rising. */
const uint32_t         *step_rows(const struct step *s);
/** The leaf that a row of the bins comes to. */
uint32_t                step_walk(const struct step *s, size_t row);

#endif
