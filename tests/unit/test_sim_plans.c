/* test_sim_plans.c - plans in the simulation: made as jobs arrive, carried out, or refused. */
#include <math.h>

#include "sim_bench.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, sim_bench_setup, sim_bench_teardown)

/* A planner for tests: every waiting job alone, in order, on a GPU of the test's choice. */
struct planner {
	struct bench *b;
	size_t gpu[8];        /* by call */
	int64_t predicted_us; /* of every batch */
	int calls;
	int fail_at; /* call that fails; 0: none */
	int64_t now_us[8];
	size_t n_waiting[8];
	uint32_t first[8];
	int64_t free_at_us[8][2];
};

static int plan_waiting(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n,
			const int64_t *free_at_us, const struct hes_running *running,
			size_t n_running, struct hes_plan *out, struct hes_err *err)
{
	struct planner *p = ctx;
	int call = p->calls++;
	size_t gpu = p->gpu[call];
	int64_t at = free_at_us[gpu];

	(void)running;
	(void)n_running;
	p->now_us[call] = now_us;
	p->n_waiting[call] = n;
	p->first[call] = waiting[0];
	memcpy(p->free_at_us[call], free_at_us, sizeof(p->free_at_us[call]));
	if (p->calls == p->fail_at)
		return hes_fail(err, -ENOSPC, "no room");
	assert_int_equal(hes_plan_init(out, p->b->fleet.n), 0);
	for (size_t i = 0; i < n; i++) {
		struct hes_batch batch = batch_of(p->b->fleet.gpus[gpu].type, 1, &waiting[i]);

		batch.start_us = batch.jobs[0].start_us = at;
		batch.end_us = batch.jobs[0].end_us = at += p->predicted_us;
		batch.energy_mj = 5000;
		assert_int_equal(hes_plan_append(out, gpu, &batch), 0);
	}
	return 0;
}

static struct hes_sim online(const struct bench *b, struct planner *p)
{
	return (struct hes_sim){ .model = b->model,
				 .fleet = &b->fleet,
				 .jobs = &b->jobs,
				 .replan = plan_waiting,
				 .ctx = p };
}

BENCH_TEST(an_arrival_during_a_batch_is_planned_for_then_and_waits_its_turn)
{
	struct planner p = { .b = b, .predicted_us = 30000000 };
	struct hes_sim s = online(b, &p);

	add_job(b, "resnet50", 100000, 0);
	add_job(b, "resnet50", 10, 1000000);
	run_sim(b, &s);
	assert_int_equal(p.calls, 2);
	assert_int_equal(p.now_us[1], 1000000);
	assert_int_equal(p.n_waiting[1], 1);
	assert_int_equal(p.first[1], 1);
	assert_int_equal(b->replay.jobs[1].start_us, b->replay.jobs[0].end_us);
	/* The planner gets its own prediction, not the end in the GPU model. */
	assert_int_equal(p.free_at_us[1][0], 30000000);
	assert_int_equal(p.free_at_us[1][1], 1000000);
	assert_true(b->replay.jobs[0].end_us != 30000000);
	/* Predicted: 30 s and 60 s - 1 s; two batches of 5 J; GPU b idle for 60 s. */
	assert_true(b->replay.predicted.avg_jct_us == 44500000);
	assert_int_equal(b->replay.predicted.makespan_us, 60000000);
	assert_int_equal(b->replay.predicted.busy_energy_mj, 10000);
	assert_int_equal(b->replay.predicted.fleet_energy_mj,
			 10000 + 60 * b->fleet.gpus[1].type->idle_power_mw);
}

/* With a GPU that seems free now, a first-come policy would queue jobs behind it while another GPU
 * idles. */
BENCH_TEST(a_batch_that_overruns_its_prediction_keeps_its_gpu_busy)
{
	struct planner p = { .b = b, .predicted_us = 1000 };
	struct hes_sim s = online(b, &p);

	add_job(b, "resnet50", 100000, 0);
	add_job(b, "resnet50", 10, 1000000);
	run_sim(b, &s);
	assert_int_equal(p.free_at_us[1][0], 1000001);
	assert_int_equal(p.free_at_us[1][1], 1000000);
}

