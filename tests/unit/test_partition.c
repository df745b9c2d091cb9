/*
 * test_partition.c - share profiles, predictions of jobs together, the best split, groups.
 */
#include <math.h>

#include "base/rng.h"
#include "partition/co_run.h"
#include "partition_bench.h"
#include "unit_test.h"

#define NOISE                 0.017
#define assert_near(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static struct hes_point point(const char *workload, uint32_t share, double iteration_us,
			      uint32_t power_mw)
{
	struct hes_point p = {
		.batch_size = 4,
		.sm_pct = share,
		.clock_mhz = 1530,
		.iteration_us = iteration_us,
		.power_mw = power_mw,
		.power_cv = NAN,
		.memory_mib = NAN,
		.sm_active = NAN,
		.sm_occupancy = NAN,
		.dram_active = NAN,
		.fp32_active = NAN,
		.memory_busy = NAN,
		.pcie_tx_mibs = NAN,
		.pcie_rx_mibs = NAN,
		.temperature_c = NAN,
		.time_se = NAN,
		.first_use_s = NAN,
		.start_s = NAN,
		.run_s = NAN,
	};

	strcpy(p.workload, workload);
	strcpy(p.gpu_type, BENCH_TYPE);
	return p;
}

/* Time = 3 ms + 100 ms x percent / share: the fixed part and the slope follow by hand. */
TEST(a_share_profile_comes_from_points_alone)
{
	struct hes_point v[] = {
		point("a", 100, 4000, 200000), point("a", 50, 5000, 150000),
		point("a", 25, 9999, 1),       point("a", 25, 7000, 120000),
		point("a", 40, 5500, 140000),  point("b", 100, 1000, 90000),
		point("a", 60, 1, 1),
	};
	const struct hes_points p = { v, sizeof(v) / sizeof(v[0]) };
	struct hes_share_profiles out;
	struct hes_share_point at;
	struct hes_catalogue c;

	v[4].cv = 0.2;                     /* of an eager program */
	strcpy(v[6].co_runners, "b/4@40"); /* not alone */
	v[1].memory_mib = 500;
	assert_int_equal(hes_catalogue_load(NULL, &c, NULL), 0);
	assert_int_equal(hes_share_profiles_from(&p, &c, &out, NULL), 0);
	assert_int_equal(out.n, 1); /* b was measured at one share */
	assert_int_equal(out.v[0].n, 4);
	assert_int_equal(out.v[0].memory_mib, 500);
	assert_near(out.v[0].at[0].rate, 1e6 / 7000, 1e-9); /* the later of two */
	assert_near(out.v[0].alone_rate, 250, 1e-9);
	assert_near(out.v[0].fixed_s, 3e-3, 1e-9);
	hes_share_profile_at(&out.v[0], 45, &at);
	assert_near(at.power_w, 145, 1e-9);
	assert_true(isnan(at.metric[HES_METRIC_SM]));
	hes_share_profile_at(&out.v[0], 5, &at);
	assert_near(at.rate, 1e6 / 7000, 1e-9); /* no guess below the least share */
	assert_null(hes_share_profile_find(&out, BENCH_TYPE, "a", 4, 1500));
	hes_share_profiles_free(&out);
	hes_catalogue_free(&c);
}

/* Nothing was measured together: the closed form alone. */
TEST(without_co_runs_the_closed_form_is_within_a_tenth)
{
	struct partition_bench b = bench_of_all(0);
	double off = 0, power_off = 0, worst = 0;
	size_t n = 0;

	bench_learn(&b);
	assert_int_equal(hes_partition_about(b.m, b.g)->sets, 0);
	for (size_t i = 0; i < BENCH_JOBS; i++)
		for (size_t k = 0; k < i; k++)
			for (uint32_t share = 10; share < 100; share += 20) {
				const struct bench_job two[] = { bench_jobs[i], bench_jobs[k] };
				const struct hes_share_profile *p[] = { bench_profile(&b, two[0]),
									bench_profile(&b, two[1]) };
				const uint32_t shares[] = { share, 100 - share };
				struct hes_partition_estimate e, t;

				hes_partition_predict(b.m, b.g, p, 2, shares, &e);
				bench_truth(&b, two, shares, 2, &t);
				off += fabs(e.rate[0] / t.rate[0] - 1) +
				       fabs(e.rate[1] / t.rate[1] - 1);
				power_off += fabs(e.power_w / t.power_w - 1);
				worst = fmax(worst, fabs(e.rate[0] / t.rate[0] - 1));
				assert_true(e.power_w <= b.g->power_limit_mw * 1e-3 + 1e-9);
				n++;
			}
	print_message(
		"closed form: throughput of a job off by %.2f %%, at most %.1f; power by %.2f %%\n",
		50 * off / (double)n, 100 * worst, 100 * power_off / (double)n);
	assert_true(off / (2 * (double)n) < 0.05);
	assert_true(power_off / (double)n < 0.05);
	bench_close(&b);
}

