/*
 * test_replan.c - an arriving job placed in an open plan, which goes on meanwhile.
 * The predictor is plan_bench.h's; the search itself is test_joint.c's.
 */
#include "plan/batch/compose.h"
#include "plan/joint/joint_search.h"
#include "plan/replan.h"
#include "plan_bench.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, bench_setup, plan_bench_teardown)

static int bench_setup(void **state)
{
	const int rc = plan_bench_setup(state);

	stand_in.power_by_use = true;
	return rc;
}

/* Four of the six jobs planned, as open queues. */
static struct hes_plan plan_four(struct bench *b)
{
	struct hes_joint_solution s;
	struct hes_plan plan;
	struct hes_joint *j;

	make_six_jobs(b);
	hes_problem_finish(&b->p);
	b->request.n_waiting = 4;
	make_problem(b);
	assert_int_equal(
		hes_joint_search(&b->p,
				 &(struct hes_joint_options){ .seed = 1, .evaluations = 4000 }, &j),
		0);
	s = hes_joint_member(j, hes_joint_front(j)->n / 2);
	assert_int_equal(hes_plan_init(&plan, b->p.k), 0);
	for (size_t g = 0; g < b->p.k; g++)
		assert_int_equal(hes_compose_open(&b->p, &plan, g, &s.items[s.first[g]],
						  s.first[g + 1] - s.first[g]),
				 0);
	hes_joint_free(j);
	return plan;
}

static void assert_same_batch(const struct hes_batch *x, const struct hes_batch *y)
{
	assert_int_equal(x->jobs[0].job, y->jobs[0].job);
	assert_int_equal(x->jobs[0].sm_pct, y->jobs[0].sm_pct);
	assert_int_equal(x->clock_mhz, y->clock_mhz);
}

/* Jobs started by then keep their places; the other queue is as it was; the plan of all five is
 * sound. */
BENCH_TEST(an_arriving_job_is_placed_and_what_started_stays)
{
	struct hes_plan before = plan_four(b), after;
	struct hes_replan *r;
	const int64_t now_us = 3000000;
	size_t gpu = 9, moved = 0;

	assert_int_equal(hes_replan_open(&b->request, &before, 50, &r, &b->err), 0);
	assert_int_equal(hes_replan_arrive(r, 4, now_us, &gpu, &b->err), 0);
	assert_true(gpu < 2);
	assert_int_equal(hes_plan_init(&after, 2), 0);
	for (size_t g = 0; g < 2; g++) {
		const struct hes_queue *x = &before.queues[g], *y = &after.queues[g];

		assert_int_equal(hes_replan_write(r, g, &after), 0);
		assert_int_equal(y->n, x->n + (g == gpu));
		for (size_t i = 0; i < y->n; i++) {
			if (y->batches[i].jobs[0].job == 4) {
				assert_true(y->batches[i].start_us >= now_us);
				moved = 1;
				continue;
			}
			assert_same_batch(&y->batches[i], &x->batches[i - (g == gpu ? moved : 0)]);
			if (x->batches[i].start_us <= now_us && i < x->n && !moved)
				assert_int_equal(y->batches[i].start_us, x->batches[i].start_us);
		}
	}
	assert_int_equal(moved, 1);
	b->jobs.n = 5;
	if (hes_plan_validate(&after, &b->fleet, &b->jobs, 100, &b->err))
		fail_msg("%s", b->err.msg);
	hes_plan_finish(&before);
	hes_plan_finish(&after);
	hes_replan_close(r);
}

/* If time is worth much, a light job shares a GPU with running jobs instead of waiting for them. */
BENCH_TEST(an_arriving_job_takes_the_share_that_is_free)
{
	struct hes_plan plan, after;
	const struct hes_timeline_item item = { 0, 60, 11 };
	struct hes_replan *r;
	size_t gpu;

	for (int i = 0; i < 3; i++)
		add_job(b, "light", 10000, 1000);
	b->request.n_waiting = 1;
	make_problem(b);
	assert_int_equal(hes_plan_init(&plan, 2), 0);
	assert_int_equal(hes_compose_open(&b->p, &plan, 0, &item, 1), 0);
	assert_int_equal(
		hes_compose_open(&b->p, &plan, 1, &(struct hes_timeline_item){ 0, 60, 11 }, 0), 0);
	assert_int_equal(hes_replan_open(&b->request, &plan, 1e6, &r, &b->err), 0);
	for (uint32_t job = 1; job < 3; job++) {
		assert_int_equal(hes_replan_arrive(r, job, 1000, &gpu, &b->err), 0);
		assert_int_equal(hes_plan_init(&after, 2), 0);
		assert_int_equal(hes_replan_write(r, gpu, &after), 0);
		assert_int_equal(after.queues[gpu].batches[after.queues[gpu].n - 1].start_us, 1000);
		hes_plan_finish(&after);
	}
	hes_plan_finish(&plan);
	hes_replan_close(r);
}

