/*
 * paper_regressor.h - the learners that papers compare: heshare's boosting (trees/boosting.h), and
 * random forests, extra trees, one tree and a straight line, which it does not have.
 *
 * A regressor is constant once fitted. paper_regressor_free() takes one that is zeroed.
 */
#ifndef PAPERS_HESHARE_PAPER_REGRESSOR_H
#define PAPERS_HESHARE_PAPER_REGRESSOR_H

#include "trees/boosting.h"

#define PAPER_MAX_FEATURES 1000

enum paper_learner {
	PAPER_FOREST, /* Breiman, 2001 */
	PAPER_EXTRA_TREES,
	PAPER_BOOSTING,
	PAPER_TREE,   /* one tree on all rows */
	PAPER_LINEAR, /* least squares; a missing value counts as the column's mean */
};

/** A learner and its options; 0: the learner's default. Options that it does not have are passed
 * over. */
struct paper_setting {
	enum paper_learner learner;
	struct boosting_options o; /* trees, seed, threads and min_leaf of the others, too */
	uint32_t features_per_split, max_depth; /* not of boosting */
};

struct paper_regressor {
	struct paper_setting setting; /* as used */
	struct ensemble trees;        /* without outputs: a straight line */
	double scale;                 /* of the trees' sum */
	double *weights;              /* of each output: n_features slopes and the constant */
	double *means;                /* of each feature, for missing values */
	size_t n_features, n_outputs;
};

/** @return 0 or -ENOMEM */
int paper_regressor_fit(const struct training_rows *rows, const struct paper_setting *setting,
			struct paper_regressor *out, struct hes_err *err);
void paper_regressor_predict(const struct paper_regressor *r, const float *row, double *out);
void paper_regressor_free(struct paper_regressor *r);

#endif
