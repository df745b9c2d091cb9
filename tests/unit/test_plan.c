/* test_plan.c - plans in memory and as files: what is checked, what an error names, exact round
 * trips. */
#include <inttypes.h>

#include "heshare/plan.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, setup, teardown)

static char path[] = "/tmp/hes-plan-XXXXXX";

static const char fleet_yaml[] =
	"name: test\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 2 } ]\n"
	"  - name: b\n    gpus: [ { type: V100-SXM2-32, count: 1 } ]\n";

struct bench {
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_job v[4];
	struct hes_jobs jobs;
	struct hes_plan plan;
	struct hes_err err;
};

/* j0 and j1 share a/0, locked at its default clock; j2 follows them at another; j3 has b/0 to
 * itself, without a lock; a/1 idles. */
static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	const struct hes_batch first = { 1590,
					 2,
					 { { 0, 40, 0, 70, 0, 9000, 3, 0, 0, 0 },
					   { 1, 60, 0, 100, HES_OUTSIDE_CLOCK | HES_OUTSIDE_TYPE, 0,
					     4, 0, 0, 0 } },
					 0,
					 100,
					 7,
					 false,
					 false };
	const struct hes_batch second = { 945,   1,    { { 2, 100, 100, 250, 0, 1, 9, 0, 0, 0 } },
					  100,   250,  9,
					  false, false };
	const struct hes_batch other = { 1537, 1,   { { 3, 100, 0, 50, 0, 0, 11, 0, 0, 0 } },
					 0,    50,  11,
					 true, true };

	assert_non_null(b);
	assert_int_equal(hes_catalogue_load(NULL, &b->catalogue, &b->err), 0);
	assert_int_equal(hes_fleet_parse("test", fleet_yaml, strlen(fleet_yaml), &b->catalogue,
					 &b->fleet, &b->err),
			 0);
	for (unsigned i = 0; i < 4; i++) {
		b->v[i] = (struct hes_job){
			.batch_size = 1, .iterations = 1, .memory_mib = 6000, .weight = 1
		};
		snprintf(b->v[i].id, sizeof(b->v[i].id), "j%u", i);
	}
	b->jobs = (struct hes_jobs){ .v = b->v, .n = 4 };
	assert_int_equal(hes_plan_init(&b->plan, 3), 0);
	assert_int_equal(hes_plan_append(&b->plan, 0, &first), 0);
	assert_int_equal(hes_plan_append(&b->plan, 0, &second), 0);
	assert_int_equal(hes_plan_append(&b->plan, 2, &other), 0);
	strcpy(b->plan.policy, "heshare");
	strcpy(b->plan.prefer, "energy");
	b->plan.seed = INT64_MAX;
	b->plan.predicted = (struct hes_totals){ 1e8 / 3, 250, 27, 33 };
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	hes_plan_finish(&b->plan);
	hes_fleet_free(&b->fleet);
	hes_catalogue_free(&b->catalogue);
	free(b);
	return 0;
}

static void expect(struct bench *b, int code, const char *piece)
{
	b->err.msg[0] = '\0';
	assert_int_equal(hes_plan_validate(&b->plan, &b->fleet, &b->jobs, 100, &b->err), code);
	if (!strstr(b->err.msg, piece))
		fail_msg("\"%s\" does not say \"%s\"", b->err.msg, piece);
}

BENCH_TEST(a_sound_plan_passes)
{
	expect(b, 0, "");
}

BENCH_TEST(every_job_must_be_planned_exactly_once)
{
	b->plan.queues[2].batches[0].jobs[0].job = 1;
	expect(b, -EEXIST, "b/0: batch 0: job j1 is planned twice");
	b->plan.queues[2].n = 0;
	expect(b, -ENOENT, "job j3 is not in the plan");
	b->plan.queues[2].n = 1;
	b->plan.queues[2].batches[0].jobs[0].job = 4;
	expect(b, -EINVAL, "job number 4");
}

