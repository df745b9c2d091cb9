/* test_profiler.c - the points to measure, when they are known well enough, and the profiles and
 * samples that follow from them. */
#include <math.h>

#include "core/row.h"
#include "heshare/profiler.h"
#include "heshare/store.h"
#include "profile/point_windows.h"
#include "profile/session.h"
#include "measure/gpu_point.h"
#include "unit_test.h"

static struct hes_catalogue catalogue;

static int load_catalogue(void **state)
{
	(void)state;
	return hes_catalogue_load(NULL, &catalogue, NULL);
}

static int free_catalogue(void **state)
{
	(void)state;
	hes_catalogue_free(&catalogue);
	return 0;
}

static const struct hes_gpu_type *t4(void)
{
	return hes_gpu_type_find(&catalogue, "T4", NULL);
}

TEST(ranges_are_numbers_ranges_and_both)
{
	uint32_t v[16];
	static const uint32_t tens[] = { 10, 20, 30 }, mixed[] = { 5, 10, 15, 40 };

	assert_int_equal(hes_ranges_parse("x", "10..30", 1, 100, v, 16, NULL), 3);
	assert_memory_equal(v, tens, sizeof(tens));
	/* What comes twice counts once; the order is rising. */
	assert_int_equal(hes_ranges_parse("x", "40,5..15:5,10", 1, 100, v, 16, NULL), 4);
	assert_memory_equal(v, mixed, sizeof(mixed));
	assert_int_equal(hes_ranges_parse("x", "99..100", 1, 100, v, 16, NULL), 1);
}

TEST(wrong_ranges_are_errors)
{
	struct hes_err err;
	uint32_t v[4] = { 7 };

	assert_int_equal(hes_ranges_parse("--shares", "0..50", 1, 100, v, 4, &err), -ERANGE);
	assert_non_null(strstr(err.msg, "--shares"));
	assert_int_equal(hes_ranges_parse("--shares", "50..10", 1, 100, v, 4, &err), -EINVAL);
	assert_string_equal(err.msg, "--shares: 50..10 goes down; write 10..50");
	assert_true(hes_ranges_parse("--shares", "", 1, 100, v, 4, &err) < 0);
	assert_true(hes_ranges_parse("--shares", "10,,20", 1, 100, v, 4, &err) < 0);
	assert_int_equal(hes_ranges_parse("--shares", "10..100", 1, 100, v, 4, &err), -E2BIG);
	assert_int_equal(v[0], 7);
}

/* By hand: mean 10, deviations -1, 0, 1, so a variance of 1. */
TEST(a_coefficient_of_variation_is_the_deviation_over_the_mean)
{
	static const double v[] = { 9, 10, 11 }, one[] = { 4 };

	assert_true(fabs(steady_cv(v, 3) - 0.1) < 1e-12);
	assert_true(isnan(steady_cv(one, 1)));
}

/* s / sqrt(3) for 9, 10, 11, times 2.920 / 1.645 for two degrees of freedom. */
TEST(a_standard_error_of_few_values_is_that_of_students_interval)
{
	static const double v[] = { 9, 10, 11 }, one[] = { 4 };

	assert_true(fabs(steady_se(v, 3) - 0.1 / sqrt(3) * 1.775) < 1e-4);
	assert_true(isnan(steady_se(one, 1)));
}

/* Values as those before them: 16 of them know no more than 4. */
TEST(correlated_windows_have_the_standard_error_of_their_blocks)
{
	static const double four[] = { 9, 11, 12, 10 };
	static const double each[] = { 9, 9, 9, 9, 11, 11, 11, 11, 12, 12, 12, 12, 10, 10, 10, 10 };
	static const double mixed[] = {
		9, 11, 12, 10, 9, 11, 12, 10, 9, 11, 12, 10, 9, 11, 12, 10
	};

	assert_true(fabs(steady_se(each, 16) - steady_se(four, 4)) < 1e-12);
	assert_true(steady_se(mixed, 16) < 0.5 * steady_se(four, 4));
}

/* Windows of one job with these times, the first @starts of them during a start. */
static struct series *windows_of(const double *us, size_t n, size_t starts)
{
	static struct series w;

