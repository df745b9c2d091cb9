/* test_attribute.c - a shared GPU's joules among its jobs: sums, idle by share, the rest by
 * activity. */
#include <math.h>

#include "heshare/attribute.h"
#include "unit_test.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* 10 s at 100 W of which 40 W are idle: two jobs with 75 and 25 % of the SMs, one three times as
 * active. */
TEST(idle_energy_is_split_by_share_and_the_rest_by_activity)
{
	struct hes_sharer jobs[2] = { { 0, 10, 75, 30, false, 0 }, { 0, 10, 25, 90, false, 0 } };
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
		.name = "mine",
		.sm_count = 10,
		.power_limit_mw = 100000,
		.idle_power_mw = 10000,
		.clock_default_mhz = 1000,
		.clock_max_mhz = 1000,
		.clocks_mhz = { 800, 1000 },
		.n_clocks = N(clocks),
	};
	const struct hes_profile solo = { .iteration_us = 1000, .sm_util = 1, .power_mw = 60000 };

	NEAR(hes_activity_w(&g, &solo, 100, 1000), 50);
}

TEST(idle_time_has_no_job_and_all_parts_sum_to_the_meter)
{
	struct hes_sharer jobs[3] = { { 1, 4, 50, 20, false, 0 },
				      { 3, 8, 30, 50, false, 0 },
				      { 3.5, 5, 20, 0, false, 0 } };
	double nobody = -1;

	assert_int_equal(hes_attribute(777, 30, 12, jobs, 3, &nobody, NULL), 0);
	NEAR(nobody, 30 * (1 + 4));
	NEAR(jobs[0].energy_j + jobs[1].energy_j + jobs[2].energy_j + nobody, 777);
	assert_true(jobs[2].energy_j > 0);
}

TEST(below_idle_power_no_part_is_negative)
{
	struct hes_sharer job = { 0, 5, 100, 10, false, 0 };
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

/* 2 J over half a second, 1 J of them idle. */
TEST(small_shares_activities_and_times_count_as_large_ones_do)
{
	struct hes_sharer job = { 0, 0.25, 1, 0.5, false, 0 };
	double nobody = -1;

	assert_int_equal(hes_attribute(2, 2, 0.5, &job, 1, &nobody, NULL), 0);
	NEAR(job.energy_j, 0.5 + 1);
	NEAR(nobody, 0.5);
}

TEST(jobs_without_activity_share_idle_energy_alone)
{
	struct hes_sharer jobs[2] = { { 0, 10, 50, 0, false, 0 }, { 0, 10, 50, 0, false, 0 } };
	double nobody = -1;

	assert_int_equal(hes_attribute(1000, 40, 10, jobs, 2, &nobody, NULL), 0);
	assert_true(jobs[0].energy_j == 200 && jobs[1].energy_j == 200 && nobody == 600);
}

TEST(a_job_that_took_no_time_gets_no_joules)
{
	struct hes_sharer jobs[2] = { { 5, 5, 50, 30, false, 0 }, { 0, 10, 50, 30, false, 0 } };
	double nobody = -1;

	assert_int_equal(hes_attribute(1000, 40, 10, jobs, 2, &nobody, NULL), 0);
	assert_true(jobs[0].energy_j == 0 && jobs[1].energy_j == 1000 && nobody == 0);
	assert_int_equal(hes_attribute(0, 40, 0, jobs, 0, &nobody, NULL), 0);
	assert_true(nobody == 0);
}

TEST(where_an_activity_is_not_known_all_energy_goes_by_share)
{
	static const double activity[][2] = { { 0, 90 }, { 90, 0 }, { 0, 0 } };

	for (size_t i = 0; i < N(activity); i++) {
		struct hes_sharer jobs[2] = { { 0, 10, 75, activity[i][0], false, 0 },
					      { 0, 10, 25, activity[i][1], false, 0 } };

		assert_int_equal(hes_attribute_known(1000, 40, 10, jobs, 2), 0);
		assert_true(jobs[0].energy_j == 750 && jobs[1].energy_j == 250);
	}
}

/* Half a watt is little, but known. */
TEST(where_all_activities_are_known_the_split_goes_by_them)
{
	struct hes_sharer jobs[2] = { { 0, 10, 75, 0.5, false, 0 }, { 0, 10, 25, 1.5, false, 0 } };

	assert_int_equal(hes_attribute_known(1000, 40, 10, jobs, 2), 0);
	NEAR(jobs[0].energy_j, 300 + 150);
	NEAR(jobs[1].energy_j, 100 + 450);
}

TEST(a_job_in_its_start_up_has_a_part_of_the_idle_energy_alone_while_others_work)
{
	for (int known = 0; known < 2; known++) {
		struct hes_sharer jobs[2] = { { 0, 10, 75, 90, true, 0 },
					      { 0, 10, 25, known ? 30 : 0, false, 0 } };

		assert_int_equal(hes_attribute_known(1000, 40, 10, jobs, 2), 0);
		NEAR(jobs[0].energy_j, 300);
		NEAR(jobs[1].energy_j, 100 + 600);
		/* What is drawn while all start has nobody else. */
		jobs[1].starting = true;
		assert_int_equal(hes_attribute_known(1000, 40, 10, jobs, 2), 0);
		NEAR(jobs[0].energy_j + jobs[1].energy_j, 1000);
	}
}

TEST(a_job_outside_of_the_time_is_refused)
{
	struct hes_sharer job = { 0, 11, 100, 10, false, 7 };
	double nobody = -1;
	struct hes_err err;

	assert_int_equal(hes_attribute(100, 30, 10, &job, 1, &nobody, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "job 0 from 0 to 11 s"));
	assert_true(job.energy_j == 7 && nobody == -1);
	job.end_s = 10;
	job.sm_pct = 0;
	assert_int_equal(hes_attribute(100, 30, 10, &job, 1, &nobody, &err), -EINVAL);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
