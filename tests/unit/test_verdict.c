/* test_verdict.c - why jobs behind one MPS server failed: by themselves, because of a co-runner, or
 * for a reason not known yet. */
#include "run/verdict.h"
#include "unit_test.h"

TEST(a_failure_with_a_living_co_runner_is_its_own)
{
	const struct run_seen v[] = { { .failed = true, .code = 1 },
				      { .lives = true },
				      { .lives = false } };
	enum run_blame b[3];

	assert_true(run_judge(v, 3, false, b));
	assert_int_equal(b[0], RUN_BLAME_OWN);
	assert_int_equal(b[1], RUN_BLAME_NONE);
	assert_int_equal(b[2], RUN_BLAME_NONE);
}

TEST(there_is_no_verdict_while_a_co_runner_may_still_fail)
{
	const struct run_seen v[] = { { .failed = true, .code = 1 }, { .lives = false } };
	enum run_blame b[2] = { RUN_BLAME_SUSPECT, RUN_BLAME_SUSPECT };

	assert_false(run_judge(v, 2, false, b));
	assert_int_equal(b[0], RUN_BLAME_SUSPECT);
	assert_true(run_judge(v, 2, true, b)); /* waited long enough: it did not */
	assert_int_equal(b[0], RUN_BLAME_OWN);
}

TEST(of_equal_failures_the_first_is_a_suspect)
{
	const struct run_seen v[] = {
		{ .failed = true, .code = 1, .end_us = 20 },
		{ .failed = true, .code = 1, .end_us = 10 },
		{ .failed = true, .code = 1, .end_us = 30 },
	};
	enum run_blame b[3];

	assert_true(run_judge(v, 3, false, b));
	assert_int_equal(b[0], RUN_BLAME_CO_FAILED);
	assert_int_equal(b[1], RUN_BLAME_SUSPECT);
	assert_int_equal(b[2], RUN_BLAME_CO_FAILED);
}

TEST(a_job_ended_by_a_signal_made_the_others_fail)
{
	const struct run_seen v[] = { { .failed = true, .code = 1, .end_us = 1 },
				      { .failed = true, .code = 139, .signal = 11, .end_us = 2 } };
	enum run_blame b[2];

	assert_true(run_judge(v, 2, false, b));
	assert_int_equal(b[0], RUN_BLAME_CO_FAILED);
	assert_int_equal(b[1], RUN_BLAME_OWN);
}

TEST(a_job_that_lost_its_server_did_not_fail_by_itself)
{
	const struct run_seen all[] = { { .failed = true, .code = 1, .orphaned = true },
					{ .failed = true, .code = 1, .orphaned = true } };
	const struct run_seen one[] = { { .failed = true, .code = 1, .orphaned = true } };
	const struct run_seen but_one[] = { { .failed = true, .code = 1, .orphaned = true },
					    { .failed = true, .code = 1, .end_us = 9 } };
	enum run_blame b[2];

	assert_true(run_judge(all, 2, false, b));
	assert_int_equal(b[0], RUN_BLAME_CO_FAILED);
	assert_int_equal(b[1], RUN_BLAME_CO_FAILED);
	assert_true(run_judge(one, 1, false, b));
	assert_int_equal(b[0], RUN_BLAME_CO_FAILED);
	assert_true(run_judge(but_one, 2, false, b));
	assert_int_equal(b[0], RUN_BLAME_CO_FAILED);
	assert_int_equal(b[1], RUN_BLAME_SUSPECT);
	assert_true(
		run_tells_of_mps("vgpu-task: the work failed: CUDA_ERROR_MPS_RPC_FAILURE (806)"));
	assert_true(run_tells_of_mps("RuntimeError: cudaErrorMpsClientTerminated: ..."));
	assert_false(run_tells_of_mps("CUDA_ERROR_OUT_OF_MEMORY (2)"));
}

TEST(a_missing_command_is_a_failure_of_its_job)
{
	const struct run_seen v[] = { { .failed = true, .code = 127 },
				      { .failed = true, .code = 127 },
				      { .failed = true, .code = 126 } };
	enum run_blame b[3];

	assert_true(run_judge(v, 3, false, b));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(b[i], RUN_BLAME_OWN);
}

TEST(repetitions_of_a_job_are_bounded)
{
	const struct run_seen v[] = {
		{ .failed = true, .code = 1, .orphaned = true, .co_failures = RUN_MAX_CO_FAILURES }
	};
	enum run_blame b[1];

	assert_true(run_judge(v, 1, false, b));
	assert_int_equal(b[0], RUN_BLAME_OWN);
}

TEST(alone_on_its_gpu_a_job_failed_by_itself)
{
	const struct run_seen v[] = { { .failed = true, .code = 134, .signal = 6 } };
	enum run_blame b[1];

	assert_true(run_judge(v, 1, false, b));
	assert_int_equal(b[0], RUN_BLAME_OWN);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
