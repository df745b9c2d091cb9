/* test_store.c - the rows of a store: what is added is found again, once, and what fails changes
 * nothing. */
#include <math.h>

#include "heshare/tenant_usage.h"
#include "store_bench.h"
#include "unit_test.h"

static size_t count(struct hes_store *s, bool with_modelled)
{
	const struct hes_store_query q = { NULL, with_modelled };
	struct hes_samples got = { 0 };
	struct hes_err err = { 0 };
	size_t n;

	if (hes_store_samples(s, &q, &got, &err))
		fail_msg("%s", err.msg);
	n = got.n;
	hes_samples_free(&got);
	return n;
}

TEST_WITH(rows_are_read_back_as_from_a_file, store_set_up, store_tear_down)
{
	struct hes_profile p[] = { store_profile("net", "T4", 8),
				   store_profile("a,\"b\"", "T4", 4) };
	struct hes_sample v[] = { store_sample("T4", 2), store_sample("T4", 1) };
	const struct hes_store_query all = { 0 }, net = { "net", false };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_profiles profiles;
	struct hes_samples samples;
	struct hes_delivered done;

	v[0].co_runners.sm_util = -0.0; /* 0 in every file */
	done = store_add(s, HES_SOURCE_MEASURED, 7, p, 2, v, 2);
	assert_int_equal(done.profiles_new, 2);
	assert_int_equal(done.samples_new, 2);
	assert_int_equal(done.origin, 1);
	hes_store_close(s);

	s = store_opened(HES_STORE_READ);
	assert_int_equal(hes_store_profiles(s, &all, &profiles, NULL), 0);
	assert_int_equal(profiles.n, 2);
	assert_string_equal(profiles.v[0].workload, "a,\"b\"");
	assert_true(profiles.v[1].iteration_us == 2666.66667); /* nine digits of 8000 / 3 */
	assert_int_equal(hes_store_samples(s, &net, &samples, NULL), 0);
	assert_int_equal(samples.n, 2);
	assert_int_equal(samples.v[0].clock_mhz, 1002); /* the order they came in */
	assert_int_equal(samples.v[1].co_runners.power_mw, 40000);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
	hes_store_close(s);
}

TEST_WITH(the_same_rows_are_added_once, store_set_up, store_tear_down)
{
	struct hes_sample v[] = { store_sample("T4", 1), store_sample("T4", 2),
				  store_sample("T4", 1) };
	struct hes_profile p = store_profile("net", "T4", 4);
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_delivered done = store_add(s, HES_SOURCE_IMPORTED, 1, &p, 1, v, 3);
	struct hes_store_origin *origins;
	size_t n;

	assert_int_equal(done.samples_new, 2);
	assert_int_equal(done.samples_known, 1);
	v[0].iteration_us *= 1 + 1e-12; /* the same to nine digits */
	done = store_add(s, HES_SOURCE_MEASURED, 2, &p, 1, v, 3);
	assert_int_equal(done.samples_new + done.profiles_new, 0);
	assert_int_equal(done.samples_known, 3);
	assert_int_equal(done.origin, 0);
	assert_int_equal(hes_store_origins(s, &origins, &n, NULL), 0);
	assert_int_equal(n, 1); /* nothing new leaves no trace */
	assert_int_equal(origins[0].samples, 2);
	assert_int_equal(origins[0].source, HES_SOURCE_IMPORTED);
	assert_int_equal(origins[0].at_us, 1);
	free(origins);
	hes_store_close(s);
}

