/*
 * hash_map.h - find the entries of an array by a hash of their keys.
 *
 * The map does not hold keys or values. It holds, in 8 bytes a slot, 32 bits of a hash and the
 *index of an entry in the caller's array; the caller compares the keys. So it fits every type of
 *key, and the array may move. At most two thirds of the slots are used. Slots are never freed one
 *by one: clear the map instead.
 *
 *	struct hes_hash_map m = { 0 };
 *	...
 *	at = hes_hash_map_find(&m, hash, same_name, names, name);
 *	if (at == HES_HASH_NONE && hes_hash_map_add(&m, hash, n) == 0)
 *		names[n++] = name;
 *	...
 *	hes_hash_map_finish(&m);
 */
#ifndef HES_BASE_HASH_MAP_H
#define HES_BASE_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HES_HASH_NONE UINT32_MAX

struct hes_hash_slot {
	uint32_t hash;
	uint32_t entry; /* index + 1; 0: free */
};

/* All zero: an empty map, valid for every call. */
struct hes_hash_map {
	struct hes_hash_slot *slots;
	size_t n_slots; /* a power of two, or 0 */
	size_t n;       /* entries */
};

/** Whether the entry @index of the array @entries has the key @key. */
typedef bool hes_hash_same(const void *entries, uint32_t index, const void *key);

void hes_hash_map_finish(struct hes_hash_map *m);

/** Remove all entries, keep the memory. */
void hes_hash_map_clear(struct hes_hash_map *m);

/** Take memory for @n entries in all, so that no add up to then fails. @return 0 or -ENOMEM */
int hes_hash_map_reserve(struct hes_hash_map *m, size_t n);

/** Add the entry @index, below HES_HASH_NONE; its key must not be in the map. @return 0 or -ENOMEM,
 * with nothing changed */
int hes_hash_map_add(struct hes_hash_map *m, uint64_t hash, uint32_t index);

/* 32 bits that depend on all 64: their low bits choose the slot. */
static inline uint32_t hes_hash_fold(uint64_t hash)
{
	return (uint32_t)((hash ^ hash >> 32) * 0x9e3779b97f4a7c15u >> 32);
}

/** Inline, so that the compiler inlines @same. @return index of the entry with this key, or
 * HES_HASH_NONE */
static inline uint32_t hes_hash_map_find(const struct hes_hash_map *m, uint64_t hash,
					 hes_hash_same *same, const void *entries, const void *key)
{
	const uint32_t h = hes_hash_fold(hash);

	if (!m->n_slots)
		return HES_HASH_NONE;
	for (size_t at = h & (m->n_slots - 1); m->slots[at].entry; at = (at + 1) & (m->n_slots - 1))
		if (m->slots[at].hash == h && same(entries, m->slots[at].entry - 1, key))
			return m->slots[at].entry - 1;
	return HES_HASH_NONE;
}

/** Find the entries of an array by the texts that they begin with, such as the ids of jobs. */
struct hes_text_map {
	struct hes_hash_map map;
	const void *first;
	size_t stride; /* bytes of an entry */
};

/** @param out  empty; hes_hash_map_finish() its map, also on failure. @return 0 or -ENOMEM */
int hes_text_map_make(struct hes_text_map *out, const void *first, size_t stride, size_t n);
/** @return index of the first entry with this text, or HES_HASH_NONE */
uint32_t hes_text_map_find(const struct hes_text_map *m, const char *text);

/* A set of 64-bit keys, such as hashes of things that are met once. All zero: empty. */
struct hes_hash_set {
	struct hes_hash_map map;
	uint64_t *keys;
};

void hes_hash_set_finish(struct hes_hash_set *s);
bool hes_hash_set_has(const struct hes_hash_set *s, uint64_t key);

/** @return 1; 0 where @key is in the set already; -ENOMEM */
int hes_hash_set_add(struct hes_hash_set *s, uint64_t key);

#endif
