/* test_admit.c - which of a GPU's jobs may start: barriers, open queues, suspects, repetitions, a
 * power cap. */
#include "run/admit.h"
#include "run/power_cap.h"
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
		{ .batch = 0, .sm_pct = 40, .clock_mhz = 1000 },
		{ .batch = 0, .sm_pct = 60, .clock_mhz = 1000 },
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

/* A job of a later batch, that is to run alone: as an experiment. */
TEST(an_invited_job_starts_next_to_what_runs_and_the_others_wait_for_both)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 100, .clock_mhz = RUN_UNLOCKED, .alone = true },
		{ .batch = 1, .sm_pct = 100, .clock_mhz = RUN_UNLOCKED, .alone = true },
		{ .batch = 2, .sm_pct = 100, .clock_mhz = 800, .alone = true },
	};
	struct run_queue q = { .v = v, .n = 3, .memory_mib = 1000 };

	assert_int_equal(start_all(&q), 1);
	v[2].invited = true;
	assert_int_equal(run_admit_next(&q), 2);
	v[2].state = RUN_STARTED;
	assert_int_equal(run_admit_next(&q), -1);
	assert_int_equal(run_admit_running(&q), 2);
	assert_int_equal(run_admit_clock(&q), RUN_UNLOCKED);
	v[0].state = RUN_OVER;
	assert_int_equal(run_admit_next(&q), -1);
	v[2].state = RUN_OVER;
	assert_int_equal(run_admit_next(&q), 1);
}

TEST(an_open_queue_admits_fitting_jobs_in_order)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 50, .memory_mib = 300, .clock_mhz = 900 },
		{ .batch = 1, .sm_pct = 30, .memory_mib = 300, .clock_mhz = 1200 },
		{ .batch = 2,
		  .sm_pct = 30,
		  .memory_mib = 100,
		  .clock_mhz = 700 }, /* no share is free */
		{ .batch = 3,
		  .sm_pct = 10,
		  .memory_mib = 100,
		  .clock_mhz = 700 }, /* fits, but is behind it */
	};
	struct run_queue q = {
		.v = v, .n = 4, .together = 4, .shares_pct = 100, .memory_mib = 1000
	};

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
	struct run_place v[] = { { .batch = 0, .sm_pct = 70 },
				 { .batch = 1, .sm_pct = 90 },
				 { .batch = 2, .sm_pct = 50 } };
	struct run_queue q = {
		.v = v, .n = 3, .together = 4, .shares_pct = 200, .memory_mib = 1000
	};

	assert_int_equal(start_all(&q), 2); /* 210 % are too many */
	v[0].state = RUN_OVER;
	assert_int_equal(start_all(&q), 1);
}

TEST(an_open_queue_keeps_to_memory_and_number)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 10, .memory_mib = 600 },
		{ .batch = 1, .sm_pct = 10, .memory_mib = 500 },
		{ .batch = 2, .sm_pct = 10, .memory_mib = 100 },
	};
	struct run_queue q = {
		.v = v, .n = 3, .together = 2, .shares_pct = 100, .memory_mib = 1000
	};

	assert_int_equal(start_all(&q), 1); /* 600 + 500 MiB are too many */
	v[0].state = RUN_OVER;
	assert_int_equal(start_all(&q), 2);
	v[1].state = RUN_WAITING;
	v[2].state = RUN_STARTED;
	v[0].state = RUN_STARTED;
	q.over = 0;
	q.reach = 3;
	assert_int_equal(run_admit_next(&q), -1); /* two run */
}

