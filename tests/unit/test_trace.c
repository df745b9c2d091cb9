/* test_trace.c - logs and the generator as rows, and jobs made of rows. */
#include <math.h>

#include "heshare/trace.h"
#include "unit_test.h"

static char path[] = "/tmp/hes-trace-XXXXXX";

static const struct hes_choice choices[] = {
	{ "light", 1, 500, 1000, HES_MIX_LOW },
	{ "light", 8, 600, 3300.5, HES_MIX_LOW },
	{ "light", 64, 900, 21000, HES_MIX_LOW },
	{ "middle", 8, 2000, 47113.25, HES_MIX_MEDIUM },
	{ "heavy", 4, 9000, 310000, HES_MIX_HIGH },
	{ "transformer", 16, 3000, 90000, HES_MIX_HIGH },
	{ "transformer", 32, 3500, 170000, HES_MIX_HIGH },
};

#define N_CHOICES (sizeof(choices) / sizeof(choices[0]))

static const struct hes_choice *choice_of(const struct hes_job *job)
{
	for (size_t i = 0; i < N_CHOICES; i++)
		if (strcmp(choices[i].workload, job->workload) == 0 &&
		    choices[i].batch_size == job->batch_size)
			return &choices[i];
	fail_msg("%s is a %s of batch size %u, which was not offered", job->id, job->workload,
		 job->batch_size);
	return NULL;
}

/* Run time alone on the reference GPU. */
static double runtime_s(const struct hes_job *job)
{
	return (double)job->iterations * choice_of(job)->iteration_us / 1e6;
}