BENCH_TEST(an_arrival_replaces_the_plan_of_those_who_wait_but_not_of_those_who_run)
{
	struct planner p = { .b = b, .gpu = { 0, 1 }, .predicted_us = 1000 };
	struct hes_sim s = online(b, &p);

	add_job(b, "resnet50", 100000, 0);
	add_job(b, "resnet50", 100, 0);
	add_job(b, "resnet50", 100, 1000000);
	run_sim(b, &s);
	assert_int_equal(p.calls, 2); /* two jobs at one moment are planned for together */
	assert_int_equal(p.n_waiting[0], 2);
	assert_int_equal(p.n_waiting[1], 2);
	assert_int_equal(b->replay.jobs[0].gpu, 0);
	assert_int_equal(b->replay.jobs[1].gpu, 1);
	assert_int_equal(b->replay.jobs[1].start_us, 1000000);
	assert_int_equal(b->replay.jobs[2].gpu, 1);
}

/* What was started, in the order of starting, with the predictions it was started on. */
BENCH_TEST(the_plan_carried_out_is_made_of_the_batches_that_started)
{
	struct planner p = { .b = b, .gpu = { 0, 1 }, .predicted_us = 1000 };
	struct hes_sim s = online(b, &p);
	struct hes_plan carried_out;

	add_job(b, "resnet50", 100000, 0);
	add_job(b, "resnet50", 100, 0);
	add_job(b, "resnet50", 100, 1000000);
	s.carried_out = &carried_out;
	run_sim(b, &s);
	assert_int_equal(carried_out.n_gpus, 2);
	assert_int_equal(carried_out.queues[0].n, 1);
	assert_int_equal(carried_out.queues[0].batches[0].jobs[0].job, 0);
	assert_int_equal(carried_out.queues[1].n, 2);
	assert_int_equal(carried_out.queues[1].batches[1].jobs[0].job, 2);
	assert_int_equal(carried_out.queues[1].batches[1].end_us, 1002000);
	assert_int_equal(carried_out.predicted.busy_energy_mj, 15000);
	hes_plan_finish(&carried_out);
}

BENCH_TEST(a_planners_failure_ends_the_simulation_with_its_reason)
{
	struct planner p = { .b = b, .predicted_us = 1000, .fail_at = 2 };
	struct hes_sim s = online(b, &p);

	add_job(b, "resnet50", 100, 0);
	add_job(b, "resnet50", 100, 1000);
	assert_int_equal(hes_sim_run(&s, &b->replay, &b->err), -ENOSPC);
	assert_string_equal(b->err.msg, "no room");
	assert_null(b->replay.jobs);
}

/* Refused with a sentence that holds @part; the result is untouched. */
static void assert_refused(struct bench *b, int code, const char *part)
{
	struct hes_sim s = request(b);
	struct hes_replay out, before;

	memset(&out, 0x5a, sizeof(out));
	before = out;
	assert_int_equal(hes_sim_run(&s, &out, &b->err), code);
	if (!strstr(b->err.msg, part))
		fail_msg("\"%s\" says nothing of \"%s\"", b->err.msg, part);
	assert_memory_equal(&out, &before, sizeof(out));
}

BENCH_TEST(a_plan_that_names_a_job_twice_is_refused)
{
	uint32_t j = add_job(b, "resnet50", 100, 0);

	plan_batch(b, 0, 1, &j);
	plan_batch(b, 1, 1, &j);
	assert_refused(b, -EINVAL, "plan: GPU b/0, batch 1: job j0 is planned twice");
}

BENCH_TEST(a_plan_that_leaves_a_job_out_is_refused)
{
	uint32_t j = add_job(b, "resnet50", 100, 0);

	add_job(b, "resnet50", 100, 0);
	plan_batch(b, 0, 1, &j);
	assert_refused(b, -EINVAL, "leaves out job j1");
}

