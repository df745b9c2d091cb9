/*
 * plan_archive.c - see plan_archive.h. Slots of members that left the front are reused when all
 * slots are used.
 */
#include "plan/joint/plan_archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ITEMS  (1u << 20) /* of all members: 8 MiB */
#define LEAST_SLOTS 16

void plan_archive_finish(struct plan_archive *a)
{
	hes_pareto_free(&a->front);
	free(a->slots.items);
	free(a->slots.first);
	*a = (struct plan_archive){ 0 };
}

static struct hes_joint_solution slot_at(const struct plan_archive *a, size_t slot)
{
	return (struct hes_joint_solution){ &a->slots.items[slot * a->n],
					    &a->slots.first[slot * (a->k + 1)] };
}

static void copy_slot(const struct plan_archive *a, struct hes_joint_solution to,
		      struct hes_joint_solution from)
{
	memmove(to.items, from.items, a->n * sizeof(*to.items));
	memmove(to.first, from.first, (a->k + 1) * sizeof(*to.first));
}

/* Move the members to the first slots, in the order of their slots. */
static int archive_compact(struct plan_archive *a)
{
	size_t *member_of = calloc(a->used + 1, sizeof(*member_of)), used = 0;

	if (!member_of)
		return -ENOMEM;
	for (size_t m = 0; m < a->front.n; m++)
		member_of[a->front.v[m].tag] = m + 1;
	for (size_t s = 0; s < a->used; s++) {
		if (!member_of[s])
			continue;
		copy_slot(a, slot_at(a, used), slot_at(a, s));
		a->front.v[member_of[s] - 1].tag = used++;
	}
	a->used = used;
	free(member_of);
	return 0;
}

static int archive_grow(struct plan_archive *a)
{
	const size_t room = a->room ? 2 * a->room : LEAST_SLOTS;
	struct hes_timeline_item *items =
		reallocarray(a->slots.items, room * (a->n + 1), sizeof(*items));
	uint32_t *first;

	if (!items)
		return -ENOMEM;
	a->slots.items = items;
	first = reallocarray(a->slots.first, room * (a->k + 1), sizeof(*first));
	if (!first)
		return -ENOMEM;
	a->slots.first = first;
	a->room = room;
	return 0;
}

static int archive_make_room(struct plan_archive *a)
{
	const size_t most = MOST_ITEMS / (a->n + a->k + 1);

	if (a->used < a->room)
		return 0;
	if (a->front.n >= LEAST_SLOTS && a->front.n >= most)
		hes_pareto_thin(&a->front, a->front.n / 2);
	return a->used && a->used >= 2 * a->front.n ? archive_compact(a) : archive_grow(a);
}

int plan_archive_offer(struct plan_archive *a, const struct hes_objectives *at, double excess,
		       struct hes_joint_solution *slot)
{
	int rc;

	if (a->front.n && excess > a->excess)
		return 0;
	rc = archive_make_room(a);
	if (rc)
		return rc;
	if (a->front.n == 0 || excess < a->excess) {
		a->front.n = a->used = 0;
		a->excess = excess;
	}
	rc = hes_pareto_insert(&a->front, at, a->used);
	if (rc > 0)
		*slot = slot_at(a, a->used++);
	return rc;
}

int plan_archive_merge(struct plan_archive *a, const struct plan_archive *from)
{
	for (size_t m = 0; m < from->front.n; m++) {
		struct hes_joint_solution slot;
		const int rc = plan_archive_offer(a, &from->front.v[m].at, from->excess, &slot);

		if (rc < 0)
			return rc;
		if (rc > 0)
			copy_slot(a, slot, plan_archive_member(from, m));
	}
	return 0;
}

struct hes_joint_solution plan_archive_member(const struct plan_archive *a, size_t member)
{
	return slot_at(a, a->front.v[member].tag);
}

size_t plan_archive_best(const struct plan_archive *a, double lambda)
{
	const struct hes_pareto_point *v = a->front.v;
	size_t best = 0;

	for (size_t m = 1; m < a->front.n; m++)
		if (v[m].at.energy_mj + lambda * v[m].at.jct_us <
		    v[best].at.energy_mj + lambda * v[best].at.jct_us)
			best = m;
	return best;
}
