/*
 * enumeration.h - everything that two GPUs can do with a few jobs: what no
 * search can beat. Jobs are all there at the start; nothing runs yet.
 */
#ifndef HES_TESTS_ENUMERATION_H
#define HES_TESTS_ENUMERATION_H

#include "plan/assign/pareto.h"
#include "plan/problem.h"

/** Plans with barriers: every assignment, order, batch, share and clock; of six jobs. */
void enumerate_batches(const struct hes_problem *p, struct hes_pareto *all);

/**
 * Open queues: every assignment, order, share and clock. Of two that differ by less
 * than a part @slack in energy and in completion times one may be left out: the true
 * front is nowhere better than by that.
 */
void enumerate_open(const struct hes_problem *p, double slack, struct hes_pareto *all);

#endif
