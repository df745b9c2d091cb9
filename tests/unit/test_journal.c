/* test_journal.c - the runner's journal: written rows are read back, failed writes leave nothing,
 * older versions of the store. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "heshare/journal.h"
#include "heshare/run.h"
#include "store/db.h"
#include "store_bench.h"
#include "unit_test.h"

static const struct hes_run_gpu gpus[] = {
	{ .gpu = "a/0",
	  .gpu_type = "T4",
	  .uuid = "GPU-1",
	  .planned_mj = 7000,
	  .planned_busy_us = 300 },
	{ .gpu = "a/1", .gpu_type = "T4", .uuid = "GPU-2", .planned_mj = 0, .planned_busy_us = 0 },
};
static const struct hes_run_job jobs[] = {
	{ .job = "z",
	  .workload = "net",
	  .gpu = "a/0",
	  .sm_pct = 40,
	  .planned_start_us = 0,
	  .planned_end_us = 100 },
	{ .job = "y",
	  .workload = "net",
	  .gpu = "a/0",
	  .sm_pct = 60,
	  .planned_start_us = 0,
	  .planned_end_us = 300,
	  .planned_mj = 77 },
};

/* A store with a journal. */
struct bench {
	struct hes_store *store;
	struct hes_journal *journal;
	struct hes_run run;
};

static void open_bench(struct bench *b)
{
	struct hes_err err = { 0 };

	b->store = store_opened(HES_STORE_WRITE);
	if (hes_journal_open(b->store, &b->journal, &err))
		fail_msg("%s", err.msg);
}

static void close_bench(struct bench *b)
{
	hes_journal_close(b->journal);
	hes_store_close(b->store);
}

static void begin_run(struct bench *b)
{
	struct hes_err err = { 0 };

	b->run = (struct hes_run){ .plan_key = UINT64_MAX,
				   .started_us = 1000,
				   .runner = { 12, 34, "boot" },
				   .progress = "step (\\d+)" };
	strcpy(b->run.plan, "plan.json");
	strcpy(b->run.folder, "/runs/1");
	strcpy(b->run.host, "here");
	if (hes_journal_new_run(b->journal, &b->run, gpus, 2, jobs, 2, &err))
		fail_msg("%s", err.msg);
}

