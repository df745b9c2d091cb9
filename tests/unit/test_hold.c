/*
 * test_hold.c - tasks that are held: the moment, their times, their co-runners that stall; and the
 * count of a task's work.
 *
 * Stand-ins for journal, guard, meter and GPU note what was done and show what the test says.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>

#include "run/account.h"
#include "run/hold.h"
#include "unit_test.h"

#define S 1000000

static int64_t now_us;
static bool gpu_active, gpu_read, journal_full, stop_fails;
static char acts[1024]; /* what was done, in order */

static void note(const char *what, const char *of)
{
	const size_t n = strlen(acts);

	snprintf(acts + n, sizeof(acts) - n, "%s%s%s%s", n ? ", " : "", what, *of ? " " : "", of);
}

int64_t run_now_us(const struct run_clock *c)
{
	(void)c;
	return now_us;
}

void run_tell(const struct run_log *l, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	(void)l;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note("tell", text);
}

int run_act(struct run_log *l, const char *gpu, const char *job, struct hes_err *err,
	    const char *fmt, ...)
{
	(void)l, (void)gpu, (void)fmt;
	if (journal_full)
		return hes_fail(err, -ENOSPC, "full");
	note("act", job);
	return 0;
}

void run_learner_note(struct run_learner *l, const char *gpu, const char *job, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	(void)l, (void)gpu, (void)job;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note("learnt:", text);
}

void run_pause(struct run_log *l, const struct hes_err *err)
{
	(void)l, (void)err;
	note("pause", "");
}

int hes_guard_stop(struct hes_guard *g, const struct hes_child *c, struct hes_err *err)
{
	(void)g;
	note("stop", c->mark);
	return stop_fails ? hes_fail(err, -EACCES, "not its own") : 0;
}

int hes_guard_continue(struct hes_guard *g, const struct hes_child *c, struct hes_err *err)
{
	(void)g, (void)err;
	note("go", c->mark);
	return 0;
}

void run_account(struct run_meter *m, struct run_gpu *g)
{
	(void)m, (void)g;
	note("account", "");
}

void run_segment_begin(const struct run_meter *m, struct run_gpu *g)
{
	(void)m, (void)g;
	note("segment", "");
}

/* A task's lines, read now. */
static uint64_t lines[4];

void run_look(const struct run_meter *m, struct run_task *t)
{
	const uint64_t n = lines[t->index];

	(void)m;
	if (n == t->progress.iterations)
		return;
	t->progress.known = true;
	t->progress.step = 1;
	t->progress.iterations = n;
	t->progress_us = now_us;
	t->moved_us = task_ran_us(t, now_us);
}

void run_observe_disturb(struct run_task *t)
{
	(void)t;
}

int hes_device_read(const struct hes_devices *d, size_t i, unsigned what, struct hes_reading *out,
		    struct hes_err *err)
{
	(void)d, (void)i, (void)what, (void)err;
	*out = (struct hes_reading){ .has = gpu_read ? HES_HAS_UTILISATION : 0,
				     .busy_pct = gpu_active ? 50 : 0 };
	return 0;
}

/* Three jobs, a, b and c, that run on a GPU since 0 s. */
struct bench {
	struct hes_job jobs[3];
	struct hes_gpu planned;
	struct run_gpu gpu;
	struct run_place place[3];
	struct run_tasks tasks;
	struct run_settings settings;
	struct run_stop stop;
	char path[32]; /* of the store */
	struct hes_store *store;
	struct hes_run run;
	struct run_log log;
	struct run_holder holder;
	struct run_task **t;
};