TEST_WITH(what_profiling_took_is_of_the_sessions_that_measured_the_jobs, store_set_up,
	  store_tear_down)
{
	static const struct {
		const char *name, *workload;
		enum hes_source source;
		double gpu_s, energy_j;
	} from[] = {
		{ "heshare profile net, driver 1", "net", HES_SOURCE_MEASURED, 10, 1000 },
		{ "heshare profile other, driver 1", "other", HES_SOURCE_MEASURED, 20, 9000 },
		{ "run 3 of jobs.csv, driver 1", "net", HES_SOURCE_MEASURED, NAN, NAN },
		{ "week.csv", "net", HES_SOURCE_IMPORTED, NAN, NAN },
		{ "drawn", "net", HES_SOURCE_MODELLED, NAN, NAN },
		{ "heshare profile net, driver 1", "net", HES_SOURCE_MEASURED, 5, 300 },
	};
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_job job = { .id = "a", .workload = "net" };
	const struct hes_jobs jobs = { .v = &job, .n = 1 };
	struct hes_store_profiling took;

	for (size_t i = 0; i < N(from); i++) {
		const struct hes_profiling_cost cost = { from[i].gpu_s, from[i].energy_j };
		struct hes_profile p[2] = { store_profile(from[i].workload, "T4", 1 + (uint32_t)i),
					    store_profile(from[i].workload, "T4",
							  9 + (uint32_t)i) };
		const struct hes_profiles rows = { .v = p, .n = 2 };
		const struct hes_delivery d = { .source = from[i].source,
						.name = from[i].name,
						.profiles = &rows,
						.cost = isnan(cost.gpu_s) ? NULL : &cost };
		struct hes_delivered done;

		assert_int_equal(hes_store_add(s, &d, &done, NULL), 0);
	}
	assert_int_equal(hes_store_profiling(s, &jobs, &took, NULL), 0);
	assert_int_equal(took.origins, 3);
	assert_int_equal(took.unknown, 1);
	assert_true(took.cost.gpu_s == 15 && took.cost.energy_j == 1300);
	strcpy(job.workload, "new");
	assert_int_equal(hes_store_profiling(s, &jobs, &took, NULL), 0);
	assert_int_equal(took.origins, 0);
	hes_store_close(s);
}

TEST_WITH(modelled_rows_are_kept_apart, store_set_up, store_tear_down)
{
	struct hes_sample real = store_sample("T4", 1), drawn = store_sample("T4", 2);
	struct hes_profile p = store_profile("net", "T4", 4), q = p;
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	const struct hes_store_query all = { NULL, true };
	struct hes_samples one = { .v = &drawn, .n = 1 };
	struct hes_delivery d = {
		.source = HES_SOURCE_MEASURED, .at_us = 9, .name = "week.csv", .samples = &one
	};
	struct hes_delivered done = { .origin = 77 };
	struct hes_profiles profiles;
	struct hes_err err;

	q.power_mw = 61000;
	store_add(s, HES_SOURCE_MEASURED, 5, &p, 1, &real, 1);
	store_add(s, HES_SOURCE_MODELLED, 6, &q, 1, &drawn, 1);
	assert_int_equal(count(s, false), 1);
	assert_int_equal(count(s, true), 2);
	assert_int_equal(hes_store_profiles(s, &all, &profiles, NULL), 0);
	assert_int_equal(profiles.n, 1);
	assert_int_equal(profiles.v[0].power_mw, 60000); /* the measured one, though older */
	hes_profiles_free(&profiles);
	assert_int_equal(hes_store_add(s, &d, &done, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "week.csv: sample 1: it is in "));
	assert_non_null(strstr(err.msg, "already, as modelled; this one comes as measured"));
	assert_int_equal(done.origin, 77);
	hes_store_close(s);
}

TEST_WITH(the_newest_profile_of_a_point_counts, store_set_up, store_tear_down)
{
	struct hes_profile p = store_profile("net", "T4", 4), q = p, r = p;
	const struct hes_store_query all = { 0 };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_profiles profiles;

	q.power_mw = 61000;
	r.power_mw = 62000;
	store_add(s, HES_SOURCE_MEASURED, 5, &p, 1, NULL, 0);
	store_add(s, HES_SOURCE_IMPORTED, 8, &q, 1, NULL, 0);
	store_add(s, HES_SOURCE_MEASURED, 6, &r, 1, NULL, 0);
	assert_int_equal(hes_store_profiles(s, &all, &profiles, NULL), 0);
	assert_int_equal(profiles.n, 1);
	assert_int_equal(profiles.v[0].power_mw, 61000);
	hes_profiles_free(&profiles);
	hes_store_close(s);
}

TEST_WITH(a_bad_row_leaves_out_the_whole_delivery, store_set_up, store_tear_down)
{
	struct hes_sample v[] = { store_sample("T4", 1), store_sample("T4", 2) };
	struct hes_samples samples = { .v = v, .n = 2 };
	struct hes_delivery d = {
		.source = HES_SOURCE_MEASURED, .at_us = 1, .name = "x.csv", .samples = &samples
	};
	struct hes_delivered done;
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_err err;

	v[1].sm_pct = 101;
	assert_int_equal(hes_store_add(s, &d, &done, &err), -ERANGE);
	assert_string_equal(err.msg, "x.csv: sample 2: sm_pct: 101 is not within 1 to 100");
	v[1] = store_sample("", 2);
	assert_int_equal(hes_store_add(s, &d, &done, &err), -EINVAL);
	assert_string_equal(err.msg, "x.csv: sample 2: gpu_type: empty; a name is needed");
	assert_int_equal(count(s, true), 0);
	hes_store_close(s);
}

