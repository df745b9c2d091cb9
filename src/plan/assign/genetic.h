/*
 * genetic.h - the paper's genetic algorithm for stage 1 (HeShare, section III-B2): the operators of
 * operators.h with the selection of NSGA-II (population.h).
 */
#ifndef HES_ASSIGN_GENETIC_H
#define HES_ASSIGN_GENETIC_H

#include "plan/assign/assign.h"
#include "plan/assign/population.h"

struct hes_genetic_options {
	struct hes_evolve_options evolve;
	double mutation; /* probability that a job migrates */
};

/** The paper's settings; seed 1, one thread. */
extern const struct hes_genetic_options hes_genetic_defaults;

/** @return 0 or -ENOMEM; @out is written on success only */
int hes_genetic_run(const struct hes_assign *a, const struct hes_genetic_options *o,
		    struct hes_assign_front *out);

/**
 * Run any search over assignments (struct hes_queues) and evaluate what it found.
 * @param problem, draw, vary  as in struct hes_evolvable; vary's scratch has
 * hes_operator_room_size() bytes
 * @param evaluations          may be NULL
 * @return 0 or -ENOMEM
 */
int hes_assign_evolve(const struct hes_assign *a, const void *problem, hes_draw_fn *draw,
		      hes_vary_fn *vary, hes_evolve_fn *search, const struct hes_evolve_options *o,
		      struct hes_assign_front *out, uint64_t *evaluations);

#endif