	w = (struct series){ .jobs = 1 };
	for (size_t k = 0; k < n; k++)
		series_add(&w, &(struct series_window){ .iterations = { 1e6 / us[k] },
							.job_s = { 1 },
							.gpu.mean_w = 100,
							.start = k < starts });
	return &w;
}

TEST(windows_during_a_start_count_only_if_others_need_them_and_do_not_differ)
{
	static const struct hes_profile_timing m = { .least = 2, .most = 4, .error = 0.03 };
	static const double alike[] = { 100, 100, 100, 100 }, noisy[] = { 104, 96, 106, 95, 105 },
			    slower[] = { 130, 131, 129, 95, 105 }, one[] = { 180, 98, 95, 105 };
	struct series *w = windows_of(alike, 3, 2);
	double se;

	/* One window without a start says nothing yet: the point is not complete. */
	series_compare(w, m.least, m.error);
	assert_int_equal(w->n, 3);
	assert_false(series_done(w, &m, 0));
	/* Two are enough here; noisy ones are not. */
	w = windows_of(alike, 4, 2);
	series_compare(w, m.least, m.error);
	assert_int_equal(w->n, 2);
	series_from(w, m.least, &se);
	assert_true(series_done(w, &m, se));
	w = windows_of(noisy, 5, 3);
	series_compare(w, m.least, m.error);
	assert_int_equal(w->n, 5);
	series_from(w, m.least, &se);
	assert_true(se > m.error && series_done(w, &m, se));
	/* A start took time from the job: all along, or once. */
	w = windows_of(slower, 5, 3);
	series_compare(w, m.least, m.error);
	assert_int_equal(w->n, 2);
	assert_false(series_done(w, &m, 0.1));
	w = windows_of(one, 4, 2);
	series_compare(w, m.least, m.error);
	assert_int_equal(w->n, 3);
}

TEST(windows_at_the_beginning_are_warm_up_if_the_rest_is_known_better)
{
	static const double v[] = { 200, 130, 101, 100, 99, 100 };
	double se;

	assert_int_equal(series_from(windows_of(v, 6, 0), 3, &se), 2);
	assert_true(se < 0.01);
	/* Half of the windows count, and the least. */
	assert_int_equal(series_from(windows_of(v, 3, 0), 3, &se), 0);
	series_from(windows_of(v, 2, 0), 3, &se);
	assert_true(isnan(se));
}

static const struct hes_grid small_grid = {
	.shares = { 30, 100 }, .n_shares = 2, .clocks_mhz = { 600, 1590 }, .n_clocks = 2
};

TEST(the_grid_of_a_job_has_all_that_its_samples_need)
{
	const struct hes_co_runners pair = { 1, { 1 } }, both = { 2, { 1, 2 } };
	const struct hes_co_runners sets[] = { pair, both };
	struct hes_sequences t = { .type = t4() };

	assert_int_equal(hes_sequences_grid(&small_grid, 0, sets, 2, &t, NULL), 0);
	/* Alone with 100 and 30 %; the co-runners on the whole GPU; a pair and a triple at 30 %,
	 * which the job leaves first. */
	assert_int_equal(t.n, 2 + 2 + 2);
	assert_int_equal(t.v[0].jobs[0].sm_pct, 100);
	assert_int_equal(t.v[1].jobs[0].sm_pct, 30);
	assert_int_equal(t.v[1].n_clocks, 2);
	assert_int_equal(t.v[2].n_clocks, 0);
	assert_int_equal(t.v[4].n, 2);
	assert_int_equal(t.v[4].jobs[1].sm_pct, 70);
	assert_int_equal(t.v[5].n, 3);
	assert_int_equal(t.v[5].jobs[0].job, 0);
	assert_int_equal(t.v[5].jobs[2].sm_pct, 35);
	hes_sequences_free(&t);
}

TEST(jobs_of_a_sequence_join_and_leave_in_one_order)
{
	static const struct hes_stage expected[] = {
		{ 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 3 }, { 2, 3 }
	};
	const struct hes_sequence three = { .n = 3 }, one = { .n = 1 };

	assert_int_equal(hes_sequence_stages(&three), 5);
	for (uint32_t i = 0; i < 5; i++) {
		struct hes_stage s = hes_sequence_stage(&three, i);

		assert_memory_equal(&s, &expected[i], sizeof(s));
	}
	assert_int_equal(hes_sequence_stages(&one), 1);
}

