/*
 * paper_learners.h - the three learners that Han et al. compare, as they trained them: extra trees
 * as they are, a random forest with grid search, and an AutoML. Each learns one output.
 */
#ifndef PAPERS_PARTITION_LEARNERS_H
#define PAPERS_PARTITION_LEARNERS_H

#include "paper_regressor.h"

#define LEARNERS_TREES  100 /* by default */
#define LEARNERS_BUDGET 100 /* fits of the AutoML for an output; H2O's had three minutes */

enum learner { LEARNER_EXTRA_TREES, LEARNER_FOREST, LEARNER_AUTO };

enum { LEARNT_MOST = 4 }; /* kinds that the AutoML knows */

/** One output: the mean of some regressors. */
struct learnt {
	struct paper_regressor of[LEARNT_MOST];
	size_t n;
	size_t fits;  /* that it took, all of cross-validation included */
	double fit_s; /* processor time of the last of them, on all rows */
};

/**
 * Learn one output.
 *
 * The forest is the best of 3 x 3 settings: features of a split and rows of a leaf. The AutoML has
 * random forests, boosting, one tree and straight lines: first with default settings, then with
 * settings drawn at random until LEARNERS_BUDGET is spent. It takes the mean of the best of some
 * kinds: of as many as have the least error. Extra trees are not among them, as in H2O's.
 * Five-fold cross-validation gives the errors; a fold grows half the trees.
 * @param rows  one output, all above 0: errors are |predicted / y - 1|
 * @param out   written on success only; learnt_free it
 * @return 0 or -ENOMEM
 */
int learner_fit(enum learner learner, const struct training_rows *rows, uint64_t seed,
		uint32_t trees, struct learnt *out, struct hes_err *err);
double learnt_predict(const struct learnt *l, const float *row);
void learnt_free(struct learnt *l);

#endif