BENCH_TEST(a_batch_larger_than_its_gpus_memory_is_refused)
{
	uint32_t jobs[] = { add_job(b, "resnet50", 100, 0), add_job(b, "resnet50", 100, 0) };

	b->v[0].memory_mib = b->fleet.gpus[1].type->memory_mib;
	b->v[1].memory_mib = 1;
	plan_batch(b, 1, 2, jobs);
	assert_refused(b, -ENOSPC, "T4 has");
}

BENCH_TEST(what_a_gpu_cannot_do_is_refused)
{
	uint32_t j = add_job(b, "resnet50", 100, 0);

	plan_batch(b, 0, 1, &j);
	b->plan.queues[0].batches[0].clock_mhz = 7;
	assert_refused(b, -EINVAL, "cannot run at 7 MHz");
	b->plan.queues[0].batches[0].clock_mhz = b->fleet.gpus[0].type->clock_default_mhz;
	b->plan.queues[0].batches[0].jobs[0].sm_pct = 101;
	assert_refused(b, -EINVAL, "101 %");
	b->plan.queues[0].batches[0].jobs[0].sm_pct = 0;
	assert_refused(b, -EINVAL, "outside 1 to 100");
	b->plan.queues[0].batches[0].jobs[0] = (struct hes_placement){ .job = 77, .sm_pct = 10 };
	assert_refused(b, -EINVAL, "job number 77");
	b->plan.queues[0].batches[0].n = HES_MAX_SHARING + 1;
	assert_refused(b, -EINVAL, "9 jobs");
}

BENCH_TEST(an_unknown_workload_and_an_endless_job_are_refused)
{
	uint32_t j = add_job(b, "resnet51", 100, 0);

	plan_batch(b, 0, 1, &j);
	assert_refused(b, -ENOENT, "job j0");
	snprintf(b->v[0].workload, sizeof(b->v[0].workload), "resnet50");
	b->v[0].iterations = UINT64_MAX;
	assert_refused(b, -ERANGE, "would not end");
	b->v[0].iterations = 0;
	assert_refused(b, -EINVAL, "0 iterations");
}

/* An open queue on GPU a: each job with its share, all at one clock. */
static void plan_open(struct bench *b, uint32_t together, uint32_t n, const uint32_t *shares)
{
	for (uint32_t i = 0; i < n; i++) {
		struct hes_batch batch = batch_of(b->fleet.gpus[0].type, 1, &i);

		batch.jobs[0].sm_pct = shares[i];
		assert_int_equal(hes_plan_append(&b->plan, 0, &batch), 0);
	}
	b->plan.queues[0].together = together;
}

/* Without the barrier the third starts when the first ends, not when both have. */
BENCH_TEST(an_open_queue_admits_the_next_job_when_its_share_is_free)
{
	static const uint32_t shares[] = { 40, 60, 40, 60 };
	struct hes_sim s = request(b);
	const struct hes_outcome *j;

	add_job(b, "resnet50", 100, 0);
	add_job(b, "resnet50", 100000, 0);
	add_job(b, "resnet50", 200, 0);
	add_job(b, "resnet50", 100, 0);
	plan_open(b, 4, 4, shares);
	run_sim(b, &s);
	j = b->replay.jobs;
	assert_int_equal(j[0].start_us, 0);
	assert_int_equal(j[1].start_us, 0);
	assert_int_equal(j[2].start_us, j[0].end_us);
	assert_true(j[2].end_us < j[1].end_us);
	/* 60 % are free only when the second has ended, though 40 % are before. */
	assert_int_equal(j[3].start_us, j[1].end_us);
}