static void make(struct bench *b)
{
	*b = (struct bench){ .planned.name = "g", .gpu.planned = &b->planned };
	snprintf(b->path, sizeof(b->path), "/tmp/test_hold.XXXXXX");
	assert_non_null(mkdtemp(b->path));
	strcat(b->path, "/s.db");
	assert_int_equal(hes_store_open(b->path, HES_STORE_WRITE, 0, &b->store, NULL), 0);
	assert_int_equal(hes_journal_open(b->store, &b->log.journal, NULL), 0);
	b->log.run = &b->run;
	b->holder = (struct run_holder){
		.tasks = &b->tasks, .settings = &b->settings, .log = &b->log, .stop = &b->stop
	};
	assert_int_equal(run_tasks_grow(&b->tasks, 3, NULL), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct run_task *t = run_tasks_add(&b->tasks);

		snprintf(b->jobs[i].id, sizeof(b->jobs[i].id), "%c", 'a' + (int)i);
		snprintf(b->jobs[i].workload, sizeof(b->jobs[i].workload), "w%c", 'a' + (int)i);
		b->jobs[i].iterations = 100;
		t->job = &b->jobs[i];
		t->gpu = &b->gpu;
		t->index = i;
		t->place = &b->place[i];
		t->planned_end_us = 100 * S;
		t->deadline_us = 200 * S;
		snprintf(t->child.mark, sizeof(t->child.mark), "%s", t->job->id);
		task_go(&b->tasks, t, TASK_FORKED);
		task_go(&b->tasks, t, TASK_RUNNING);
		b->gpu.running[b->gpu.n_running++] = t;
		lines[i] = 0;
	}
	b->t = b->tasks.v;
	now_us = 10 * S;
	gpu_active = gpu_read = true;
	journal_full = false;
	acts[0] = '\0';
}

static void unmake(struct bench *b)
{
	run_tasks_free(&b->tasks);
	hes_journal_close(b->log.journal);
	hes_store_close(b->store);
	assert_int_equal(unlink(b->path), 0);
	*strrchr(b->path, '/') = '\0';
	assert_int_equal(rmdir(b->path), 0);
}

static void look(struct bench *b, int64_t at_us)
{
	now_us = at_us;
	run_hold_look(&b->holder, &b->gpu, now_us);
}

static void hold_at_once(struct bench *b, struct run_task *t)
{
	assert_int_equal(run_hold(&b->holder, t, "a test", NULL), 0);
	gpu_active = false;
	look(b, now_us);
	gpu_active = true;
	assert_int_equal(task_state(t), TASK_HELD);
}

TEST(a_task_is_held_at_a_progress_line_or_with_an_idle_gpu_or_after_a_second)
{
	struct bench b;

	for (int way = 0; way < 3; way++) {
		make(&b);
		assert_int_equal(run_hold(&b.holder, b.t[0], "a test", NULL), 0);
		look(&b, 10 * S + 1);
		assert_int_equal(task_state(b.t[0]), TASK_RUNNING);
		assert_true(run_hold_next_us(&b.gpu) <= 10 * S + S / 10);
		lines[0] += way == 0;
		gpu_active = way != 1;
		look(&b, way == 2 ? 11 * S : 10 * S + S / 10);
		assert_int_equal(task_state(b.t[0]), TASK_HELD);
		/* Written down and accounted for before it is done. */
		assert_string_equal(acts, "act a, account, stop a, segment");
		assert_true(b.gpu.n_running == 2 && b.gpu.n_held == 1);
		assert_ptr_equal(b.gpu.running[2], b.t[0]);
		unmake(&b);
	}
}

TEST(nothing_is_held_that_ends_or_that_the_journal_does_not_take)
{
	struct bench b;

	make(&b);
	b.t[0]->ending = ENDING_TIMEOUT;
	assert_int_equal(run_hold(&b.holder, b.t[0], "a test", NULL), -EBUSY);
	b.t[0]->ending = ENDING_OWN;
	b.stop.signals = 1;
	assert_int_equal(run_hold(&b.holder, b.t[0], "a test", NULL), -EBUSY);
	b.stop.signals = 0;
	b.gpu.failure.open = true;
	assert_int_equal(run_hold(&b.holder, b.t[0], "a test", NULL), -EBUSY);
	b.gpu.failure.open = false;
	assert_int_equal(run_hold(&b.holder, b.t[0], "a test", NULL), 0);
	journal_full = true;
	look(&b, 12 * S);
	assert_int_equal(task_state(b.t[0]), TASK_RUNNING);
	assert_string_equal(acts, "pause");
	assert_int_equal(run_hold_next_us(&b.gpu), RUN_NEVER_US);
	journal_full = false;
	unmake(&b);
}

/* One whose processes could not be stopped was once tried again every few seconds. */
TEST(a_task_that_cannot_be_stopped_is_not_tried_again)
{
	struct bench b;

	make(&b);
	stop_fails = true;
	assert_int_equal(run_hold(&b.holder, b.t[0], "a test", NULL), 0);
	look(&b, 12 * S);
	assert_int_equal(task_state(b.t[0]), TASK_RUNNING);
	assert_non_null(strstr(acts, "tell job a cannot be held: not its own"));
	assert_int_equal(run_hold(&b.holder, b.t[0], "a test", NULL), -EPERM);
	assert_true(b.t[0]->hold.refused);
	stop_fails = false;
	unmake(&b);
}