TEST_WITH(forgetting_an_origin_removes_its_rows, store_set_up, store_tear_down)
{
	struct hes_sample v[] = { store_sample("T4", 1), store_sample("T4", 2) };
	struct hes_samples samples = { .v = v, .n = 2 };
	struct hes_delivery d = {
		.source = HES_SOURCE_MEASURED, .at_us = 1, .name = "x", .samples = &samples
	};
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_delivered done;
	struct hes_err err;

	assert_int_equal(hes_store_add(s, &d, &done, &err), 0);
	assert_int_equal(hes_store_forget(s, done.origin + 1, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "nothing came as number 2"));
	assert_int_equal(hes_store_forget(s, done.origin, &err), 0);
	assert_int_equal(count(s, true), 0);
	assert_int_equal(hes_store_add(s, &d, &done, &err), 0);
	assert_int_equal(done.samples_new, 2);
	assert_int_equal(done.origin, 2); /* a number is never given again */
	hes_store_close(s);
}

TEST_WITH(holdings_count_profiles_samples_and_age, store_set_up, store_tear_down)
{
	struct hes_profile p[] = { store_profile("net", "T4", 4), store_profile("net", "T4", 16),
				   store_profile("net", "A100-SXM-80", 2) };
	struct hes_profile drawn[] = { store_profile("net", "T4", 4),
				       store_profile("net", "T4", 64) };
	struct hes_sample v[] = { store_sample("T4", 1), store_sample("T4", 2) };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_store_holding *h;
	size_t n;

	store_add(s, HES_SOURCE_MEASURED, 5, p, 3, v, 1);
	drawn[0].power_mw++;
	store_add(s, HES_SOURCE_MODELLED, 9, drawn, 2, v + 1, 1);
	assert_int_equal(hes_store_holdings(s, &h, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(h[0].gpu_type, "A100-SXM-80");
	assert_int_equal(h[0].profiles, 1);
	assert_int_equal(h[0].samples, 0);
	assert_int_equal(h[0].newest_us, 5);
	assert_int_equal(h[0].profiles_modelled, 0);
	assert_int_equal(h[1].profiles, 3);
	assert_int_equal(h[1].profiles_modelled, 1); /* 4 was measured too */
	assert_int_equal(h[1].batch_min, 4);
	assert_int_equal(h[1].batch_max, 64);
	assert_int_equal(h[1].samples, 2);
	assert_int_equal(h[1].samples_modelled, 1);
	assert_int_equal(h[1].newest_us, 9);
	free(h);
	hes_store_close(s);
}

/* A sample with two co-runners of these names. */
static struct hes_sample with_two(const char *co_runner_names)
{
	struct hes_sample v = store_sample("T4", 1);

	v.co_runners.jobs = 2;
	strcpy(v.co_runner_names, co_runner_names);
	return v;
}

/* What the store's one sample names. */
static void assert_named(struct hes_store *s, const char *co_runner_names)
{
	struct hes_samples got;

	assert_int_equal(hes_store_samples(s, &(struct hes_store_query){ 0 }, &got, NULL), 0);
	assert_int_equal(got.n, 1);
	assert_string_equal(got.v[0].co_runner_names, co_runner_names);
	hes_samples_free(&got);
}

TEST_WITH(co_runners_in_another_order_are_the_same_sample, store_set_up, store_tear_down)
{
	struct hes_sample v[] = { with_two("net/4@30,a/8@20"), with_two("a/8@20,net/4@30"),
				  with_two("net/04@30,a/8@20") };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_delivered done = store_add(s, HES_SOURCE_IMPORTED, 1, NULL, 0, v, N(v));

	assert_int_equal(done.samples_new, 1);
	assert_int_equal(done.samples_known, 2);
	assert_named(s, "a/8@20,net/4@30");
	hes_store_close(s);
}

/* A measurement goes on: its row is replaced in its own delivery, and nowhere else. */
TEST_WITH(a_point_replaces_an_earlier_one_of_its_delivery, store_set_up, store_tear_down)
{
	struct hes_point v[3] = { { .workload = "net",
				    .gpu_type = "T4",
				    .batch_size = 4,
				    .sm_pct = 100,
				    .iteration_us = 500,
				    .windows = 1,
				    .power_mw = 60000 } };
	struct hes_points old = { v, 1 }, new = { v + 1, 1 }, other = { v + 2, 1 }, got;
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_delivery d = { .at_us = 1, .name = "run 1", .points = &old };
	const struct hes_store_query all = { 0 };
	struct hes_delivered done;

	v[1] = v[2] = v[0];
	v[1].windows = 2;
	v[2].windows = 3;
	assert_int_equal(hes_store_add(s, &d, &done, NULL), 0);
	d.into = done.origin;
	d.replaced = &old;
	d.points = &new;
	assert_int_equal(hes_store_add(s, &d, &done, NULL), 0);
	assert_int_equal(done.points_new, 1);
	d.points = &other;
	d.replaced = &new;
	d.into = 0;
	assert_int_equal(hes_store_add(s, &d, &done, NULL), 0);
	assert_int_equal(hes_store_points(s, &all, &got, NULL), 0);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.v[0].windows, 2);
	assert_int_equal(got.v[1].windows, 3);
	hes_points_free(&got);
	hes_store_close(s);
}

TEST_WITH(what_tenants_have_used_adds_up_by_day, store_set_up, store_tear_down)
{
	const int64_t day = INT64_C(86400000000);
	struct hes_tenant_usage u = { .day_us = 3 * day + 7,
				      .tenant = "a",
				      .uid = 7,
				      .gpu_type = "T4",
				      .seconds = 2,
				      .joules = 100 },
				*all;
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	size_t n;

	assert_int_equal(hes_store_add_tenant_usage(s, &u, NULL), 0);
	u.day_us = 4 * day - 1;
	u.joules = -1;
	assert_int_equal(hes_store_add_tenant_usage(s, &u, NULL), 0);
	u.joules = NAN;
	assert_int_equal(hes_store_add_tenant_usage(s, &u, NULL), -EINVAL);
	u.joules = 5;
	u.day_us = 4 * day;
	assert_int_equal(hes_store_add_tenant_usage(s, &u, NULL), 0);
	u.uid = 6;
	assert_int_equal(hes_store_add_tenant_usage(s, &u, NULL), 0);
	assert_int_equal(hes_store_tenant_usages(s, 0, &all, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_true(all[0].day_us == 3 * day && all[0].seconds == 4 && all[0].joules == 99);
	assert_true(all[1].uid == 6 && all[2].uid == 7 && all[2].joules == 5);
	free(all);
	assert_int_equal(hes_store_tenant_usages(s, 4 * day, &all, &n, NULL), 0);
	assert_int_equal(n, 2);
	free(all);
	hes_store_close(s);
}

TEST_WITH(powers_of_tenants_are_replaced_and_kept_apart, store_set_up, store_tear_down)
{
	struct hes_tenant_power p = { .tenant = "a \"b\"",
				      .uid = 7,
				      .gpu_type = "T4",
				      .clock_mhz = 600,
				      .power_w = 40,
				      .cv = 0.02,
				      .seconds = 5,
				      .at_us = 1 };
	struct hes_tenant_power other = p, bad = p;
	struct hes_store *s = store_opened(HES_STORE_WRITE);

	assert_int_equal(hes_store_keep_tenant_power(s, &p, NULL), 0);
	/* A running average says nothing of the measurement. */
	p.power_w = 44;
	p.cv = p.seconds = 0;
	p.at_us = 2;
	assert_int_equal(hes_store_keep_tenant_power(s, &p, NULL), 0);
	other.uid = 8;
	assert_int_equal(hes_store_find_tenant_power(s, &other, NULL), -ENOENT);
	assert_int_equal(hes_store_keep_tenant_power(s, &other, NULL), 0);
	bad.power_w = NAN;
	assert_int_equal(hes_store_keep_tenant_power(s, &bad, NULL), -EINVAL);
	p.power_w = 0;
	assert_int_equal(hes_store_find_tenant_power(s, &p, NULL), 0);
	assert_true(p.power_w == 44 && p.cv == 0.02 && p.seconds == 5 && p.at_us == 2);
	assert_int_equal(hes_store_find_tenant_power(s, &other, NULL), 0);
	assert_true(other.power_w == 40);
	hes_store_close(s);
}

/* What a plan trained is found under the hash of what it was trained on. */
TEST_WITH(eight_trained_predictors_are_kept_the_newest_ones, store_set_up, store_tear_down)
{
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_sample v[] = { store_sample("T4", 1), store_sample("T4", 2) };
	uint64_t none, modelled, one, two;
	char *bytes = NULL;
	size_t n = 7;

	for (uint64_t key = 1; key <= 9; key++)
		assert_int_equal(
			hes_store_keep_trained(s, UINT64_MAX - key, (int64_t)key, "a\0b", 3, NULL),
			0);
	assert_int_equal(hes_store_trained(s, UINT64_MAX - 1, &bytes, &n, NULL), -ENOENT);
	assert_true(!bytes && n == 7);
	assert_int_equal(hes_store_trained(s, UINT64_MAX - 2, &bytes, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_memory_equal(bytes, "a\0b", 3);
	free(bytes);
	assert_int_equal(hes_store_keep_trained(s, 1, 1, "", (size_t)1 << 20, NULL), -E2BIG);
	/* The hash is that of measured samples, whatever else is there. */
	assert_int_equal(hes_store_mark(s, &none, NULL), 0);
	store_add(s, HES_SOURCE_MODELLED, 1, NULL, 0, v, 1);
	assert_int_equal(hes_store_mark(s, &modelled, NULL), 0);
	store_add(s, HES_SOURCE_IMPORTED, 2, NULL, 0, v + 1, 1);
	assert_int_equal(hes_store_mark(s, &one, NULL), 0);
	assert_true(none == modelled && modelled != one);
	assert_int_equal(hes_store_forget(s, 2, NULL), 0);
	assert_int_equal(hes_store_mark(s, &two, NULL), 0);
	assert_true(two == none);
	hes_store_close(s);
}

static size_t sets_of(struct hes_store *s, const char *workload, struct hes_store_set *first)
{
	struct hes_store_set *v;
	size_t n;

	assert_int_equal(hes_store_sets(s, workload, &v, &n, NULL), 0);
	if (n)
		*first = v[0];
	free(v);
	return n;
}

/* Of any size, also without joules; the newest of the same jobs with the same shares counts. */
TEST_WITH(judged_sets_outlive_their_run_until_they_are_forgotten, store_set_up, store_tear_down)
{
	struct hes_store_set first, v[] = {
		{ "T4", "a/1@30,b/1@30,c/1@40", 1.25, NAN, 0.02, 7 },
		{ "T4", "a/1@50,b/1@50", 0.9, 0.8, 0.01, 8 },
		{ "V100", "a/1@50,b/1@50", 1.1, 1.2, 0, 9 },
		{ "T4", "a/1@50,b/1@50", 0.95, 0.85, 0.01, 10 },
		{ "T4", "bb/1@50,c/1@50", -1, 1, 0, 11 },
	};
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_err err;
	bool may;

	for (int i = 0; i < 4; i++)
		assert_int_equal(hes_store_keep_set(s, &v[i], &err), 0);
	assert_int_equal(hes_store_keep_set(s, &v[4], &err), -EINVAL);
	hes_store_close(s);
	s = store_opened(HES_STORE_READ);
	assert_int_equal(sets_of(s, NULL, &first), 3);
	assert_true(isnan(first.energy));
	assert_float_equal(first.se, 0.02, 0);
	assert_int_equal(sets_of(s, "c", &first), 1);
	assert_string_equal(first.jobs, v[0].jobs);
	assert_int_equal(hes_store_forget_sets(s, "c", &err), 0);
	assert_int_equal(sets_of(s, "a", &first), 2);
	assert_float_equal(first.time, 0.95, 0);
	assert_int_equal(first.at_us, 10);
	assert_int_equal(hes_store_forget_sets(s, "bb", &err), -ENOENT);
	assert_int_equal(hes_store_forget_sets(s, "b", &err), 0);
	assert_int_equal(sets_of(s, NULL, &first), 0);
	assert_int_equal(hes_store_may_hold(s, "a", &may, &err), 0);
	assert_true(may);
	hes_store_close(s);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