/* Five wait on one GPU, the other is idle: the arrived job is not the only one that goes there. */
BENCH_TEST(waiting_jobs_move_when_a_job_arrives)
{
	const struct hes_timeline_item items[] = {
		{ 0, 100, 11 }, { 1, 100, 11 }, { 2, 100, 11 }, { 3, 100, 11 }, { 4, 100, 11 }
	};
	size_t gpu;
	struct hes_plan plan;
	struct hes_replan *r;
	uint32_t queue[8];

	for (int i = 0; i < 6; i++)
		add_job(b, "light", 10000, 1000);
	b->request.n_waiting = 5;
	make_problem(b);
	assert_int_equal(hes_plan_init(&plan, 2), 0);
	assert_int_equal(hes_compose_open(&b->p, &plan, 0, items, 5), 0);
	assert_int_equal(hes_compose_open(&b->p, &plan, 1, NULL, 0), 0);
	assert_int_equal(hes_replan_open(&b->request, &plan, 1e6, &r, &b->err), 0);
	assert_int_equal(hes_replan_arrive(r, 5, 1000, &gpu, &b->err), 0);
	assert_true(hes_replan_queue(r, 1, queue, 8) >= 2);
	assert_int_equal(hes_replan_queue(r, 0, queue, 8) + hes_replan_queue(r, 1, queue, 8), 6);
	/* What has started is where it was. */
	hes_replan_queue(r, 0, queue, 8);
	assert_int_equal(queue[0], 0);
	hes_plan_finish(&plan);
	hes_replan_close(r);
}

/* What started is no longer to be planned; what runs is there for as long as it is thought to be.
 */
BENCH_TEST(what_started_leaves_the_queue_and_what_runs_takes_its_share)
{
	struct hes_plan plan, after;
	const struct hes_timeline_item items[] = { { 0, 60, 11 }, { 1, 60, 11 }, { 2, 60, 11 } };
	struct hes_running running = { .job = 1,
				       .gpu = 0,
				       .sm_pct = 60,
				       .clock_mhz = 1590,
				       .start_us = 9000000,
				       .end_us = 12000000,
				       .left = 2 / 3.0 };
	struct hes_replan *r;
	uint32_t queue[4];

	for (int i = 0; i < 3; i++)
		add_job(b, "light", 10000, 1000);
	b->request.n_waiting = 3;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), 0);
	assert_int_equal(hes_plan_init(&plan, 2), 0);
	assert_int_equal(hes_compose_open(&b->p, &plan, 0, items, 3), 0);
	assert_int_equal(hes_replan_open(&b->request, &plan, 1e6, &r, &b->err), 0);
	assert_int_equal(hes_replan_queue(r, 0, queue, 4), 3);
	/* The first has ended, the second runs for two seconds more. */
	assert_int_equal(hes_replan_observe(r, 0, 2, &running, 1, 10000000, &b->err), 0);
	assert_int_equal(hes_replan_queue(r, 0, queue, 4), 1);
	assert_int_equal(queue[0], 2);
	assert_int_equal(hes_plan_init(&after, 2), 0);
	assert_int_equal(hes_replan_write(r, 0, &after), 0);
	assert_int_equal(after.queues[0].n, 1);
	/* Two thirds of it are left: its own rate alone says how long that is. */
	assert_true(after.queues[0].batches[0].start_us > 10000000);
	hes_plan_finish(&after);
	/* Once nothing runs, the next starts at once. */
	assert_int_equal(hes_replan_observe(r, 0, 0, NULL, 0, 13000000, &b->err), 0);
	assert_int_equal(hes_plan_init(&after, 2), 0);
	assert_int_equal(hes_replan_write(r, 0, &after), 0);
	assert_int_equal(after.queues[0].batches[0].start_us, 13000000);
	assert_int_equal(hes_replan_observe(r, 0, 2, NULL, 0, 14000000, &b->err), -EINVAL);
	assert_non_null(strstr(b->err.msg, "2 jobs of its queue of 1"));
	hes_plan_finish(&after);
	hes_plan_finish(&plan);
	hes_replan_close(r);
}

/* Of 10 s of start-up, 4 are over; 10 s of work follow. One that has begun has the work alone. */
BENCH_TEST(the_rest_of_a_running_jobs_start_up_is_planned_for)
{
	struct hes_plan plan, after;
	const struct hes_timeline_item items[] = { { 0, 60, 11 }, { 1, 60, 11 } };
	struct hes_running running = { .job = 0,
				       .sm_pct = 60,
				       .clock_mhz = 1590,
				       .start_us = 1000000,
				       .end_us = 21000000,
				       .left = 1,
				       .starting = true };
	struct hes_replan *r;

	set_start(b, "light", 10);
	add_job(b, "light", 10000, 1000);
	add_job(b, "half", 10000, 1000);
	make_problem(b);
	assert_int_equal(hes_plan_init(&plan, 2), 0);
	assert_int_equal(hes_compose_open(&b->p, &plan, 0, items, 2), 0);
	assert_int_equal(plan.queues[0].batches[1].start_us, 20000000);
	assert_int_equal(hes_replan_open(&b->request, &plan, 1e6, &r, &b->err), 0);
	for (int begun = 0; begun < 2; begun++) {
		running.starting = !begun;
		assert_int_equal(hes_replan_observe(r, 0, !begun, &running, 1, 5000000, &b->err),
				 0);
		assert_int_equal(hes_plan_init(&after, 2), 0);
		assert_int_equal(hes_replan_write(r, 0, &after), 0);
		assert_int_equal(after.remainders[0].end_us, begun ? 15000000 : 21000000);
		assert_int_equal(after.queues[0].batches[0].start_us, after.remainders[0].end_us);
		hes_plan_finish(&after);
	}
	hes_plan_finish(&plan);
	hes_replan_close(r);
}

BENCH_TEST(a_plan_with_barriers_is_not_replanned)
{
	struct hes_plan plan = plan_four(b);
	struct hes_replan *r;

	plan.queues[plan.queues[0].n ? 0 : 1].together = 0;
	assert_int_equal(hes_replan_open(&b->request, &plan, 50, &r, &b->err), -EINVAL);
	assert_non_null(strstr(b->err.msg, "has barriers"));
	hes_plan_finish(&plan);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
