/*
 * joint_starts.h - where the walks of the joint search begin: the exact front of the
 * assignment (plan/assign/exact.h), what HeShare's Algorithm 1 makes of it (plan/configure.h),
 * and the weight between energy and completion time that HeShare itself would settle for.
 */
#ifndef HES_PLAN_JOINT_STARTS_H
#define HES_PLAN_JOINT_STARTS_H

#include "plan/assign/assign.h"
#include "plan/batch/configure.h"
#include "plan/joint/joint_search.h"
#include "plan/joint/joint_walk.h"

/* Read only once it is found: any number of walks may start from it at a time. */
struct joint_starts {
	const struct hes_problem *p;
	struct hes_assign_front   front;      /* of the assignment */
	struct hes_configured    *configured; /* Algorithm 1 on it */
	struct hes_objectives     knee;       /* of Algorithm 1's front on HeShare's assignments; beside jobs that run, as open queues */
	double                    middle;     /* weight: mJ a person gives for a microsecond of the sum of completion times, at the knee */
};

/*
 * @param o    its seed, and whether it has a clock: that leaves no time for HeShare's own search, which many jobs do without, too
 * @param out  to be finished in any case
 * @return 0 or -ENOMEM
 */
int joint_starts_find(const struct hes_problem *p, const struct hes_joint_options *o, struct joint_starts *out);

void joint_starts_finish(struct joint_starts *s);

/*
 * Put a walk at the best, at its weight, of what it tries: the assignment that is best there, and some of Algorithm 1's
 * front as open queues, spread over it from coarse to fine, every @p of-th one from the @p number-th on.
 * @param until  part of the walk's time or evaluations after which no more than a few are tried
 * @return 0 or -ENOMEM
 */
int joint_starts_try(const struct joint_starts *s, struct joint_walk *w, size_t number, size_t of, double until);

#endif
