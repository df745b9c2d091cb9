/*
 * configure.h - Algorithm 1 of HeShare for a whole front: batches, MPS shares and clocks for every
 * assignment. The result is the front of all that come out.
 */
#ifndef HES_PLAN_BATCH_CONFIGURE_H
#define HES_PLAN_BATCH_CONFIGURE_H

#include "plan/assign/genetic.h"
#include "plan/batch/sharing.h"
#include "plan/timeline.h"

struct hes_configured;

/**
 * @param front  of stage 1; must outlive the result
 * @param aims   [front->n]: what each member's batches are formed for; NULL: as published
 * @return 0 or -ENOMEM
 */
int hes_configure(const struct hes_problem *p, const struct hes_assign_front *front,
		  const struct hes_sharing_aim *aims, struct hes_configured **out);
void hes_configured_free(struct hes_configured *c);

/** The new front; jct_us is the sum of completion times from now. */
const struct hes_pareto *hes_configured_front(const struct hes_configured *c);

/** Write the batches of a member of the front into a plan. @return 0 or -ENOMEM */
int hes_configured_plan(const struct hes_configured *c, size_t member, struct hes_plan *plan);

/**
 * A member's batches as open queues: the same order, shares and clocks, but each job starts as soon
 * as it has room.
 * @param items  room for all jobs
 * @param first  [k + 1]
 * @return 0 or -ENOMEM
 */
int hes_configured_open(const struct hes_configured *c, size_t member,
			struct hes_timeline_item *items, uint32_t *first);

#endif