/* Pairs to learn from: every pair of jobs but those with job 0, five splits each. */
static void add_pairs(struct partition_bench *b)
{
	for (size_t i = 1; i < BENCH_JOBS; i++)
		for (size_t k = 1; k < i; k++)
			for (uint32_t share = 10; share < 100; share += 20) {
				const struct bench_job two[] = { bench_jobs[i], bench_jobs[k] };
				const uint32_t shares[] = { share, 100 - share };

				bench_together(b, two, shares, 2, NOISE);
			}
}

TEST(the_rate_of_a_job_alone_is_the_measured_one)
{
	struct partition_bench b = bench_of_all(0);
	const struct hes_share_profile *p;
	struct hes_partition_estimate e;
	const uint32_t share = 40;

	add_pairs(&b);
	bench_learn(&b);
	p = bench_profile(&b, bench_jobs[0]);
	p->at[3].metric[HES_METRIC_DRAM] = 0.99;
	hes_partition_predict(b.m, b.g, &p, 1, &share, &e);
	assert_near(e.rate[0], p->at[3].rate, 1e-9);
	assert_near(e.power_w, p->at[3].power_w, 1e-6);
	bench_close(&b);
}

/* Two jobs that want all the bandwidth cannot both have it. */
TEST(bandwidth_is_divided_between_jobs)
{
	struct hes_point v[] = { point("a", 10, 9000, 100000), point("a", 50, 2000, 150000),
				 point("a", 100, 2000, 150000) };
	const struct hes_points p = { v, 3 };
	const struct hes_share_profile *two[2];
	const uint32_t shares[] = { 50, 50 };
	struct hes_share_profiles solo;
	struct hes_partition_estimate e;
	struct partition_bench b;

	bench_open(&b);
	for (size_t i = 0; i < 3; i++)
		v[i].dram_active = 1800 / v[i].iteration_us;
	assert_int_equal(hes_share_profiles_from(&p, &b.c, &solo, NULL), 0);
	assert_int_equal(hes_partition_train(&p, &solo, &b.g, 1, &b.m, NULL), 0);
	two[0] = two[1] = &solo.v[0];
	hes_partition_predict(b.m, b.g, two, 2, shares, &e);
	assert_near(e.rate[0], 250, 5);
	assert_near(e.rate[0], e.rate[1], 1e-9);
	hes_share_profiles_free(&solo);
	bench_close(&b);
}

/* Mean errors of sum of rates and power on pairs with job 0, which no training pair holds. */
static void errors_of(const struct partition_bench *b, double *rate, double *power)
{
	double n = 0;

	*rate = *power = 0;
	for (size_t k = 1; k < BENCH_JOBS; k++)
		for (uint32_t share = 20; share < 100; share += 20, n++) {
			const struct bench_job two[] = { bench_jobs[0], bench_jobs[k] };
			const struct hes_share_profile *p[] = { bench_profile(b, two[0]),
								bench_profile(b, two[1]) };
			const uint32_t shares[] = { share, 100 - share };
			struct hes_partition_estimate e, t;

			hes_partition_predict(b->m, b->g, p, 2, shares, &e);
			bench_truth(b, two, shares, 2, &t);
			*rate += fabs((e.rate[0] + e.rate[1]) / (t.rate[0] + t.rate[1]) - 1);
			*power += fabs(e.power_w / t.power_w - 1);
		}
	*rate /= n;
	*power /= n;
}

