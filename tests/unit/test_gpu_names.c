/* test_gpu_names.c - drivers' names of GPUs, and the effect of a clock lock. */
#include "heshare/device.h"
#include "unit_test.h"

#define GIB(n) ((uint64_t)(n) << 30)

TEST(drivers_names_give_types_of_the_catalogue)
{
	assert_string_equal(hes_device_type("Tesla T4", GIB(15)), "T4");
	assert_string_equal(hes_device_type("NVIDIA T4", GIB(15)), "T4");
	assert_string_equal(hes_device_type("Tesla V100-PCIE-16GB", GIB(16)), "V100-PCIe");
	assert_string_equal(hes_device_type("Tesla V100-SXM2-32GB", GIB(32)), "V100-SXM2-32");
	assert_string_equal(hes_device_type("NVIDIA A100-PCIE-40GB", GIB(40)), "A100-PCIe-40");
	assert_string_equal(hes_device_type("NVIDIA A100-SXM4-80GB", GIB(80)), "A100-SXM-80");
	assert_string_equal(hes_device_type("NVIDIA H100 80GB HBM3", GIB(80)), "H100-SXM");
	assert_string_equal(hes_device_type("NVIDIA H200", GIB(141)), "H200");
	assert_string_equal(hes_device_type("NVIDIA L4", GIB(23)), "L4");
	assert_string_equal(hes_device_type("NVIDIA A10G", GIB(22)), "A10G");
}

TEST(a_gpu_with_a_similar_name_has_no_type)
{
	assert_string_equal(hes_device_type("Tesla V100-SXM2-16GB", GIB(16)), "");
	assert_string_equal(hes_device_type("NVIDIA A100-SXM4-40GB", GIB(40)), "");
	assert_string_equal(hes_device_type("NVIDIA L40S", GIB(45)), "");
	assert_string_equal(hes_device_type("NVIDIA T400 4GB", GIB(4)), "");
	assert_string_equal(hes_device_type("NVIDIA A10", GIB(22)), "");
	assert_string_equal(hes_device_type("", 0), "");
}

TEST(a_lock_is_held_capped_ignored_or_unknown)
{
	struct hes_reading r = { .has = HES_HAS_CLOCK | HES_HAS_REASONS, .clock_mhz = 1380 };

	assert_int_equal(hes_lock_state(&r, 1380), HES_LOCK_HELD);
	assert_int_equal(hes_lock_state(&r, 1387), HES_LOCK_HELD);
	assert_int_equal(hes_lock_state(&r, 1530), HES_LOCK_IGNORED);
	r.power_capped = true;
	assert_int_equal(hes_lock_state(&r, 1530), HES_LOCK_CAPPED);
	assert_int_equal(hes_lock_state(&r, 900), HES_LOCK_IGNORED);
	r.has = HES_HAS_CLOCK;
	assert_int_equal(hes_lock_state(&r, 1530), HES_LOCK_IGNORED);
	r.has = HES_HAS_REASONS;
	assert_int_equal(hes_lock_state(&r, 1380), HES_LOCK_UNKNOWN);
}

int main(void) { return run_unit_tests(NULL, NULL); }
