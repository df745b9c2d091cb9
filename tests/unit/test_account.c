/*
 * test_account.c - joules of a run from the readings of a meter, with and without gaps; segments;
 * progress.
 *
 * Stand-ins for the meter, the clock and the reader of progress show what the test says.
 */
#include <math.h>

#include "run/account.h"
#include "unit_test.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)
#define GPUS       2

static struct hes_measured reading[GPUS];
static size_t metered[GPUS];
static int64_t now_us;

int hes_meter_start(struct hes_meter **out, const struct hes_devices *d, const size_t *gpus,
		    size_t n, struct hes_err *err)
{
	(void)d, (void)err;
	for (size_t i = 0; i < n; i++)
		metered[i] = gpus[i];
	*out = (struct hes_meter *)&reading;
	return 0;
}

int hes_window_begin(struct hes_meter *m, struct hes_window **out, struct hes_err *err)
{
	(void)err;
	*out = (struct hes_window *)m;
	return 0;
}

void hes_window_look_at(struct hes_window *w, size_t i, struct hes_measured *out)
{
	(void)w;
	*out = reading[i];
}

int64_t run_now_us(const struct run_clock *c)
{
	(void)c;
	return now_us;
}

/* Ten iterations more each time, but nothing new for a job with file descriptor 0. */
int hes_progress_read(struct hes_progress *p)
{
	p->iterations += 10;
	return p->fd;
}

static const struct hes_gpu_type type = { .idle_power_mw = 40000 };
static const struct hes_gpu planned = { .type = &type };

/* A GPU with two jobs, one with three times the share, the other three times as active. Its counter
 * starts at 0. */
struct busy {
	struct run_place place[2];
	struct run_task task[2];
	struct run_gpu gpu;
	struct run_meter meter;
};

static void begin(struct busy *b)
{
	*b = (struct busy){ .place = { { .sm_pct = 75 }, { .sm_pct = 25 } } };
	for (int i = 0; i < 2; i++)
		b->task[i] = (struct run_task){ .gpu = &b->gpu,
						.place = &b->place[i],
						.activity = i ? 90 : 30,
						.progress.fd = -1 };
	b->gpu = (struct run_gpu){ .planned = &planned,
				   .running = { &b->task[0], &b->task[1] },
				   .n_running = 2 };
	reading[0] = (struct hes_measured){ .from = HES_ENERGY_COUNTER };
	now_us = 0;
	assert_int_equal(run_meter_start(&b->meter, NULL, &b->gpu, 1, NULL), 0);
	run_segment_begin(&b->meter, &b->gpu);
}

static void count(struct busy *b, double seconds, double energy_j)
{
	reading[0] = (struct hes_measured){ .from = HES_ENERGY_COUNTER,
					    .seconds = seconds,
					    .known_s = seconds,
					    .energy_j = energy_j };
	run_account(&b->meter, &b->gpu);
}

/* A reading without counter: joules of a part of the time are known. */
static struct hes_measured integral(double seconds, double known_s, double joules)
{
	return (struct hes_measured){ .from = HES_ENERGY_INTEGRAL,
				      .seconds = seconds,
				      .known_s = known_s,
				      .energy_j = joules };
}

TEST(each_gpu_is_read_at_its_place_in_the_meter)
{
	struct run_gpu gpus[GPUS] = { { .device = 5 }, { .device = 3 } };
	struct run_meter m = { 0 };

	reading[0] = (struct hes_measured){ .energy_j = 70 };
	reading[1] = (struct hes_measured){ .energy_j = 90 };
	assert_int_equal(run_meter_start(&m, NULL, gpus, GPUS, NULL), 0);
	assert_true(metered[0] == 5 && metered[1] == 3);
	assert_true(gpus[0].energy.last.energy_j == 70 && gpus[1].energy.last.energy_j == 90);
	reading[1] = (struct hes_measured){
		.from = HES_ENERGY_COUNTER, .seconds = 1, .known_s = 1, .energy_j = 95
	};
	run_account(&m, &gpus[1]);
	NEAR(gpus[1].energy.idle_j, 5);
}

