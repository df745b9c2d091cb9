/* test_run_task.c - the states of a task: every transition from every state, as the table in
 * run_task.h has them; the counts, the list of ended tasks and the queue follow. */
#include "run/run_task.h"
#include "unit_test.h"

static bool settle_over(struct run_tasks *ts, struct run_task *t)
{
	t->over = true;
	return task_settle(ts, t);
}

static bool judge_done(struct run_tasks *ts, struct run_task *t)
{
	return task_judge(ts, t, HES_VERDICT_DONE);
}

static bool judge_failed(struct run_tasks *ts, struct run_task *t)
{
	return task_judge(ts, t, HES_VERDICT_FAILED);
}

static bool restore_done(struct run_tasks *ts, struct run_task *t)
{
	return task_restore(ts, t, true);
}

static bool go_waiting(struct run_tasks *ts, struct run_task *t)
{
	return task_go(ts, t, TASK_WAITING);
}

static bool go_forked(struct run_tasks *ts, struct run_task *t)
{
	return task_go(ts, t, TASK_FORKED);
}

static bool go_running(struct run_tasks *ts, struct run_task *t)
{
	return task_go(ts, t, TASK_RUNNING);
}

static bool go_held(struct run_tasks *ts, struct run_task *t)
{
	return task_go(ts, t, TASK_HELD);
}

static bool go_stuck(struct run_tasks *ts, struct run_task *t)
{
	return task_go(ts, t, TASK_STUCK);
}

static bool go_done(struct run_tasks *ts, struct run_task *t)
{
	return task_go(ts, t, TASK_DONE);
}

typedef bool transition_fn(struct run_tasks *ts, struct run_task *t);

/* The columns of the table, and the state that follows from each row; -1: it is refused. */
static const struct {
	transition_fn *go;
	int to[TASK_EARLY + 1];
} columns[] = {
	{ go_waiting, { -1, TASK_WAITING, -1, -1, -1, -1, -1, -1, -1, -1 } },
	{ go_forked, { TASK_FORKED, -1, -1, -1, -1, -1, -1, -1, -1, -1 } },
	{ go_running, { -1, TASK_RUNNING, -1, TASK_RUNNING, -1, -1, -1, -1, -1, -1 } },
	{ go_held, { -1, -1, TASK_HELD, -1, -1, -1, -1, -1, -1, -1 } },
	{ go_stuck, { -1, -1, TASK_STUCK, -1, -1, -1, -1, -1, -1, -1 } },
	{ go_done, { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 } },
	{ task_end, { -1, -1, TASK_ENDED, -1, TASK_ENDED, -1, -1, -1, -1, -1 } },
	{ judge_done, { TASK_JUDGED, TASK_JUDGED, -1, -1, -1, TASK_JUDGED, -1, -1, -1, -1 } },
	{ task_settle, { -1, -1, -1, -1, -1, -1, TASK_WAITING, -1, -1, -1 } },
	{ settle_over, { -1, -1, -1, -1, -1, -1, TASK_DONE, -1, -1, -1 } },
	{ restore_done, { TASK_DONE, -1, -1, -1, -1, -1, -1, -1, -1, -1 } },
};

/* How a task comes to each state. */
static transition_fn *const ways[][6] = {
	[TASK_WAITING] = { 0 },
	[TASK_FORKED] = { go_forked },
	[TASK_RUNNING] = { go_forked, go_running },
	[TASK_HELD] = { go_forked, go_running, go_held },
	[TASK_STUCK] = { go_forked, go_running, go_stuck },
	[TASK_ENDED] = { go_forked, go_running, task_end },
	[TASK_JUDGED] = { go_forked, go_running, task_end, judge_done },
	[TASK_DONE] = { go_forked, go_running, task_end, judge_done, settle_over },
	[TASK_FAILED] = { judge_failed, settle_over },
	[TASK_EARLY] = { 0 },
};

struct bench {
	struct run_place place;
	struct run_tasks all;
	struct run_task *task;
};

static void make(struct bench *b, int state)
{
	*b = (struct bench){ .place.sm_pct = 100 };
	assert_int_equal(run_tasks_grow(&b->all, 1, NULL), 0);
	b->task = run_tasks_add(&b->all);
	assert_non_null(b->task);
	assert_null(run_tasks_add(&b->all)); /* there is no room */
	b->task->place = &b->place;
	for (size_t i = 0; ways[state][i]; i++)
		assert_true(ways[state][i](&b->all, b->task));
	if (state == TASK_EARLY)
		assert_true(task_restore(&b->all, b->task, false));
	assert_int_equal(task_state(b->task), state);
}

static void check(const struct bench *b)
{
	const enum task_state s = task_state(b->task);

	assert_int_equal(b->all.running, s >= TASK_RUNNING && s <= TASK_STUCK);
	assert_int_equal(b->all.stuck, s == TASK_STUCK);
	assert_int_equal(b->all.done, s == TASK_DONE);
	assert_int_equal(b->all.failed, s == TASK_FAILED);
	assert_int_equal(b->all.early, s == TASK_EARLY);
	assert_int_equal(run_tasks_left(&b->all), s < TASK_DONE);
	assert_int_equal(b->place.state, s == TASK_WAITING ? RUN_WAITING
					 : s == TASK_HELD  ? RUN_HELD
					 : s < TASK_DONE   ? RUN_STARTED
							   : RUN_OVER);
}

TEST(each_transition_leads_where_the_table_says_and_all_others_are_refused)
{
	struct bench b;

	for (int from = TASK_WAITING; from <= TASK_EARLY; from++)
		for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
			const int to = columns[i].to[from];

			make(&b, from);
			check(&b);
			assert_int_equal(columns[i].go(&b.all, b.task), to >= 0);
			assert_int_equal(task_state(b.task), to >= 0 ? to : from);
			check(&b);
			run_tasks_free(&b.all);
		}
}

TEST(a_task_is_listed_from_its_end_until_its_verdict_is_settled)
{
	struct bench b;

	make(&b, TASK_ENDED);
	run_tasks_close_ranks(&b.all);
	assert_true(judge_failed(&b.all, b.task));
	run_tasks_close_ranks(&b.all);
	assert_int_equal(b.all.n_ended, 1);
	assert_true(task_settle(&b.all, b.task)); /* it is tried again */
	run_tasks_close_ranks(&b.all);
	assert_int_equal(b.all.n_ended, 0);
	assert_int_equal(b.task->charged, 1);
	/* Also one that cannot be started. */
	assert_true(judge_failed(&b.all, b.task));
	assert_int_equal(b.all.n_ended, 1);
	assert_true(settle_over(&b.all, b.task));
	assert_int_equal(task_state(b.task), TASK_FAILED);
	run_tasks_free(&b.all);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
