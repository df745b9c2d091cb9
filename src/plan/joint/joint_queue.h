/*
 * joint_queue.h - a queue that a move changes: its items, and from which on
 * they are no longer those of the board's queue it was copied from.
 */
#ifndef HES_PLAN_JOINT_QUEUE_H
#define HES_PLAN_JOINT_QUEUE_H

#include "plan/timeline.h"

struct joint_queue {
	struct hes_timeline_item *items;
	uint32_t              n, room;
	uint32_t              same;    /* so many items at the front are those of the board's queue */
	struct hes_timeline_cost  cost;    /* once it was run */
};

/** Room for so many items. @return 0 or -ENOMEM */
int joint_queue_reserve(struct joint_queue *q, uint32_t n);
/** The items, with room for one more, not what they cost. @return 0 or -ENOMEM */
int joint_queue_copy(struct joint_queue *to, const struct joint_queue *from);
/** Put an item in, for which there must be room. */
void joint_queue_put(struct joint_queue *q, uint32_t at, struct hes_timeline_item item);
struct hes_timeline_item joint_queue_take(struct joint_queue *q, uint32_t at);
/** Items from one on change. */
void joint_queue_touch(struct joint_queue *q, uint32_t at);

#endif
