/*
 * joint_pool.c - see joint_pool.h. Queues of the same jobs are a list, by rising
 * energy and falling completion times; what is dominated leaves it.
 */
#include "plan/joint/joint_pool.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_LOG2   14
#define MOST_ITEMS   (4u << 20) /* of all queues: 32 MiB */
#define MOST_ENTRIES (1u << 18) /* 20 MiB */
#define NONE       UINT32_MAX

struct entry {
	uint64_t             key;
	uint32_t             first, n; /* among the items */
	uint32_t             next;     /* of those that share a slot */
	struct hes_timeline_cost cost;
};

struct joint_pool {
	uint32_t              slots[1 << SLOTS_LOG2]; /* first entry */
	struct entry         *entries;
	size_t                n, room;
	struct hes_timeline_item *items;
	size_t                n_items, items_room;
};

struct joint_pool *joint_pool_new(void)
{
	struct joint_pool *p = calloc(1, sizeof(*p));

	if (p)
		memset(p->slots, 0xff, sizeof(p->slots));
	return p;
}

void joint_pool_free(struct joint_pool *p)
{
	if (!p)
		return;
	free(p->entries);
	free(p->items);
	free(p);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t joint_pool_key(uint32_t board, const struct hes_timeline_item *items, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += mix(items[i].job + UINT64_C(1));
	return mix(sum + mix(board));
}

static size_t slot_of(uint64_t key)
{
	return (size_t)(key >> (64 - SLOTS_LOG2));
}

static void forget(struct joint_pool *p)
{
	memset(p->slots, 0xff, sizeof(p->slots));
	p->n = p->n_items = 0;
}

/* Room for one more queue. @return false memory is short */
static bool make_room(struct joint_pool *p, uint32_t n)
{
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 256;
		struct entry *entries = reallocarray(p->entries, room, sizeof(*entries));

		if (!entries)
			return false;
		p->entries = entries;
		p->room = room;
	}
	if (p->n_items + n > p->items_room) {
		size_t room = 2 * (p->items_room + n);
		struct hes_timeline_item *items = reallocarray(p->items, room, sizeof(*items));

		if (!items)
			return false;
		p->items = items;
		p->items_room = room;
	}
	return true;
}

static bool is_no_worse(const struct hes_timeline_cost *a, const struct hes_timeline_cost *b)
{
	return a->energy_mj <= b->energy_mj && a->ends_us <= b->ends_us;
}

void joint_pool_put(struct joint_pool *p, uint32_t board, const struct hes_timeline_item *items, uint32_t n,
		    const struct hes_timeline_cost *cost)
{
	const uint64_t key = joint_pool_key(board, items, n);
	uint32_t *at = &p->slots[slot_of(key)];

	if (p->n_items + n > MOST_ITEMS || p->n == MOST_ENTRIES)
		forget(p);
	for (uint32_t e = *at; e != NONE; e = p->entries[e].next)
		if (p->entries[e].key == key && is_no_worse(&p->entries[e].cost, cost))
			return;
	if (!make_room(p, n))
		return;
	while (*at != NONE) {
		struct entry *e = &p->entries[*at];

		if (e->key == key && is_no_worse(cost, &e->cost))
			*at = e->next;
		else if (e->key == key && e->cost.energy_mj > cost->energy_mj)
			break;
		else
			at = &e->next;
	}
	p->entries[p->n] = (struct entry){ key, (uint32_t)p->n_items, n, *at, *cost };
	*at = (uint32_t)p->n++;
	if (n)
		memcpy(&p->items[p->n_items], items, n * sizeof(*items));
	p->n_items += n;
}

/* Whether the first of three, by rising energy, leads to the third no worse than by the second. */
static bool is_above(const struct hes_timeline_cost *a, const struct hes_timeline_cost *b, const struct hes_timeline_cost *c)
{
	return (b->energy_mj - a->energy_mj) * (a->ends_us - c->ends_us) >=
	       (c->energy_mj - a->energy_mj) * (a->ends_us - b->ends_us);
}

size_t joint_pool_hull(const struct joint_pool *p, uint32_t board, const struct hes_timeline_item *items, uint32_t n,
		       struct joint_pooled *out, size_t most)
{
	const uint64_t key = joint_pool_key(board, items, n);
	size_t k = 0;

	for (uint32_t at = p->slots[slot_of(key)]; at != NONE && k < most; at = p->entries[at].next) {
		const struct entry *e = &p->entries[at];

		if (e->key != key || e->n != n)
			continue;
		while (k > 1 && is_above(&out[k - 2].cost, &out[k - 1].cost, &e->cost))
			k--;
		out[k++] = (struct joint_pooled){ &p->items[e->first], e->cost };
	}
	return k;
}
