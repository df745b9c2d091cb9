/* test_verdict.c - why jobs behind one MPS server failed: by themselves, felled by another, or nobody knows yet. */
#include "run/verdict.h"
#include "unit_test.h"

static void a_failure_beside_one_that_lives_is_its_own(void **state)
{
	const struct run_seen v[] = { { .failed = true, .code = 1 }, { .lives = true }, { .lives = false } };
	enum run_blame b[3];

	(void)state;
	assert_true(run_judge(v, 3, false, b));
	assert_int_equal(b[0], RUN_BLAME_OWN);
	assert_int_equal(b[1], RUN_BLAME_NONE);
	assert_int_equal(b[2], RUN_BLAME_NONE);
}

static void there_is_no_verdict_while_a_co_runner_may_still_fail(void **state)
{
	const struct run_seen v[] = { { .failed = true, .code = 1 }, { .lives = false } };
	enum run_blame b[2] = { RUN_BLAME_SUSPECT, RUN_BLAME_SUSPECT };

	(void)state;
	assert_false(run_judge(v, 2, false, b));
	assert_int_equal(b[0], RUN_BLAME_SUSPECT);
	assert_true(run_judge(v, 2, true, b));  /* waited long enough: it did not */
	assert_int_equal(b[0], RUN_BLAME_OWN);
}

static void of_all_that_failed_alike_the_first_is_a_suspect(void **state)
{
	const struct run_seen v[] = {
		{ .failed = true, .code = 1, .end_us = 20 }, { .failed = true, .code = 1, .end_us = 10 }, { .failed = true, .code = 1, .end_us = 30 },
	};
	enum run_blame b[3];

	(void)state;
	assert_true(run_judge(v, 3, false, b));
	assert_int_equal(b[0], RUN_BLAME_FELL);
	assert_int_equal(b[1], RUN_BLAME_SUSPECT);
	assert_int_equal(b[2], RUN_BLAME_FELL);
}

static void the_one_that_a_signal_ended_felled_the_others(void **state)
{
	const struct run_seen v[] = { { .failed = true, .code = 1, .end_us = 1 }, { .failed = true, .code = 139, .signal = 11, .end_us = 2 } };
	enum run_blame b[2];

	(void)state;
	assert_true(run_judge(v, 2, false, b));
	assert_int_equal(b[0], RUN_BLAME_FELL);
	assert_int_equal(b[1], RUN_BLAME_OWN);
}

static void who_lost_its_server_is_not_to_blame(void **state)
{
	const struct run_seen all[] = { { .failed = true, .code = 1, .orphaned = true }, { .failed = true, .code = 1, .orphaned = true } };
	const struct run_seen one[] = { { .failed = true, .code = 1, .orphaned = true } };
	const struct run_seen but_one[] = { { .failed = true, .code = 1, .orphaned = true }, { .failed = true, .code = 1, .end_us = 9 } };
	enum run_blame b[2];

	(void)state;
	assert_true(run_judge(all, 2, false, b));
	assert_int_equal(b[0], RUN_BLAME_FELL);
	assert_int_equal(b[1], RUN_BLAME_FELL);
	assert_true(run_judge(one, 1, false, b));
	assert_int_equal(b[0], RUN_BLAME_FELL);
	assert_true(run_judge(but_one, 2, false, b));
	assert_int_equal(b[0], RUN_BLAME_FELL);
	assert_int_equal(b[1], RUN_BLAME_SUSPECT);
	assert_true(run_tells_of_mps("vgpu-task: the work failed: CUDA_ERROR_MPS_RPC_FAILURE (806)"));
	assert_true(run_tells_of_mps("RuntimeError: cudaErrorMpsClientTerminated: ..."));
	assert_false(run_tells_of_mps("CUDA_ERROR_OUT_OF_MEMORY (2)"));
}

static void a_command_that_is_not_there_is_nobody_elses_fault(void **state)
{
	const struct run_seen v[] = { { .failed = true, .code = 127 }, { .failed = true, .code = 127 }, { .failed = true, .code = 126 } };
	enum run_blame b[3];

	(void)state;
	assert_true(run_judge(v, 3, false, b));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(b[i], RUN_BLAME_OWN);
}

static void a_job_cannot_fall_for_ever(void **state)
{
	const struct run_seen v[] = { { .failed = true, .code = 1, .orphaned = true, .falls = RUN_MAX_FALLS } };
	enum run_blame b[1];

	(void)state;
	assert_true(run_judge(v, 1, false, b));
	assert_int_equal(b[0], RUN_BLAME_OWN);
}

static void alone_on_its_gpu_a_job_failed_by_itself(void **state)
{
	const struct run_seen v[] = { { .failed = true, .code = 134, .signal = 6 } };
	enum run_blame b[1];

	(void)state;
	assert_true(run_judge(v, 1, false, b));
	assert_int_equal(b[0], RUN_BLAME_OWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_beside_one_that_lives_is_its_own),
		cmocka_unit_test(there_is_no_verdict_while_a_co_runner_may_still_fail),
		cmocka_unit_test(of_all_that_failed_alike_the_first_is_a_suspect),
		cmocka_unit_test(the_one_that_a_signal_ended_felled_the_others),
		cmocka_unit_test(who_lost_its_server_is_not_to_blame),
		cmocka_unit_test(a_command_that_is_not_there_is_nobody_elses_fault),
		cmocka_unit_test(a_job_cannot_fall_for_ever),
		cmocka_unit_test(alone_on_its_gpu_a_job_failed_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
