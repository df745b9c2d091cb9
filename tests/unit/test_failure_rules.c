/* test_failure_rules.c - why jobs behind one MPS server failed: by themselves, because of a
 * co-runner, or for a reason not known yet. */
#include "run/failure_rules.h"
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

#define SECOND INT64_C(1000000)

static enum run_work work_of(struct run_work_seen s, char why[200])
{
	why[0] = '\0';
	s.wanted = 1500;
	s.planned_us = s.planned_us ? s.planned_us : 500 * SECOND;
	return run_judge_work(&s, why, 200);
}

TEST(a_job_that_stops_at_a_third_of_its_lines_ended_early)
{
	char why[200];

	/* Whether it prints often, or once. */
	assert_int_equal(work_of((struct run_work_seen){ .known = true,
							 .several = true,
							 .iterations = 500,
							 .step = 10,
							 .took_us = 170 * SECOND },
				 why),
			 RUN_WORK_EARLY);
	assert_string_equal(why, "its last progress line says 500 of 1500 iterations");
	assert_int_equal(work_of((struct run_work_seen){ .known = true,
							 .iterations = 500,
							 .step = 500,
							 .took_us = 170 * SECOND },
				 why),
			 RUN_WORK_EARLY);
	/* Also where it was slow: the time says nothing then. */
	assert_int_equal(work_of((struct run_work_seen){ .known = true,
							 .several = true,
							 .iterations = 500,
							 .step = 10,
							 .took_us = 900 * SECOND },
				 why),
			 RUN_WORK_EARLY);
}

TEST(a_job_that_is_faster_than_planned_or_prints_rarely_is_done)
{
	const struct run_work_seen done[] = {
		/* All lines, a hundredth of the time. */
		{ .known = true,
		  .several = true,
		  .iterations = 1500,
		  .step = 10,
		  .took_us = 5 * SECOND },
		/* The last line is before the end. */
		{ .known = true,
		  .several = true,
		  .iterations = 1200,
		  .step = 300,
		  .took_us = 400 * SECOND },
		/* It became faster after it. */
		{ .known = true,
		  .several = true,
		  .iterations = 1100,
		  .step = 300,
		  .took_us = 400 * SECOND },
		{ .known = true, .iterations = 1000, .step = 1000, .took_us = 400 * SECOND },
		/* It rounds. */
		{ .known = true,
		  .several = true,
		  .iterations = 1440,
		  .step = 1,
		  .took_us = 400 * SECOND },
		/* Who else is on the GPU is not its work. */
		{ .known = true,
		  .several = true,
		  .iterations = 1500,
		  .step = 1,
		  .took_us = 400 * SECOND,
		  .outside = 1 },
		/* No lines: the plan may be wrong by half. */
		{ .took_us = 250 * SECOND },
		{ .took_us = 250 * SECOND, .outside = 1 },
	};
	char why[200];

	for (size_t i = 0; i < sizeof(done) / sizeof(done[0]); i++)
		if (work_of(done[i], why) != RUN_WORK_DONE)
			fail_msg("row %zu: %s", i, why);
}

TEST(without_lines_an_extreme_time_is_early_and_a_short_one_is_worth_a_word)
{
	char why[200];

	assert_int_equal(work_of((struct run_work_seen){ .took_us = 2 * SECOND }, why),
			 RUN_WORK_EARLY);
	assert_string_equal(why, "it ran 2 s of 500 s planned, without a progress line");
	assert_int_equal(work_of((struct run_work_seen){ .took_us = 100 * SECOND }, why),
			 RUN_WORK_UNSEEN);
	/* A line of 0 iterations is none. */
	assert_int_equal(
		work_of((struct run_work_seen){ .known = true, .took_us = 450 * SECOND }, why),
		RUN_WORK_DONE);
	assert_int_equal(
		work_of((struct run_work_seen){ .known = true, .took_us = 2 * SECOND }, why),
		RUN_WORK_EARLY);
	assert_int_equal(
		work_of((struct run_work_seen){ .took_us = 100 * SECOND, .outside = 2 }, why),
		RUN_WORK_EARLY);
	assert_non_null(strstr(why, "2 contexts on its GPU began after it and belong to no job"));
	/* A plan without a time for it. */
	assert_int_equal(run_judge_work(&(struct run_work_seen){ .took_us = 1, .wanted = 9 }, why,
					sizeof(why)),
			 RUN_WORK_DONE);
}

TEST(work_that_had_to_be_killed_was_not_done)
{
	char why[200];

	assert_int_equal(work_of((struct run_work_seen){ .took_us = 400 * SECOND, .left = 1 }, why),
			 RUN_WORK_EARLY);
	assert_string_equal(why, "1 process that it left running was killed");
	/* Also where its lines say that all was done. */
	assert_int_equal(work_of((struct run_work_seen){ .known = true,
							 .several = true,
							 .iterations = 1500,
							 .step = 1,
							 .took_us = 400 * SECOND,
							 .left = 1 },
				 why),
			 RUN_WORK_EARLY);
	assert_string_equal(why, "1 process that it left running was killed");
	assert_int_equal(work_of((struct run_work_seen){ .known = true,
							 .several = true,
							 .iterations = 150,
							 .step = 10,
							 .took_us = 2 * SECOND,
							 .left = 3 },
				 why),
			 RUN_WORK_EARLY);
	assert_string_equal(why, "its last progress line says 150 of 1500 iterations; 3 processes "
				 "that it left running were killed");
}