static void write_text(const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct hes_trace *open_text(const char *text)
{
	struct hes_trace *t;
	struct hes_err err;

	write_text(text);
	if (hes_trace_open(path, NULL, &t, &err))
		fail_msg("%s", err.msg);
	return t;
}

static struct hes_trace *generate(uint64_t seed, uint64_t n)
{
	struct hes_trace *t;
	struct hes_err err;

	if (hes_trace_generate(NULL, seed, n, &t, &err))
		fail_msg("%s", err.msg);
	return t;
}

static struct hes_jobs draw(struct hes_trace *t, const struct hes_trace_options *o)
{
	struct hes_jobs jobs;
	struct hes_err err;

	if (hes_trace_jobs(t, choices, N_CHOICES, o, &jobs, NULL, &err))
		fail_msg("%s", err.msg);
	hes_trace_close(t);
	return jobs;
}

static struct hes_trace_options options(size_t n)
{
	struct hes_trace_options o;

	hes_trace_options_defaults(&o);
	o.n_jobs = n;
	return o;
}

static void assert_row(struct hes_trace *t, double arrival_s, double runtime, uint32_t gpu_milli)
{
	struct hes_trace_row row;
	struct hes_err err;
	int rc = hes_trace_next(t, &row, &err);

	if (rc != 1)
		fail_msg("no row: %s", rc ? err.msg : "end");
	assert_int_equal(row.arrival_us, llround(arrival_s * 1e6));
	assert_int_equal(row.runtime_us, llround(runtime * 1e6));
	assert_int_equal(row.gpu_milli, gpu_milli);
}

static uint64_t skipped_rows(const uint64_t *by)
{
	uint64_t n = 0;

	for (size_t i = 0; i < HES_TRACE_SKIPS; i++)
		n += by[i];
	return n;
}

static void assert_end(struct hes_trace *t, uint64_t skipped)
{
	struct hes_trace_row row;
	struct hes_err err;

	assert_int_equal(hes_trace_next(t, &row, &err), 0);
	assert_int_equal(skipped_rows(hes_trace_skipped(t)), skipped);
	hes_trace_close(t);
}

/* --- formats --- */

TEST(each_format_is_known_by_its_columns_in_any_order)
{
	struct hes_trace *t;

	t = open_text("gpus,job_id,arrival_s,service_s,more\n8,a,10,20.5,x\n0,b,11,5,\n1,c,12,0,"
		      "\n1,d,13,1,\n");
	assert_string_equal(hes_trace_format_name(t), "helios");
	assert_row(t, 10, 20.5, 8000);
	assert_row(t, 13, 1, 1000);
	assert_end(t, 2);

	t = open_text("timestamp,duration,num_gpus,gpu_time,cluster\n1970-01-02 "
		      "00:00:01,66.0,2,132.0,x\n");
	assert_string_equal(hes_trace_format_name(t), "philly");
	assert_row(t, 86401, 66, 2000);
	assert_end(t, 0);

	t = open_text(
		"name,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
		"pending,1,1000,5,9,\ncpu,0,0,5,9,6\npart,1,460,5,109,9\nwhole,2,1000,5,9,6\n");
	assert_string_equal(hes_trace_format_name(t), "alibaba");
	assert_row(t, 5, 100, 460);
	assert_row(t, 5, 3, 2000);
	assert_end(t, 2);
}

TEST(miso_logs_have_model_and_batch_size)
{
	struct hes_trace_row row;
	struct hes_err err;
	struct hes_trace *t = open_text(
		"job,model_trainBATCH,runtime_s\n0,resnet_train64,120\n1,gnn_train128,130\n");

	assert_string_equal(hes_trace_format_name(t), "miso");
	assert_int_equal(hes_trace_next(t, &row, &err), 1);
	assert_string_equal(row.workload, "resnet50");
	assert_int_equal(row.batch_size, 64);
	assert_int_equal(hes_trace_next(t, &row, &err), 1);
	assert_string_equal(row.workload, "gnn"); /* Table IV has no graph net */
	assert_end(t, 0);
}

TEST(the_error_for_an_unknown_header_lists_columns_and_formats)
{
	struct hes_trace *t = NULL;
	struct hes_err err;

	write_text("colour,taste\nred,sour\n");
	assert_int_equal(hes_trace_open(path, NULL, &t, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "has the columns colour, taste; say what they are"));
	assert_int_equal(hes_trace_open(path, hes_trace_format_find("philly", &err), &t, &err),
			 -ENOENT);
	assert_non_null(strstr(err.msg, "format philly: "));
	assert_null(t);
	assert_null(hes_trace_format_find("slurm", &err));
	assert_non_null(strstr(err.msg, "known: helios, philly, alibaba, miso"));
}

TEST(a_wrong_value_is_named_with_its_line_and_column)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "job_id,arrival_s,service_s,gpus\na,1,1,1\nb,-2,1,1\n",
		  ":3: arrival_s: -2 is outside" },
		{ "job_id,arrival_s,service_s,gpus\na,1,in,1\n", ":2: service_s: \"in\"" },
		{ "job_id,arrival_s,service_s,gpus\na,1,1,99999999999\n",
		  ":2: gpus: 99999999999 is outside" },
		{ "timestamp,duration,num_gpus\n2017-13-40 00:00:00,1,1\n",
		  ":2: timestamp: \"2017-13-40 00:00:00\"" },
		{ "timestamp,duration,num_gpus\n2017-10-09 00:00:00x,1,1\n", ":2: timestamp:" },
		{ "name,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\na,1,-2,0,1,"
		  "0\n",
		  ":2: gpu_milli: -2 is outside" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hes_trace_row row;
		struct hes_err err = { 0 };
		struct hes_trace *t = open_text(bad[i].text);
		int rc;

		while ((rc = hes_trace_next(t, &row, &err)) == 1)
			;
		if (rc >= 0 || !strstr(err.msg, bad[i].says))
			fail_msg("%sgave %d: %s", bad[i].text, rc, err.msg);
		hes_trace_close(t);
	}
}

/* --- generator --- */

TEST(the_same_seed_gives_the_same_rows_for_any_number_of_jobs)
{
	struct hes_trace *a = generate(7, 1000), *b = generate(7, 50), *c = generate(8, 50);
	struct hes_trace_row x, y, z;
	struct hes_err err;
	int differ = 0;

	for (int i = 0; i < 50; i++) {
		assert_int_equal(hes_trace_next(a, &x, &err), 1);
		assert_int_equal(hes_trace_next(b, &y, &err), 1);
		assert_int_equal(hes_trace_next(c, &z, &err), 1);
		assert_memory_equal(&x, &y, sizeof(x));
		differ += x.runtime_us != z.runtime_us;
	}
	assert_int_equal(hes_trace_next(b, &y, &err), 0);
	assert_true(differ > 40);
	hes_trace_close(a);
	hes_trace_close(b);
	hes_trace_close(c);
}