TEST(held_time_counts_for_no_duration_limit_or_end)
{
	struct bench b;
	struct run_task *t;
	int64_t left_us;

	make(&b);
	t = b.t[1];
	t->expected_end_us = 100 * S;
	lines[1] = 10;
	run_look(NULL, t);
	t->begun_us = t->moved_us;
	t->begun_part = .1;
	now_us = 20 * S;
	lines[1] = 20;
	run_look(NULL, t);
	left_us = task_left_us(t, now_us);
	assert_int_equal(left_us, 80 * S); /* a tenth in 10 s */
	hold_at_once(&b, t);
	assert_int_equal(task_ran_us(t, 50 * S), 20 * S);
	assert_int_equal(task_left_us(t, 50 * S), left_us);
	now_us = 50 * S;
	run_release(&b.holder, t, "a test");
	assert_int_equal(task_state(t), TASK_RUNNING);
	assert_int_equal(task_ran_us(t, 51 * S), 21 * S);
	assert_int_equal(task_left_us(t, 50 * S), left_us);
	assert_int_equal(t->deadline_us, 230 * S);
	assert_int_equal(t->expected_end_us, 130 * S);
	assert_true(b.gpu.n_running == 3 && !b.gpu.n_held);
	unmake(&b);
}

TEST(if_all_are_held_the_first_goes_on)
{
	struct bench b;

	make(&b);
	hold_at_once(&b, b.t[1]);
	now_us++;
	hold_at_once(&b, b.t[0]);
	now_us++;
	assert_int_equal(run_hold(&b.holder, b.t[2], "a test", NULL), 0);
	gpu_active = false;
	look(&b, now_us);
	assert_int_equal(task_state(b.t[1]), TASK_RUNNING);
	assert_int_equal(task_state(b.t[0]), TASK_HELD);
	assert_int_equal(task_state(b.t[2]), TASK_HELD);
	run_release_all(&b.holder, &b.gpu, "a test");
	assert_true(b.gpu.n_running == 3 && !b.gpu.n_held);
	unmake(&b);
}

TEST(a_workload_whose_hold_stalls_others_goes_on_and_is_not_held_again)
{
	struct bench b;
	bool may;

	make(&b);
	memcpy(b.jobs[2].workload, b.jobs[0].workload, sizeof(b.jobs[2].workload));
	lines[1] = 20; /* two lines a second */
	run_look(NULL, b.t[1]);
	hold_at_once(&b, b.t[0]);
	gpu_active = false;
	lines[1]++; /* what comes at once was done before */
	for (int64_t at = 10 * S; at < 15 * S; at += S / 4)
		look(&b, at);
	assert_int_equal(task_state(b.t[0]), TASK_HELD);
	acts[0] = '\0';
	look(&b, 15 * S);
	assert_int_equal(task_state(b.t[0]), TASK_RUNNING);
	assert_string_equal(acts, "act a, account, go a, segment");
	acts[0] = '\0';
	lines[1]++;
	assert_true(run_hold_next_us(&b.gpu) < 16 * S);
	look(&b, 15 * S + S / 2);
	assert_string_equal(acts, "learnt: job b stalled while job a was held, which goes on: jobs "
				  "of workload wa are not held again");
	assert_int_equal(hes_journal_may_hold(b.log.journal, "wa", &may, NULL), 0);
	assert_false(may);
	assert_int_equal(run_hold(&b.holder, b.t[0], "a test", NULL), -EPERM);
	assert_int_equal(run_hold(&b.holder, b.t[2], "a test", NULL), -EPERM);
	assert_int_equal(run_hold(&b.holder, b.t[1], "a test", NULL), 0);
	run_release(&b.holder, b.t[1], "a test");
	/* By an earlier run. */
	assert_int_equal(hes_journal_never_hold(b.log.journal, 7, "wb", NULL), 0);
	assert_int_equal(run_hold(&b.holder, b.t[1], "a test", NULL), -EPERM);
	unmake(&b);
}

