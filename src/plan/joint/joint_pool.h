/*
 * joint_pool.h - the queues that boards had, by their jobs: what else the
 * same jobs could do there.
 *
 * Boards do not depend on each other: whatever queues of the same jobs they had at
 * different times of a search make a solution together.
 */
#ifndef HES_PLAN_JOINT_POOL_H
#define HES_PLAN_JOINT_POOL_H

#include "plan/timeline.h"

struct joint_pool;

/** A queue: of its jobs, none was met there with less of both energy and completion times. */
struct joint_pooled {
	const struct hes_timeline_item *items;
	struct hes_timeline_cost        cost;
};

/** @return NULL out of memory */
struct joint_pool *joint_pool_new(void);
void joint_pool_free(struct joint_pool *p);

/**
 * Take note of a queue, unless memory runs short. Of too many, all are forgotten first.
 * @param board  whatever queues cost the same on has the same number
 */
void joint_pool_put(struct joint_pool *p, uint32_t board, const struct hes_timeline_item *items, uint32_t n,
		    const struct hes_timeline_cost *cost);

/**
 * The queues that are best for some weight of energy against completion times: the lower left hull of all that were
 * put of the same jobs there, by rising energy; very rarely others are among them.
 * @param out  [most]; of more, the first
 * @return how many
 */
size_t joint_pool_hull(const struct joint_pool *p, uint32_t board, const struct hes_timeline_item *items, uint32_t n,
		       struct joint_pooled *out, size_t most);

/** Of a set of jobs on a board; of others very likely another number. The order of jobs makes no difference. */
uint64_t joint_pool_key(uint32_t board, const struct hes_timeline_item *items, uint32_t n);

#endif