BENCH_TEST(an_open_queue_keeps_to_memory_and_to_its_number)
{
	static const uint32_t shares[] = { 10, 10, 10 };
	struct hes_sim s = request(b);

	for (int i = 0; i < 3; i++)
		add_job(b, "resnet50", 1000, 0);
	plan_open(b, 2, 3, shares);
	run_sim(b, &s);
	assert_int_equal(b->replay.jobs[1].start_us, 0);
	assert_int_equal(b->replay.jobs[2].start_us, b->replay.jobs[0].end_us);
	b->plan.queues[0].together = 3;
	run_sim(b, &s);
	assert_int_equal(b->replay.jobs[2].start_us, 0);
	for (int i = 0; i < 3; i++)
		b->v[i].memory_mib = 12000;
	run_sim(b, &s);
	assert_int_equal(b->replay.jobs[2].start_us, b->replay.jobs[0].end_us);
}

/* Shares may overlap as far as the queue says; those who share SMs slow each other. */
BENCH_TEST(shares_of_an_open_queue_overlap_as_far_as_it_allows)
{
	static const uint32_t shares[] = { 100, 100, 100 };
	struct hes_sim s = request(b);
	int64_t alone_us;

	for (int i = 0; i < 3; i++)
		add_job(b, "resnet50", 1000, 0);
	plan_open(b, 4, 3, shares);
	run_sim(b, &s);
	alone_us = b->replay.jobs[0].end_us;
	assert_int_equal(b->replay.jobs[1].start_us, alone_us);
	b->plan.queues[0].shares_pct = 200;
	run_sim(b, &s);
	assert_int_equal(b->replay.jobs[1].start_us, 0);
	assert_true(b->replay.jobs[0].end_us > alone_us);
	assert_int_equal(b->replay.jobs[2].start_us, b->replay.jobs[0].end_us);
	b->plan.queues[0].shares_pct = 90;
	assert_int_equal(hes_sim_run(&s, &b->replay, &b->err), -EINVAL);
	assert_non_null(strstr(b->err.msg, "shares that sum to 90 %"));
}

/* The GPU follows the highest clock of those that are there. */
BENCH_TEST(the_clock_of_an_open_queue_falls_when_the_job_that_needs_it_ends)
{
	static const uint32_t shares[] = { 40, 60 };
	struct hes_sim s = request(b);
	uint32_t low = b->fleet.gpus[0].type->clocks_mhz[0];

	add_job(b, "resnet50", 100, 0);
	add_job(b, "resnet50", 10000, 0);
	plan_open(b, 2, 2, shares);
	b->plan.queues[0].batches[1].clock_mhz = low;
	run_sim(b, &s);
	assert_int_equal(b->replay.n_segments, 2);
	assert_true(b->replay.segments[0].clock_mhz >
		    low); /* what of its default clock the power limit leaves */
	assert_int_equal(b->replay.segments[1].clock_mhz, low);
	assert_int_equal(b->replay.jobs[1].clock_mhz, low);
}

BENCH_TEST(an_open_queue_has_one_job_a_batch)
{
	static const uint32_t two[] = { 0, 1 };

	add_job(b, "resnet50", 100, 0);
	add_job(b, "resnet50", 100, 0);
	plan_batch(b, 0, 2, two);
	b->plan.queues[0].together = 2;
	assert_refused(b, -EINVAL, "2 jobs where an open queue has one");
}

/* Plans every waiting job as an open queue of 30 % each on GPU a. */
static int plan_together(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n,
			 const int64_t *free_at_us, const struct hes_running *running,
			 size_t n_running, struct hes_plan *out, struct hes_err *err)
{
	struct planner *p = ctx;

	(void)free_at_us;
	(void)err;
	p->n_waiting[p->calls] = n_running;
	if (n_running) {
		assert_int_equal(running[0].job, 0);
		assert_int_equal(running[0].sm_pct, 30);
		assert_int_equal(running[0].start_us, 0);
		assert_true(running[0].end_us > now_us);
	}
	p->calls++;
	assert_int_equal(hes_plan_init(out, p->b->fleet.n), 0);
	for (size_t i = 0; i < n; i++) {
		struct hes_batch batch = batch_of(p->b->fleet.gpus[0].type, 1, &waiting[i]);

		batch.jobs[0].sm_pct = 30;
		batch.end_us = batch.jobs[0].end_us = 1000000;
		assert_int_equal(hes_plan_append(out, 0, &batch), 0);
	}
	out->queues[0].together = 4;
	return 0;
}

