/*
 * run_task.c - the states of tasks; see run_task.h. No other file sets them.
 */
#include "run/run_task.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What is private of a task. Other files hold pointers to its first member. */
struct task {
	struct run_task public;
	enum task_state state;
};

#define FROM(state) (1u << (state))
#define RUNS        (FROM(TASK_RUNNING) | FROM(TASK_HELD) | FROM(TASK_STUCK))

enum task_state task_state(const struct run_task *t)
{
	return ((const struct task *)t)->state;
}

bool task_runs(const struct run_task *t)
{
	return FROM(task_state(t)) & RUNS;
}

/* What the queue of its GPU sees of a state. */
static enum run_place_state place_state(enum task_state s)
{
	return s == TASK_WAITING ? RUN_WAITING
	       : s >= TASK_DONE  ? RUN_OVER
	       : s == TASK_HELD  ? RUN_HELD
				 : RUN_STARTED;
}

/* The one place where a state changes. @param from  bits of the states that it may follow */
static bool task_follow(struct run_tasks *ts, struct run_task *t, unsigned from, enum task_state to)
{
	const enum task_state was = task_state(t);

	if (!(FROM(was) & from))
		return false;
	((struct task *)t)->state = to;
	if (t->place)
		t->place->state = place_state(to);
	ts->running += task_runs(t);
	ts->running -= (FROM(was) & RUNS) != 0;
	ts->stuck += to == TASK_STUCK;
	ts->stuck -= was == TASK_STUCK;
	ts->done += to == TASK_DONE;
	ts->failed += to == TASK_FAILED;
	ts->early += to == TASK_EARLY;
	return true;
}

bool task_go(struct run_tasks *ts, struct run_task *t, enum task_state to)
{
	static const unsigned from[] = {
		[TASK_WAITING] = FROM(TASK_FORKED),
		[TASK_FORKED] = FROM(TASK_WAITING),
		[TASK_RUNNING] = FROM(TASK_FORKED) | FROM(TASK_HELD),
		[TASK_HELD] = FROM(TASK_RUNNING),
		[TASK_STUCK] = FROM(TASK_RUNNING),
	};

	return task_follow(ts, t, to <= TASK_STUCK ? from[to] : 0, to);
}

bool task_end(struct run_tasks *ts, struct run_task *t)
{
	if (!task_follow(ts, t, FROM(TASK_RUNNING) | FROM(TASK_STUCK), TASK_ENDED))
		return false;
	ts->ended[ts->n_ended++] = t;
	return true;
}

bool task_judge(struct run_tasks *ts, struct run_task *t, enum hes_verdict verdict)
{
	const bool listed = task_state(t) == TASK_ENDED;

	if (!task_follow(ts, t, FROM(TASK_WAITING) | FROM(TASK_FORKED) | FROM(TASK_ENDED),
			 TASK_JUDGED))
		return false;
	t->verdict = verdict;
	if (!listed)
		ts->ended[ts->n_ended++] = t;
	return true;
}

bool task_settle(struct run_tasks *ts, struct run_task *t)
{
	const enum task_state to = !t->over                          ? TASK_WAITING
				   : t->verdict == HES_VERDICT_DONE  ? TASK_DONE
				   : t->verdict == HES_VERDICT_EARLY ? TASK_EARLY
								     : TASK_FAILED;

	if (!task_follow(ts, t, FROM(TASK_JUDGED), to))
		return false;
	t->decided = false;
	t->charged += t->verdict == HES_VERDICT_FAILED || t->verdict == HES_VERDICT_TIMEOUT;
	t->co_failures += t->verdict == HES_VERDICT_CO_FAILED;
	if (to == TASK_DONE) {
		ts->planned_us += (double)task_planned_us(t);
		ts->took_us += (double)task_ran_us(t, t->ended_us);
	}
	return true;
}

bool task_restore(struct run_tasks *ts, struct run_task *t, bool done)
{
	return task_follow(ts, t, FROM(TASK_WAITING), done ? TASK_DONE : TASK_EARLY);
}

/* --- all tasks --- */

int run_tasks_grow(struct run_tasks *ts, size_t n, struct hes_err *err)
{
	void *v = reallocarray(ts->v, ts->n + n + 1, sizeof(struct run_task *)), *ended = NULL;

	if (v) {
		ts->v = v;
		ended = reallocarray(ts->ended, ts->n + n + 1, sizeof(struct run_task *));
	}
	if (!ended)
		return hes_fail(err, -ENOMEM, "out of memory for %zu more jobs", n);
	ts->ended = ended;
	ts->room = ts->n + n;
	return 0;
}

struct run_task *run_tasks_add(struct run_tasks *ts)
{
	struct task *t = ts->n < ts->room ? calloc(1, sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	t->public.child = (struct hes_child){ .pidfd = -1, .gate = -1 };
	t->public.progress.fd = t->public.launches_fd = -1;
	t->public.kill_us = RUN_NEVER_US;
	ts->v[ts->n++] = &t->public;
	return &t->public;
}

void run_tasks_free(struct run_tasks *ts)
{
	for (size_t i = 0; i < ts->n; i++) {
		hes_run_added_free(ts->v[i]->added, 1);
		free(ts->v[i]);
	}
	free(ts->v);
	free(ts->ended);
	*ts = (struct run_tasks){ 0 };
}

size_t run_tasks_left(const struct run_tasks *ts)
{
	return ts->n - ts->done - ts->failed - ts->early;
}

void run_tasks_close_ranks(struct run_tasks *ts)
{
	size_t n = 0;

	for (size_t i = 0; i < ts->n_ended; i++)
		if (task_state(ts->ended[i]) == TASK_ENDED ||
		    task_state(ts->ended[i]) == TASK_JUDGED)
			ts->ended[n++] = ts->ended[i];
	ts->n_ended = n;
}

/* --- progress --- */

int64_t task_ran_us(const struct run_task *t, int64_t at)
{
	const int64_t held_us = task_state(t) == TASK_HELD ? at - t->hold.since_us : 0;

	return at - t->attempt.started_us - t->hold.before_us - held_us;
}

double task_part_done(const struct run_task *t)
{
	if (!t->progress.known || !t->progress.iterations || t->job->whole_run)
		return -1;
	return fmin((double)t->progress.iterations / (double)t->job->iterations, 1);
}

/* The time to the first line is of the start-up. A job without a line for long is taken to need as
 * long again. */
int64_t task_left_us(const struct run_task *t, int64_t now)
{
	const int64_t ran_us = task_ran_us(t, now);
	const double part = task_part_done(t), since_us = (double)(ran_us - t->moved_us);

	if (part <= t->begun_part || t->moved_us <= t->begun_us)
		return task_planned_us(t) - ran_us;
	return (int64_t)fmax((double)(t->moved_us - t->begun_us) * (1 - part) /
					     (part - t->begun_part) -
				     since_us,
			     since_us);
}

bool task_is_starting(const struct run_task *t, int64_t now)
{
	return !t->begun_us && task_ran_us(t, now) < t->start_up_us;
}

double task_activity(const struct run_task *t)
{
	const struct run_alone_power *d = &t->alone_power;

	if (t->activity > 0 || d->seconds <= 0)
		return t->activity;
	return fmax(d->joules / d->seconds * t->attempt.sm_pct / d->sm_pct, 0);
}
