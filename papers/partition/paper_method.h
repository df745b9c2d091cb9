/*
 * paper_method.h - the paper's method: trees predict the sum of throughputs of jobs that share a
 * GPU from nine features of the jobs alone, and its power from seven of them.
 */
#ifndef PAPERS_PAPER_METHOD_H
#define PAPERS_PAPER_METHOD_H

#include "paper_learners.h"
#include "study.h"

enum {
	PAPER_RATE = 9,  /* features of the throughput model, */
	PAPER_POWER = 7, /* ... of the power model: GPU metrics alone, the first ones */
};

/** Section 3.1 and 3.2 of the paper: raw metrics summed over the jobs, percentages averaged. */
void paper_features(const struct testbed *t, const struct co_run_set *s, float out[PAPER_RATE]);

/**
 * Learn both outputs from the pairs that @use marks, and predict all.
 * @param trees  0: the default
 * @param p      one for each set of t->pairs
 * @param fit_s  processor time of the fits on all rows is added
 */
int paper_method_learn(const struct testbed *t, const bool *use, enum learner learner,
		       uint64_t seed, uint32_t trees, struct predicted *p, double *fit_s,
		       struct hes_err *err);

#endif