#define JOBS 5

static void fill_jobs(struct hes_profiled *jobs)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		jobs[i] = (struct hes_profiled){ .batch_size = 1 + i,
						 .memory_mib = i == 4 ? 20000 : 4000 };
		snprintf(jobs[i].workload, sizeof(jobs[i].workload), "net%u", i);
	}
}

TEST(random_sequences_fit_the_gpu)
{
	struct hes_grid g = { .n_shares = 10, .n_clocks = 3, .clocks_mhz = { 600, 900, 1590 } };
	struct hes_sequences t = { .type = t4() }, same = { .type = t4() };
	struct hes_profiled jobs[JOBS];
	size_t points = 0, shared = 0;

	for (uint32_t i = 0; i < 10; i++)
		g.shares[i] = 10 * (i + 1);
	fill_jobs(jobs);
	assert_int_equal(hes_sequences_draw(&g, jobs, JOBS, 4, 100, 7, &t, NULL), 0);
	for (size_t i = 0; i < t.n; i++) {
		uint32_t shares = 0, mib = 0;

		for (uint32_t k = 0; k < t.v[i].n; k++) {
			shares += t.v[i].jobs[k].sm_pct;
			mib += jobs[t.v[i].jobs[k].job].memory_mib;
		}
		assert_true(shares <= 100 && mib <= t4()->memory_mib);
		points += t.v[i].n > 1 ? (size_t)hes_sequence_stages(&t.v[i]) * t.v[i].n_clocks : 0;
		shared += t.v[i].n > 1;
	}
	/* The fifth job does not fit the GPU at all: four are alone on it. */
	assert_int_equal(t.n - shared, 4);
	assert_true(points >= 100 && points < 100 + 2 * 7);
	/* The same seed, the same sequences. */
	assert_int_equal(hes_sequences_draw(&g, jobs, JOBS, 4, 100, 7, &same, NULL), 0);
	assert_int_equal(same.n, t.n);
	assert_memory_equal(same.v, t.v, t.n * sizeof(*t.v));
	hes_sequences_free(&t);
	hes_sequences_free(&same);
}

TEST(a_job_alone_is_profiled_at_the_default_clock)
{
	const struct hes_grid g = { .shares = { 50 },
				    .n_shares = 1,
				    .clocks_mhz = { 300, 450, 600, 900, 1590 },
				    .n_clocks = 5 };
	struct hes_sequences t = { .type = t4() };
	struct hes_profiled jobs[JOBS];

	fill_jobs(jobs);
	assert_int_equal(hes_sequences_draw(&g, jobs, JOBS, 2, 1, 1, &t, NULL), 0);
	assert_int_equal(t.v[0].jobs[0].sm_pct, 100);
	assert_int_equal(t.v[0].clocks_mhz[0], 1590);
	hes_sequences_free(&t);
}

static struct hes_point point(const char *workload, uint32_t batch_size, uint32_t sm_pct,
			      uint32_t clock_mhz, const char *co_runners, double iteration_us,
			      uint32_t power_mw)
{
	struct hes_point p = {
		.gpu_type = "T4",
		.command = "run it",
		.batch_size = batch_size,
		.sm_pct = sm_pct,
		.clock_mhz = clock_mhz,
		.iteration_us = iteration_us,
		.cv = 0.01,
		.windows = 3,
		.seconds = 6,
		.memory_mib = co_runners[0] ? NAN : 900,
		.power_mw = power_mw,
		.power_cv = 0.01,
		.held_mhz = clock_mhz,
		.capped = 0,
		.busy = 0.9,
		.memory_busy = 0.3,
		.sm_active = 0.8,
		.sm_occupancy = NAN,
		.dram_active = 0.2,
		.fp32_active = NAN,
		.tensor_active = NAN,
		.pcie_tx_mibs = NAN,
		.pcie_rx_mibs = NAN,
		.temperature_c = NAN,
		.time_se = NAN,
		.first_use_s = NAN,
		.start_s = NAN,
		.run_s = NAN,
	};

	snprintf(p.workload, sizeof(p.workload), "%s", workload);
	snprintf(p.co_runners, sizeof(p.co_runners), "%s", co_runners);
	return p;
}

