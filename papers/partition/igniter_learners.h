/*
 * igniter_learners.h - ways to predict slowdowns of iGniter's pairs.
 */
#ifndef PAPERS_IGNITER_LEARNERS_H
#define PAPERS_IGNITER_LEARNERS_H

#include "igniter_data.h"

/**
 * Learn from the pairs that @use marks, and predict all.
 * @param use  [d->n_pairs]
 * @param out  predicted slowdown of both jobs, [d->n_pairs]; filled on success
 */
typedef int igniter_learn_fn(const struct igniter *d, const bool *use, double (*out)[2],
			     struct hes_err *err);

struct igniter_learner {
	const char *name;
	igniter_learn_fn *learn;
};

enum { IGNITER_LEARNERS = 6, IGNITER_NONE = 0, IGNITER_CORRECTED = 5 };

extern const struct igniter_learner igniter_learners[IGNITER_LEARNERS];

#endif