BENCH_TEST(shares_clocks_and_batch_sizes_have_their_limits)
{
	struct hes_batch *first = &b->plan.queues[0].batches[0];

	first->jobs[0].sm_pct = 0;
	expect(b, -ERANGE, "job j0: SM share 0 %");
	first->jobs[0].sm_pct = 50;
	expect(b, -ERANGE, "shares sum to 110 %, more than 100 %");
	first->jobs[0].sm_pct = 40;
	first->clock_mhz = 1591;
	expect(b, -EINVAL, "T4 has no clock of 1591 MHz");
	first->clock_mhz = 1590;
	first->n = 0;
	expect(b, -ERANGE, "0 jobs are outside 1 to 8");
	first->n = 9;
	expect(b, -ERANGE, "9 jobs");
}

/* Each fits alone; together they need one MiB more than the GPU has. */
BENCH_TEST(memory_is_never_oversubscribed)
{
	b->v[0].memory_mib = 15360 - 6000;
	expect(b, 0, "");
	b->v[0].memory_mib++;
	expect(b, -ENOSPC, "a/0: batch 0: its jobs need 15361 MiB, T4 has 15360 MiB");
	/* What was measured counts where the user says nothing: 8509 MiB and a tenth. */
	b->v[0].memory_mib = 0;
	b->v[0].measured_mib = 8509;
	expect(b, 0, "");
	b->v[0].measured_mib = 8510;
	expect(b, -ENOSPC, "a/0: batch 0: its jobs need 15361 MiB, T4 has 15360 MiB");
	/* Where nobody knows, a job takes all of the GPU. */
	b->v[0].measured_mib = 0;
	expect(b, -ENOSPC, "a/0: batch 0: its jobs need 21360 MiB, T4 has 15360 MiB");
}

BENCH_TEST(batches_of_a_gpu_do_not_overlap)
{
	b->plan.queues[0].batches[1].start_us = 99;
	expect(b, -EINVAL, "a/0: batch 1 starts before the one ahead of it ends");
}

BENCH_TEST(a_job_is_there_while_its_batch_is)
{
	struct hes_batch *first = &b->plan.queues[0].batches[0];

	first->jobs[1].end_us = 101;
	expect(b, -EINVAL,
	       "a/0: batch 0: job j1 is planned from 0 to 101 us, outside of its batch, from 0 to "
	       "100 us");
	first->jobs[1].end_us = 100;
	b->plan.queues[0].batches[1].jobs[0].start_us = 99;
	expect(b, -EINVAL,
	       "a/0: batch 1: job j2 is planned from 99 to 250 us, outside of its batch, from 100 "
	       "to 250 us");
}

/* Sums of times must stay numbers. */
BENCH_TEST(times_are_from_0_to_300_years)
{
	struct hes_batch *other = &b->plan.queues[2].batches[0];

	other->start_us = other->jobs[0].start_us = -1;
	expect(b, -ERANGE,
	       "b/0: batch 0: it is planned from -1 to 50 us, outside 0 to 10000000000000000");
	other->start_us = other->jobs[0].start_us = 0;
	other->end_us = other->jobs[0].end_us = HES_PLAN_LONGEST_US;
	expect(b, 0, "");
	other->end_us = other->jobs[0].end_us = HES_PLAN_LONGEST_US + 1;
	expect(b, -ERANGE, "b/0: batch 0: it is planned from 0 to 10000000000000001 us, outside");
}

BENCH_TEST(a_plan_is_for_one_fleet)
{
	b->fleet.n = 2;
	expect(b, -EINVAL, "for 3 GPUs, the fleet has 2");
	b->fleet.n = 3;
}