TEST(generated_rows_have_the_profiles_rate_sizes_and_day)
{
	struct hes_trace_summary s;
	struct hes_err err;
	struct hes_trace *t = generate(1, 100000);
	double per_hour;

	assert_int_equal(hes_trace_summarise(t, &s, &err), 0);
	hes_trace_close(t);
	per_hour = (double)s.jobs / ((double)s.span_us / 3.6e9);
	assert_true(per_hour > 24.926 * 0.95 &&
		    per_hour < 24.926 * 1.05); /* jobs_per_hour of the profile */
	assert_true(fabs((double)s.by_gpus[1] / 1e5 - 0.48188) <
		    0.006);                            /* share of one GPU, 4 sigma */
	assert_true(s.by_hour[13] > 6 * s.by_hour[2]); /* 1.748 against 0.171 */
	assert_true(s.runtime_us[0] >= 1000000);
	assert_int_equal(s.runtime_us[HES_TRACE_QUANTILES - 1], 172800000000);
}

#define FLAT7  "[1, 1, 1, 1, 1, 1, 1]"
#define FLAT24 "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"
#define PROFILE(rate, p, gaps, share, runs)                                              \
	"name: x\njobs_per_hour: " rate "\nhour_of_day: " FLAT24 "\nday_of_week: " FLAT7 \
	"\nprobabilities: " p "\ngaps: " gaps "\nsizes:\n  - { gpus: 2, share: " share   \
	", runtimes_s: " runs " }\n"

TEST(a_profile_of_ones_own_is_followed_to_the_second)
{
	struct hes_trace *t;
	struct hes_err err;

	write_text(PROFILE("60", "[0, 1]", "[1, 1]", "1", "[77, 77]"));
	assert_int_equal(hes_trace_generate(path, 3, 200, &t, &err), 0);
	for (int i = 1; i <= 200; i++)
		assert_row(t, i * 60, 77, 2000);
	assert_end(t, 0);
}

TEST(a_wrong_profile_is_refused_with_the_field)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ PROFILE("0", "[0, 1]", "[1, 1]", "1", "[7, 7]"), "jobs_per_hour: 0 is outside" },
		{ PROFILE("nan", "[0, 1]", "[1, 1]", "1", "[7, 7]"), "jobs_per_hour" },
		{ PROFILE("1", "[0, 0.5]", "[1, 1]", "1", "[7, 7]"),
		  "probabilities must go from 0 to 1" },
		{ PROFILE("1", "[0, 0.5, 0.2, 1]", "[1, 1, 1, 1]", "1", "[7, 7, 7, 7]"),
		  "probabilities: 0.2 after 0.5" },
		{ PROFILE("1", "[0, 1]", "[1, 1, 2]", "1", "[7, 7]"),
		  "gaps has 3 values where probabilities has 2" },
		{ PROFILE("1", "[0, 1]", "[2, 1]", "1", "[7, 7]"),
		  "gaps: 1 after 2; quantiles must not fall" },
		{ PROFILE("1", "[0, 1]", "[1, 1]", "0.5", "[7, 7]"), "sum of sizes.share: 0.5" },
		{ PROFILE("1", "[0, 1]", "[1, 1]", "1", "[0, 7]"),
		  "sizes.runtimes_s: 0 is outside" },
		{ "name: x\n", "is missing" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hes_trace *t = NULL;
		struct hes_err err = { 0 };
		int rc;

		write_text(bad[i].text);
		rc = hes_trace_generate(path, 1, 1, &t, &err);
		if (rc >= 0 || t || !strstr(err.msg, bad[i].says))
			fail_msg("%sgave %d: %s", bad[i].text, rc, err.msg);
	}
}

/* --- jobs --- */