/* It is silent after the hold, too, or was before it. */
TEST(a_co_runner_that_writes_a_checkpoint_is_no_stall)
{
	struct bench b;

	for (int before = 0; before < 2; before++) {
		make(&b);
		lines[1] = 20;
		now_us = before ? 5 * S : 10 * S;
		run_look(NULL, b.t[1]);
		now_us = 10 * S;
		hold_at_once(&b, b.t[0]);
		gpu_active = false;
		for (int64_t at = 10 * S; at <= 15 * S; at += S / 4)
			look(&b, at);
		assert_int_equal(task_state(b.t[0]), TASK_RUNNING);
		if (!before)
			look(&b, 20 * S);
		lines[1]++;
		look(&b, before ? 16 * S : 21 * S);
		assert_null(strstr(acts, "learnt"));
		assert_non_null(strstr(acts, "job b paused"));
		assert_int_equal(run_hold(&b.holder, b.t[0], "a test", NULL), 0);
		unmake(&b);
	}
}

TEST(a_co_runner_that_goes_on_or_ends_or_may_go_on_is_no_stall)
{
	struct bench b;

	/* It goes on; it ends; its GPU works on; so few lines that it may be chance. */
	for (int way = 0; way < 4; way++) {
		const bool ends = way == 1;

		make(&b);
		lines[1] = way == 3 ? 10 : 20;
		run_look(NULL, b.t[1]);
		hold_at_once(&b, b.t[0]);
		if (ends) {
			b.gpu.running[0] = b.t[2];
			b.gpu.running[1] = b.t[0];
			b.gpu.n_running = 1;
		}
		gpu_active = way == 2;
		gpu_read = way != 3;
		lines[1]++; /* what comes at once was done before */
		for (int64_t at = 10 * S; at <= 16 * S; at += S / 4) {
			lines[1] += at == 12 * S && way == 0;
			look(&b, at);
		}
		assert_int_equal(task_state(b.t[0]), TASK_HELD);
		assert_int_equal(run_hold_next_us(&b.gpu), RUN_NEVER_US);
		unmake(&b);
	}
}

/* Jobs that show no progress: what the GPU does is all that is seen, of those that have started. */
TEST(co_runners_without_progress_stall_if_the_gpu_idles)
{
	const struct {
		int64_t from_us;
		bool read, active, stalls;
	} rows[] = {
		{ 10 * S, true, false, false }, /* they may load their data */
		{ 60 * S, true, false, true },
		{ 60 * S, true, true, false },
		{ 60 * S, false, false, false }, /* nothing is known */
	};
	struct bench b;

	for (size_t i = 0; i < N(rows); i++) {
		make(&b);
		now_us = rows[i].from_us;
		hold_at_once(&b, b.t[0]);
		gpu_read = rows[i].read;
		gpu_active = rows[i].active;
		for (int64_t at = 0; at <= 5 * S; at += S / 4)
			look(&b, rows[i].from_us + at);
		assert_int_equal(task_state(b.t[0]), rows[i].stalls ? TASK_RUNNING : TASK_HELD);
		unmake(&b);
	}
}

TEST(work_is_counted_by_lines_else_by_launches_and_never_between_sources)
{
	char path[] = "/tmp/test_hold.XXXXXX";
	const uint64_t most = UINT64_MAX, few = 50;
	struct run_count a, c;
	struct bench b;
	struct run_task *t;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	make(&b);
	t = b.t[0];
	a = run_count_of(t, now_us);
	assert_int_equal(a.source, RUN_COUNT_NONE);
	t->launches_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(run_count_of(t, now_us).source, RUN_COUNT_NONE); /* it is empty */
	assert_int_equal(pwrite(fd, &few, sizeof(few), 0), sizeof(few));
	a = run_count_of(t, 10 * S);
	assert_true(a.source == RUN_COUNT_LAUNCHES && a.n == 50 && a.ran_us == 10 * S);
	assert_int_equal(pwrite(fd, &most, sizeof(most), 0), sizeof(most));
	c = run_count_of(t, 12 * S);
	assert_true(run_count_rate(&a, &c) > 1e18);
	assert_true(isnan(run_count_rate(&c, &a))); /* it counts back */
	assert_true(isnan(run_count_rate(&a, &a)));
	lines[0] = 7;
	run_look(NULL, t);
	c = run_count_of(t, 12 * S);
	assert_true(c.source == RUN_COUNT_PROGRESS && c.n == 7);
	assert_true(isnan(run_count_rate(&a, &c)));
	now_us = 12 * S;
	lines[0] = 27;
	run_look(NULL, t);
	a = run_count_of(t, 13 * S);
	assert_true(fabs(run_count_rate(&c, &a) - 10) < 1e-9);
	run_launches_close(t);
	assert_int_equal(t->launches_fd, -1);
	close(fd);
	unlink(path);
	unmake(&b);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
