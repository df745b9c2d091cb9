/* test_hash_map.c - the hash map that indexes a caller's array, and the set of 64-bit keys on top
 * of it. */
#include "base/hash.h"
#include "base/hash_map.h"
#include "unit_test.h"

#define ENTRIES 5000

struct name {
	char text[8];
};

static bool same_name(const void *entries, uint32_t index, const void *key)
{
	return strcmp(((const struct name *)entries)[index].text, key) == 0;
}

static uint32_t find(const struct hes_hash_map *m, const struct name *names, const char *name,
		     uint64_t hash)
{
	return hes_hash_map_find(m, hash, same_name, names, name);
}

TEST(exactly_the_added_entries_are_found)
{
	static struct name names[ENTRIES];
	struct hes_hash_map m = { 0 };

	assert_int_equal(find(&m, names, "0", 0), HES_HASH_NONE);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		snprintf(names[i].text, sizeof(names[i].text), "%u", i);
		assert_int_equal(
			hes_hash_map_add(&m, hes_hash_text(HES_HASH_START, names[i].text), i), 0);
	}
	assert_int_equal(m.n, ENTRIES);
	assert_true(3 * m.n <= 2 * m.n_slots);
	for (uint32_t i = 0; i < ENTRIES; i++)
		assert_int_equal(find(&m, names, names[i].text,
				      hes_hash_text(HES_HASH_START, names[i].text)),
				 i);
	assert_int_equal(find(&m, names, "none", hes_hash_text(HES_HASH_START, "none")),
			 HES_HASH_NONE);
	hes_hash_map_finish(&m);
}

TEST(entries_with_the_same_hash_differ_by_their_keys)
{
	const struct name names[] = { { "a" }, { "b" }, { "c" } };
	struct hes_hash_map m = { 0 };

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(hes_hash_map_add(&m, 7, i), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(find(&m, names, names[i].text, 7), i);
	assert_int_equal(find(&m, names, "d", 7), HES_HASH_NONE);
	hes_hash_map_finish(&m);
}

TEST(a_cleared_map_is_empty_and_keeps_its_slots)
{
	const struct name names[] = { { "a" } };
	struct hes_hash_map m = { 0 };
	const struct hes_hash_slot *slots;

	assert_int_equal(hes_hash_map_reserve(&m, 1000), 0);
	slots = m.slots;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(hes_hash_map_add(&m, i, 0), 0);
	hes_hash_map_clear(&m);
	assert_int_equal(find(&m, names, "a", 0), HES_HASH_NONE);
	assert_int_equal(m.n, 0);
	assert_ptr_equal(m.slots, slots);
	hes_hash_map_finish(&m);
}

TEST(a_set_takes_a_key_once)
{
	struct hes_hash_set s = { 0 };

	assert_false(hes_hash_set_has(&s, 0));
	for (uint64_t key = 0; key < ENTRIES; key++)
		assert_int_equal(hes_hash_set_add(&s, key << 32), 1);
	for (uint64_t key = 0; key < ENTRIES; key++)
		assert_int_equal(hes_hash_set_add(&s, key << 32), 0);
	assert_true(hes_hash_set_has(&s, 0));
	assert_false(hes_hash_set_has(&s, 1));
	assert_int_equal(s.map.n, ENTRIES);
	hes_hash_set_finish(&s);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
