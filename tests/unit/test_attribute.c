/* test_attribute.c - a shared GPU's joules among its jobs: sums, idle by share, the rest by activity. */
#include <math.h>

#include "run/account.h"
#include "unit_test.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* 10 s at 100 W of which 40 W are idle: two jobs with 75 and 25 % of the SMs, one three times as active. */
TEST(idle_energy_is_split_by_share_and_the_rest_by_activity)
{
	struct hes_sharer jobs[2] = { { 0, 10, 75, 30, 0 }, { 0, 10, 25, 90, 0 } };
	double nobody = -1;

	assert_int_equal(hes_attribute(1000, 40, 10, jobs, 2, &nobody, NULL), 0);
	NEAR(jobs[0].energy_j, 300 + 150);
	NEAR(jobs[1].energy_j, 100 + 450);
	NEAR(nobody, 0);
}

/* 60 W at the default clock, of which 10 W are idle. */
TEST(the_activity_of_a_job_alone_on_a_gpu_is_its_power_above_idle)
{
	static uint32_t clocks[] = { 800, 1000 };
	const struct hes_gpu_type g = {
		.name = "mine", .sm_count = 10, .power_limit_mw = 100000, .idle_power_mw = 10000, .clock_default_mhz = 1000,
		.clock_max_mhz = 1000, .clocks_mhz = { 800, 1000 }, .n_clocks = N(clocks),
	};
	const struct hes_profile solo = { .iteration_us = 1000, .sm_util = 1, .power_mw = 60000 };

	NEAR(hes_activity_w(&g, &solo, 100, 1000), 50);
}

TEST(idle_time_has_no_job_and_all_parts_sum_to_the_meter)
{
	struct hes_sharer jobs[3] = { { 1, 4, 50, 20, 0 }, { 3, 8, 30, 50, 0 }, { 3.5, 5, 20, 0, 0 } };
	double nobody = -1;

	assert_int_equal(hes_attribute(777, 30, 12, jobs, 3, &nobody, NULL), 0);
	NEAR(nobody, 30 * (1 + 4));
	NEAR(jobs[0].energy_j + jobs[1].energy_j + jobs[2].energy_j + nobody, 777);
	assert_true(jobs[2].energy_j > 0);
}

TEST(below_idle_power_no_part_is_negative)
{
	struct hes_sharer job = { 0, 5, 100, 10, 0 };
	double nobody = -1;

	assert_int_equal(hes_attribute(100, 30, 10, &job, 1, &nobody, NULL), 0);
	NEAR(job.energy_j, 50);
	NEAR(nobody, 50);
}

TEST(without_jobs_no_job_gets_joules)
{
	double nobody = -1;

	assert_int_equal(hes_attribute(100, 5, 10, NULL, 0, &nobody, NULL), 0);
	NEAR(nobody, 100);
}

TEST(a_job_outside_of_the_time_is_refused)
{
	struct hes_sharer job = { 0, 11, 100, 10, 7 };
	double nobody = -1;
	struct hes_err err;

	assert_int_equal(hes_attribute(100, 30, 10, &job, 1, &nobody, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "job 0 from 0 to 11 s"));
	assert_true(job.energy_j == 7 && nobody == -1);
	job.end_s = 10;
	job.sm_pct = 0;
	assert_int_equal(hes_attribute(100, 30, 10, &job, 1, &nobody, &err), -EINVAL);
}

/* A meter that shows what the test says, in place of the library's. */
static struct hes_measured reading;

int hes_meter_start(struct hes_meter **out, const struct hes_devices *d, const size_t *gpus, size_t n, struct hes_err *err)
{
	(void)d, (void)gpus, (void)n, (void)err;
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
	(void)w, (void)i;
	*out = reading;
}

/* As in the first test: 10 s at 100 W, 40 W idle. Then 5 s without jobs. */
TEST(measured_joules_of_a_run_are_split_with_idle_power_by_share)
{
	const struct hes_gpu_type type = { .idle_power_mw = 40000 };
	const struct hes_gpu planned = { .type = &type };
	struct run_place places[2] = { { .sm_pct = 75 }, { .sm_pct = 25 } };
	struct run_gpu g;
	struct run_task tasks[2] = { { .gpu = &g, .place = &places[0], .activity = 30, .progress.fd = -1 },
				     { .gpu = &g, .place = &places[1], .activity = 90, .progress.fd = -1 } };
	struct run_meter m = { 0 };

	g = (struct run_gpu){ .planned = &planned, .running = { &tasks[0], &tasks[1] }, .n_running = 2, .energy.now.has_energy = true };
	reading = (struct hes_measured){ .from = HES_ENERGY_COUNTER };
	assert_int_equal(run_meter_start(&m, NULL, &g, 1, NULL), 0);
	reading = (struct hes_measured){ .from = HES_ENERGY_COUNTER, .seconds = 10, .energy_j = 1000 };
	run_account(&m, &g);
	NEAR(tasks[0].energy_j, 300 + 150);
	NEAR(tasks[1].energy_j, 100 + 450);
	g.n_running = 0;
	reading = (struct hes_measured){ .from = HES_ENERGY_COUNTER, .seconds = 15, .energy_j = 1200 };
	run_account(&m, &g);
	assert_true(g.energy.busy_j == 1000 && g.energy.busy_s == 10 && g.energy.idle_j == 200);
	/* The counter is gone; the integral covers 9 of 10 s. */
	reading = (struct hes_measured){ .from = HES_ENERGY_INTEGRAL, .seconds = 25, .energy_j = 5000, .integral_j = 450, .power_s = 9 };
	run_account(&m, &g);
	NEAR(g.energy.idle_j, 200 + 500);
}

/* In place of the reader of a job's output: ten iterations more each time, but none for a job that says nothing. */
int hes_progress_read(struct hes_progress *p)
{
	p->iterations += 10;
	return p->fd;
}

TEST(progress_of_each_job_counts_from_its_first_line_in_a_segment)
{
	const struct run_clock clock = { 0 };
	const struct run_meter m = { .clock = &clock };
	struct run_gpu g = { 0 };
	struct run_task tasks[2] = { { .gpu = &g, .progress.fd = 1 }, { .gpu = &g } };

	g = (struct run_gpu){ .running = { &tasks[0], &tasks[1] }, .n_running = 2 };
	run_segment_begin(&m, &g);
	for (int i = 0; i < 6; i++)
		run_look(&m, &tasks[i % 2]);
	assert_true(g.energy.now.rates[0].seen && !g.energy.now.rates[1].seen);
	assert_true(g.energy.now.rates[0].first == 10 && g.energy.now.rates[0].last == 30);
	assert_true(g.energy.now.rates[0].last_us == tasks[0].progress_us);
}

int main(void) { return run_unit_tests(NULL, NULL); }