TEST(a_held_job_keeps_memory_and_share_and_has_no_say_in_the_clock)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 50, .memory_mib = 600, .clock_mhz = 1500 },
		{ .batch = 1, .sm_pct = 50, .memory_mib = 300, .clock_mhz = 900 },
		{ .batch = 2, .sm_pct = 10, .memory_mib = 10, .clock_mhz = 300 },
		{ .batch = 3, .sm_pct = 30, .memory_mib = 500, .clock_mhz = 300 },
	};
	struct run_queue q = {
		.v = v, .n = 4, .together = 4, .shares_pct = 100, .memory_mib = 1000
	};

	assert_int_equal(start_all(&q), 2);
	assert_int_equal(run_admit_clock(&q), 1500);
	v[0].state = RUN_HELD;
	assert_int_equal(run_admit_clock(&q), 900);
	assert_int_equal(run_admit_next(&q), -1); /* 110 % */
	v[1].state = RUN_OVER;
	assert_int_equal(run_admit_clock(&q), 0);
	assert_int_equal(start_all(&q), 1);
	assert_int_equal(run_admit_next(&q), -1); /* 1110 MiB */
}

TEST(a_job_larger_than_all_that_is_free_starts_on_an_empty_gpu)
{
	struct run_place v[] = { { .sm_pct = 100, .memory_mib = 5000 } };
	struct run_queue q = {
		.v = v, .n = 1, .together = 1, .shares_pct = 100, .memory_mib = 1000
	};

	assert_int_equal(run_admit_next(&q), 0);
}

TEST(a_repeated_job_keeps_its_place)
{
	struct run_place v[] = { { .batch = 0, .sm_pct = 60 },
				 { .batch = 1, .sm_pct = 40 },
				 { .batch = 2, .sm_pct = 40 } };
	struct run_queue q = {
		.v = v, .n = 3, .together = 3, .shares_pct = 100, .memory_mib = 1000
	};

	assert_int_equal(start_all(&q), 2);
	v[0].state = RUN_WAITING;
	assert_int_equal(run_admit_next(&q), 0);
}

TEST(a_suspect_runs_alone)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 30 },
		{ .batch = 0, .sm_pct = 30, .alone = true },
		{ .batch = 0, .sm_pct = 30 },
	};
	struct run_queue q = { .v = v, .n = 3, .memory_mib = 1000 };

	assert_int_equal(start_all(&q), 2); /* first its co-runners of the batch */
	assert_int_equal(v[1].state, RUN_WAITING);
	v[0].state = v[2].state = RUN_OVER;
	assert_int_equal(start_all(&q), 1);
	v[2].state = RUN_WAITING;
	assert_int_equal(run_admit_next(&q), -1); /* a suspect runs without co-runners */
}

/* They once waited for it, while most of the GPU had nothing to do. */
TEST(jobs_are_backfilled_before_one_that_waits_to_run_alone_until_it_would_lose_more)
{
	struct run_place v[] = {
		{ .sm_pct = 50, .takes_us = 100, .state = RUN_STARTED },
		{ .sm_pct = 50, .takes_us = 20, .alone = true },
		{ .sm_pct = 50, .takes_us = 20, .alone = true },
		{ .sm_pct = 20, .takes_us = 200 },
		{ .sm_pct = 20, .takes_us = 201 },
		{ .sm_pct = 20, .takes_us = 10 },
	};
	struct run_queue q = { .v = v,
			       .n = 6,
			       .reach = 1,
			       .together = 4,
			       .shares_pct = 100,
			       .memory_mib = 1000,
			       .left_us = 90 };

	/* 110 us later instead of 110 us earlier; the next one would lose more, and keeps its turn.
	 */
	assert_int_equal(start_all(&q), 1);
	assert_int_equal(v[3].state, RUN_STARTED);
	assert_true(v[3].backfilled);
	v[1].prompt = true;
	q.left_us = 200;
	assert_int_equal(start_all(&q), 0);
	v[1].prompt = false;
	/* Of what ran before it nothing is left: that of the backfilled one does not count. */
	v[0].state = RUN_OVER;
	q.left_us = 0;
	assert_int_equal(start_all(&q), 0);
	v[3].state = RUN_OVER;
	assert_int_equal(start_all(&q), 1);
	assert_int_equal(v[1].state, RUN_STARTED);
	/* While it runs, alone, nothing starts. */
	q.left_us = 1000;
	assert_int_equal(start_all(&q), 0);
}