/* Of the jobs one has a profile. The other draws 30 W above idle alone, with 25 % of the SMs. */
TEST(a_job_of_unknown_activity_counts_as_it_drew_alone_and_its_joules_are_marked)
{
	struct busy b;

	begin(&b);
	b.task[0].attempt.sm_pct = 75;
	b.task[1].attempt.sm_pct = 25;
	b.task[0].activity = 60;
	b.task[1].activity = 0;
	/* Never seen alone: 10 s at 140 W by share. */
	count(&b, 10, 1400);
	NEAR(b.task[0].energy_j, 1050);
	NEAR(b.task[1].energy_j, 350);
	assert_true(b.task[0].energy_split && b.task[1].energy_split);
	b.task[0].energy_split = b.task[1].energy_split = false;
	/* The first is held. */
	b.gpu.running[0] = &b.task[1];
	b.gpu.running[1] = &b.task[0];
	b.gpu.n_running = 1;
	b.gpu.n_held = 1;
	count(&b, 20, 2100);
	NEAR(b.task[1].energy_j, 1050);
	NEAR(task_activity(&b.task[1]), 30);
	assert_false(b.task[1].energy_split); /* these joules are its own */
	b.gpu.n_running = 2;
	b.gpu.n_held = 0;
	count(&b, 30, 3400);
	NEAR(b.task[0].energy_j, 1050 + 300 + 600);
	NEAR(b.task[1].energy_j, 1050 + 100 + 300);
	assert_true(b.task[1].energy_split && !b.task[0].energy_split);
	NEAR(b.task[0].energy_j + b.task[1].energy_j, 3400);
	/* Another attempt has twice the share. */
	b.task[1].attempt.sm_pct = 50;
	NEAR(task_activity(&b.task[1]), 60);
	b.task[1].activity = 45; /* a profile */
	NEAR(task_activity(&b.task[1]), 45);
}

/* 10 s at 100 W, 40 W idle. Then 5 s without jobs. */
TEST(measured_joules_of_a_run_are_split_with_idle_power_by_share)
{
	struct busy b;

	begin(&b);
	count(&b, 10, 1000);
	NEAR(b.task[0].energy_j, 300 + 150);
	NEAR(b.task[1].energy_j, 100 + 450);
	b.gpu.n_running = 0;
	count(&b, 15, 1200);
	assert_true(b.gpu.energy.busy_j == 1000 && b.gpu.energy.busy_s == 10 &&
		    b.gpu.energy.idle_j == 200);
	assert_true(b.gpu.energy.meter_j == 1200);
	/* The counter is gone; the integral covers 9 of 10 s. */
	reading[0] = integral(25, 15 + 9, 1200 + 450);
	run_account(&b.meter, &b.gpu);
	NEAR(b.gpu.energy.idle_j, 200 + 500);
	NEAR(b.gpu.energy.meter_j, 1200 + 500);
}

TEST(joules_of_many_readings_sum_up)
{
	struct busy b;

	begin(&b);
	for (int i = 1; i <= 4; i++)
		count(&b, 10 * i, 1000 * i);
	NEAR(b.task[0].energy_j, 4 * 450);
	NEAR(b.gpu.energy.now.energy_j, 4000);
	NEAR(b.gpu.energy.now.seconds, 40);
	b.gpu.n_running = 0;
	count(&b, 50, 4100);
	count(&b, 60, 4300);
	assert_true(b.gpu.energy.busy_j == 4000 && b.gpu.energy.busy_s == 40 &&
		    b.gpu.energy.idle_j == 300);
}

/* The driver shows a new value ten times a second; the job's power is not that of the integral. */
TEST(a_counter_that_stands_still_means_no_joules)
{
	struct busy b;

	begin(&b);
	reading[0] =
		(struct hes_measured){ .from = HES_ENERGY_COUNTER, .seconds = 0.1, .known_s = 0.1 };
	run_account(&b.meter, &b.gpu);
	assert_true(b.gpu.energy.busy_j == 0 && b.gpu.energy.busy_s == 0.1);
}

TEST(two_readings_at_one_moment_are_no_gap_and_no_joules)
{
	struct busy b;

	begin(&b);
	reading[0] = integral(10, 9, 450);
	run_account(&b.meter, &b.gpu);
	run_account(&b.meter, &b.gpu);
	assert_true(!b.task[0].energy_missing && b.gpu.energy.busy_s == 10);
	NEAR(b.gpu.energy.busy_j, 500);
	reading[0] = integral(10.5, 9, 450);
	run_account(&b.meter, &b.gpu);
	assert_true(b.task[0].energy_missing);
}

TEST(half_a_second_without_a_counter_has_its_joules)
{
	struct busy b;

	begin(&b);
	reading[0] = integral(0.5, 0.5, 50);
	run_account(&b.meter, &b.gpu);
	NEAR(b.gpu.energy.busy_j, 50);
}

TEST(while_nothing_changes_joules_are_counted_too)
{
	struct busy b;

	begin(&b);
	reading[0] = (struct hes_measured){
		.from = HES_ENERGY_COUNTER, .seconds = 10, .known_s = 10, .energy_j = 1000
	};
	run_account_so_far(&b.meter, &b.gpu);
	NEAR(b.task[1].energy_j, 100 + 450);
}