TEST(iterations_fill_the_clamped_run_time)
{
	struct hes_trace_options o = options(0);
	struct hes_jobs jobs;
	const double clamped[] = { 120, 120, 500, 6082, 6082 };

	o.arrivals = HES_ARRIVALS_BURST;
	jobs = draw(open_text("job_id,arrival_s,service_s,gpus\na,0,1,1\nb,0,120,1\nc,0,500,1\nd,0,"
			      "6083,1\ne,0,99999,1\n"
			      "f,0,500,2\n"),
		    &o);
	assert_int_equal(jobs.n, 5); /* the last requests two GPUs */
	for (size_t i = 0; i < jobs.n; i++) {
		assert_true(fabs(runtime_s(&jobs.v[i]) - clamped[i]) <=
			    choice_of(&jobs.v[i])->iteration_us / 2e6 + 1e-9);
		assert_int_equal(jobs.v[i].memory_mib, choice_of(&jobs.v[i])->memory_mib);
		assert_int_equal(jobs.v[i].arrival_us, 0);
	}
	hes_jobs_free(&jobs);
}

TEST(jobs_outside_the_limits_can_be_left_out_and_larger_ones_included)
{
	struct hes_trace_options o = options(0);
	struct hes_jobs jobs;

	o.drop_outside = true;
	o.any_gpus = true;
	jobs = draw(open_text("job_id,arrival_s,service_s,gpus\na,0,119,1\nb,0,120,1\nc,0,6082,"
			      "4\nd,0,6083,1\n"),
		    &o);
	assert_int_equal(jobs.n, 2);
	hes_jobs_free(&jobs);
}

/*
 * 30,000 jobs: the mean gap of the first third is 30 s, of the rest 60 s. The standard
 * error of the mean of n exponential gaps is mean / sqrt(n); four of them are allowed.
 */
TEST(poisson_arrivals_come_twice_as_fast_in_the_first_third)
{
	struct hes_trace_options o = options(30000);
	struct hes_jobs jobs = draw(generate(5, 100000), &o);
	double first = (double)jobs.v[9999].arrival_us / 1e6 / 9999;
	double rest = (double)(jobs.v[29999].arrival_us - jobs.v[9999].arrival_us) / 1e6 / 20000;
	size_t long_gaps = 0;

	assert_int_equal(jobs.v[0].arrival_us, 0);
	assert_true(fabs(first - 30) < 4 * 30 / sqrt(9999));
	assert_true(fabs(rest - 60) < 4 * 60 / sqrt(20000));
	for (size_t i = 10000; i < 30000; i++) {
		assert_true(jobs.v[i].arrival_us >= jobs.v[i - 1].arrival_us);
		long_gaps += jobs.v[i].arrival_us - jobs.v[i - 1].arrival_us > 60000000;
	}
	/* exponential: exp(-1) of the gaps exceed the mean */
	assert_true(fabs((double)long_gaps / 20000 - exp(-1)) <
		    4 * sqrt(exp(-1) * (1 - exp(-1)) / 20000));
	hes_jobs_free(&jobs);
}

TEST(run_times_without_limits_are_those_of_the_log)
{
	struct hes_trace_options o = options(0);
	const double real[] = { 1, 60, 99999 };
	struct hes_jobs jobs;

	o.arrivals = HES_ARRIVALS_BURST;
	o.min_runtime_us = 0;
	o.max_runtime_us = INT64_MAX;
	jobs = draw(open_text("job_id,arrival_s,service_s,gpus\na,0,1,1\nb,0,60,1\nc,0,99999,1\n"),
		    &o);
	assert_int_equal(jobs.n, 3);
	for (size_t i = 0; i < jobs.n; i++)
		assert_true(fabs(runtime_s(&jobs.v[i]) - real[i]) <=
			    choice_of(&jobs.v[i])->iteration_us / 2e6 + 1e-9);
	hes_jobs_free(&jobs);
}

