/* test_gpu_names.c - drivers' names of GPUs, and the effect of a clock lock. */
#include "heshare/device.h"
#include "unit_test.h"

static struct hes_catalogue builtin;

static int set_up(void **state)
{
	(void)state;
	return hes_catalogue_load(NULL, &builtin, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	hes_catalogue_free(&builtin);
	return 0;
}

static const char *type_of(const char *driver_name, uint32_t memory_mib)
{
	const struct hes_gpu_type *g = hes_gpu_type_of_driver(&builtin, driver_name, memory_mib);

	return g ? g->name : "";
}

TEST(drivers_names_give_types_of_the_catalogue)
{
	assert_string_equal(type_of("Tesla T4", 15109), "T4");
	assert_string_equal(type_of("NVIDIA T4", 15360), "T4");
	assert_string_equal(type_of("Tesla V100-PCIE-16GB", 16160), "V100-PCIe");
	assert_string_equal(type_of("Tesla V100-SXM2-32GB", 32510), "V100-SXM2-32");
	assert_string_equal(type_of("A100-PCIE-40GB", 40536), "A100-PCIe-40");
	assert_string_equal(type_of("NVIDIA A100-SXM4-80GB", 81920), "A100-SXM-80");
	assert_string_equal(type_of("NVIDIA A100 80GB PCIe", 81920), "A100-PCIe-80");
	assert_string_equal(type_of("NVIDIA H100 80GB HBM3", 81559), "H100-SXM");
	assert_string_equal(type_of("GeForce RTX 3090", 24268), "GeForce-RTX-3090");
	assert_string_equal(type_of("NVIDIA A40", 49140), "A40"); /* without error correction */
	assert_string_equal(type_of("NVIDIA A10", 23028), "A10");
	assert_string_equal(type_of("NVIDIA A30", 0), "A30");
}

TEST(a_gpu_with_a_similar_name_or_another_memory_has_no_type_there)
{
	assert_string_equal(type_of("NVIDIA T400 4GB", 3904), "");
	assert_string_equal(type_of("NVIDIA L40", 46068), "");
	assert_string_equal(type_of("Orin (nvgpu)", 15656), "");
	assert_string_equal(type_of("", 0), "");
}

TEST(of_types_with_one_name_the_nearest_memory_decides_then_the_last)
{
	struct hes_gpu_type more[3] = { *hes_gpu_type_find(&builtin, "GeForce-RTX-3090", NULL) };

	strcpy(more[0].name, "near");
	more[0].memory_mib = 24000;
	more[1] = more[2] = more[0];
	strcpy(more[1].name, "far");
	more[1].memory_mib = 26000;
	strcpy(more[2].name, "last");
	assert_int_equal(hes_catalogue_put(&builtin, more, 3, NULL), 0);
	assert_string_equal(type_of("NVIDIA GeForce RTX 3090", 24576), "GeForce-RTX-3090");
	assert_string_equal(type_of("NVIDIA GeForce RTX 3090", 26100), "far");
	assert_string_equal(type_of("NVIDIA GeForce RTX 3090", 24100), "last");
}

TEST(a_name_without_a_row_is_made_of_the_drivers)
{
	char name[HES_NAME_MAX];

	hes_gpu_type_name("NVIDIA GeForce RTX 3060 Ti", name);
	assert_string_equal(name, "GeForce-RTX-3060-Ti");
	hes_gpu_type_name("NVIDIA Graphics  Device (rev. 2)", name);
	assert_string_equal(name, "Graphics-Device-rev.-2");
	hes_gpu_type_name("NVIDIA ", name);
	assert_string_equal(name, "GPU");
	hes_gpu_type_name("NVIDIA Averylongnamethathasmorelettersthanfitintothenameofatype", name);
	assert_int_equal(strlen(name), HES_NAME_MAX - 1);
}

TEST(a_lock_is_held_capped_ignored_or_unknown)
{
	struct hes_reading r = { .has = HES_HAS_CLOCK | HES_HAS_REASONS, .clock_mhz = 1380 };

	assert_int_equal(hes_lock_state(&r, 1380), HES_LOCK_HELD);
	/* 2 % of what is set, as where points are measured. */
	assert_int_equal(hes_lock_state(&r, 1405), HES_LOCK_HELD);
	assert_int_equal(hes_lock_state(&r, 1410), HES_LOCK_IGNORED);
	assert_int_equal(hes_lock_state(&r, 1354), HES_LOCK_HELD);
	assert_int_equal(hes_lock_state(&r, 1350), HES_LOCK_IGNORED);
	assert_int_equal(hes_lock_state(&r, 1530), HES_LOCK_IGNORED);
	r.power_capped = true;
	assert_int_equal(hes_lock_state(&r, 1530), HES_LOCK_CAPPED);
	assert_int_equal(hes_lock_state(&r, 900), HES_LOCK_IGNORED);
	r.has = HES_HAS_CLOCK;
	assert_int_equal(hes_lock_state(&r, 1530), HES_LOCK_IGNORED);
	r.has = HES_HAS_REASONS;
	assert_int_equal(hes_lock_state(&r, 1380), HES_LOCK_UNKNOWN);
}

int main(void)
{
	return run_unit_tests(set_up, tear_down);
}