TEST(a_job_has_its_gpu_to_itself_where_nothing_can_join_it)
{
	struct run_place v[] = {
		{ .batch = 0, .sm_pct = 100, .memory_mib = 100 },
		{ .batch = 1, .sm_pct = 100, .memory_mib = 100 },
		{ .batch = 1, .sm_pct = 50, .memory_mib = 100 },
		{ .batch = 2, .sm_pct = 60, .memory_mib = 100 },
	};
	struct run_queue q = { .v = v, .n = 4, .shares_pct = 100, .memory_mib = 1000 };

	assert_true(run_admit_alone(&q, &v[0]));
	assert_false(run_admit_alone(&q, &v[1])); /* of a batch of two */
	assert_false(run_admit_alone(&q, &v[2]));
	assert_false(run_admit_alone(&q, &v[3])); /* it needs MPS for its share */
	v[2].alone = true;
	assert_true(run_admit_alone(&q, &v[2]));
	q.together = 4;
	assert_true(run_admit_alone(&q, &v[0]));
	assert_false(run_admit_alone(&q, &v[3]));
	q.shares_pct = 140;
	assert_false(run_admit_alone(&q, &v[0]));
	v[0].memory_mib = 1000;
	assert_true(run_admit_alone(&q, &v[0]));
	q.together = 1;
	assert_true(run_admit_alone(&q, &v[1]));
}

