/*
 * genetic.h - the paper's adaptive genetic algorithm for stage 1 (HeShare,
 * section III-B2): ranked initialisation, elitist inheritance of GPU
 * segments, priority mutation. docs/planning.md gives the reading where
 * the paper leaves a choice.
 */
#ifndef HES_ASSIGN_GENETIC_H
#define HES_ASSIGN_GENETIC_H

#include "plan/assign/assign.h"

struct hes_genetic_options {
	uint32_t population;  /* even, from 4 on */
	uint32_t generations;
	uint64_t evaluations; /* end where a generation like the last would go beyond so many; 0: no limit */
	double   mutation;    /* probability that a job migrates */
	uint64_t seed;
	uint32_t threads;     /* at most; at least 1. The front is the same */
	bool     plain_start, plain_crossover, plain_mutation; /* an improvement is left out */
};

/** The paper's settings but for the seed; one thread. */
extern const struct hes_genetic_options hes_genetic_defaults;

/**
 * @param evaluations  how many it took, as assign_search.h counts; may be NULL
 * @return 0 or -ENOMEM
 */
int hes_genetic_run(const struct hes_assign *a, const struct hes_genetic_options *o,
		    struct hes_assign_front *out, uint64_t *evaluations);

#endif