/* a and b alone on the whole GPU, with their shares, and together: what a pair needs. */
static size_t a_pair(struct hes_point *p)
{
	p[0] = point("a", 1, 100, 1590, "", 1000, 60000);
	p[1] = point("b", 4, 100, 1590, "", 4000, 50000);
	p[2] = point("a", 1, 60, 900, "", 2000, 40000);
	p[3] = point("b", 4, 40, 900, "", 9000, 30000);
	p[4] = point("a", 1, 60, 900, "b/4@40", 2500, 55000);
	p[5] = point("b", 4, 40, 900, "a/1@60", 9900, 55000);
	return 6;
}

static const struct hes_sample *find_sample(const struct hes_samples *s, const char *workload,
					    uint32_t sm_pct, uint32_t n)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].task.workload, workload) == 0 && s->v[i].sm_pct == sm_pct &&
		    s->v[i].co_runners.jobs == n)
			return &s->v[i];
	return NULL;
}

TEST(points_of_a_pair_give_profiles_and_samples_of_both)
{
	struct hes_point v[8];
	const struct hes_points p = { v, a_pair(v) };
	struct hes_profiles profiles;
	struct hes_samples samples;
	const struct hes_sample *s;

	assert_int_equal(hes_points_derive(&p, &catalogue, &profiles, &samples, NULL), 0);
	assert_int_equal(profiles.n, 2);
	assert_true(profiles.v[0].sm_util == 0.8 && profiles.v[0].dram_util == 0.2 &&
		    profiles.v[0].busy == 0.9);
	assert_int_equal(profiles.v[0].memory_mib, 900);
	assert_int_equal(samples.n, 6);
	/* a joined b: its co-runner's power is that of b alone with its share at this clock. */
	s = find_sample(&samples, "a", 60, 1);
	assert_non_null(s);
	assert_int_equal(s->co_runners.power_mw, 30000);
	assert_int_equal(s->co_runners.sm_pct, 40);
	assert_int_equal(s->power_mw, 55000);
	assert_true(s->iteration_us == 2500 && s->task.iteration_us == 1000);
	s = find_sample(&samples, "b", 40, 1);
	assert_int_equal(s->co_runners.power_mw, 40000);
	/* Without jobs the GPU idles. */
	s = find_sample(&samples, "a", 60, 0);
	assert_int_equal(s->co_runners.power_mw, t4()->idle_power_mw);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
}

TEST(what_was_not_measured_is_not_made_up)
{
	struct hes_point v[8];
	struct hes_points p = { v, a_pair(v) };
	struct hes_profiles profiles;
	struct hes_samples samples;

	/* The power before a came is unknown without a measurement of b alone at its share. */
	v[3] = v[5];
	p.n = 5;
	v[1].start_s = 6;
	v[2].start_s = 4;
	assert_int_equal(hes_points_derive(&p, &catalogue, &profiles, &samples, NULL), 0);
	assert_int_equal(find_sample(&samples, "a", 60, 1)->co_runners.power_mw, 0);
	assert_int_equal(find_sample(&samples, "b", 40, 1)->co_runners.power_mw, 40000);
	assert_true(profiles.v[0].start_s == 4 && profiles.v[1].start_s == 6);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
}

TEST(points_that_vary_count_and_those_that_agree_are_combined)
{
	struct hes_point v[8];
	struct hes_points p = { v, a_pair(v) };
	struct hes_profiles profiles;
	struct hes_samples samples;

	/* No standard error in the file: of four windows. */
	v[4].cv = 0.2;
	v[4].windows = 4;
	v[4].time_se = NAN;
	/* A single window is not certain. */
	v[5].windows = 1;
	v[5].cv = 0;
	v[5].time_se = NAN;
	/* 5 % and 2.5 %: the second counts four times as much. */
	v[0].time_se = 0.05;
	v[6] = v[0];
	v[6].iteration_us = 1100;
	v[6].power_mw = 70000;
	v[6].time_se = 0.025;
	v[6].busy = NAN;
	/* Another program by now. */
	v[1].time_se = 0.01;
	v[7] = v[1];
	v[7].iteration_us = 5000;
	p.n = 8;
	assert_int_equal(hes_points_derive(&p, &catalogue, &profiles, &samples, NULL), 0);
	assert_true(fabs(find_sample(&samples, "a", 60, 1)->time_se - 0.1) < 1e-9);
	assert_true(find_sample(&samples, "b", 40, 1)->time_se == 0.05);
	assert_int_equal(profiles.n, 2);
	assert_true(fabs(profiles.v[0].iteration_us - 1080) < 1e-6);
	assert_int_equal(profiles.v[0].power_mw, 68000);
	assert_true(fabs(profiles.v[0].time_se - 0.05 / sqrt(5)) < 1e-9);
	assert_true(profiles.v[0].busy == 0.9 && profiles.v[1].iteration_us == 5000);
	assert_int_equal(samples.n, 6);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
}

