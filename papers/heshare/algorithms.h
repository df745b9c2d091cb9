/*
 * algorithms.h - ways to find stage 1's front, by name. To add one, write it in its own file and
 * add its row to the table in algorithms.c.
 */
#ifndef PAPER_ALGORITHMS_H
#define PAPER_ALGORITHMS_H

#include "halfplanes.h"

struct hes_algorithm_options {
	uint32_t population; /* even, at least 4 */
	uint32_t generations;
	uint64_t evaluations; /* a limit; 0: none. joint: see struct hes_between_options */
	double mutation;      /* probability that a job is moved; 0: the algorithm's own */
	uint64_t seed;
	uint32_t threads; /* at most; at least 1. The front is the same */
	/* Of exact and auction, and of joint for the one of them that it starts from: */
	double tolerance; /* see struct hes_exact_options, hes_near_options; negative: of exact by
			     the number of jobs, of auction .002 */
	uint32_t weights; /* stop after so many solves, at least 2; 0: exact has no limit, auction a
			     few levels */
	bool plain_start, plain_crossover, plain_mutation,
		no_recovery; /* HeShare's GA without an improvement */
};

struct hes_algorithm_result {
	struct hes_assign_front front; /* the caller's: free(front.v) */
	uint64_t evaluations; /* as population.h and operators.h count; exact: weights solved */
	/* What no assignment reaches; NULL: nothing proven. The caller's: free() */
	struct hes_halfplane *halfplanes;
	size_t n_halfplanes;
};

struct hes_algorithm {
	const char *name;
	const char *summary;
	/** @return 0 or -ENOMEM; @out is written on success only */
	int (*run)(const struct hes_assign *a, const struct hes_algorithm_options *o,
		   struct hes_algorithm_result *out);
};

extern const struct hes_algorithm hes_algorithms[]; /* ends with a row whose name is NULL */
extern const struct hes_algorithm_options hes_algorithm_defaults;

const struct hes_algorithm *hes_algorithm_find(const char *name);

#endif