BENCH_TEST(an_arrival_joins_running_jobs_and_its_planner_sees_them)
{
	struct planner p = { .b = b };
	struct hes_sim s = online(b, &p);

	s.replan = plan_together;
	add_job(b, "resnet50", 100000, 0);
	add_job(b, "resnet50", 10, 1000000);
	run_sim(b, &s);
	assert_int_equal(p.n_waiting[0], 0);
	assert_int_equal(p.n_waiting[1], 1);
	assert_int_equal(b->replay.jobs[1].start_us, 1000000);
	assert_true(b->replay.jobs[1].end_us < b->replay.jobs[0].end_us);
	assert_int_equal(b->replay.n_segments, 3);
}

/* Job 0, its first plan's second and 1000 mJ behind it, gets co-runners twice, and each plan
 * predicts a later end. */
static int plan_longer(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n,
		       const int64_t *free_at_us, const struct hes_running *running,
		       size_t n_running, struct hes_plan *out, struct hes_err *err)
{
	static const struct hes_remainder longer[] = { { 0, 1600000, 700 }, { 0, 2000000, 500 } };
	struct planner *p = ctx;

	(void)free_at_us;
	(void)err;
	assert_int_equal(hes_plan_init(out, p->b->fleet.n), 0);
	for (size_t i = 0; i < n; i++) {
		struct hes_batch batch = batch_of(p->b->fleet.gpus[0].type, 1, &waiting[i]);

		batch.jobs[0].sm_pct = 30;
		batch.start_us = batch.jobs[0].start_us = now_us;
		batch.end_us = batch.jobs[0].end_us = now_us + 1000000;
		batch.energy_mj = 1000;
		assert_int_equal(hes_plan_append(out, 0, &batch), 0);
	}
	out->queues[0].together = 4;
	p->calls++;
	if (!n_running)
		return 0;
	assert_int_equal(running[0].job, 0);
	/* Of what the first plan gave a second, .4 s are over; then half of what the second gave
	 * the rest. */
	assert_true(fabs(running[0].left - (p->calls == 2 ? .6 : .3)) < 1e-9);
	assert_int_equal(running[0].end_us, p->calls == 2 ? 1000000 : 1600000);
	assert_int_equal(hes_plan_append_remainder(out, &longer[p->calls - 2]), 0);
	if (p->fail_at == p->calls)
		out->remainders[0].job = waiting[0];
	return 0;
}

BENCH_TEST(a_plan_can_predict_running_jobs_again)
{
	struct planner p = { .b = b };
	struct hes_sim s = online(b, &p);

	s.replan = plan_longer;
	add_job(b, "resnet50", 100000, 0);
	add_job(b, "resnet50", 10, 400000);
	add_job(b, "resnet50", 10, 1000000);
	run_sim(b, &s);
	assert_int_equal(p.calls, 3);
	assert_int_equal(b->replay.jobs[0].predicted_end_us, 2000000);
	/* Each plan's energy for as long as it was in force: 400, 350, 500, and the two short jobs.
	 */
	assert_int_equal(b->replay.predicted.busy_energy_mj, 400 + 350 + 500 + 2000);
}

BENCH_TEST(a_plan_that_predicts_a_job_that_does_not_run_is_refused)
{
	struct planner p = { .b = b, .fail_at = 2 };
	struct hes_sim s = online(b, &p);
	struct hes_replay out;

	s.replan = plan_longer;
	add_job(b, "resnet50", 100000, 0);
	add_job(b, "resnet50", 10, 400000);
	assert_int_equal(hes_sim_run(&s, &out, &b->err), -EINVAL);
	assert_non_null(strstr(b->err.msg, "job number 1 does not run"));
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
