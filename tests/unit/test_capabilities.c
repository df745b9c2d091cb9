/* test_capabilities.c - the check of settings changes nothing; with fake drivers. */
#include "gpu/nvml.h"
#include "heshare/capabilities.h"
#include "unit_test.h"

/* A GPU's persistence mode, the result of reading it, and how often it was set. */
struct gpu {
	int mode, answer, refusal, sets;
};

static int name_of(void *dev, char *out, unsigned size)
{
	(void)dev;
	snprintf(out, size, "Tesla T4");
	return NVML_OK;
}

static int read_mode(void *dev, int *mode)
{
	const struct gpu *b = dev;

	if (!b->answer)
		*mode = b->mode;
	return b->answer;
}

static int set_mode(void *dev, int mode)
{
	struct gpu *b = dev;

	b->sets++;
	if (!b->refusal)
		b->mode = mode;
	return b->refusal;
}

static int lock(void *dev, unsigned min, unsigned max)
{
	(void)dev;
	(void)min;
	(void)max;
	fail_msg("a clock was locked");
	return NVML_OK;
}

static int unlock(void *dev)
{
	(void)dev;
	fail_msg("a clock was unlocked");
	return NVML_OK;
}

static bool is_missing_locks(struct gpu *b)
{
	struct nvml_gpu gpu = { .handle = b };
	struct hes_devices d = { .n = 1, .gpus = &gpu };
	bool found = false;
	const struct hes_mps_status mps = { .found = true, .may_run = true };
	struct hes_missing_capability lacks[HES_CAPABILITIES];
	long n;

	d.nvml.name = d.nvml.uuid = name_of;
	d.nvml.persistence = read_mode;
	d.nvml.set_persistence = set_mode;
	d.nvml.lock_clocks = lock;
	d.nvml.unlock_clocks = unlock;
	n = hes_capabilities_missing(&d, 0, &mps, lacks, NULL);
	assert_true(n >= 0);
	for (long i = 0; i < n; i++)
		found |= lacks[i].capability == HES_CAPABILITY_LOCK_CLOCK;
	return found;
}

TEST(the_check_sets_the_mode_that_it_has_read)
{
	for (int mode = 0; mode < 2; mode++) {
		struct gpu b = { .mode = mode };

		assert_false(is_missing_locks(&b));
		assert_int_equal(b.mode, mode);
		assert_int_equal(b.sets, 1);
		b.refusal = NVML_NO_PERMISSION;
		assert_true(is_missing_locks(&b));
		assert_int_equal(b.mode, mode);
	}
}

TEST(a_mode_that_cannot_be_read_is_never_set)
{
	struct gpu b = { .mode = 1, .answer = NVML_NOT_SUPPORTED };

	is_missing_locks(&b);
	assert_int_equal(b.sets, 0);
	b = (struct gpu){ .mode = 7 };
	is_missing_locks(&b);
	assert_int_equal(b.sets, 0);
	assert_int_equal(b.mode, 7);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
