/* test_store.c - the store: what is added is found again, what fails changes nothing; other programs' files, damage, versions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/file.h"
#include "store/schema.h"
#include "store_bench.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static struct hes_profile profile(const char *workload, const char *type, uint32_t batch_size)
{
	struct hes_profile p = {
		.batch_size = batch_size, .memory_mib = 900, .clock_mhz = 1500, .iteration_us = 1000.0 / 3 * batch_size,
		.busy = 0.8, .sm_util = 0.5, .dram_util = 0.25, .l2_util = 0.125, .power_mw = 60000,
	};

	snprintf(p.workload, sizeof(p.workload), "%s", workload);
	snprintf(p.gpu_type, sizeof(p.gpu_type), "%s", type);
	return p;
}

static struct hes_sample sample(const char *type, uint32_t i)
{
	return (struct hes_sample){
		.task = profile("net", type, 4), .sm_pct = 50, .clock_mhz = 1000 + i,
		.beside = { .sm_util = 0.5, .dram_util = 0.25, .l2_util = 0.125, .power_mw = 40000, .residents = 1, .sm_pct = 50 },
		.iteration_us = 2000.0 + i, .power_mw = 80000,
	};
}

static struct hes_delivered add(struct hes_store *s, enum hes_source source, int64_t at_us, struct hes_profile *p,
				size_t n_p, struct hes_sample *v, size_t n_v)
{
	struct hes_profiles profiles = { p, n_p };
	struct hes_samples samples = { .v = v, .n = n_v };
	struct hes_delivery d = { .source = source, .at_us = at_us, .name = "here", .profiles = &profiles, .samples = &samples };
	struct hes_delivered done = { 0 };
	struct hes_err err = { 0 };

	if (hes_store_add(s, &d, &done, &err))
		fail_msg("%s", err.msg);
	return done;
}

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

static void rows_come_back_as_a_file_would_hold_them(void **state)
{
	struct hes_profile p[] = { profile("net", "T4", 8), profile("a,\"b\"", "T4", 4) };
	struct hes_sample v[] = { sample("T4", 2), sample("T4", 1) };
	const struct hes_store_query all = { 0 }, net = { "net", false };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_profiles profiles;
	struct hes_samples samples;
	struct hes_delivered done;

	(void)state;
	v[0].beside.sm_util = -0.0; /* 0 in every file */
	done = add(s, HES_SOURCE_MEASURED, 7, p, 2, v, 2);
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
	assert_int_equal(samples.v[1].beside.power_mw, 40000);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
	hes_store_close(s);
}

