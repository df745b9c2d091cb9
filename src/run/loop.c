/*
 * loop.c - wait for what happens to a run: ends of processes, signals, the guard's end, moments;
 * see runner.h. Time is looked at once a round.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "run/runner.h"

#define EVENTS 64
#define OF_SIGNALS UINT64_MAX
#define OF_GUARD   (UINT64_MAX - 1)
#define LONGEST_US 60000000

int run_watch(struct runner *r, struct run_task *t)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = (uint64_t)(t - r->tasks) };

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, t->child.pidfd, &e) ? -errno : 0;
}

/* Promises renew a guard by themselves, and then it has another descriptor: asked for in every round. */
static int watch_guard(struct runner *r)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = OF_GUARD };

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, hes_guard_fd(r->guard), &e) && errno != EEXIST ? -errno : 0;
}

/* --- signals --- */

static void end_running(struct runner *r)
{
	for (size_t i = 0; i < r->n_boards; i++)
		for (uint32_t k = 0; k < r->boards[i].n_residents; k++)
			run_end(r, &r->tasks[r->boards[i].residents[k]], ENDING_STOP);
}

static void take_signals(struct runner *r)
{
	struct signalfd_siginfo s;

	while (read(r->signals, &s, sizeof(s)) == sizeof(s)) {
		r->stopping++;
		if (r->stopping == 1)
			run_tell(r, "stopping: no job starts any more, %zu that run are asked to end; once more ends them at once",
				 r->running);
		end_running(r);
	}
}

/* --- the guard --- */

static void see_to_guard(struct runner *r)
{
	struct hes_err err;
	int rc;

	epoll_ctl(r->epoll, EPOLL_CTL_DEL, hes_guard_fd(r->guard), NULL);
	rc = hes_guard_renew(r->guard, &err);
	if (rc < 0) {
		run_tell(r, "the guard that restores the boards died and cannot be started again, so nothing new starts: %s", err.msg);
		r->stopping += !r->stopping;
		return;
	}
	if (rc)
		run_tell(r, "the guard that restores the boards died; another has taken its place");
}

/* --- moments --- */

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t task_moment(const struct run_task *t)
{
	return sooner(t->deadline_us, sooner(t->kill_us, t->stuck_us));
}

static int64_t next_moment(const struct runner *r)
{
	int64_t next = sooner(r->retry_us, r->running ? r->look_us : RUN_NEVER_US);

	for (size_t i = 0; i < r->n_boards; i++) {
		const struct run_board *b = &r->boards[i];

		next = sooner(next, b->n_residents ? b->verify_us : RUN_NEVER_US);
		next = sooner(next, b->judging ? b->judge_until_us : RUN_NEVER_US);
		for (uint32_t k = 0; k < b->n_residents; k++)
			next = sooner(next, task_moment(&r->tasks[b->residents[k]]));
	}
	return next;
}

static void tell_progress(const struct runner *r, int64_t now)
{
	struct hes_run_progress p = { r->n_tasks, r->done, r->failed, r->running, now, 0 };
	double stretch = r->planned_sum_us > 0 ? r->took_sum_us / r->planned_sum_us : 1;
	int64_t last_us = 0;

	if (!r->q->listener.progress)
		return;
	for (size_t i = 0; i < r->n_tasks; i++)
		if (r->tasks[i].state < TASK_DONE && r->tasks[i].planned_end_us > last_us)
			last_us = r->tasks[i].planned_end_us;
	p.left_us = (int64_t)((double)last_us * stretch) - now;
	p.left_us = p.left_us > 0 ? p.left_us : 0;
	r->q->listener.progress(r->q->listener.ctx, &p);
}

static void look_at_all(struct runner *r, int64_t now)
{
	for (size_t i = 0; i < r->n_boards; i++)
		for (uint32_t k = 0; k < r->boards[i].n_residents; k++)
			run_look(r, &r->tasks[r->boards[i].residents[k]]);
	r->look_us = now + RUN_LOOK_US;
	tell_progress(r, now);
}

static void pass_task(struct runner *r, struct run_task *t, int64_t now)
{
	if (now >= t->stuck_us)
		run_set_aside(r, t);
	if (now >= t->deadline_us) {
		run_end(r, t, ENDING_TIMEOUT);
	} else if (now >= t->kill_us) {
		run_end(r, t, t->ending);
		/* Its end is no event if it could not be watched. */
		run_reap(r, t);
	}
}

static void pass_moments(struct runner *r)
{
	int64_t now = run_now_us(r);

	if (now >= r->look_us)
		look_at_all(r, now);
	if (now >= r->retry_us) {
		r->retry_us = RUN_NEVER_US;
		r->held = false;
	}
	for (size_t i = 0; i < r->n_boards; i++) {
		struct run_board *b = &r->boards[i];

		if (b->n_residents && now >= b->verify_us)
			run_verify_clock(r, b);
		for (uint32_t k = 0; k < b->n_residents; k++) {
			struct run_task *t = &r->tasks[b->residents[k]];

			pass_task(r, t, now);
		}
	}
}

/* --- the loop --- */

static int wait_for_events(struct runner *r, struct hes_err *err)
{
	struct epoll_event events[EVENTS];
	int64_t left_us;
	int n;

	watch_guard(r);
	left_us = sooner(next_moment(r) - run_now_us(r), LONGEST_US);
	n = epoll_wait(r->epoll, events, EVENTS, left_us > 0 ? (int)((left_us + 999) / 1000) : 0);

	if (n < 0 && errno != EINTR)
		return hes_fail(err, -errno, "cannot wait for jobs: %s", strerror(errno));
	r->woken_us = run_now_us(r);
	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 == OF_SIGNALS)
			take_signals(r);
		else if (events[i].data.u64 == OF_GUARD)
			see_to_guard(r);
		else
			run_reap(r, &r->tasks[events[i].data.u64]);
	}
	pass_moments(r);
	return 0;
}

static bool over(const struct runner *r)
{
	size_t waiting = r->n_tasks - r->done - r->failed;

	if (r->running > r->stuck || r->n_ended)
		return false;
	if (!waiting || r->stopping)
		return true;
	for (size_t i = 0; i < r->n_boards; i++)
		if (!r->boards[i].lost && !r->boards[i].stuck && !run_admit_over(&r->boards[i].queue))
			return false;
	return true;
}

int run_loop(struct runner *r, struct hes_err *err)
{
	int rc = watch_guard(r);

	if (rc)
		return hes_fail(err, rc, "cannot watch the guard: %s", strerror(-rc));
	/* An end may let others start, a start may fail at once. */
	for (;;) {
		run_finish(r);
		if (run_start(r))
			continue;
		run_settle_clocks(r);
		run_close_done(r);
		if (over(r))
			return 0;
		rc = wait_for_events(r, err);
		if (rc)
			return rc;
		/* Stopped twice with a journal that cannot be written: the files of the jobs know. */
		if (r->stopping > 1 && r->held && r->running == r->stuck)
			return 0;
	}
}