TEST(jobs_never_seen_together_are_predicted_within_3_percent_with_trees_and_without)
{
	struct partition_bench b = bench_of_all(NOISE);
	const struct hes_partition_info *info;
	double rate[2], power[2];

	bench_learn(&b);
	errors_of(&b, &rate[0], &power[0]);
	add_pairs(&b);
	bench_learn(&b);
	errors_of(&b, &rate[1], &power[1]);
	print_message("pairs with a job in no training pair: throughput %.2f %% and power %.2f %% "
		      "off, without trees %.2f and %.2f\n",
		      100 * rate[1], 100 * power[1], 100 * rate[0], 100 * power[0]);
	assert_true(rate[0] < 0.03 && rate[1] < 0.03);
	assert_true(power[0] < 0.03 && power[1] < 0.03);
	info = hes_partition_about(b.m, b.g);
	assert_int_equal(info->sets, 21 * 5);
	assert_true(info->unseen && info->rate_error < 0.05 && info->power_error < 0.05);
	assert_true(info->low > 0.85 && info->low < 1 && info->high > 1 && info->high < 1.15);
	bench_close(&b);
}

/* Co-runs that lack a row, and those of another GPU type, teach nothing. */
TEST(only_whole_co_runs_of_the_type_count)
{
	struct partition_bench b = bench_of_all(NOISE);
	const struct hes_gpu_type *types[2];
	struct hes_partition_model *m;

	add_pairs(&b);
	for (size_t i = 0; i < b.points.n; i++)
		if (b.points.v[i].co_runners[0] && i % 2)
			strcpy(b.points.v[i].gpu_type, "T4");
	bench_learn(&b);
	assert_int_equal(hes_partition_about(b.m, b.g)->sets, 0); /* each set lacks a row */
	for (size_t i = 0; i < b.points.n; i++)
		strcpy(b.points.v[i].gpu_type, BENCH_TYPE);
	bench_learn(&b);
	types[0] = b.g;
	types[1] = hes_gpu_type_find(&b.c, "T4", NULL);
	assert_int_equal(hes_partition_train(&b.points, &b.profiles, types, 2, &m, NULL), 0);
	assert_int_equal(hes_partition_about(m, types[0])->sets, 21 * 5);
	assert_int_equal(hes_partition_about(m, types[1])->sets, 0);
	assert_false(hes_partition_about(m, types[1])->learnt);
	assert_null(hes_partition_about(b.m, types[1]));
	hes_partition_free(m);
	bench_close(&b);
}

/* Part of random pairs whose throughput per watt lies in the interval of a model that learnt from
 * some others. */
static double coverage_of(struct partition_bench *b)
{
	const struct hes_partition_goal goal = { .objective = HES_PARTITION_SUM };
	size_t in = 0, n = 0;

	for (size_t i = 0; i < BENCH_JOBS; i++)
		for (size_t k = 0; k < i; k++)
			for (uint32_t share = 20; share < 100; share += 20, n++) {
				const struct bench_job two[] = { bench_jobs[i], bench_jobs[k] };
				const struct hes_share_profile *p[] = { bench_profile(b, two[0]),
									bench_profile(b, two[1]) };
				const uint32_t shares[] = { share, 100 - share };
				struct hes_partition_estimate t;
				struct hes_split s;
				double ratio;

				assert_int_equal(hes_partition_judge(b->m, b->g, p, 2, &goal,
								     shares, &s, NULL),
						 0);
				bench_truth(b, two, shares, 2, &t);
				ratio = (t.rate[0] + t.rate[1]) / t.power_w / s.per_watt;
				in += ratio >= s.low && ratio <= s.high;
			}
	return (double)in / (double)n;
}

TEST(intervals_hold_their_part_of_unseen_points)
{
	struct partition_bench b = bench_of_all(NOISE);
	double few;

	for (uint32_t share = 10; share <= 60; share += 10) /* six co-runs */
		bench_together(&b,
			       (struct bench_job[]){ bench_jobs[1], bench_jobs[share / 10 + 1] },
			       (uint32_t[]){ share, 100 - share }, 2, NOISE);
	bench_learn(&b);
	few = coverage_of(&b);
	add_pairs(&b);
	bench_learn(&b);
	print_message("of 112 splits %.0f %% are in the interval, %.0f %% after six co-runs; "
		      "stated: 90 %%\n",
		      100 * coverage_of(&b), 100 * few);
	assert_true(few > 0.8 && coverage_of(&b) > 0.85);
	bench_close(&b);
}