TEST(the_account_says_what_became_of_each_row)
{
	static const char text[] =
		"name,submit,run,n,net,bs\na,50,60,1,light,8\nb,100,500,1,light,7\nc,110,500,1,"
		"light,\n"
		"d,120,9000,1,other,8\ne,130,500,1,,8\nf,140,500,2,light,8\ng,150,,1,light,8\n"
		"h,160,500,0,light,8\n";
	struct hes_trace_options o = options(0);
	struct hes_trace_account a;
	struct hes_trace *t;
	struct hes_jobs jobs;
	struct hes_err err;

	o.arrivals = HES_ARRIVALS_TRACE;
	for (int drop = 0; drop < 2; drop++) {
		write_text(text);
		assert_int_equal(hes_trace_open_columns(path,
							"id=name,arrival=submit,runtime=run,gpus=n,"
							"workload=net,batch_size=bs",
							&t, &err),
				 0);
		o.drop_outside = drop;
		o.n_jobs = drop ? 1 : 0; /* of three, in order: the seed's window */
		assert_int_equal(hes_trace_jobs(t, choices, N_CHOICES, &o, &jobs, &a, &err), 0);
		hes_trace_close(t);
		assert_int_equal(a.rows, 8);
		assert_int_equal(a.skipped[HES_SKIP_NO_GPU], 1);
		assert_int_equal(a.skipped[HES_SKIP_RUNTIME], 1);
		assert_int_equal(skipped_rows(a.skipped), 2);
		assert_int_equal(a.several_gpus, 1);
		assert_int_equal(a.shorter, 1);
		assert_int_equal(a.longer, 1);
		assert_int_equal(a.kept, drop ? 3 : 5);
		assert_int_equal(a.jobs, jobs.n);
		assert_int_equal(a.raised, drop ? 0 : 1);
		assert_int_equal(a.lowered, drop ? 0 : 1);
		if (drop) {
			assert_int_equal(a.origin_us, (jobs.v[0].id[0] == 'b'   ? 0
						       : jobs.v[0].id[0] == 'c' ? 10
										: 30) *
							      INT64_C(1000000));
		} else {
			assert_int_equal(a.named, 1);
			assert_int_equal(a.nearest, 1);
			assert_int_equal(a.named_alone, 1);
			assert_int_equal(a.unknown, 1);
			assert_string_equal(a.unknown_workload, "other");
			assert_int_equal(a.origin_us, 0);
			assert_string_equal(jobs.v[4].id, "e");
		}
		hes_jobs_free(&jobs);
	}
}

TEST(what_cannot_be_a_job_is_refused)
{
	struct hes_trace_options o = options(0);
	struct hes_trace *t = open_text("job,model_trainBATCH,runtime_s\n0,resnet_train64,120\n");
	struct hes_jobs jobs;
	struct hes_err err;

	o.arrivals = HES_ARRIVALS_TRACE;
	assert_int_equal(hes_trace_jobs(t, choices, N_CHOICES, &o, &jobs, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "does not say when jobs arrived"));
	hes_trace_close(t);
	o = options(0);
	o.max_runtime_us = INT64_MAX;
	t = open_text("job_id,arrival_s,service_s,gpus\na,0,999999999,1\n");
	assert_int_equal(hes_trace_jobs(t, &(struct hes_choice){ "quick", 1, 1, 1, HES_MIX_LOW }, 1,
					&o, &jobs, NULL, &err),
			 -ERANGE);
	assert_non_null(strstr(err.msg, "a job has at most 1e+12"));
	hes_trace_close(t);
}

TEST(the_logs_own_arrivals_are_kept_in_order_and_scaled)
{
	struct hes_trace_options o = options(0);
	struct hes_jobs jobs;

	o.arrivals = HES_ARRIVALS_TRACE;
	o.speedup = 2;
	jobs = draw(
		open_text(
			"job_id,arrival_s,service_s,gpus\na,110,300,1\nb,100,200,1\nc,150,400,1\n"),
		&o);
	assert_int_equal(jobs.v[0].arrival_us, 0);
	assert_int_equal(jobs.v[1].arrival_us, 5000000);
	assert_int_equal(jobs.v[2].arrival_us, 25000000);
	for (size_t i = 0; i < 3; i++)
		assert_true(fabs(runtime_s(&jobs.v[i]) - 200 - 100 * (double)i) < 0.2);
	hes_jobs_free(&jobs);
}