static void assert_same_batch(const struct hes_batch *x, const struct hes_batch *y)
{
	assert_int_equal(x->clock_mhz, y->clock_mhz);
	assert_int_equal(x->unlocked, y->unlocked);
	assert_int_equal(x->unknown, y->unknown);
	assert_int_equal(x->n, y->n);
	assert_int_equal(x->start_us, y->start_us);
	assert_int_equal(x->end_us, y->end_us);
	assert_int_equal(x->energy_mj, y->energy_mj);
	for (uint32_t i = 0; i < x->n; i++) {
		assert_int_equal(x->jobs[i].job, y->jobs[i].job);
		assert_int_equal(x->jobs[i].sm_pct, y->jobs[i].sm_pct);
		assert_int_equal(x->jobs[i].start_us, y->jobs[i].start_us);
		assert_int_equal(x->jobs[i].end_us, y->jobs[i].end_us);
		assert_int_equal(x->jobs[i].outside, y->jobs[i].outside);
		assert_int_equal(x->jobs[i].activity_mw, y->jobs[i].activity_mw);
		assert_int_equal(x->jobs[i].energy_mj, y->jobs[i].energy_mj);
	}
}

BENCH_TEST(what_is_written_reads_back_exactly)
{
	struct hes_plan back;

	assert_int_equal(hes_plan_save(path, &b->plan, &b->fleet, &b->jobs, &b->err), 0);
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &back, &b->err), 0);
	assert_string_equal(back.policy, "heshare");
	assert_string_equal(back.prefer, "energy");
	assert_true(back.seed == INT64_MAX);
	assert_float_equal(back.predicted.avg_jct_us, 1e8 / 3, 1e-6); /* 15 digits */
	assert_int_equal(back.predicted.makespan_us, 250);
	assert_int_equal(back.predicted.busy_energy_mj, 27);
	assert_int_equal(back.predicted.fleet_energy_mj, 33);
	assert_int_equal(back.n_gpus, 3);
	for (size_t g = 0; g < 3; g++) {
		assert_int_equal(back.queues[g].n, b->plan.queues[g].n);
		for (size_t i = 0; i < back.queues[g].n; i++)
			assert_same_batch(&back.queues[g].batches[i],
					  &b->plan.queues[g].batches[i]);
	}
	hes_plan_finish(&back);
}

/* Names, not numbers: the file still fits when the jobs come in another order. */
BENCH_TEST(jobs_are_found_by_name)
{
	struct hes_job last = b->v[3];
	struct hes_plan back;

	assert_int_equal(hes_plan_save(path, &b->plan, &b->fleet, &b->jobs, &b->err), 0);
	memmove(&b->v[1], &b->v[0], 3 * sizeof(b->v[0]));
	b->v[0] = last;
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &back, &b->err), 0);
	assert_int_equal(back.queues[2].batches[0].jobs[0].job, 0);
	assert_int_equal(back.queues[0].batches[1].jobs[0].job, 3);
	hes_plan_finish(&back);
}

BENCH_TEST(a_seed_that_json_cannot_hold_is_refused)
{
	b->plan.seed = (uint64_t)INT64_MAX + 1;
	unlink(path);
	assert_int_equal(hes_plan_save(path, &b->plan, &b->fleet, &b->jobs, &b->err), -ERANGE);
	assert_int_equal(access(path, F_OK), -1);
}

/* The saved plan with one piece of text put in another's place. */
static void save_with(struct bench *b, const char *was, const char *is)
{
	char text[8192], *at;
	size_t len;
	FILE *f;

	assert_int_equal(hes_plan_save(path, &b->plan, &b->fleet, &b->jobs, &b->err), 0);
	f = fopen(path, "re");
	assert_non_null(f);
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	fclose(f);
	at = strstr(text, was);
	assert_non_null(at);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "%.*s%s%s", (int)(at - text), text, is, at + strlen(was));
	fclose(f);
}