TEST(users_do_not_share_a_gpu)
{
	struct run_place v[] = { { .sm_pct = 30, .user = 1 },
				 { .sm_pct = 30, .user = 2 },
				 { .sm_pct = 30, .user = 1 } };
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

/* Two GPUs with 20 W of idle power. On the first two jobs run together, then a third; on the second
 * one job, late. */
struct cap_bench {
	struct hes_gpu_type type;
	struct hes_gpu fleet_gpus[2];
	struct hes_fleet fleet;
	struct hes_batch first[3], second[1];
	struct hes_queue queues[2];
	struct hes_plan plan;
	struct run_gpu gpus[2];
	struct run_place places[2][3];
	struct run_tasks all;
	struct run_task *tasks[2][3];
	struct run_cap cap;
};

static struct hes_batch one_job(int64_t start_us, int64_t end_us, uint32_t activity_mw)
{
	return (struct hes_batch){ .n = 1,
				   .start_us = start_us,
				   .end_us = end_us,
				   .jobs = { { .sm_pct = 30,
					       .start_us = start_us,
					       .end_us = end_us,
					       .activity_mw = activity_mw } } };
}

static void make_cap(struct cap_bench *b, uint64_t cap_mw, uint64_t peak_mw, const long *here)
{
	*b = (struct cap_bench){ .type = { .idle_power_mw = 20000, .power_limit_mw = 300000 } };
	b->first[0] = one_job(0, 100, 60000);
	b->first[1] = one_job(0, 200, 60000);
	b->first[2] = one_job(200, 300, 90000);
	b->second[0] = one_job(250, 300, 30000);
	b->queues[0] = (struct hes_queue){ .batches = b->first, .n = 3, .together = 4 };
	b->queues[1] = (struct hes_queue){ .batches = b->second, .n = 1, .together = 4 };
	b->plan = (struct hes_plan){
		.queues = b->queues, .n_gpus = 2, .power_cap_mw = cap_mw, .peak_mw = peak_mw
	};
	b->fleet_gpus[0].type = b->fleet_gpus[1].type = &b->type;
	b->fleet = (struct hes_fleet){ .gpus = b->fleet_gpus, .n = 2 };
	assert_int_equal(run_tasks_grow(&b->all, 4, NULL), 0);
	for (size_t g = 0; g < 2; g++) {
		b->gpus[g] = (struct run_gpu){ .planned = &b->fleet_gpus[g] };
		b->gpus[g].queue = (struct run_queue){ .v = b->places[g],
						       .n = b->queues[g].n,
						       .reach = b->queues[g].n };
		for (size_t i = 0; i < b->queues[g].n; i++) {
			const struct hes_placement *p = &b->queues[g].batches[i].jobs[0];

			struct run_task *t = run_tasks_add(&b->all);

			assert_non_null(t);
			b->tasks[g][i] = t;
			b->places[g][i] = (struct run_place){ .task = t, .sm_pct = 30 };
			t->gpu = &b->gpus[g];
			t->place = &b->places[g][i];
			t->activity = p->activity_mw * 1e-3;
			t->planned_start_us = p->start_us;
		}
	}
	run_cap_init(&b->cap, &b->plan, &b->fleet, here, b->gpus);
}

static bool holds(struct cap_bench *b, size_t gpu, size_t job, double now_w)
{
	double with_w;

	return run_cap_delays(&b->cap, b->gpus, 2, b->tasks[gpu][job], now_w, &with_w);
}

static const long both_here[] = { 0, 1 };

TEST(a_plan_that_keeps_its_power_cap_is_not_held)
{
	struct cap_bench b;

	make_cap(&b, 140000, 140000, both_here); /* of 150 W of activity 100 are drawn */
	assert_false(holds(&b, 0, 0, 0));
	b.places[0][0].state = RUN_STARTED;
	assert_false(holds(&b, 0, 1, 0));
	b.places[0][1].state = RUN_STARTED;
	/* The other GPU is too early: its highest power is part of the plan's. */
	assert_false(holds(&b, 1, 0, 0));
	b.places[1][0].state = RUN_STARTED;
	b.places[0][0].state = b.places[0][1].state = RUN_OVER;
	assert_false(holds(&b, 0, 2, 0));
	run_tasks_free(&b.all);
}

TEST(with_a_late_job_the_next_one_waits_for_the_power_cap)
{
	struct cap_bench b;

	make_cap(&b, 140000, 140000, both_here);
	b.places[0][0].state = RUN_OVER;
	b.places[0][1].state = b.places[1][0].state = RUN_STARTED;
	assert_true(holds(&b, 0, 2, 0)); /* 40 + 2/3 (60 + 90) + 20 W */
	b.places[1][0].state = RUN_OVER;
	assert_false(holds(&b, 0, 2, 0)); /* the other GPU is idle now */
	/* It draws more than was predicted. */
	assert_true(holds(&b, 0, 2, 120));
	/* A job that is killed and stuck has no work. Where nothing else runs, a job starts in any
	 * case. */
	assert_true(task_go(&b.all, b.tasks[0][1], TASK_FORKED) &&
		    task_go(&b.all, b.tasks[0][1], TASK_RUNNING) &&
		    task_go(&b.all, b.tasks[0][1], TASK_STUCK));
	assert_false(holds(&b, 0, 2, 500));
	run_tasks_free(&b.all);
}

TEST(jobs_planned_later_do_not_pass_the_one_that_waits_for_power)
{
	struct cap_bench b;

	make_cap(&b, 130000, 140000, both_here);
	b.places[0][0].state = RUN_OVER;
	b.places[0][1].state = RUN_STARTED;
	run_cap_round(&b.cap);
	assert_true(holds(&b, 0, 2, 0));
	run_cap_round(&b.cap);
	assert_true(holds(&b, 1, 0, 0)); /* it has room, and is planned later */
	run_cap_round(&b.cap);
	assert_false(holds(&b, 1, 0, 0)); /* nobody waits */
	run_tasks_free(&b.all);
}

TEST(a_part_of_the_fleet_keeps_its_part_of_the_power_cap)
{
	const long here[] = { 0, -1 };
	struct cap_bench b;

	make_cap(&b, 140000, 140000, here);
	assert_true(b.cap.cap_w > 99.9 &&
		    b.cap.cap_w < 100.1); /* the other may draw 20 + 2/3 30 W */
	run_tasks_free(&b.all);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
