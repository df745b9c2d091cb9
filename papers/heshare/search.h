/*
 * search.h - NSGA-II, SPEA2 and MOEA/D on assignments, and HeShare's GA with an improvement left
 * out.
 *
 * Plain operators know nothing of GPUs. HeShare's (plan/assign/operators.h) take their place one by
 * one.
 */
#ifndef PAPER_SEARCH_H
#define PAPER_SEARCH_H

#include "plan/assign/assign.h"
#include "population.h"

struct search_options {
	struct hes_evolve_options evolve;
	double mutation;                     /* probability that a job is moved */
	bool ranked_start, inherit, migrate; /* HeShare's operator, not the plain one */
	bool no_recovery;                    /* of migrate: see struct hes_operators */
};

/** SPEA2 (Zitzler, Laumanns, Thiele; TIK report 103, 2001), with an archive as large as the
 * population. */
hes_evolve_fn paper_spea2;
/** MOEA/D (Zhang, Li; IEEE TEVC 11(6), 2007): Tchebycheff, objectives scaled to the range found. */
hes_evolve_fn paper_moead;

/** @return 0 or -ENOMEM; @out and @evaluations are written on success only */
int search_assignments(const struct hes_assign *a, const struct search_options *o,
		       hes_evolve_fn *search, struct hes_assign_front *out, uint64_t *evaluations);

#endif