BENCH_TEST(an_error_names_file_and_json_path)
{
	static const struct {
		const char *was, *is;
		int code;
		const char *piece;
	} cases[] = {
		{ "\"sm_pct\": 60", "\"sm_pct\": 101", -EINVAL,
		  "gpus[0].batches[0].jobs[1].sm_pct: 101 is outside 1 to 100" },
		{ "\"sm_pct\": 60", "\"sm_pct\": 6.5", -EINVAL,
		  "jobs[1].sm_pct: not a whole number" },
		{ "\"sm_pct\": 60,", "", -EINVAL, "jobs[1].sm_pct: missing" },
		{ "\"j2\"", "\"jx\"", -ENOENT, "gpus[0].batches[1].jobs[0].job: no job \"jx\"" },
		{ "\"a/1\"", "\"a/7\"", -ENOENT, "gpus[1].gpu: no GPU \"a/7\" in fleet test" },
		{ "\"V100-SXM2-32\"", "\"T4\"", -EINVAL,
		  "gpus[2].gpu_type: b/0 is a V100-SXM2-32 in the fleet, not a T4" },
		{ "\"gpu_type\": \"V100-SXM2-32\"", "\"type\": \"T4\"", -EINVAL,
		  "gpus[2].type: b/0 is a V100-SXM2-32 in the fleet, not a T4" },
		{ "\"heshare-plan\"", "\"plan\"", -EINVAL, "format: not \"heshare-plan\"" },
		{ "\"version\": 4", "\"version\": 5", -EINVAL, "version: 5 is outside 1 to 4" },
		{ "\"end_us\": 50", "\"end_us\": 9223372036854775807", -EINVAL,
		  "gpus[2].batches[0].end_us: 9223372036854775807 is outside 0 to "
		  "10000000000000000" },
		{ "\"end_us\": 70", "\"end_us\": -70", -EINVAL,
		  "gpus[0].batches[0].jobs[0].end_us: -70 is outside 0 to" },
		{ "\"energy_j\": 0.009", "\"energy_j\": -0.009", -EINVAL,
		  "gpus[0].batches[1].energy_j: not a number from 0 to" },
		{ "\"energy_j\": 0.009", "\"energy_mj\": -9", -EINVAL,
		  "gpus[0].batches[1].energy_mj: -9" },
		{ "\"energy_j\": 0.009,", "", -EINVAL, "gpus[0].batches[1].energy_j: missing" },
		{ "\"makespan_us\": 250", "\"makespan_us\": null", -EINVAL,
		  "predicted.makespan_us: not a whole number" },
		{ "\"batches\": []", "\"batches\": 3", -EINVAL, "gpus[1].batches: not a list" },
		{ "\"seed\"", "\"seed\": 1, \"seed\"", -EINVAL, "not JSON" },
		{ "}\n", "", -EINVAL, "not JSON" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hes_plan untouched = { .seed = 42 };

		save_with(b, cases[i].was, cases[i].is);
		assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &untouched, &b->err),
				 cases[i].code);
		assert_non_null(strstr(b->err.msg, path));
		if (!strstr(b->err.msg, cases[i].piece))
			fail_msg("\"%s\" does not say \"%s\"", b->err.msg, cases[i].piece);
		assert_true(untouched.seed == 42 && !untouched.queues);
	}
}

/* Whole numbers of thousandths: plans of earlier versions. */
BENCH_TEST(energies_of_plans_of_earlier_versions_are_read)
{
	struct hes_plan back;

	save_with(b, "\"energy_j\": 0.009", "\"energy_mj\": 9");
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &back, &b->err), 0);
	assert_int_equal(back.queues[0].batches[1].energy_mj, 9);
	hes_plan_finish(&back);
	save_with(b, "\"busy_energy_j\": 0.027", "\"busy_energy_mj\": 27");
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &back, &b->err), 0);
	assert_int_equal(back.predicted.busy_energy_mj, 27);
	hes_plan_finish(&back);
}