TEST(a_gap_that_may_still_end_changes_nothing)
{
	struct busy b;

	begin(&b);
	reading[0] = integral(10, 8.9, 890);
	run_account_so_far(&b.meter, &b.gpu);
	assert_true(b.gpu.energy.busy_j == 0 && b.gpu.energy.last.seconds == 0 &&
		    !b.gpu.energy.missing);
	assert_true(!b.task[0].energy_missing && b.gpu.energy.now.has_energy);
	count(&b, 20, 2000);
	NEAR(b.task[0].energy_j + b.task[1].energy_j, 2000);
}

/* Jobs that ended in the gap and jobs that began in it: the GPU's joules are known, their parts are
 * not. */
TEST(joules_over_a_gap_are_the_gpus_and_no_jobs)
{
	struct busy b;

	begin(&b);
	reading[0] = integral(10, 8.9, 890);
	run_account(&b.meter, &b.gpu);
	assert_true(b.task[0].energy_missing && b.task[1].energy_missing &&
		    !b.gpu.energy.now.has_energy);
	b.gpu.running[0] = &b.task[1];
	b.gpu.n_running = 1;
	b.task[1].energy_missing = false;
	run_segment_begin(&b.meter, &b.gpu);
	count(&b, 20, 2000);
	assert_true(b.task[0].energy_j == 0 && b.task[1].energy_j == 0 && b.task[1].energy_missing);
	assert_true(b.gpu.energy.busy_j == 2000 && b.gpu.energy.busy_s == 20 &&
		    b.gpu.energy.meter_j == 2000);
	/* From here on nothing is missing. */
	b.task[1].energy_missing = false;
	run_segment_begin(&b.meter, &b.gpu);
	count(&b, 30, 3000);
	assert_true(!b.task[1].energy_missing && b.gpu.energy.now.has_energy);
	NEAR(b.task[1].energy_j, 1000);
	free(b.gpu.energy.segments);
}

TEST(a_gap_counts_as_busy_if_a_job_ran_in_it_and_as_idle_otherwise)
{
	struct busy b;

	begin(&b);
	b.gpu.n_running = 1;
	reading[0] = integral(10, 0, 0);
	run_account(&b.meter, &b.gpu);
	b.gpu.n_running = 0;
	count(&b, 20, 2000);
	assert_true(b.gpu.energy.busy_j == 2000 && b.gpu.energy.idle_j == 0);
	reading[0] = integral(30, 20, 2000);
	run_account(&b.meter, &b.gpu);
	count(&b, 40, 2500);
	assert_true(b.gpu.energy.busy_j == 2000 && b.gpu.energy.idle_j == 500);
}

TEST(the_longest_gap_of_all_readings_is_known)
{
	static const double gaps_s[] = { 1, 3, 2 };
	struct busy b;

	begin(&b);
	for (size_t i = 0; i < N(gaps_s); i++) {
		reading[0] = (struct hes_measured){ .from = HES_ENERGY_COUNTER,
						    .seconds = (double)i,
						    .longest_gap_s = gaps_s[i] };
		run_account(&b.meter, &b.gpu);
	}
	assert_true(b.meter.longest_gap_s == 3);
}

TEST(a_segment_keeps_its_time_clock_jobs_and_joules_and_one_without_jobs_is_dropped)
{
	const struct run_segment *s;
	struct busy b;

	begin(&b);
	b.gpu.energy.now.n = 0;
	now_us = 5;
	b.gpu.lock.mhz = 945;
	run_segment_begin(&b.meter, &b.gpu);
	assert_int_equal(b.gpu.energy.n_segments, 0);
	count(&b, 10, 1000);
	now_us = 9;
	b.gpu.n_running = 0;
	run_segment_begin(&b.meter, &b.gpu);
	assert_int_equal(b.gpu.energy.n_segments, 1);
	s = b.gpu.energy.segments;
	assert_true(s->start_us == 5 && s->end_us == 9 && s->clock_mhz == 945 && s->n == 2);
	assert_true(s->rates[1].task == &b.task[1] && s->energy_j == 1000 && s->seconds == 10 &&
		    s->has_energy);
	assert_true(b.gpu.energy.now.start_us == 9 && b.gpu.energy.now.n == 0 &&
		    b.gpu.energy.now.energy_j == 0);
	free(b.gpu.energy.segments);
}