/* Co-runs in which the jobs slow each other down more than the prior says: others will, too. */
TEST(a_few_co_runs_move_what_is_predicted_of_other_jobs)
{
	struct partition_bench b = bench_of_all(0);
	const struct hes_partition_goal goal = { .objective = HES_PARTITION_NORMALIZED };
	const struct hes_share_profile *p[2];
	const uint32_t shares[] = { 50, 50 };
	struct hes_split before, after;

	bench_learn(&b);
	p[0] = bench_profile(&b, bench_jobs[0]);
	p[1] = bench_profile(&b, bench_jobs[1]);
	assert_int_equal(hes_partition_judge(b.m, b.g, p, 2, &goal, shares, &before, NULL), 0);
	for (size_t i = 2; i + 1 < BENCH_JOBS; i++)
		bench_together(&b, (struct bench_job[]){ bench_jobs[i], bench_jobs[i + 1] }, shares,
			       2, 0);
	for (size_t i = 0; i < b.points.n; i++)
		if (b.points.v[i].co_runners[0])
			b.points.v[i].iteration_us *= 1.2;
	bench_learn(&b);
	assert_false(hes_partition_about(b.m, b.g)->learnt);
	p[0] = bench_profile(&b, bench_jobs[0]);
	p[1] = bench_profile(&b, bench_jobs[1]);
	assert_int_equal(hes_partition_judge(b.m, b.g, p, 2, &goal, shares, &after, NULL), 0);
	assert_true(after.estimate.rate[0] < 0.99 * before.estimate.rate[0]);
	assert_true(after.estimate.rate[1] < 0.99 * before.estimate.rate[1]);
	assert_true(after.low < 1 && after.high > 1 && before.low < 1 && before.high > 1);
	bench_close(&b);
}

TEST(all_splits_of_two_jobs_are_searched)
{
	struct partition_bench b = bench_of_all(0);
	const struct hes_share_profile *p[2];
	struct hes_partition_goal goal = { .objective = HES_PARTITION_NORMALIZED };
	struct hes_splits s;

	bench_learn(&b);
	p[0] = bench_profile(&b, bench_jobs[0]);
	p[1] = bench_profile(&b, bench_jobs[1]);
	assert_int_equal(hes_partition_search(b.m, b.g, p, 2, &goal, &s, NULL), 0);
	assert_int_equal(s.n, 45); /* sums of 20 to 100 % in tens */
	for (size_t i = 0; i < s.n; i++) {
		struct hes_partition_estimate e;

		assert_true(s.v[i].per_watt <= s.v[s.best].per_watt);
		hes_partition_predict(b.m, b.g, p, 2, s.v[i].sm_pct, &e);
		assert_true(e.power_w == s.v[i].estimate.power_w);
		assert_near(s.v[i].work,
			    e.rate[0] / p[0]->alone_rate + e.rate[1] / p[1]->alone_rate, 1e-12);
	}
	hes_splits_free(&s);
	goal.step = 5;
	assert_int_equal(hes_partition_search(b.m, b.g, p, 2, &goal, &s, NULL), 0);
	assert_int_equal(s.n, 153); /* from 10 %, the least share that was profiled */
	hes_splits_free(&s);
	bench_close(&b);
}

TEST(a_floor_is_kept_or_refused_with_the_possible_one)
{
	struct partition_bench b = bench_of_all(0);
	struct hes_partition_goal goal = { .objective = HES_PARTITION_SUM };
	const struct hes_share_profile *p[2];
	struct hes_splits s = { .n = 77 };
	struct hes_err err;

	bench_learn(&b);
	p[0] = bench_profile(&b, bench_jobs[0]);
	p[1] = bench_profile(&b, bench_jobs[1]);
	assert_int_equal(hes_partition_search(b.m, b.g, p, 2, &goal, &s, NULL), 0);
	assert_true(s.v[s.best].estimate.rate[0] <
		    0.3 * p[0]->alone_rate); /* the sum starves the job with long iterations */
	hes_splits_free(&s);
	goal.floor[0] = 0.5;
	assert_int_equal(hes_partition_search(b.m, b.g, p, 2, &goal, &s, NULL), 0);
	assert_true(s.v[s.best].estimate.rate[0] >= 0.5 * p[0]->alone_rate);
	hes_splits_free(&s);
	goal.floor[1] = 0.9;
	s.n = 77;
	assert_int_equal(hes_partition_search(b.m, b.g, p, 2, &goal, &s, &err), -ERANGE);
	assert_int_equal(s.n, 77);
	assert_non_null(strstr(err.msg, "keeps every floor"));
	goal.floor[1] = 1.5;
	assert_int_equal(hes_partition_search(b.m, b.g, p, 2, &goal, &s, NULL), -EINVAL);
	bench_close(&b);
}