BENCH_TEST(a_plan_of_decisions_alone_is_read_without_predictions)
{
	static const char *const text =
		"{ \"gpus\": [ { \"gpu\": \"b/0\", \"batches\": [ { \"end_us\": 7, \"jobs\": ["
		"{ \"job\": \"j1\", \"sm_pct\": 30, \"start_us\": -1 }, { \"job\": \"j3\", "
		"\"sm_pct\": 70 } ] } ] } ] }";
	struct hes_plan back;
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &back, &b->err), 0);
	assert_true(back.unpredicted && back.queues[0].n == 0 && back.queues[2].n == 1);
	assert_int_equal(back.queues[2].batches[0].clock_mhz,
			 b->fleet.gpus[2].type->clock_default_mhz);
	assert_int_equal(back.queues[2].batches[0].end_us, 0);
	assert_int_equal(back.queues[2].batches[0].jobs[1].job, 3);
	assert_int_equal(back.queues[2].batches[0].jobs[1].sm_pct, 70);
	hes_plan_finish(&back);
	assert_int_equal(hes_plan_save(path, &b->plan, &b->fleet, &b->jobs, &b->err), 0);
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &back, &b->err), 0);
	assert_false(back.unpredicted);
	hes_plan_finish(&back);
}

/* a/0 runs j0 and j1 together; j2 joins j1 when j0 has ended. */
static void open_queue(struct bench *b)
{
	const struct hes_batch v[] = {
		{ 1590, 1, { { 0, 40, 0, 70, 0, 0, 7, 0, 0, 0 } }, 0, 70, 7, false, false },
		{ 945, 1, { { 1, 60, 0, 100, 0, 0, 9, 0, 0, 0 } }, 0, 100, 9, false, false },
		{ 945, 1, { { 2, 40, 70, 250, 0, 0, 9, 0, 0, 0 } }, 70, 250, 9, false, false },
	};
	struct hes_queue *q = &b->plan.queues[0];

	q->n = 0;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		assert_int_equal(hes_plan_append(&b->plan, 0, &v[i]), 0);
	q->together = 2;
}

BENCH_TEST(an_open_queue_admits_as_share_memory_and_number_allow)
{
	struct hes_batch *v;

	open_queue(b);
	v = b->plan.queues[0].batches;
	expect(b, 0, "");
	v[2].jobs[0].sm_pct = 50;
	expect(b, -ERANGE, "a/0: batch 2: shares sum to 110 % when it is admitted");
	v[2].jobs[0].sm_pct = 40;
	b->v[2].memory_mib = 12000;
	expect(b, -ENOSPC, "a/0: batch 2: 18000 MiB are needed when it is admitted, T4 has 15360");
	b->v[2].memory_mib = 6000;
	b->plan.queues[0].together = 1;
	expect(b, -ERANGE, "a/0: batch 1: 2 jobs run when it is admitted, more than 1");
	b->plan.queues[0].together = 9;
	expect(b, -ERANGE, "9 jobs at a time are more than 8");
	b->plan.queues[0].together = 2;
	v[2].start_us = 60;
	expect(b, -ERANGE, "3 jobs run");
	v[1].start_us = v[1].jobs[0].start_us = 80;
	expect(b, -EINVAL, "batch 2 is admitted before the one ahead");
}

static void assert_text_of_plan(const char *piece)
{
	char text[400] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_non_null(strstr(text, piece));
}

BENCH_TEST(a_power_cap_is_read_back_and_missed_deadlines_are_reported)
{
	struct hes_plan back;

	b->plan.power_cap_mw = 900001;
	b->plan.peak_mw = 1016234;
	b->v[0].has_deadline = b->v[1].has_deadline = true;
	b->v[0].deadline_us = b->plan.queues[0].batches[0].jobs[0].end_us;
	b->v[1].deadline_us = b->plan.queues[0].batches[0].jobs[1].end_us - 1;
	assert_int_equal(hes_plan_save(path, &b->plan, &b->fleet, &b->jobs, &b->err), 0);
	assert_text_of_plan("\"deadlines_missed\": 1");
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &back, &b->err), 0);
	assert_int_equal(back.power_cap_mw, 900001);
	assert_int_equal(back.peak_mw, 1016234);
	hes_plan_finish(&back);
}

