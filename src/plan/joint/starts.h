/*
 * starts.h - the plans that the joint search starts from, and what it compares plans with.
 *
 * The plans are greedy assignments at several weights of time against energy, and what HeShare's
 * Algorithm 1 makes of them (batch/configure.h), both as open queues.
 */
#ifndef HES_PLAN_STARTS_H
#define HES_PLAN_STARTS_H

#include "plan/joint/joint_search.h"

/**
 * @param o          seed, clock and cap
 * @param reference  energy and sum of completion times of HeShare's balanced plan
 * @param plans      zeroed; to be finished in either case
 * @return 0 or -ENOMEM
 */
int starts_find(const struct hes_problem *p, const struct hes_joint_options *o,
		struct hes_objectives *reference, bool shun_far, struct plan_archive *plans);

#endif