/* Jobs of a window are consecutive in the log: here a job's run time is its position. */
TEST(a_window_of_the_log_is_consecutive)
{
	struct hes_trace_options o = options(10);
	size_t starts[2] = { 0 };
	char text[8192] = "job_id,arrival_s,service_s,gpus\n";
	size_t at = strlen(text);

	for (int i = 0; i < 300; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%d,%d,%d,1\n", i, i * 3,
				       200 + i * 2);
	o.arrivals = HES_ARRIVALS_TRACE;
	for (int k = 0; k < 2; k++) {
		struct hes_jobs jobs;

		o.seed = (uint64_t)k;
		jobs = draw(open_text(text), &o);
		for (size_t i = 1; i < jobs.n; i++) {
			assert_int_equal(jobs.v[i].arrival_us, 3000000 * (int64_t)i);
			assert_true(fabs(runtime_s(&jobs.v[i]) - runtime_s(&jobs.v[0]) -
					 2 * (double)i) < 0.5);
		}
		starts[k] = (size_t)lround(runtime_s(&jobs.v[0]));
		hes_jobs_free(&jobs);
	}
	assert_true(starts[0] != starts[1]);
}

TEST(a_random_draw_takes_no_job_twice_and_all_with_equal_probability)
{
	size_t times[100] = { 0 };
	char text[4096] = "job_id,arrival_s,service_s,gpus\n";
	size_t at = strlen(text);

	for (int i = 0; i < 100; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%d,0,%d,1\n", i,
				       1000 + i * 10);
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct hes_trace_options o = options(20);
		bool seen[100] = { false };
		struct hes_jobs jobs;

		o.seed = seed;
		jobs = draw(open_text(text), &o);
		for (size_t i = 0; i < jobs.n; i++) {
			long place = lround((runtime_s(&jobs.v[i]) - 1000) / 10);

			assert_in_range(place, 0, 99);
			assert_false(seen[place]);
			seen[place] = true;
			times[place]++;
		}
		hes_jobs_free(&jobs);
	}
	for (int i = 0; i < 100; i++) /* binomial(300, 0.2): mean 60, deviation 6.9 */
		assert_in_range(times[i], 60 - 32, 60 + 32);
}

/* Draws of two traces with the same seed would not be independent otherwise. */
TEST(one_seed_draws_other_workloads_and_arrivals_from_another_trace)
{
	const struct hes_trace_options o = options(100);
	struct hes_jobs jobs[3];
	size_t same = 0, gaps = 0;

	for (int k = 0; k < 3; k++) {
		char text[8192] = "job_id,arrival_s,service_s,gpus\n";
		size_t at = strlen(text);

		for (int i = 0; i < 100; i++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%d,%d,%d,1\n", i, i,
					       200 + (k == 1 && i == 99));
		jobs[k] = draw(open_text(text), &o);
	}
	for (size_t i = 0; i < 100; i++) {
		assert_string_equal(jobs[2].v[i].workload, jobs[0].v[i].workload);
		assert_int_equal(jobs[2].v[i].arrival_us, jobs[0].v[i].arrival_us);
		same += strcmp(jobs[1].v[i].workload, jobs[0].v[i].workload) == 0;
		gaps += i && jobs[1].v[i].arrival_us == jobs[0].v[i].arrival_us;
	}
	assert_true(same < 60); /* of 4 workloads; expected 25 */
	assert_int_equal(gaps, 0);
	for (int k = 0; k < 3; k++)
		hes_jobs_free(&jobs[k]);
}

TEST(each_workload_is_as_likely_as_any_other_and_a_mix_holds)
{
	static const struct {
		unsigned mix;
		size_t workloads;
	} mixes[] = {
		{ HES_MIX_LOW, 1 }, { HES_MIX_MEDIUM, 1 }, { HES_MIX_HIGH, 2 }, { HES_MIX_ALL, 4 }
	};

	for (size_t k = 0; k < 4; k++) {
		struct hes_trace_options o = options(4000);
		struct hes_jobs jobs;
		size_t light = 0, transformer = 0;

		o.mix = mixes[k].mix;
		jobs = draw(generate(5, 20000), &o);
		for (size_t i = 0; i < jobs.n; i++) {
			assert_true(choice_of(&jobs.v[i])->mix & o.mix);
			light += strcmp(jobs.v[i].workload, "light") == 0;
			transformer += strcmp(jobs.v[i].workload, "transformer") == 0;
		}
		if (o.mix & HES_MIX_LOW)
			assert_in_range(light, 4000 / mixes[k].workloads - 150,
					4000 / mixes[k].workloads + 150);
		if (o.mix & HES_MIX_HIGH)
			assert_in_range(transformer, 4000 / mixes[k].workloads - 150,
					4000 / mixes[k].workloads + 150);
		hes_jobs_free(&jobs);
	}
}

