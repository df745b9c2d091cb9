/*
 * joint_archive.c - see joint_archive.h. Slots of members that fell out are
 * taken back all at once, when there is no more room.
 */
#include "plan/joint/joint_archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ITEMS    (8u << 20) /* of all members, 64 MiB; slots are taken back, or doubled, when all are used */
#define LEAST_MEMBERS 256

void joint_archive_finish(struct joint_archive *a)
{
	hes_pareto_free(&a->front);
	free(a->items);
	free(a->first);
	*a = (struct joint_archive){ 0 };
}

void joint_archive_clear(struct joint_archive *a)
{
	a->front.n = 0;
	a->used = 0;
	a->excess = 0;
}

/* Move the members to the slots at the front, in the order of their slots. */
static int compact(struct joint_archive *a)
{
	size_t *member_of = calloc(a->used + 1, sizeof(*member_of)), used = 0;

	if (!member_of)
		return -ENOMEM;
	for (size_t m = 0; m < a->front.n; m++)
		member_of[a->front.v[m].tag] = m + 1;
	for (size_t s = 0; s < a->used; s++) {
		if (!member_of[s])
			continue;
		memmove(&a->items[used * a->n], &a->items[s * a->n], a->n * sizeof(*a->items));
		memmove(&a->first[used * (a->k + 1)], &a->first[s * (a->k + 1)], (a->k + 1) * sizeof(*a->first));
		a->front.v[member_of[s] - 1].tag = used++;
	}
	a->used = used;
	free(member_of);
	return 0;
}

/* Half of the members, where there are more than there is memory for. @return 1; 0 there are not; -ENOMEM */
static int thin(struct joint_archive *a)
{
	const size_t most = MOST_ITEMS / (a->n + a->k + 1);

	if (a->front.n < (most > LEAST_MEMBERS ? most : LEAST_MEMBERS))
		return 0;
	return hes_pareto_thin(&a->front, a->front.n / 2) ? -ENOMEM : 1;
}

static int make_room(struct joint_archive *a)
{
	size_t room = a->room ? 2 * a->room : 64;
	struct hes_timeline_item *items;
	uint32_t *first;
	int thinned;

	if (a->used < a->room)
		return 0;
	thinned = thin(a);
	if (thinned < 0)
		return thinned;
	if (thinned || a->used > 2 * a->front.n + 16)
		return compact(a);
	items = reallocarray(a->items, room * (a->n + 1), sizeof(*items));
	if (!items)
		return -ENOMEM;
	a->items = items;
	first = reallocarray(a->first, room * (a->k + 1), sizeof(*first));
	if (!first)
		return -ENOMEM;
	a->first = first;
	a->room = room;
	return 0;
}

int joint_archive_offer(struct joint_archive *a, const struct hes_objectives *at, double excess, size_t *slot)
{
	int rc;

	if (a->front.n && excess > a->excess)
		return 0;
	rc = make_room(a);
	if (rc)
		return rc;
	if (a->front.n == 0 || excess < a->excess) {
		joint_archive_clear(a);
		a->excess = excess;
	}
	rc = hes_pareto_insert(&a->front, at, a->used);
	if (rc > 0)
		*slot = a->used++;
	return rc;
}

int joint_archive_merge(struct joint_archive *a, const struct joint_archive *from)
{
	for (size_t m = 0; m < from->front.n; m++) {
		const size_t s = from->front.v[m].tag;
		size_t slot;
		int rc = joint_archive_offer(a, &from->front.v[m].at, from->excess, &slot);

		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		memcpy(&a->items[slot * a->n], &from->items[s * a->n], a->n * sizeof(*a->items));
		memcpy(&a->first[slot * (a->k + 1)], &from->first[s * (a->k + 1)], (a->k + 1) * sizeof(*a->first));
	}
	return 0;
}
