/*
 * joint_queue.c - see joint_queue.h.
 */
#include "plan/joint/joint_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int joint_queue_reserve(struct joint_queue *q, uint32_t n)
{
	struct hes_timeline_item *items;

	if (n <= q->room)
		return 0;
	items = reallocarray(q->items, 2 * n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	q->items = items;
	q->room = 2 * n;
	return 0;
}

int joint_queue_copy(struct joint_queue *to, const struct joint_queue *from)
{
	if (joint_queue_reserve(to, from->n + 1))
		return -ENOMEM;
	if (from->n)
		memcpy(to->items, from->items, from->n * sizeof(*from->items));
	to->n = from->n;
	to->same = from->same;
	return 0;
}

void joint_queue_touch(struct joint_queue *q, uint32_t at)
{
	q->same = q->same < at ? q->same : at;
}

void joint_queue_put(struct joint_queue *q, uint32_t at, struct hes_timeline_item item)
{
	joint_queue_touch(q, at);
	memmove(&q->items[at + 1], &q->items[at], (q->n - at) * sizeof(*q->items));
	q->items[at] = item;
	q->n++;
}

struct hes_timeline_item joint_queue_take(struct joint_queue *q, uint32_t at)
{
	struct hes_timeline_item item = q->items[at];

	joint_queue_touch(q, at);
	q->n--;
	memmove(&q->items[at], &q->items[at + 1], (q->n - at) * sizeof(*q->items));
	return item;
}
