/*
 * paper_regressor.h - the learners that papers compare: those of heshare (heshare/regressor.h), and
 * random forests, one tree and a straight line, which it does not ship.
 *
 * A regressor is constant once fitted. paper_regressor_free() takes one that is zeroed.
 */
#ifndef PAPERS_HESHARE_PAPER_REGRESSOR_H
#define PAPERS_HESHARE_PAPER_REGRESSOR_H

#include "heshare/regressor.h"

enum paper_learner {
	PAPER_FOREST, /* Breiman, 2001 */
	PAPER_EXTRA_TREES,
	PAPER_BOOSTING,
	PAPER_TREE,   /* one tree on all rows */
	PAPER_LINEAR, /* least squares; a missing value counts as the column's mean */
};

/** A learner and its options; the kind of these is not read. */
struct paper_setting {
	enum paper_learner learner;
	struct hes_regressor_options o;
};

struct paper_regressor {
	struct paper_setting setting; /* as used */
	struct hes_regressor *trees;  /* NULL: a straight line */
	double *weights;              /* of each output: n_features slopes and the constant */
	double *means;                /* of each feature, for missing values */
	size_t n_features, n_outputs;
};

/** As hes_regressor_fit(). The options that a learner does not have are passed over. */
int paper_regressor_fit(const struct hes_rows *rows, const struct paper_setting *setting,
			struct paper_regressor *out, struct hes_err *err);
void paper_regressor_predict(const struct paper_regressor *r, const float *row, double *out);
void paper_regressor_free(struct paper_regressor *r);

#endif
