/*
 * stage1.h - the assignment stage as policies use it.
 */
#ifndef HES_POLICY_STAGE1_H
#define HES_POLICY_STAGE1_H

#include "plan/assign/genetic.h"
#include "plan/problem.h"

/** The paper's genetic algorithm on a problem. @return 0 or -ENOMEM */
int hes_stage1_search(const struct hes_problem *p, struct hes_assign_front *out);

/** The front of sums over jobs as means a person can read. @return 0 or -ENOMEM */
int hes_stage1_report(const struct hes_problem *p, const struct hes_pareto *found, struct hes_front *out);

#endif