TEST(another_mix_leaves_run_times_and_arrivals_alone)
{
	struct hes_trace_options all = options(200), high = options(200), burst = options(200);
	struct hes_jobs a, b, c;

	high.mix = HES_MIX_HIGH;
	burst.arrivals = HES_ARRIVALS_BURST;
	a = draw(generate(5, 5000), &all);
	b = draw(generate(5, 5000), &high);
	c = draw(generate(5, 5000), &burst);
	for (size_t i = 0; i < 200; i++) {
		assert_int_equal(a.v[i].arrival_us, b.v[i].arrival_us);
		assert_true(fabs(runtime_s(&a.v[i]) - runtime_s(&b.v[i])) < 0.4);
		assert_int_equal(a.v[i].iterations, c.v[i].iterations);
	}
	hes_jobs_free(&a);
	hes_jobs_free(&b);
	hes_jobs_free(&c);
}

TEST(a_model_the_log_names_is_used_with_the_nearest_batch_size)
{
	struct hes_trace_options o = options(0);
	struct hes_jobs jobs;

	jobs = draw(open_text("job,model_trainBATCH,runtime_s\n0,transformer_train512,500\n"
			      "1,transformer_train4,500\n2,transformer_train30,500\n"),
		    &o);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(jobs.v[i].workload, "transformer");
	assert_int_equal(jobs.v[0].batch_size, 32);
	assert_int_equal(jobs.v[1].batch_size, 16);
	assert_int_equal(jobs.v[2].batch_size, 32);
	hes_jobs_free(&jobs);
}

TEST(the_order_of_the_choices_does_not_matter)
{
	struct hes_trace_options o = options(100);
	struct hes_choice backwards[N_CHOICES];
	struct hes_jobs a = draw(generate(9, 1000), &o), b;
	struct hes_trace *t = generate(9, 1000);
	struct hes_err err;

	for (size_t i = 0; i < N_CHOICES; i++)
		backwards[i] = choices[N_CHOICES - 1 - i];
	assert_int_equal(hes_trace_jobs(t, backwards, N_CHOICES, &o, &b, NULL, &err), 0);
	hes_trace_close(t);
	assert_memory_equal(a.v, b.v, 100 * sizeof(*a.v));
	hes_jobs_free(&a);
	hes_jobs_free(&b);
}

TEST(impossible_draws_are_refused)
{
	static const struct hes_choice twice[] = { { "a", 1, 1, 5, 1 }, { "a", 1, 1, 6, 1 } };
	static const struct hes_choice never[] = { { "a", 1, 1, NAN, 1 } };
	const char *log = "job_id,arrival_s,service_s,gpus\na,0,1,1\nb,0,500,8\n";
	struct hes_trace_options o = options(2);
	struct hes_jobs out = { .v = NULL, .n = 77 };
	struct hes_err err;
	struct hes_trace *t = open_text(log);

	assert_int_equal(hes_trace_jobs(t, choices, N_CHOICES, &o, &out, NULL, &err), -ERANGE);
	assert_non_null(strstr(err.msg, "2 jobs requested, but the trace has 1 single-GPU jobs"));
	hes_trace_close(t);
	t = open_text(log);
	o.drop_outside = true;
	assert_int_equal(hes_trace_jobs(t, choices, N_CHOICES, &o, &out, NULL, &err), -ERANGE);
	assert_non_null(strstr(err.msg, "no single-GPU job within the run-time limits"));
	assert_int_equal(hes_trace_jobs(t, twice, 2, &o, &out, NULL, &err), -EEXIST);
	assert_int_equal(hes_trace_jobs(t, never, 1, &o, &out, NULL, &err), -EINVAL);
	o.mix = HES_MIX_HIGH;
	assert_int_equal(hes_trace_jobs(t, choices, 3, &o, &out, NULL, &err), -EINVAL);
	hes_trace_close(t);
	assert_int_equal(out.n, 77);
}

int main(void)
{
	return run_unit_tests_with_file(path);
}
