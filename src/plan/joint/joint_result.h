/*
 * joint_result.h - what a joint search found: its solutions, and memos to ask what they take.
 */
#ifndef HES_PLAN_JOINT_RESULT_H
#define HES_PLAN_JOINT_RESULT_H

#include "plan/joint/joint_archive.h"
#include "plan/joint/joint_search.h"

#define JOINT_MEMOS 2 /* at most */

struct hes_joint {
	const struct hes_problem *p;
	struct joint_archive      archive;
	uint64_t                  evaluations;
	struct hes_objectives     knee;   /* what is balanced gains over it in both */
	enum hes_joint_wanted     wanted;
	struct hes_rates         *memos[JOINT_MEMOS];
	size_t                    n_memos;
};

/* The gain in the objective that gains less: what is balanced has most of it over the knee. */
double joint_lesser_gain(const struct hes_objectives *at, const struct hes_objectives *from);

#endif