/* Runs on several nodes. */
TEST_WITH(waiting_jobs_are_placed_again_on_gpus_that_are_new, store_set_up, store_tear_down)
{
	const struct hes_run_gpu more[] = {
		{ .gpu = "a/1", .gpu_type = "T4", .uuid = "GPU-9", .planned_mj = 7 },
		{ .gpu = "b/0", .gpu_type = "V100", .uuid = "GPU-3", .planned_mj = 5 }
	};
	const struct hes_run_job moved = { .job = "y",
					   .gpu = "b/0",
					   .sm_pct = 100,
					   .planned_start_us = 500,
					   .planned_end_us = 900 };
	const struct hes_run_job failed = {
		.job = "y", .state = HES_RUN_JOB_FAILED, .start_us = 1, .end_us = 2
	};
	struct hes_run_gpu *g;
	struct hes_run_job *j;
	struct bench b;
	size_t n;

	open_bench(&b);
	begin_run(&b);
	assert_int_equal(hes_journal_result(b.journal, b.run.id, &failed, NULL), 0);
	assert_int_equal(hes_journal_replan(b.journal, b.run.id, more, 2, &moved, 1, NULL), 0);
	assert_int_equal(hes_journal_gpus(b.journal, b.run.id, &g, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_string_equal(g[1].uuid, "GPU-9");
	assert_int_equal(g[1].planned_mj, 0);
	assert_string_equal(g[2].gpu, "b/0");
	assert_int_equal(g[2].planned_mj, 5);
	assert_int_equal(hes_journal_jobs(b.journal, b.run.id, &j, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(j[0].gpu, "a/0");
	assert_string_equal(j[1].gpu, "b/0");
	assert_string_equal(j[1].workload, "net");
	assert_int_equal(j[1].sm_pct, 100);
	assert_int_equal(j[1].planned_end_us, 900);
	assert_int_equal(j[1].state, HES_RUN_JOB_WAITING);
	free(g);
	free(j);
	close_bench(&b);
}

TEST_WITH(an_attempt_of_a_node_is_one_row_however_often_it_is_copied, store_set_up, store_tear_down)
{
	struct hes_attempt a = { .job = "z", .number = 3, .gpu = "a/0", .started_us = 7 }, *v;
	struct bench b;
	size_t n;

	open_bench(&b);
	begin_run(&b);
	assert_int_equal(hes_journal_copy_attempt(b.journal, b.run.id, &a, NULL), 0);
	a.verdict = HES_VERDICT_EARLY;
	a.ended_us = 9;
	a.has_energy = true;
	a.energy_mj = 5;
	strcpy(a.seen, "half of it");
	for (int i = 0; i < 2; i++)
		assert_int_equal(hes_journal_copy_attempt(b.journal, b.run.id, &a, NULL), 0);
	assert_int_equal(hes_journal_attempts(b.journal, b.run.id, &v, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(v[0].number, 3);
	assert_int_equal(v[0].started_us, 7);
	assert_int_equal(v[0].verdict, HES_VERDICT_EARLY);
	assert_int_equal(v[0].ended_us, 9);
	assert_int_equal(v[0].energy_mj, 5);
	assert_string_equal(v[0].seen, "half of it");
	free(v);
	close_bench(&b);
}

TEST_WITH(a_cleared_run_keeps_its_jobs_and_gpus_alone, store_set_up, store_tear_down)
{
	const struct hes_run_job done = { .job = "z",
					  .state = HES_RUN_JOB_DONE,
					  .start_us = 1,
					  .end_us = 2,
					  .has_energy = true,
					  .energy_mj = 3 };
	const struct hes_run_meter meter = {
		.session = 1, .gpu = "a/0", .measured_us = 5, .energy_mj = 6
	};
	struct hes_run_gpu took = gpus[0], *g;
	struct hes_attempt a = { .job = "z", .number = 1, .gpu = "a/0" }, *attempts;
	struct hes_run_meter *meters;
	struct hes_run_job *j;
	struct bench b;
	size_t n;

	open_bench(&b);
	begin_run(&b);
	took.measured = true;
	assert_int_equal(hes_journal_attempt(b.journal, b.run.id, &a, NULL), 0);
	assert_int_equal(hes_journal_result(b.journal, b.run.id, &done, NULL), 0);
	assert_int_equal(hes_journal_gpu_took(b.journal, b.run.id, &took, NULL), 0);
	assert_int_equal(hes_journal_meter(b.journal, b.run.id, &meter, NULL), 0);
	assert_int_equal(hes_journal_clear(b.journal, b.run.id, NULL), 0);
	assert_int_equal(hes_journal_attempts(b.journal, b.run.id, &attempts, &n, NULL), 0);
	assert_int_equal(n, 0);
	assert_int_equal(hes_journal_meters(b.journal, b.run.id, &meters, &n, NULL), 0);
	assert_int_equal(n, 0);
	assert_int_equal(hes_journal_gpus(b.journal, b.run.id, &g, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_false(g[0].measured);
	assert_int_equal(hes_journal_jobs(b.journal, b.run.id, &j, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(j[0].state, HES_RUN_JOB_WAITING);
	assert_false(j[0].has_energy);
	free(attempts);
	free(meters);
	free(g);
	free(j);
	close_bench(&b);
}

/* A runner that was killed: one job has ended well, as its status file says, the other was lost. A
 * status with a number of processes that were killed is an early end. */
TEST_WITH(the_journal_of_a_runner_that_will_not_come_back_is_settled, store_set_up, store_tear_down)
{
	struct hes_attempt a = { .job = "z", .number = 1, .gpu = "a/0", .started_us = 10 }, *v;
	char folder[] = "/tmp/heshare-settle-XXXXXX", path[64];
	struct hes_run_job *j;
	struct hes_err err = { 0 };
	struct bench b;
	size_t n;
	FILE *f;

	assert_non_null(mkdtemp(folder));
	open_bench(&b);
	begin_run(&b);
	strcpy(b.run.folder, folder);
	assert_int_equal(hes_journal_attempt(b.journal, b.run.id, &a, NULL), 0);
	strcpy(a.job, "y");
	assert_int_equal(hes_journal_attempt(b.journal, b.run.id, &a, NULL), 0);
	snprintf(path, sizeof(path), "%s/.z.1.status", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "0 6000 0\n");
	fclose(f);
	if (hes_run_settle(b.journal, &b.run, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(b.run.state, HES_RUN_STOPPED);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(hes_journal_attempts(b.journal, b.run.id, &v, &n, NULL), 0);
	assert_int_equal(v[0].verdict, HES_VERDICT_DONE);
	assert_int_equal(v[0].ended_us, 5000);
	assert_int_equal(v[1].verdict, HES_VERDICT_LOST);
	assert_int_equal(hes_journal_jobs(b.journal, b.run.id, &j, &n, NULL), 0);
	assert_int_equal(j[0].state, HES_RUN_JOB_DONE);
	assert_int_equal(j[1].state, HES_RUN_JOB_WAITING);
	free(v);
	free(j);
	begin_run(&b);
	strcpy(b.run.folder, folder);
	assert_int_equal(hes_journal_attempt(b.journal, b.run.id, &a, NULL), 0);
	snprintf(path, sizeof(path), "%s/.y.1.status", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "0 6000 0 2\n");
	fclose(f);
	assert_int_equal(hes_run_settle(b.journal, &b.run, NULL), 0);
	assert_int_equal(hes_journal_jobs(b.journal, b.run.id, &j, &n, NULL), 0);
	assert_int_equal(j[1].state, HES_RUN_JOB_EARLY);
	assert_string_equal(j[1].seen, "2 processes that it left running were killed");
	free(j);
	/* Harmless once more. */
	assert_int_equal(hes_run_settle(b.journal, &b.run, NULL), 0);
	close_bench(&b);
	rmdir(folder);
}

TEST_WITH(a_run_is_found_by_its_plan, store_set_up, store_tear_down)
{
	struct hes_run_gpu *g;
	struct hes_run_job *j;
	struct hes_run found;
	struct bench b;
	size_t n;

	open_bench(&b);
	assert_int_equal(hes_journal_last_run(b.journal, UINT64_MAX, &found, NULL), -ENOENT);
	begin_run(&b);
	begin_run(&b);
	close_bench(&b);
	open_bench(&b);
	assert_int_equal(hes_journal_last_run(b.journal, UINT64_MAX, &found, NULL), 0);
	assert_int_equal(found.id, 2);
	assert_int_equal(found.state, HES_RUN_GOING);
	assert_string_equal(found.folder, "/runs/1");
	assert_int_equal(found.runner.start, 34);
	assert_int_equal(hes_journal_gpus(b.journal, 2, &g, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(g[0].uuid, "GPU-1");
	assert_false(g[0].measured);
	assert_int_equal(hes_journal_jobs(b.journal, 2, &j, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(j[0].job, "z"); /* the order they came in */
	assert_int_equal(j[1].planned_mj, 77);
	assert_int_equal(j[1].planned_end_us, 300);
	assert_int_equal(j[1].state, HES_RUN_JOB_WAITING);
	free(g);
	free(j);
	close_bench(&b);
}

TEST_WITH(added_jobs_wait_like_the_others_and_keep_a_run_from_being_over, store_set_up,
	  store_tear_down)
{
	char command[] = "./job.sh 'of two words'", progress[] = "(\\d+)/\\d+";
	struct hes_run_added two[2] = {
		{ .job = { .id = "p",
			   .workload = "net",
			   .batch_size = 4,
			   .iterations = 1u << 31,
			   .memory_mib = 9,
			   .command = command } },
		{ .job = { .id = "q",
			   .workload = "net",
			   .batch_size = 1,
			   .iterations = 1,
			   .whole_run = true,
			   .command = command,
			   .keep = 0.9,
			   .progress = progress } },
	};
	enum hes_run_state ended = HES_RUN_DONE;
	struct hes_run_added *v;
	struct hes_run_job *j;
	struct hes_err err;
	struct bench b;
	size_t n;

	open_bench(&b);
	begin_run(&b);
	assert_int_equal(hes_journal_add(b.journal, b.run.id, two, 2, 60, 0, NULL), 0);
	assert_int_equal(hes_journal_added(b.journal, b.run.id, 0, &v, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(v[0].job.command, command);
	assert_int_equal(v[0].job.iterations, 1u << 31);
	assert_false(v[0].job.whole_run);
	assert_true(v[1].job.whole_run);
	assert_true(v[0].job.keep == 0 && v[1].job.keep == 0.9);
	assert_null(v[0].job.progress);
	assert_string_equal(v[1].job.progress, progress);
	hes_run_added_free(v, n);
	assert_int_equal(hes_journal_jobs(b.journal, b.run.id, &j, &n, NULL), 0);
	assert_int_equal(n, 4);
	assert_int_equal(j[1].arrival_us, 0);
	assert_int_equal(j[2].arrival_us, 60);
	free(j);
	/* A name that is there: nothing of the call is written. */
	strcpy(two[0].job.id, "new");
	assert_int_equal(hes_journal_add(b.journal, b.run.id, two, 2, 60, 2, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "run 1 has a job q already"));
	/* Names that know the first of the added jobs only. */
	assert_int_equal(hes_journal_add(b.journal, b.run.id, two, 1, 60, 1, &err), -EAGAIN);
	assert_int_equal(hes_journal_added_waiting(b.journal, b.run.id, &n, NULL), 0);
	assert_int_equal(n, 2);
	/* A number that only a damaged row has. */
	assert_int_equal(hes_db_exec(b.store,
				     "UPDATE added_jobs SET batch_size = 4294968196 WHERE id = 1",
				     NULL),
			 0);
	assert_int_equal(hes_journal_added(b.journal, b.run.id, 0, &v, &n, &err), -EBADMSG);
	assert_non_null(
		strstr(err.msg, "job p, which was added to a run, has numbers out of their range"));
	/* The runner has the first only. */
	assert_int_equal(hes_journal_added_taken(b.journal, b.run.id, 1, NULL), 0);
	assert_int_equal(hes_journal_run_ended(b.journal, b.run.id, &ended, 2000, NULL), 0);
	assert_int_equal(ended, HES_RUN_STOPPED);
	assert_int_equal(hes_journal_run(b.journal, b.run.id, &b.run, NULL), 0);
	assert_int_equal(b.run.state, HES_RUN_STOPPED);
	ended = HES_RUN_DONE;
	assert_int_equal(hes_journal_added_taken(b.journal, b.run.id, 2, NULL), 0);
	assert_int_equal(hes_journal_run_ended(b.journal, b.run.id, &ended, 2000, NULL), 0);
	assert_int_equal(hes_journal_run(b.journal, b.run.id, &b.run, NULL), 0);
	assert_int_equal(b.run.state, HES_RUN_DONE);
	assert_int_equal(hes_journal_add(b.journal, b.run.id, two, 1, 60, 2, &err), -ESHUTDOWN);
	close_bench(&b);
}

TEST_WITH(an_attempt_goes_from_planned_to_judged, store_set_up, store_tear_down)
{
	struct hes_attempt a = { .job = "z",
				 .number = 1,
				 .gpu = "a/0",
				 .sm_pct = 40,
				 .clock_mhz = 900,
				 .started_us = 5 },
			   *v;
	const struct hes_run_process p = { 77, 88, "boot" };
	struct hes_run_job r = { .job = "z",
				 .state = HES_RUN_JOB_DONE,
				 .start_us = 5,
				 .end_us = 99,
				 .has_energy = true,
				 .energy_mj = 42 };
	struct hes_run_job *j;
	struct bench b;
	size_t n;

	open_bench(&b);
	begin_run(&b);
	assert_int_equal(hes_journal_attempt(b.journal, b.run.id, &a, NULL), 0);
	assert_int_equal(hes_journal_attempts(b.journal, b.run.id, &v, &n, NULL), 0);
	assert_int_equal(v[0].verdict, HES_VERDICT_OPEN);
	assert_int_equal(v[0].process.pid, 0);
	free(v);
	assert_int_equal(hes_journal_attempt_runs(b.journal, a.id, &p, NULL), 0);
	assert_int_equal(
		hes_journal_attempt_ended(b.journal, a.id, 99, 0, HES_VERDICT_DONE, NULL, NULL), 0);
	assert_int_equal(hes_journal_result(b.journal, b.run.id, &r, NULL), 0);
	assert_int_equal(hes_journal_attempts(b.journal, b.run.id, &v, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(v[0].process.start, 88);
	assert_int_equal(v[0].verdict, HES_VERDICT_DONE);
	assert_int_equal(v[0].ended_us, 99);
	free(v);
	assert_int_equal(hes_journal_jobs(b.journal, b.run.id, &j, &n, NULL), 0);
	assert_int_equal(j[0].state, HES_RUN_JOB_DONE);
	assert_int_equal(j[0].energy_mj, 42);
	assert_false(j[1].has_energy);
	free(j);
	close_bench(&b);
}

TEST_WITH(the_same_attempt_is_not_begun_twice, store_set_up, store_tear_down)
{
	struct hes_attempt a = { .job = "z", .number = 1, .gpu = "a/0", .sm_pct = 40 }, again = a;
	struct bench b;

	open_bench(&b);
	begin_run(&b);
	assert_int_equal(hes_journal_attempt(b.journal, b.run.id, &a, NULL), 0);
	assert_true(hes_journal_attempt(b.journal, b.run.id, &again, NULL) < 0);
	assert_int_equal(again.id, 0);
	close_bench(&b);
}

TEST_WITH(a_transaction_is_dropped_as_a_whole, store_set_up, store_tear_down)
{
	struct hes_attempt a = { .job = "z", .number = 1, .gpu = "a/0", .sm_pct = 40 }, *v;
	struct bench b;
	size_t n = 7;

	open_bench(&b);
	begin_run(&b);
	assert_int_equal(hes_journal_begin(b.journal, NULL), 0);
	assert_int_equal(
		hes_journal_act(b.journal, b.run.id, 1, "a/0", NULL, "lock the clock", NULL), 0);
	assert_int_equal(hes_journal_attempt(b.journal, b.run.id, &a, NULL), 0);
	assert_int_equal(hes_journal_end(b.journal, -EIO, NULL), -EIO);
	assert_int_equal(hes_journal_attempts(b.journal, b.run.id, &v, &n, NULL), 0);
	assert_int_equal(n, 0);
	free(v);
	close_bench(&b);
}

TEST_WITH(runs_that_have_not_ended_are_listed, store_set_up, store_tear_down)
{
	struct hes_run other = { .runner = { 99, 100, "boot" }, .progress = "x (1)" };
	enum hes_run_state stopped = HES_RUN_STOPPED;
	struct hes_run *v;
	struct bench b;
	int64_t first;
	size_t n;

	open_bench(&b);
	begin_run(&b);
	first = b.run.id;
	begin_run(&b);
	assert_int_equal(hes_journal_run_ended(b.journal, first, &stopped, 5000, NULL), 0);
	assert_int_equal(hes_journal_going(b.journal, 0, &v, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(v[0].id, b.run.id);
	assert_string_equal(v[0].progress, "step (\\d+)");
	free(v);
	other.id = first;
	assert_int_equal(hes_journal_take_over(b.journal, &other, NULL), 0);
	assert_int_equal(hes_journal_going(b.journal, b.run.id, &v, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(v[0].runner.pid, 99);
	assert_string_equal(v[0].progress, "x (1)");
	assert_string_not_equal(v[0].host, "here");
	assert_int_equal(v[0].ended_us, 0);
	free(v);
	close_bench(&b);
}

TEST_WITH(measured_energy_of_a_gpu_is_kept, store_set_up, store_tear_down)
{
	struct hes_run_gpu g = gpus[0], unknown = gpus[1], *v;
	struct bench b;
	size_t n;

	g.measured = true;
	g.busy_us = 9;
	g.busy_mj = 8;
	g.idle_mj = 7;
	open_bench(&b);
	begin_run(&b);
	assert_int_equal(hes_journal_gpu_took(b.journal, b.run.id, &g, NULL), 0);
	assert_int_equal(hes_journal_gpu_took(b.journal, b.run.id, &unknown, NULL), 0);
	assert_int_equal(hes_journal_gpus(b.journal, b.run.id, &v, &n, NULL), 0);
	assert_true(v[0].measured);
	assert_int_equal(v[0].idle_mj, 7);
	assert_false(v[1].measured);
	free(v);
	close_bench(&b);
}

TEST_WITH(joules_of_attempts_and_sessions_are_kept, store_set_up, store_tear_down)
{
	struct hes_attempt a[] = { { .job = "z", .number = 1, .gpu = "a/0", .sm_pct = 40 },
				   { .job = "z", .number = 2, .gpu = "a/0", .sm_pct = 40 } };
	struct hes_run_meter m = { 1, "a/0", 500, 70 }, next = { 2, "a/0", 100, 20 }, *meters;
	struct hes_attempt *v;
	struct hes_run_job *j;
	struct hes_run found;
	struct bench b;
	size_t n;

	open_bench(&b);
	begin_run(&b);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(hes_journal_attempt(b.journal, b.run.id, &a[i], NULL), 0);
	assert_int_equal(hes_journal_begin_light(b.journal, NULL), 0);
	assert_int_equal(hes_journal_attempt_took(b.journal, a[0].id, true, 30, true, NULL), 0);
	assert_int_equal(hes_journal_attempt_clock(b.journal, a[0].id, 900, NULL), 0);
	assert_int_equal(hes_journal_meter(b.journal, b.run.id, &m, NULL), 0);
	m.energy_mj = 90;
	assert_int_equal(hes_journal_meter(b.journal, b.run.id, &m, NULL), 0);
	assert_int_equal(hes_journal_meter(b.journal, b.run.id, &next, NULL), 0);
	assert_int_equal(hes_journal_power(b.journal, b.run.id, 5, 6, NULL), 0);
	assert_int_equal(hes_journal_end(b.journal, 0, NULL), 0);
	assert_int_equal(hes_journal_attempt_ended(b.journal, a[0].id, 99, 1, HES_VERDICT_FAILED,
						   NULL, NULL),
			 0);
	assert_int_equal(hes_journal_attempts(b.journal, b.run.id, &v, &n, NULL), 0);
	assert_true(v[0].has_energy && v[0].energy_mj == 30 && !v[1].has_energy);
	assert_true(v[0].energy_split && !v[1].energy_split);
	assert_int_equal(v[0].clock_mhz, 900);
	free(v);
	assert_int_equal(hes_journal_jobs(b.journal, b.run.id, &j, &n, NULL), 0);
	assert_int_equal(j[0].aborted_mj, 30);
	assert_int_equal(j[1].aborted_mj, 0);
	free(j);
	assert_int_equal(hes_journal_meters(b.journal, b.run.id, &meters, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(meters[0].energy_mj, 90);
	assert_int_equal(meters[1].session, 2);
	free(meters);
	assert_int_equal(hes_journal_last_run(b.journal, UINT64_MAX, &found, NULL), 0);
	assert_true(found.over_cap_us == 5 && found.peak_mw == 6);
	close_bench(&b);
}

/* A commit that does not wait for the disk must not make later ones light. */
TEST_WITH(after_a_light_transaction_commits_wait_for_the_disk_again, store_set_up, store_tear_down)
{
	int64_t synchronous = 0;
	struct bench b;

	open_bench(&b);
	for (int rc = 0; rc > -2; rc--) {
		assert_int_equal(hes_journal_begin_light(b.journal, NULL), 0);
		assert_int_equal(hes_db_number(b.store, "PRAGMA synchronous", &synchronous, NULL),
				 0);
		assert_int_equal(synchronous, 1);
		assert_int_equal(hes_journal_end(b.journal, rc, NULL), rc);
		assert_int_equal(hes_db_number(b.store, "PRAGMA synchronous", &synchronous, NULL),
				 0);
		assert_int_equal(synchronous, 2);
	}
	close_bench(&b);
}

/* In a child: attempts are begun and acknowledged by a byte each, until it is killed. */
static void write_until_killed(int acknowledge)
{
	struct bench b;

	open_bench(&b);
	begin_run(&b);
	for (uint32_t i = 1;; i++) {
		struct hes_attempt a = { .job = "z", .number = i, .gpu = "a/0", .sm_pct = 40 };

		if (hes_journal_attempt(b.journal, b.run.id, &a, NULL) ||
		    write(acknowledge, "", 1) != 1)
			_exit(1);
	}
}

TEST_WITH(no_attempt_that_was_acknowledged_is_lost_when_the_writer_is_killed, store_set_up,
	  store_tear_down)
{
	struct hes_attempt *v;
	struct bench b;
	size_t n, acknowledged = 0;
	int fd[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid)
		write_until_killed(fd[1]);
	close(fd[1]);
	while (acknowledged < 25 && read(fd[0], &byte, 1) == 1)
		acknowledged++;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (read(fd[0], &byte, 1) == 1)
		acknowledged++;
	close(fd[0]);
	open_bench(&b);
	assert_int_equal(hes_journal_attempts(b.journal, 1, &v, &n, NULL), 0);
	assert_true(n >= acknowledged && n <= acknowledged + 1);
	free(v);
	close_bench(&b);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