static void the_same_rows_are_added_once(void **state)
{
	struct hes_sample v[] = { sample("T4", 1), sample("T4", 2), sample("T4", 1) };
	struct hes_profile p = profile("net", "T4", 4);
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_delivered done = add(s, HES_SOURCE_IMPORTED, 1, &p, 1, v, 3);
	struct hes_store_origin *origins;
	size_t n;

	(void)state;
	assert_int_equal(done.samples_new, 2);
	assert_int_equal(done.samples_known, 1);
	v[0].iteration_us *= 1 + 1e-12; /* the same to nine digits */
	done = add(s, HES_SOURCE_MEASURED, 2, &p, 1, v, 3);
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

static void modelled_rows_are_kept_apart(void **state)
{
	struct hes_sample real = sample("T4", 1), drawn = sample("T4", 2);
	struct hes_profile p = profile("net", "T4", 4), q = p;
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	const struct hes_store_query all = { NULL, true };
	struct hes_samples one = { .v = &drawn, .n = 1 };
	struct hes_delivery d = { .source = HES_SOURCE_MEASURED, .at_us = 9, .name = "week.csv", .samples = &one };
	struct hes_delivered done = { .origin = 77 };
	struct hes_profiles profiles;
	struct hes_err err;

	(void)state;
	q.power_mw = 61000;
	add(s, HES_SOURCE_MEASURED, 5, &p, 1, &real, 1);
	add(s, HES_SOURCE_MODELLED, 6, &q, 1, &drawn, 1);
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

static void the_newest_profile_of_a_point_counts(void **state)
{
	struct hes_profile p = profile("net", "T4", 4), q = p, r = p;
	const struct hes_store_query all = { 0 };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_profiles profiles;

	(void)state;
	q.power_mw = 61000;
	r.power_mw = 62000;
	add(s, HES_SOURCE_MEASURED, 5, &p, 1, NULL, 0);
	add(s, HES_SOURCE_IMPORTED, 8, &q, 1, NULL, 0);
	add(s, HES_SOURCE_MEASURED, 6, &r, 1, NULL, 0);
	assert_int_equal(hes_store_profiles(s, &all, &profiles, NULL), 0);
	assert_int_equal(profiles.n, 1);
	assert_int_equal(profiles.v[0].power_mw, 61000);
	hes_profiles_free(&profiles);
	hes_store_close(s);
}

static void a_bad_row_leaves_out_the_whole_delivery(void **state)
{
	struct hes_sample v[] = { sample("T4", 1), sample("T4", 2) };
	struct hes_samples samples = { .v = v, .n = 2 };
	struct hes_delivery d = { .source = HES_SOURCE_MEASURED, .at_us = 1, .name = "x.csv", .samples = &samples };
	struct hes_delivered done;
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_err err;

	(void)state;
	v[1].sm_pct = 101;
	assert_int_equal(hes_store_add(s, &d, &done, &err), -ERANGE);
	assert_string_equal(err.msg, "x.csv: sample 2: sm_pct: 101 is not within 1 to 100");
	v[1] = sample("", 2);
	assert_int_equal(hes_store_add(s, &d, &done, &err), -EINVAL);
	assert_string_equal(err.msg, "x.csv: sample 2: gpu_type: empty; a name is needed");
	assert_int_equal(count(s, true), 0);
	hes_store_close(s);
}

static void what_is_forgotten_takes_its_rows_and_forecasts_along(void **state)
{
	struct hes_sample v[] = { sample("T4", 1), sample("T4", 2) };
	struct hes_samples samples = { .v = v, .n = 2 };
	struct hes_forecast said[] = { { 1900, 80000 }, { 1900, 80000 } };
	struct hes_store_predictor p = { 0xabcd, 10, 3, "p" };
	struct hes_delivery d = { .source = HES_SOURCE_MEASURED, .at_us = 1, .name = "x", .samples = &samples, .predictor = &p, .forecasts = said };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_store_forecaster *forecasters;
	struct hes_delivered done;
	struct hes_err err;
	size_t n;

	(void)state;
	assert_int_equal(hes_store_add(s, &d, &done, &err), 0);
	assert_int_equal(done.forecasts, 2);
	assert_int_equal(hes_store_forget(s, done.origin + 1, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "nothing came as number 2"));
	assert_int_equal(hes_store_forget(s, done.origin, &err), 0);
	assert_int_equal(count(s, true), 0);
	assert_int_equal(hes_store_forecasters(s, &forecasters, &n, NULL), 0);
	assert_int_equal(n, 0);
	free(forecasters);
	assert_int_equal(hes_store_add(s, &d, &done, &err), 0);
	assert_int_equal(done.samples_new, 2);
	assert_int_equal(done.origin, 2); /* a number is never given again */
	hes_store_close(s);
}

static void forecasts_are_kept_of_new_rows_alone(void **state)
{
	struct hes_sample v[] = { sample("T4", 1), sample("T4", 2), sample("T4", 3), sample("V100-SXM2-32", 4) };
	struct hes_samples held_back = { .v = v, .n = 1 }, fresh = { .v = v + 1, .n = 3 };
	struct hes_forecast at_validation = { 1800.9, 88000 };
	struct hes_forecast said[] = { { 1001, 80000 }, { 0, 0 }, { 2004, 100000 } };
	struct hes_store_predictor p = { 0xdeadbeef, 10, 3, "p" };
	struct hes_delivery d = { .source = HES_SOURCE_MODELLED, .at_us = 2, .name = "x", .samples = &fresh, .predictor = &p, .forecasts = said };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_store_forecaster *of;
	struct hes_store_miss *miss;
	struct hes_delivered done;
	struct hes_err err;
	size_t n;

	(void)state;
	add(s, HES_SOURCE_MEASURED, 1, NULL, 0, v, 1);
	assert_int_equal(hes_store_keep_validation(s, &p, &held_back, &at_validation, &err), 0);
	assert_int_equal(hes_store_keep_validation(s, &p, &held_back, &at_validation, &err), 0);
	assert_int_equal(hes_store_add(s, &d, &done, &err), 0);
	assert_int_equal(done.forecasts, 2);
	assert_int_equal(hes_store_add(s, &d, &done, &err), 0);
	assert_int_equal(done.forecasts, 0);

	assert_int_equal(hes_store_forecasters(s, &of, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(of[0].crc, 0xdeadbeef);
	assert_int_equal(of[0].held_back, 1);
	assert_int_equal(of[0].fresh, 2);
	free(of);

	assert_int_equal(hes_store_misses(s, 0xdeadbeef, true, &miss, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_false(miss[0].fresh);
	assert_true(miss[0].time > 0.0999 && miss[0].time < 0.1001);
	assert_true(miss[0].power > 0.0999 && miss[0].power < 0.1001);
	assert_true(miss[1].fresh); /* the latest first */
	assert_string_equal(miss[1].gpu_type, "V100-SXM2-32");
	assert_true(miss[1].time < 1e-9 && miss[1].power > 0.2499);
	assert_true(miss[2].time > 0.4999 && miss[2].time < 0.5001);
	free(miss);
	assert_int_equal(hes_store_misses(s, 0xdeadbeef, false, &miss, &n, &err), 0);
	assert_int_equal(n, 1); /* fresh rows here are modelled */
	free(miss);
	assert_int_equal(hes_store_misses(s, 1, true, &miss, &n, &err), -ENOENT);
	hes_store_close(s);
}

/* It was refused by the table's constraint, and the predictor's errors were not kept at all. */
static void a_held_back_sample_that_no_forecast_was_asked_of_is_passed_over(void **state)
{
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_sample v[] = { sample("T4", 1), sample("L4", 2) };
	const struct hes_samples held_back = { .v = v, .n = 2 };
	const struct hes_forecast said[] = { { 1900, 72000 }, { 0, 0 } };
	const struct hes_store_predictor p = { .crc = 7, .rows = 10, .at_us = 1, .name = "p" };
	struct hes_store_forecaster *of;
	struct hes_err err = { 0 };
	size_t n;

	(void)state;
	add(s, HES_SOURCE_MEASURED, 1, NULL, 0, v, 2);
	if (hes_store_keep_validation(s, &p, &held_back, said, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(hes_store_forecasters(s, &of, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(of[0].held_back, 1);
	free(of);
	hes_store_close(s);
}

static void holdings_count_points_samples_and_age(void **state)
{
	struct hes_profile p[] = { profile("net", "T4", 4), profile("net", "T4", 16), profile("net", "A100-SXM-80", 2) };
	struct hes_profile drawn[] = { profile("net", "T4", 4), profile("net", "T4", 64) };
	struct hes_sample v[] = { sample("T4", 1), sample("T4", 2) };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_store_holding *h;
	size_t n;

	(void)state;
	add(s, HES_SOURCE_MEASURED, 5, p, 3, v, 1);
	drawn[0].power_mw++;
	add(s, HES_SOURCE_MODELLED, 9, drawn, 2, v + 1, 1);
	assert_int_equal(hes_store_holdings(s, &h, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(h[0].gpu_type, "A100-SXM-80");
	assert_int_equal(h[0].points, 1);
	assert_int_equal(h[0].samples, 0);
	assert_int_equal(h[0].newest_us, 5);
	assert_int_equal(h[0].points_modelled, 0);
	assert_int_equal(h[1].points, 3);
	assert_int_equal(h[1].points_modelled, 1); /* 4 was measured too */
	assert_int_equal(h[1].batch_min, 4);
	assert_int_equal(h[1].batch_max, 64);
	assert_int_equal(h[1].samples, 2);
	assert_int_equal(h[1].samples_modelled, 1);
	assert_int_equal(h[1].newest_us, 9);
	free(h);
	hes_store_close(s);
}

/* Open must fail with @code, say @says, and leave the file byte for byte. */
static void refused(enum hes_store_mode mode, int code, const char *says)
{
	char *before = NULL, *after = NULL;
	struct hes_store *s = NULL;
	struct hes_err err = { 0 };
	size_t n_before = 0, n_after = 0;

	assert_int_equal(hes_file_slurp(store_path, 1 << 24, &before, &n_before, NULL), 0);
	assert_int_equal(hes_store_open(store_path, mode, 100, &s, &err), code);
	assert_null(s);
	if (!strstr(err.msg, says) || !strstr(err.msg, store_path))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, says);
	assert_int_equal(hes_file_slurp(store_path, 1 << 24, &after, &n_after, NULL), 0);
	assert_int_equal(n_before, n_after);
	assert_memory_equal(before, after, n_before);
	free(before);
	free(after);
}

static void write_file(const void *bytes, size_t n)
{
	FILE *f = fopen(store_path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* By SQLite itself, as another program would. */
static void by_hand(const char *sql)
{
	char *why = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(store_path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

static void files_that_are_no_store_are_left_alone(void **state)
{
	static const char text[] = "workload,gpu_type\nthis is a table of something else, and long enough for a header "
				   "of SQLite's, which takes a hundred bytes\n";
	struct hes_store *s = NULL;
	struct hes_err err;

	(void)state;
	assert_int_equal(hes_store_open(store_path, HES_STORE_READ, 100, &s, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no store there"));
	assert_int_equal(access(store_path, F_OK), -1);
	assert_int_equal(hes_store_open(store_folder, HES_STORE_WRITE, 100, &s, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "no plain file"));
	write_file(text, sizeof(text));
	refused(HES_STORE_WRITE, -EINVAL, "not a store: no SQLite database");
	refused(HES_STORE_READ, -EINVAL, "not a store: no SQLite database");
	write_file("", 0);
	refused(HES_STORE_READ, -EINVAL, "not a store: an empty file");
	by_hand("CREATE TABLE t (x); PRAGMA user_version = 1");
	refused(HES_STORE_WRITE, -EINVAL, "not a store of heshare's");
	by_hand("DROP TABLE t; PRAGMA user_version = 3");
	refused(HES_STORE_WRITE, -EINVAL, "not a store of heshare's");
}

static void a_newer_store_is_left_alone(void **state)
{
	(void)state;
	hes_store_close(store_opened(HES_STORE_WRITE));
	by_hand("PRAGMA user_version = 99");
	refused(HES_STORE_WRITE, -ENOTSUP, "written by a newer heshare (version 99 of the store; this one knows up to ");
	refused(HES_STORE_READ, -ENOTSUP, "newer");
}

/* A sample beside two, who are named so. */
static struct hes_sample beside_two(const char *neighbours)
{
	struct hes_sample v = sample("T4", 1);

	v.beside.residents = 2;
	strcpy(v.neighbours, neighbours);
	return v;
}

/* What the store's one sample names. */
static void assert_named(struct hes_store *s, const char *neighbours)
{
	struct hes_samples got;

	assert_int_equal(hes_store_samples(s, &(struct hes_store_query){ 0 }, &got, NULL), 0);
	assert_int_equal(got.n, 1);
	assert_string_equal(got.v[0].neighbours, neighbours);
	hes_samples_free(&got);
}

static void neighbours_in_another_order_are_the_same_sample(void **state)
{
	struct hes_sample v[] = { beside_two("net/4@30,a/8@20"), beside_two("a/8@20,net/4@30"), beside_two("net/04@30,a/8@20") };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_delivered done = add(s, HES_SOURCE_IMPORTED, 1, NULL, 0, v, N(v));

	(void)state;
	assert_int_equal(done.samples_new, 1);
	assert_int_equal(done.samples_known, 2);
	assert_named(s, "a/8@20,net/4@30");
	hes_store_close(s);
}

static void a_sample_that_names_its_neighbours_names_those_of_its_twin(void **state)
{
	struct hes_sample nameless = beside_two(""), named = beside_two("net/4@30,a/8@20");
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_samples one = { .v = &nameless, .n = 1 };
	struct hes_forecast said = { 1900, 80000 };
	struct hes_store_predictor p = { 0xabcd, 10, 3, "p" };
	struct hes_delivery d = { .source = HES_SOURCE_MEASURED, .at_us = 1, .name = "x", .samples = &one, .predictor = &p, .forecasts = &said };
	struct hes_store_origin *origins;
	struct hes_store_miss *miss;
	struct hes_delivered done;
	size_t n;

	(void)state;
	assert_int_equal(hes_store_add(s, &d, &done, NULL), 0);
	done = add(s, HES_SOURCE_IMPORTED, 2, NULL, 0, &named, 1);
	assert_int_equal(done.samples_new, 0);
	assert_int_equal(done.samples_known, 1);
	assert_int_equal(done.samples_named, 1);
	assert_int_equal(done.origin, 0);
	assert_named(s, "a/8@20,net/4@30");
	assert_int_equal(hes_store_misses(s, 0xabcd, true, &miss, &n, NULL), 0);
	assert_int_equal(n, 1); /* what was said of it stays */
	free(miss);
	assert_int_equal(hes_store_origins(s, &origins, &n, NULL), 0);
	assert_int_equal(n, 1);
	free(origins);
	/* The other way round nothing is left to do. */
	for (int i = 0; i < 2; i++) {
		done = add(s, HES_SOURCE_IMPORTED, 3, NULL, 0, i ? &named : &nameless, 1);
		assert_int_equal(done.samples_new + done.samples_named, 0);
		assert_int_equal(done.samples_known, 1);
	}
	assert_named(s, "a/8@20,net/4@30");
	hes_store_close(s);
}

static void a_modelled_sample_gives_no_names_to_a_measured_one(void **state)
{
	struct hes_sample nameless = beside_two(""), named = beside_two("net/4@30,a/8@20");
	struct hes_samples one = { .v = &named, .n = 1 };
	struct hes_delivery d = { .source = HES_SOURCE_MODELLED, .at_us = 9, .name = "drawn", .samples = &one };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_delivered done;
	struct hes_err err;

	(void)state;
	add(s, HES_SOURCE_MEASURED, 1, NULL, 0, &nameless, 1);
	assert_int_equal(hes_store_add(s, &d, &done, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "already, as measured or imported"));
	assert_named(s, "");
	hes_store_close(s);
}

/* Version 3 had no names of neighbours, and rows keep the keys that they had there. */
static void samples_of_an_older_store_are_still_known(void **state)
{
	struct hes_sample v[2] = { sample("T4", 1), sample("T4", 2) };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_delivered done;
	struct hes_samples got;

	(void)state;
	add(s, HES_SOURCE_MEASURED, 1, NULL, 0, v, 1);
	hes_store_close(s);
	by_hand("ALTER TABLE samples DROP COLUMN beside; PRAGMA user_version = 3");
	s = store_opened(HES_STORE_WRITE);
	strcpy(v[1].neighbours, "net/4@50");
	done = add(s, HES_SOURCE_MEASURED, 2, NULL, 0, v, 2);
	assert_int_equal(done.samples_known, 1);
	assert_int_equal(done.samples_new, 1);
	assert_int_equal(hes_store_samples(s, &(struct hes_store_query){ 0 }, &got, NULL), 0);
	assert_string_equal(got.v[0].neighbours, "");
	assert_string_equal(got.v[1].neighbours, "net/4@50");
	hes_samples_free(&got);
	hes_store_close(s);
}

/* A store of a few hundred rows, closed. */
static void fill(void)
{
	struct hes_sample v[300];
	struct hes_store *s = store_opened(HES_STORE_WRITE);

	for (uint32_t i = 0; i < N(v); i++)
		v[i] = sample("T4", i);
	add(s, HES_SOURCE_MEASURED, 1, NULL, 0, v, N(v));
	hes_store_close(s);
}

static void a_damaged_file_is_refused(void **state)
{
	struct stat st;
	char junk[4096];
	FILE *f;

	(void)state;
	fill();
	memset(junk, 0x5a, sizeof(junk));
	assert_int_equal(stat(store_path, &st), 0);
	f = fopen(store_path, "r+e");
	assert_non_null(f);
	fseek(f, st.st_size / 2 / 4096 * 4096, SEEK_SET);
	assert_int_equal(fwrite(junk, 1, sizeof(junk), f), sizeof(junk));
	fclose(f);
	refused(HES_STORE_WRITE, -EBADMSG, "damaged");
}

static void a_cut_file_is_refused(void **state)
{
	struct stat st;

	(void)state;
	fill();
	assert_int_equal(stat(store_path, &st), 0);
	assert_int_equal(truncate(store_path, st.st_size / 2 / 4096 * 4096), 0);
	refused(HES_STORE_WRITE, -EBADMSG, "damaged");
}

/* SQLite has no checksums: a flipped bit in a value is found by the row's key. */
static void a_value_that_changed_is_found(void **state)
{
	static const struct {
		const char *sql, *says;
	} damage[] = {
		{ "UPDATE samples SET power_mw = power_mw + 1 WHERE id = 7", "(net on T4) is not what was added" },
		{ "UPDATE samples SET power_mw = power_mw - 1, workload = 'nest' WHERE id = 7", "(nest on T4)" },
		{ "UPDATE samples SET workload = 'net', sm_pct = 500 WHERE id = 7", "500 is not within 1 to 100" },
		{ "UPDATE samples SET sm_pct = -9223372036854775807 WHERE id = 7", "is not within 1 to 100" },
		{ "UPDATE samples SET sm_pct = 50, key = zeroblob(16) WHERE id = 7", "is not what was added" },
	};
	const struct hes_store_query all = { 0 };
	struct hes_samples got = { .n = 77 };
	struct hes_err err;

	(void)state;
	fill();
	for (size_t i = 0; i < N(damage); i++) {
		struct hes_store *s;

		by_hand(damage[i].sql);
		s = store_opened(HES_STORE_READ);
		assert_int_equal(hes_store_samples(s, &all, &got, &err), -EBADMSG);
		assert_non_null(strstr(err.msg, "damaged"));
		if (!strstr(err.msg, damage[i].says))
			fail_msg("\"%s\" does not say \"%s\"", err.msg, damage[i].says);
		assert_int_equal(got.n, 77);
		hes_store_close(s);
	}
}

/* Versions to come, made up: two steps, then one that cannot be taken. */
static const struct hes_schema_step future[] = {
	{ "a table", "CREATE TABLE a (x INTEGER NOT NULL) STRICT; INSERT INTO a VALUES (1), (2)" },
	{ "a column", "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 0; UPDATE a SET y = 10 * x" },
	{ "what fails half way", "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO a (x) VALUES (NULL)" },
};

static int64_t number(struct hes_store *s, const char *sql)
{
	int64_t x = -1;

	assert_int_equal(hes_db_number(s, sql, &x, NULL), 0);
	return x;
}

static void an_older_store_is_brought_up_with_its_rows(void **state)
{
	struct hes_store s = { .path = store_path, .wait_ms = 100 };
	struct hes_err err;
	size_t version = 77;

	(void)state;
	assert_int_equal(sqlite3_open(store_path, &s.db), SQLITE_OK);
	assert_int_equal(hes_schema_bring_up(&s, future, 1, &err), 0);
	by_hand("INSERT INTO a VALUES (5)");
	assert_int_equal(hes_schema_bring_up(&s, future, 2, &err), 0);
	assert_int_equal(number(&s, "SELECT sum(y) FROM a"), 80);
	assert_int_equal(hes_schema_version(&s, 2, &version, &err), 0);
	assert_int_equal(version, 2);
	assert_int_equal(hes_schema_bring_up(&s, future, 2, &err), 0); /* once only */
	assert_int_equal(number(&s, "SELECT count(*) FROM a"), 3);
	assert_int_equal(hes_schema_bring_up(&s, future, 1, &err), -ENOTSUP);
	sqlite3_close(s.db);
}

static void a_step_that_fails_leaves_the_version_before_it(void **state)
{
	struct hes_store s = { .path = store_path, .wait_ms = 100 };
	struct hes_err err;
	size_t version;

	(void)state;
	assert_int_equal(sqlite3_open(store_path, &s.db), SQLITE_OK);
	assert_int_equal(hes_schema_bring_up(&s, future, 1, &err), 0);
	assert_true(hes_schema_bring_up(&s, future, 3, &err) < 0);
	assert_non_null(strstr(err.msg, "to version 3 (what fails half way): "));
	assert_int_equal(hes_schema_version(&s, 3, &version, &err), 0);
	assert_int_equal(version, 1); /* the second step, which would do, is not taken alone */
	assert_int_equal(number(&s, "SELECT count(*) FROM pragma_table_info('a')"), 1);
	assert_int_equal(number(&s, "SELECT count(*) FROM sqlite_schema WHERE name = 'b'"), 0);
	sqlite3_close(s.db);
}

static void the_store_keeps_what_it_promises_to_sqlite(void **state)
{
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_err err;

	(void)state;
	assert_int_equal(number(s, "PRAGMA foreign_keys"), 1);
	assert_int_equal(number(s, "PRAGMA synchronous"), 2); /* FULL */
	assert_int_equal(number(s, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
	assert_int_equal(number(s, "PRAGMA application_id"), HES_SCHEMA_APPLICATION);
	assert_int_equal(number(s, "PRAGMA user_version"), (int64_t)hes_schema_n_steps);
	assert_true(hes_db_exec(s, "INSERT INTO forecasts VALUES (1, 1, 1, 1, 1)", &err) < 0);
	hes_store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(rows_come_back_as_a_file_would_hold_them),
		STORE_TEST(the_same_rows_are_added_once),
		STORE_TEST(modelled_rows_are_kept_apart),
		STORE_TEST(the_newest_profile_of_a_point_counts),
		STORE_TEST(a_bad_row_leaves_out_the_whole_delivery),
		STORE_TEST(what_is_forgotten_takes_its_rows_and_forecasts_along),
		STORE_TEST(forecasts_are_kept_of_new_rows_alone),
		STORE_TEST(a_held_back_sample_that_no_forecast_was_asked_of_is_passed_over),
		STORE_TEST(holdings_count_points_samples_and_age),
		STORE_TEST(files_that_are_no_store_are_left_alone),
		STORE_TEST(a_newer_store_is_left_alone),
		STORE_TEST(a_damaged_file_is_refused),
		STORE_TEST(a_cut_file_is_refused),
		STORE_TEST(a_value_that_changed_is_found),
		STORE_TEST(an_older_store_is_brought_up_with_its_rows),
		STORE_TEST(samples_of_an_older_store_are_still_known),
		STORE_TEST(neighbours_in_another_order_are_the_same_sample),
		STORE_TEST(a_sample_that_names_its_neighbours_names_those_of_its_twin),
		STORE_TEST(a_modelled_sample_gives_no_names_to_a_measured_one),
		STORE_TEST(a_step_that_fails_leaves_the_version_before_it),
		STORE_TEST(the_store_keeps_what_it_promises_to_sqlite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