TEST(a_job_that_got_no_memory_took_nobody_down)
{
	const struct run_seen v[] = {
		{ .failed = true, .code = 1, .end_us = 1, .lack = RUN_LACK_MEMORY },
		{ .lives = false },
		{ .failed = true, .code = 1, .end_us = 2 },
	};
	enum run_blame b[3];

	assert_true(run_judge(v, 2, false, b)); /* there is nothing to wait for */
	assert_int_equal(b[0], RUN_BLAME_OWN);
	assert_int_equal(run_tells_of_lack("allocating memory: CUDA_ERROR_OUT_OF_MEMORY (2)", NULL),
			 RUN_LACK_MEMORY);
	assert_int_equal(
		run_tells_of_lack("torch.OutOfMemoryError: CUDA out of memory. Tried", NULL),
		RUN_LACK_MEMORY);
	assert_int_equal(run_tells_of_lack("CUBLAS_STATUS_ALLOC_FAILED when calling", NULL),
			 RUN_LACK_MEMORY);
	assert_int_equal(run_tells_of_lack("CUDA_ERROR_MPS_MAX_CLIENTS_REACHED (808)", NULL),
			 RUN_LACK_CLIENTS);
	assert_int_equal(run_tells_of_lack("error: the hardware resources required to support MPS "
					   "client have been exhausted",
					   NULL),
			 RUN_LACK_CLIENTS);
	assert_int_equal(run_tells_of_lack("CUDA_ERROR_MPS_RPC_FAILURE (806)", NULL),
			 RUN_LACK_NONE);
}

TEST(words_of_memory_count_only_if_they_are_of_the_gpu_and_the_end)
{
	static const char *const lacks[] = {
		"CUDA failure 2: out of memory\n",
		"ggml: cudaMalloc failed: out of memory",
		"XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 "
		"bytes.",
		"OOM when allocating tensor on /job:localhost/device:GPU:0 by allocator GPU_0_bfc",
		"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000 bytes",
		"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n\n"
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py",
		"heshare: 10 iterations\rCUDA error: out of memory\nwandb: run ended",
	};
	static const char *const others[] = {
		"batch 64: CUDA out of memory, falling back to 16\nheshare: 20 iterations\nAborted",
		"batch 64: CUDA out of memory, falling back to 16\nTraceback:\nValueError: bad",
		"java.lang.OutOfMemoryError: Java heap space",
		"slurmstepd: error: step killed, out of memory",
		"grpc: RESOURCE_EXHAUSTED: received message larger than max",
	};

	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++)
		if (run_tells_of_lack(lacks[i], NULL) != RUN_LACK_MEMORY)
			fail_msg("row %zu: %s", i, lacks[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (run_tells_of_lack(others[i], NULL) != RUN_LACK_NONE)
			fail_msg("row %zu: %s", i, others[i]);
}

/* A GPU of 15360 MiB. */
TEST(who_took_the_memory_that_a_job_did_not_get)
{
	struct run_use v[] = {
		{ .limit_mib = 2530, .most_mib = 14000, .contexts = 7 },
		{ .limit_mib = 2970, .most_mib = 700, .contexts = 1 },
		{ .limit_mib = 1000, .most_mib = 1001, .contexts = 1 },
	};
	const enum run_lack memory = RUN_LACK_MEMORY;

	assert_int_equal(run_find_taker(v, 3, 1, memory, 15360), 0);
	/* There was room for what it may use: it needs more. */
	v[0].most_mib = 11000;
	assert_int_equal(run_find_taker(v, 3, 1, memory, 15360), 1);
	v[0].most_mib = 14000;
	v[1].most_mib = 3000; /* it is above its own limit */
	assert_int_equal(run_find_taker(v, 3, 1, memory, 15360), 1);
	v[1].most_mib = 700;
	assert_int_equal(run_find_taker(&v[1], 1, 0, memory, 15360), 0); /* alone */
	/* All keep to their limits, and there is too little. */
	v[0].limit_mib = 14000;
	v[2].limit_mib = 1100;
	assert_int_equal(run_find_taker(v, 3, 1, memory, 15360), -1);
	v[1].limit_mib = 0; /* it may use all, and others have some of it */
	assert_int_equal(run_find_taker(v, 3, 1, memory, 15360), -1);
}

TEST(who_took_the_places_among_the_clients_of_mps)
{
	const struct run_use v[] = { { .contexts = 48 }, { .contexts = 0 }, { .contexts = 1 } };

	assert_int_equal(run_find_taker(v, 3, 1, RUN_LACK_CLIENTS, 15360), 0);
	assert_int_equal(run_find_taker(v, 3, 0, RUN_LACK_CLIENTS, 15360), 0);
	assert_int_equal(run_find_taker(&v[1], 1, 0, RUN_LACK_CLIENTS, 15360), 0);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
