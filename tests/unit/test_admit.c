/* test_admit.c - which of a GPU's jobs may start: barriers, open queues, suspects, repetitions. */
#include "run/admit.h"
#include "unit_test.h"

/* Start whatever may. @return how many did */
static size_t start_all(struct run_queue *q)
{
	size_t n = 0;
	long next;

	while ((next = run_admit_next(q)) >= 0) {
		assert_int_equal(q->v[next].state, RUN_WAITING);
		q->v[next].state = RUN_STARTED;
		n++;
	}
	return n;
}

TEST(a_batch_waits_for_the_last_job_of_the_one_before)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 40, .clock_mhz = 1000 }, { .batch = 0, .sm_pct = 60, .clock_mhz = 1000 },
		{ .batch = 1, .sm_pct = 100, .clock_mhz = 800 },
	};
	struct run_queue q = { .v = v, .n = 3, .memory_mib = 1000 };

	assert_int_equal(start_all(&q), 2);
	assert_int_equal(run_admit_clock(&q), 1000);
	v[0].state = RUN_OVER;
	assert_int_equal(run_admit_next(&q), -1);
	v[1].state = RUN_OVER;
	assert_int_equal(run_admit_next(&q), 2);
	v[2].state = RUN_STARTED;
	assert_int_equal(run_admit_clock(&q), 800);
	assert_false(run_admit_over(&q));
	v[2].state = RUN_OVER;
	assert_true(run_admit_over(&q));
	assert_int_equal(run_admit_clock(&q), 0);
}

TEST(an_open_queue_admits_fitting_jobs_in_order)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 50, .memory_mib = 300, .clock_mhz = 900 },
		{ .batch = 1, .sm_pct = 30, .memory_mib = 300, .clock_mhz = 1200 },
		{ .batch = 2, .sm_pct = 30, .memory_mib = 100, .clock_mhz = 700 },  /* no share is free */
		{ .batch = 3, .sm_pct = 10, .memory_mib = 100, .clock_mhz = 700 },  /* fits, but is behind it */
	};
	struct run_queue q = { .v = v, .n = 4, .together = 4, .shares_pct = 100, .memory_mib = 1000 };

	assert_int_equal(start_all(&q), 2);
	assert_int_equal(run_admit_clock(&q), 1200);
	v[1].state = RUN_OVER;
	assert_int_equal(start_all(&q), 2);
	assert_int_equal(run_admit_clock(&q), 900);
	assert_int_equal(run_admit_running(&q), 3);
}

/* The joint policy plans shares that overlap; they once ran one after the other. */
TEST(shares_of_an_open_queue_overlap_up_to_the_plans_limit)
{
	struct run_place v[] = { { .batch = 0, .sm_pct = 70 }, { .batch = 1, .sm_pct = 90 }, { .batch = 2, .sm_pct = 50 } };
	struct run_queue q = { .v = v, .n = 3, .together = 4, .shares_pct = 200, .memory_mib = 1000 };

	assert_int_equal(start_all(&q), 2);  /* 210 % are too many */
	v[0].state = RUN_OVER;
	assert_int_equal(start_all(&q), 1);
}

TEST(an_open_queue_keeps_to_memory_and_number)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 10, .memory_mib = 600 }, { .batch = 1, .sm_pct = 10, .memory_mib = 500 },
		{ .batch = 2, .sm_pct = 10, .memory_mib = 100 },
	};
	struct run_queue q = { .v = v, .n = 3, .together = 2, .shares_pct = 100, .memory_mib = 1000 };

	assert_int_equal(start_all(&q), 1);  /* 600 + 500 MiB are too many */
	v[0].state = RUN_OVER;
	assert_int_equal(start_all(&q), 2);
	v[1].state = RUN_WAITING;
	v[2].state = RUN_STARTED;
	v[0].state = RUN_STARTED;
	q.over = 0;
	q.reach = 3;
	assert_int_equal(run_admit_next(&q), -1);  /* two run */
}

TEST(a_job_larger_than_all_that_is_free_starts_on_an_empty_gpu)
{
	struct run_place v[] = { { .sm_pct = 100, .memory_mib = 5000 } };
	struct run_queue q = { .v = v, .n = 1, .together = 1, .shares_pct = 100, .memory_mib = 1000 };

	assert_int_equal(run_admit_next(&q), 0);
}

TEST(a_repeated_job_keeps_its_place)
{
	struct run_place v[] = { { .batch = 0, .sm_pct = 60 }, { .batch = 1, .sm_pct = 40 }, { .batch = 2, .sm_pct = 40 } };
	struct run_queue q = { .v = v, .n = 3, .together = 3, .shares_pct = 100, .memory_mib = 1000 };

	assert_int_equal(start_all(&q), 2);
	v[0].state = RUN_WAITING;
	assert_int_equal(run_admit_next(&q), 0);
}

TEST(a_suspect_runs_alone)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 30 }, { .batch = 0, .sm_pct = 30, .alone = true }, { .batch = 0, .sm_pct = 30 },
	};
	struct run_queue q = { .v = v, .n = 3, .memory_mib = 1000 };

	assert_int_equal(start_all(&q), 2);  /* first its co-runners of the batch */
	assert_int_equal(v[1].state, RUN_WAITING);
	v[0].state = v[2].state = RUN_OVER;
	assert_int_equal(start_all(&q), 1);
	v[2].state = RUN_WAITING;
	assert_int_equal(run_admit_next(&q), -1);  /* a suspect runs without co-runners */
}

TEST(users_do_not_share_a_gpu)
{
	struct run_place v[] = { { .sm_pct = 30, .user = 1 }, { .sm_pct = 30, .user = 2 }, { .sm_pct = 30, .user = 1 } };
	struct run_queue q = { .v = v, .n = 3, .memory_mib = 1000 };

	assert_int_equal(start_all(&q), 2);
	assert_int_equal(v[1].state, RUN_WAITING);
	v[0].state = v[2].state = RUN_OVER;
	assert_int_equal(run_admit_next(&q), 1);
}

TEST(an_empty_queue_has_ended)
{
	struct run_queue q = { .n = 0 };

	assert_int_equal(run_admit_next(&q), -1);
	assert_true(run_admit_over(&q));
}

int main(void) { return run_unit_tests(NULL, NULL); }
