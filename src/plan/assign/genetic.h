/*
 * genetic.h - the paper's genetic algorithm for stage 1 (HeShare, section III-B2): the operators of
 * operators.h with the selection of NSGA-II.
 */
#ifndef HES_ASSIGN_GENETIC_H
#define HES_ASSIGN_GENETIC_H

#include "plan/assign/assign.h"

struct hes_genetic_options {
	uint32_t population; /* even, at least 4 */
	uint32_t generations;
	uint64_t seed;
	double mutation; /* probability that a job migrates */
};

/** The paper's settings; seed 1. */
extern const struct hes_genetic_options hes_genetic_defaults;

/** @return 0 or -ENOMEM; @out is written on success only */
int hes_genetic_run(const struct hes_assign *a, const struct hes_genetic_options *o,
		    struct hes_assign_front *out);

#endif
