/*
 * estimate.h - what a set of jobs will roughly come to, without asking the
 * predictor: a search weighs many sets that it never takes.
 *
 * What is known of a set (rates.h) is told as it is. Else each member's time is
 * its own alone with the same share and clock, stretched by a function of what it and
 * its neighbours keep busy alone, whose constants are fitted once, on
 * some hundred sets that the predictor was asked about.
 */
#ifndef HES_PLAN_ESTIMATE_H
#define HES_PLAN_ESTIMATE_H

#include "plan/problem.h"

struct hes_estimator;

/**
 * Fit the constants on sets drawn from the problem's jobs.
 * @param seed  of the sets drawn
 * @return 0 or -ENOMEM
 */
int  hes_estimator_new(const struct hes_problem *p, uint64_t seed, struct hes_estimator **out);
void hes_estimator_free(struct hes_estimator *e);

/** Roughly the rates of a set; only singles are asked for. @return whether it is what hes_rates_of() would say */
bool hes_estimate(const struct hes_estimator *e, struct hes_rates *r, const struct hes_set *s, struct hes_pace *out);

#endif