TEST(jobs_that_cannot_share_a_gpu_are_refused)
{
	struct partition_bench b = bench_of_all(0);
	struct hes_partition_goal goal = { .objective = HES_PARTITION_ENERGY };
	struct hes_share_profile big;
	const struct hes_share_profile *p[3] = { &big, &big, &big };
	struct hes_splits s;
	struct hes_err err;

	bench_learn(&b);
	big = *bench_profile(&b, bench_jobs[0]);
	big.memory_mib = 20000;
	assert_int_equal(hes_partition_search(b.m, b.g, p, 2, &goal, &s, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "40000 MiB"));
	big.memory_mib = 100;
	big.alone_rate = NAN;
	assert_int_equal(hes_partition_search(b.m, b.g, p, 2, &goal, &s, &err), -ENODATA);
	goal = (struct hes_partition_goal){ .objective = HES_PARTITION_SUM, .step = 40 };
	assert_int_equal(hes_partition_search(b.m, b.g, p, 3, &goal, &s, &err), -EINVAL);
	goal.step = 51;
	assert_int_equal(hes_partition_search(b.m, b.g, p, 2, &goal, &s, &err), -EINVAL);
	assert_int_equal(hes_partition_search(b.m, b.g, p, 0, &goal, &s, &err), -EINVAL);
	bench_close(&b);
}

/* Best work per watt of all splits of @n jobs in tens. */
static double best_of_all(const struct partition_bench *b, const struct hes_share_profile *const *p,
			  size_t n, enum hes_partition_objective objective, uint32_t *shares,
			  size_t at, uint32_t left)
{
	double best = 0;

	if (at == n) {
		struct hes_partition_estimate e;
		double sum = 0, stretch = 0;

		hes_partition_predict(b->m, b->g, p, n, shares, &e);
		for (size_t i = 0; i < n; i++) {
			double unit = objective == HES_PARTITION_SUM ? 1 : p[i]->alone_rate;

			sum += e.rate[i] / unit;
			stretch += unit / e.rate[i];
		}
		return (objective == HES_PARTITION_ENERGY ? (double)(n * n) / stretch : sum) /
		       e.power_w;
	}
	for (shares[at] = 10; shares[at] + 10 * (n - at - 1) <= left; shares[at] += 10)
		best = fmax(best,
			    best_of_all(b, p, n, objective, shares, at + 1, left - shares[at]));
	return best;
}

TEST(the_search_for_three_and_four_jobs_finds_what_enumeration_finds)
{
	struct partition_bench b = bench_of_all(0);
	double worst = 1, mean = 0;
	size_t cases = 0;
	struct hes_rng rng;

	bench_learn(&b);
	hes_rng_seed(&rng, 7);
	for (int round = 0; round < 60; round++) {
		const struct hes_share_profile *p[4];
		size_t n = 3 + (size_t)(round & 1);
		struct hes_partition_goal goal = { .objective = (enum hes_partition_objective)(
							   round % 3) };
		uint32_t shares[4];
		struct hes_splits s;
		double best;

		for (size_t i = 0; i < n; i++)
			p[i] = bench_profile(&b, bench_jobs[hes_rng_below(&rng, BENCH_JOBS)]);
		if (hes_partition_search(b.m, b.g, p, n, &goal, &s, NULL))
			continue;
		best = best_of_all(&b, p, n, goal.objective, shares, 0, 100);
		worst = fmin(worst, s.v[s.best].per_watt / best);
		mean += s.v[s.best].per_watt / best;
		cases++;
		hes_splits_free(&s);
	}
	print_message("%zu cases: %.3f %% of the best on average, %.3f at worst\n", cases,
		      100 * mean / (double)cases, 100 * worst);
	assert_true(cases > 50 && worst > 0.99 && mean / (double)cases > 0.999);
	bench_close(&b);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