/* A T4 without DCGM: its driver says how long a kernel ran, not on how many SMs. */
TEST(sms_are_guessed_from_the_shares_that_change_nothing)
{
	struct hes_point v[] = {
		point("a", 1, 100, 1590, "", 1000, 60000),
		point("a", 1, 50, 1590, "", 1010, 60000),
		point("a", 1, 40, 1590, "", 1200, 55000),
	};
	const struct hes_points p = { v, 3 };
	struct hes_profiles profiles;
	struct hes_samples samples;

	for (size_t i = 0; i < 3; i++)
		v[i].sm_active = v[i].dram_active = NAN;
	assert_int_equal(hes_points_derive(&p, &catalogue, &profiles, &samples, NULL), 0);
	assert_int_equal(profiles.n, 1);
	assert_true(fabs(profiles.v[0].sm_util - 0.45) < 1e-12);
	assert_true(profiles.v[0].dram_util == 0.3);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
	/* A GPU without both values gives no profile. */
	for (size_t i = 0; i < 3; i++)
		v[i].busy = v[i].memory_busy = NAN;
	assert_int_equal(hes_points_derive(&p, &catalogue, &profiles, &samples, NULL), 0);
	assert_int_equal(profiles.n + samples.n, 0);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
}

/* Stores of an earlier heshare have the row's default clock where nothing was locked. */
TEST(what_nobody_locked_is_one_setting_with_the_clock_that_was_held)
{
	struct hes_point v[] = { point("a", 1, 100, 1590, "", 1000, 30000),
				 point("a", 1, 100, 0, "", 1100, 31000),
				 point("a", 1, 50, 0, "", 1800, 25000),
				 point("a", 1, 50, 900, "", 2500, 20000) };
	const struct hes_points p = { v, 4 };
	struct hes_profiles profiles;
	struct hes_samples samples;

	for (size_t i = 0; i < 3; i++)
		v[i].held_mhz = 1440;
	assert_true(setting_of_point(t4(), &v[0]) == setting_of_point(t4(), &v[1]));
	assert_int_equal(hes_points_derive(&p, &catalogue, &profiles, &samples, NULL), 0);
	assert_int_equal(profiles.n, 1); /* the later point counts */
	assert_true(profiles.v[0].iteration_us == 1100 && profiles.v[0].clock_mhz == 1440);
	assert_int_equal(samples.n, 3);
	assert_int_equal(find_sample(&samples, "a", 100, 0)->clock_mhz, 0);
	assert_int_equal(samples.v[0].clock_mhz + samples.v[1].clock_mhz + samples.v[2].clock_mhz,
			 900);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
}

TEST(a_setting_does_not_depend_on_the_order_of_joining)
{
	const struct hes_point a = point("a", 1, 60, 900, "b/4@40,c/2@10", 1, 1),
			       c = point("c", 2, 10, 900, "a/1@60,b/4@40", 1, 1);
	struct hes_profiled jobs[] = { { .workload = "c", .batch_size = 2 },
				       { .workload = "a", .batch_size = 1 },
				       { .workload = "b", .batch_size = 4 } };
	const struct hes_sequence t = { .n = 3, .jobs = { { 2, 40 }, { 0, 10 }, { 1, 60 } } };
	const struct hes_profiler p = { .jobs = jobs, .n_jobs = 3 };
	const struct profiling all = { .p = &p };

	assert_true(setting_of_point(t4(), &a) == setting_of_point(t4(), &c));
	assert_true(setting_of(&all, t4(), &t, (struct hes_stage){ 0, 3 }, 900) ==
		    setting_of_point(t4(), &a));
	assert_true(setting_of(&all, t4(), &t, (struct hes_stage){ 0, 2 }, 900) !=
		    setting_of_point(t4(), &a));
	assert_true(setting_of(&all, t4(), &t, (struct hes_stage){ 0, 3 }, 915) !=
		    setting_of_point(t4(), &a));
}