TEST(progress_of_each_job_counts_from_its_first_line_in_a_segment)
{
	struct busy b;

	begin(&b);
	b.task[0].progress.fd = 1;
	b.task[1].progress.fd = 0;
	for (int i = 0; i < 6; i++) {
		now_us = 100 + i;
		run_look(&b.meter, &b.task[i % 2]);
	}
	assert_true(b.gpu.energy.now.rates[0].seen && !b.gpu.energy.now.rates[1].seen);
	assert_true(b.gpu.energy.now.rates[0].first == 10 && b.gpu.energy.now.rates[0].last == 30);
	assert_true(b.gpu.energy.now.rates[0].first_us == 100 &&
		    b.gpu.energy.now.rates[0].last_us == 104);
	assert_true(b.task[0].progress_us == 104 && b.task[1].progress_us == 0);
	assert_int_equal(b.task[1].progress.iterations, 30);
}

TEST(progress_is_read_when_joules_are_and_not_without_a_file)
{
	struct busy b;

	for (int i = 0; i < 2; i++) {
		begin(&b);
		b.task[i].progress.fd = 1;
		count(&b, 10, 1000);
		assert_true(b.task[i].progress.iterations == 10 &&
			    b.task[1 - i].progress.iterations == 0);
	}
}

/* The second job starts for 15 s, or until its first line. */
TEST(in_its_start_up_a_job_has_a_part_of_the_idle_energy_alone)
{
	struct busy b;

	for (int line = 0; line < 2; line++) {
		begin(&b);
		b.task[1].start_up_us = 15000000;
		b.task[1].progress.fd = line ? 1 : -1;
		now_us = 10000000;
		count(&b, 10, 1000);
		NEAR(b.task[0].energy_j, line ? 300 + 150 : 300 + 600);
		NEAR(b.task[1].energy_j, line ? 100 + 450 : 100);
		now_us = 20000000;
		count(&b, 20, 2000);
		NEAR(b.task[1].energy_j, line ? 2 * 550 : 100 + 550);
	}
}

/* Of 100 iterations, 10 are done after 30 s, 20 after 32 s: eight times two seconds are left. */
TEST(the_time_left_to_a_job_counts_from_its_first_line_and_before_by_the_plan)
{
	const struct hes_job job = { .iterations = 100 };
	struct busy b;

	begin(&b);
	b.task[0].job = &job;
	b.task[0].planned_end_us = 60000000;
	b.task[0].progress = (struct hes_progress){ .fd = 1, .known = true };
	assert_int_equal(task_left_us(&b.task[0], 20000000), 40000000);
	now_us = 30000000;
	run_look(&b.meter, &b.task[0]);
	assert_int_equal(task_left_us(&b.task[0], 30000000), 30000000);
	now_us = 32000000;
	run_look(&b.meter, &b.task[0]);
	assert_int_equal(task_left_us(&b.task[0], 32000000), 16000000);
	assert_int_equal(task_left_us(&b.task[0], 33000000), 15000000);
	/* A line that does not come. */
	assert_int_equal(task_left_us(&b.task[0], 72000000), 40000000);
}

/* 10 s at 1000 MHz, 10 s without a reading of the clock, then 30 s at 600 MHz. */
TEST(the_mean_clock_of_a_job_is_that_of_its_gpu_while_it_was_read)
{
	static const double clock_s[] = { 10, 10, 40 }, mhz[] = { 1000, 1000, 28000 / 40. };
	struct busy b;

	begin(&b);
	for (int i = 0; i < 3; i++) {
		reading[0] = (struct hes_measured){ .from = HES_ENERGY_COUNTER,
						    .seconds = 20 * (i + 1),
						    .known_s = 20 * (i + 1),
						    .energy_j = 100 * (i + 1),
						    .clock_s = clock_s[i],
						    .clock_mhz = mhz[i] };
		run_account(&b.meter, &b.gpu);
	}
	NEAR(b.task[0].record.clock_s, 40);
	NEAR(b.task[0].record.clock_mhz, (10 * 1000 + 30 * 600) / 40.);
}

/* Above idle, the job draws 50 W alone at the default clock. */
TEST(the_activity_of_a_job_without_a_profile_is_not_known)
{
	struct hes_profile row = { .workload = "mine",
				   .gpu_type = "G",
				   .batch_size = 8,
				   .iteration_us = 1000,
				   .sm_util = 1,
				   .power_mw = 60000 };
	const struct hes_profiles profiles = { &row, 1 };
	const struct hes_gpu_type g = {
		.name = "G",
		.sm_count = 10,
		.power_limit_mw = 100000,
		.idle_power_mw = 10000,
		.clock_default_mhz = 1000,
		.clock_max_mhz = 1000,
		.clocks_mhz = { 1000 },
		.n_clocks = 1,
	};
	struct hes_job job = { .workload = "mine", .batch_size = 8 };

	NEAR(run_activity(&profiles, &g, &job, 100, 1000), 50);
	assert_true(run_activity(NULL, &g, &job, 100, 1000) == 0);
	strcpy(job.workload, "other");
	assert_true(run_activity(&profiles, &g, &job, 100, 1000) == 0);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