BENCH_TEST(shares_of_an_open_queue_sum_to_what_it_says_at_most)
{
	struct hes_queue *q = &b->plan.queues[0];

	open_queue(b);
	q->batches[2].jobs[0].sm_pct = 50;
	q->shares_pct = 110;
	expect(b, 0, "");
	q->batches[1].jobs[0].sm_pct = 100;
	expect(b, -ERANGE,
	       "a/0: batch 1: shares sum to 140 % when it is admitted, more than 110 %");
	q->shares_pct = 90;
	expect(b, -ERANGE, "a/0: shares that sum to 90 % are outside 100 to 800 %");
	q->shares_pct = 801;
	expect(b, -ERANGE, "a/0: shares that sum to 801 % are outside 100 to 800 %");
}

BENCH_TEST(an_open_queue_is_read_back)
{
	struct hes_plan read;

	open_queue(b);
	b->plan.queues[0].shares_pct = 200;
	assert_int_equal(hes_plan_save(path, &b->plan, &b->fleet, &b->jobs, &b->err), 0);
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &read, &b->err), 0);
	assert_int_equal(read.queues[0].shares_pct, 200);
	hes_plan_finish(&read);
	b->plan.queues[0].shares_pct = 100;
	assert_int_equal(hes_plan_save(path, &b->plan, &b->fleet, &b->jobs, &b->err), 0);
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &read, &b->err), 0);
	assert_int_equal(read.queues[0].together, 2);
	assert_int_equal(read.queues[0].n, 3);
	assert_int_equal(read.queues[2].together, 0);
	hes_plan_finish(&read);
}

BENCH_TEST(a_batch_holds_at_most_eight_jobs)
{
	const char *one = "{\"job\": \"j0\", \"sm_pct\": 10, \"start_us\": 0, \"end_us\": 1},";
	char nine[1024] = "\"jobs\": [";
	struct hes_plan back;

	for (int i = 0; i < 8; i++)
		strcat(nine, one);
	save_with(b, "\"jobs\": [", nine);
	assert_int_equal(hes_plan_load(path, &b->fleet, &b->jobs, &back, &b->err), -EINVAL);
	assert_non_null(strstr(b->err.msg, "gpus[0].batches[0].jobs: too long a list"));
}

BENCH_TEST(a_plans_file_tells_of_its_gpus_and_jobs)
{
	struct hes_fleet fleet;
	struct hes_jobs jobs;
	char command[] = "./run \"it\"\n", progress[] = "step (\\d+)";

	b->v[1].command = command;
	strcpy(b->v[1].workload, "net");
	strcpy(b->v[1].user, "ada");
	for (unsigned i = 0; i < 4; i++)
		strcpy(b->v[i].workload, "net");
	b->v[2].iterations = 1000000000000;
	b->v[3].whole_run = true;
	b->v[3].progress = progress;
	b->v[2].memory_mib = 0;
	b->v[3].measured_mib = 7001;
	b->v[3].keep = 0.9;
	assert_int_equal(hes_plan_save(path, &b->plan, &b->fleet, &b->jobs, &b->err), 0);
	assert_int_equal(hes_plan_subjects(path, &b->catalogue, &fleet, &jobs, &b->err), 0);
	assert_int_equal(fleet.n, 3);
	assert_string_equal(fleet.gpus[2].name, "b/0");
	assert_string_equal(fleet.gpus[2].node, "b");
	assert_string_equal(fleet.gpus[2].type->name, "V100-SXM2-32");
	assert_int_equal(jobs.n, 4);
	assert_string_equal(jobs.v[1].command, command);
	assert_string_equal(jobs.v[1].user, "ada");
	assert_null(jobs.v[0].command);
	assert_int_equal(jobs.v[2].iterations, 1000000000000);
	assert_false(jobs.v[2].whole_run);
	assert_true(jobs.v[3].whole_run);
	assert_true(jobs.v[3].keep == 0.9 && jobs.v[2].keep == 0);
	assert_string_equal(jobs.v[3].workload, "net: whole run");
	assert_string_equal(jobs.v[3].progress, progress);
	assert_null(jobs.v[2].progress);
	assert_int_equal(jobs.v[3].iterations, 1);
	assert_int_equal(jobs.v[2].memory_mib, 0);
	assert_int_equal(jobs.v[2].measured_mib, 0);
	assert_int_equal(jobs.v[3].memory_mib, 6000);
	assert_int_equal(jobs.v[3].measured_mib, 7001);
	assert_int_equal(jobs.v[3].arrival_us, 0);
	hes_fleet_free(&fleet);
	hes_jobs_free(&jobs);
}