TEST(a_missing_reading_is_missing_in_files_and_in_the_store)
{
	char folder[] = "/tmp/hes-points-XXXXXX", csv[64], db[64];
	struct hes_point v[8];
	const struct hes_points p = { v, a_pair(v) };
	const struct hes_delivery d = {
		.source = HES_SOURCE_MEASURED, .at_us = 1, .name = "test", .points = &p
	};
	const struct hes_store_query q = { 0 };
	struct hes_points back;
	struct hes_delivered done;
	struct hes_store *s;

	assert_non_null(mkdtemp(folder));
	snprintf(csv, sizeof(csv), "%s/points.csv", folder);
	snprintf(db, sizeof(db), "%s/store.db", folder);
	assert_int_equal(hes_rows_save(&hes_point_table, csv, p.v, p.n, NULL), 0);
	assert_int_equal(hes_points_load(csv, &back, NULL), 0);
	assert_int_equal(back.n, 6);
	assert_true(isnan(back.v[0].sm_occupancy) && isnan(back.v[4].memory_mib) &&
		    back.v[0].memory_mib == 900);
	assert_string_equal(back.v[4].co_runners, "b/4@40");
	hes_points_free(&back);
	assert_int_equal(hes_store_open(db, HES_STORE_WRITE, 1000, &s, NULL), 0);
	assert_int_equal(hes_store_add(s, &d, &done, NULL), 0);
	assert_int_equal(done.points_new, 6);
	assert_int_equal(hes_store_add(s, &d, &done, NULL), 0);
	assert_int_equal(done.points_new, 0);
	assert_int_equal(done.points_known, 6);
	assert_int_equal(hes_store_points(s, &q, &back, NULL), 0);
	assert_int_equal(back.n, 6);
	assert_true(isnan(back.v[0].sm_occupancy) && back.v[0].sm_active == 0.8 &&
		    back.v[5].power_mw == 55000);
	hes_points_free(&back);
	hes_store_close(s);
	unlink(csv);
	unlink(db);
	rmdir(folder);
}

/* What a run measures belongs together, though every point is kept at once. */
TEST(later_rows_join_an_earlier_delivery)
{
	char folder[] = "/tmp/hes-points-XXXXXX", db[64];
	struct hes_point v[8];
	struct hes_points p = { v, a_pair(v) };
	struct hes_delivery d = {
		.source = HES_SOURCE_MEASURED, .at_us = 1, .name = "test", .points = &p
	};
	const struct hes_store_query q = { 0 };
	struct hes_store_origin *origins;
	struct hes_delivered done;
	struct hes_store *s;
	size_t n;

	assert_non_null(mkdtemp(folder));
	snprintf(db, sizeof(db), "%s/store.db", folder);
	assert_int_equal(hes_store_open(db, HES_STORE_WRITE, 1000, &s, NULL), 0);
	p.n = 2;
	assert_int_equal(hes_store_add(s, &d, &done, NULL), 0);
	d.into = done.origin;
	p = (struct hes_points){ v + 2, 4 };
	assert_int_equal(hes_store_add(s, &d, &done, NULL), 0);
	assert_int_equal(done.origin, d.into);
	assert_int_equal(hes_store_origins(s, &origins, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(origins[0].points, 6);
	free(origins);
	assert_int_equal(hes_store_forget(s, d.into, NULL), 0);
	assert_int_equal(hes_store_points(s, &q, &p, NULL), 0);
	assert_int_equal(p.n, 0);
	hes_points_free(&p);
	hes_store_close(s);
	unlink(db);
	rmdir(folder);
}

int main(void)
{
	return run_unit_tests(load_catalogue, free_catalogue);
}
