/*
 * hash_map.c - open addressing with linear probing; see hash_map.h.
 */
#include "base/hash_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

#define FEWEST_SLOTS 64

/* As calloc(), with its pages mapped: calloc() maps a large block page by page, and a table reads
 * each page before it writes it, so its pages would be mapped twice. */
static void *calloc_prefaulted(size_t n, size_t size)
{
	void *p = reallocarray(NULL, n, size);

	if (p)
		memset(p, 0, n * size);
	return p;
}

void hes_hash_map_finish(struct hes_hash_map *m)
{
	free(m->slots);
	*m = (struct hes_hash_map){ 0 };
}

void hes_hash_map_clear(struct hes_hash_map *m)
{
	if (m->n)
		memset(m->slots, 0, m->n_slots * sizeof(*m->slots));
	m->n = 0;
}

static void put_slot(struct hes_hash_map *m, struct hes_hash_slot slot)
{
	size_t at = slot.hash & (m->n_slots - 1);

	while (m->slots[at].entry)
		at = (at + 1) & (m->n_slots - 1);
	m->slots[at] = slot;
}

int hes_hash_map_reserve(struct hes_hash_map *m, size_t n)
{
	struct hes_hash_map larger = { .n_slots = m->n_slots ? m->n_slots : FEWEST_SLOTS,
				       .n = m->n };

	while (n > larger.n_slots / 3 * 2)
		larger.n_slots *= 2;
	if (larger.n_slots == m->n_slots)
		return 0;
	larger.slots = calloc_prefaulted(larger.n_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_slots; i++)
		if (m->slots[i].entry)
			put_slot(&larger, m->slots[i]);
	free(m->slots);
	*m = larger;
	return 0;
}

int hes_hash_map_add(struct hes_hash_map *m, uint64_t hash, uint32_t index)
{
	if (hes_hash_map_reserve(m, m->n + 1))
		return -ENOMEM;
	put_slot(m, (struct hes_hash_slot){ hes_hash_fold(hash), index + 1 });
	m->n++;
	return 0;
}

static bool same_key(const void *keys, uint32_t index, const void *key)
{
	return ((const uint64_t *)keys)[index] == *(const uint64_t *)key;
}

static const char *text_at(const struct hes_text_map *m, size_t i)
{
	return (const char *)m->first + i * m->stride;
}

static bool text_is(const void *map, uint32_t index, const void *text)
{
	return strcmp(text_at(map, index), text) == 0;
}

int hes_text_map_make(struct hes_text_map *out, const void *first, size_t stride, size_t n)
{
	int rc = 0;

	out->first = first;
	out->stride = stride;
	for (size_t i = 0; i < n && !rc; i++)
		rc = hes_hash_map_add(&out->map, hes_hash_text(HES_HASH_START, text_at(out, i)),
				      (uint32_t)i);
	return rc;
}

uint32_t hes_text_map_find(const struct hes_text_map *m, const char *text)
{
	return hes_hash_map_find(&m->map, hes_hash_text(HES_HASH_START, text), text_is, m, text);
}

void hes_hash_set_finish(struct hes_hash_set *s)
{
	hes_hash_map_finish(&s->map);
	free(s->keys);
	*s = (struct hes_hash_set){ 0 };
}

bool hes_hash_set_has(const struct hes_hash_set *s, uint64_t key)
{
	return hes_hash_map_find(&s->map, key, same_key, s->keys, &key) != HES_HASH_NONE;
}

int hes_hash_set_add(struct hes_hash_set *s, uint64_t key)
{
	const size_t n = s->map.n;
	uint64_t *keys;

	if (hes_hash_set_has(s, key))
		return 0;
	keys = hes_grow(s->keys, n, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	s->keys = keys;
	if (hes_hash_map_add(&s->map, key, (uint32_t)n))
		return -ENOMEM;
	s->keys[n] = key;
	return 1;
}