BENCH_TEST(what_a_plan_tells_of_jobs_and_gpus_is_checked)
{
	static const struct {
		const char *was, *is, *says;
		int code;
	} cases[] = {
		{ "\"iterations\": 1,", "\"iterations\": 0,",
		  "jobs[0]: iterations: not a whole number from 1 to", -EINVAL },
		{ "\"memory_mib\": 6000", "\"memory_mib\": \"6\"",
		  "jobs[0]: memory_mib: not a whole number", -EINVAL },
		{ "\"id\": \"j1\"", "\"id\": \"j0\"", "job \"j0\" is there twice", -EEXIST },
		{ "\"id\": \"j1\"", "\"id\": \"\"", "jobs[1]: id: empty", -EINVAL },
		{ "\"workload\": \"net\"", "\"command\": 1, \"workload\": \"net\"",
		  "jobs[0]: command: not a text", -EINVAL },
		{ "\"workload\": \"net\"", "\"progress\": \"1\", \"workload\": \"net\"",
		  "jobs[0]: progress: \"1\": byte 1: it has no group", -EINVAL },
		{ "\"gpu_type\": \"T4\"", "\"gpu_type\": \"T5\"", "gpus[0]: ", -ENOENT },
		{ "\"gpu_type\": \"T4\"", "\"type\": \"T5\"", "gpus[0]: ", -ENOENT },
		{ "\"gpu_type\": \"T4\"", "\"kind\": \"T4\"",
		  "gpus[0]: gpu_type: missing: GPU a/0 needs its type, such as", -EINVAL },
		{ "\"gpus\": [", "\"gpu\": [", "gpus: missing", -EINVAL },
	};
	struct hes_fleet fleet = { .n = 77 };
	struct hes_jobs jobs = { .n = 77 };

	for (unsigned i = 0; i < 4; i++)
		strcpy(b->v[i].workload, "net");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		save_with(b, cases[i].was, cases[i].is);
		assert_int_equal(hes_plan_subjects(path, &b->catalogue, &fleet, &jobs, &b->err),
				 cases[i].code);
		if (!strstr(b->err.msg, cases[i].says) || !strstr(b->err.msg, path))
			fail_msg("\"%s\" does not say \"%s\"", b->err.msg, cases[i].says);
		assert_int_equal(fleet.n, 77);
		assert_int_equal(jobs.n, 77);
	}
	/* Without jobs it is a plan all the same. */
	save_with(b, "\"jobs\": [\n  {\n   \"id\"", "\"others\": [\n  {\n   \"id\"");
	assert_int_equal(hes_plan_subjects(path, &b->catalogue, &fleet, &jobs, &b->err), 0);
	assert_int_equal(jobs.n, 0);
	hes_fleet_free(&fleet);
	hes_jobs_free(&jobs);
}

int main(void)
{
	return run_unit_tests_with_file(path);
}
