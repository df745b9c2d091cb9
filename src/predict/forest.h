/*
 * forest.h - a bagged ensemble of trees (Breiman, 2001) for one output.
 */
#ifndef HES_PREDICT_FOREST_H
#define HES_PREDICT_FOREST_H

#include "predict/tree.h"

#define FOREST_MAX_TREES 10000

/** Constant once fitted; any number of threads may share it. */
struct forest {
	struct tree_node *nodes;   /* tree after tree */
	size_t            n_nodes;
	size_t           *roots;   /* n_trees + 1; the last is n_nodes */
	size_t            n_trees;
	size_t            n_features;
};

struct forest_options {
	struct tree_options tree;
	uint32_t            trees;
	uint32_t            threads;  /* 0: as many as OpenMP gives; the forest is the same */
	uint64_t            seed;
};

/**
 * Fit on all rows, each tree on a bootstrap sample.
 * @return 0 or -ENOMEM
 */
int  forest_fit(const struct tree_data *d, const double *y, const struct forest_options *o,
		struct forest *out);
void forest_finish(struct forest *f);

/** @param row  n_features values and room for one more, which is written */
double forest_predict(const struct forest *f, float *row);

#endif
