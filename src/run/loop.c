/*
 * loop.c - the event loop of a run: ends of processes, signals, the end of the guard, times; see
 * run_state.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/run_state.h"

#define EVENTS     64
#define LONGEST_US 60000000
#define LOOK_US                                                                                \
	1000000 /* between two looks at the output of jobs, for jobs that were added and for a \
		   request to stop */
#define STOP_FILE "stop"

/* Every round: a guard that was renewed meanwhile has another descriptor. */
static int watch_guard(struct runner *r)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = r };

	return epoll_ctl(r->events.epoll, EPOLL_CTL_ADD, hes_guard_fd(r->settings.guard), &e) &&
			       errno != EEXIST
		       ? -errno
		       : 0;
}

/* --- signals --- */

static void end_running(struct runner *r)
{
	for (size_t i = 0; i < r->gpus.n; i++)
		run_release_all(&r->holder, &r->gpus.v[i], "the run stops");
	for (size_t i = 0; i < r->gpus.n; i++)
		for (uint32_t k = 0; k < r->gpus.v[i].n_running; k++)
			run_end(&r->children, r->gpus.v[i].running[k], ENDING_STOP);
}

static void stop_run(struct runner *r, const char *why)
{
	r->stop.signals++;
	if (r->stop.signals == 1)
		run_tell(&r->log,
			 "%sstopping: no job starts any more, %zu that run are requested to end; a "
			 "second signal kills them",
			 why, r->tasks.running);
	end_running(r);
}

/* The run on all nodes sees that the stop was requested here. */
static void leave_stop_file(const struct runner *r)
{
	int fd = openat(r->folder.fd, STOP_FILE,
			O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd >= 0)
		close(fd);
}

static void take_signals(struct runner *r)
{
	struct signalfd_siginfo s;

	while (read(r->events.signals, &s, sizeof(s)) == sizeof(s)) {
		stop_run(r, "");
		if (r->q->takes_stop_file)
			leave_stop_file(r);
	}
}

/* Requests to stop that are no signals. */
static void look_for_stop(struct runner *r)
{
	if (r->stop.signals)
		return;
	if (r->q->stop_s > 0 && hes_monotonic_s() >= r->q->stop_s)
		stop_run(r, "the time limit is near; ");
	else if (r->q->takes_stop_file &&
		 !faccessat(r->folder.fd, STOP_FILE, F_OK, AT_SYMLINK_NOFOLLOW))
		stop_run(r, "requested by the run on all nodes; ");
}

/* --- the guard --- */

static void renew_guard(struct runner *r)
{
	struct hes_err err;
	int rc;

	epoll_ctl(r->events.epoll, EPOLL_CTL_DEL, hes_guard_fd(r->settings.guard), NULL);
	rc = hes_guard_renew(r->settings.guard, &err);
	if (rc < 0) {
		run_tell(&r->log,
			 "the guard that restores the GPUs died and cannot be started again, so "
			 "nothing new starts: %s",
			 err.msg);
		r->stop.signals += !r->stop.signals;
		return;
	}
	if (rc)
		run_tell(&r->log,
			 "the guard that restores the GPUs died; another has taken its place");
}

/* --- times --- */

static int64_t task_time(const struct run_task *t)
{
	return run_sooner(t->deadline_us, run_sooner(t->kill_us, t->stuck_us));
}

static int64_t next_time(const struct runner *r)
{
	const int64_t keep_us = r->tasks.running ? r->meter.keep_us : RUN_NEVER_US;
	int64_t next = run_sooner(r->log.retry_us, run_sooner(r->events.look_us, keep_us));

	next = run_sooner(next, run_replan_time(&r->replans));
	for (size_t i = 0; i < r->gpus.n; i++) {
		const struct run_gpu *g = &r->gpus.v[i];

		next = run_sooner(next, g->n_running ? g->lock.verify_us : RUN_NEVER_US);
		next = run_sooner(next, g->failure.open ? g->failure.until_us : RUN_NEVER_US);
		next = run_sooner(next, run_hold_next_us(g));
		for (uint32_t k = 0; k < g->n_running; k++)
			next = run_sooner(next, run_sooner(task_time(g->running[k]),
							   run_observe_next_us(g->running[k])));
	}
	return next;
}

static void tell_progress(const struct runner *r, int64_t now)
{
	const struct hes_run_progress p = {
		.jobs = r->tasks.n,
		.done = r->tasks.done,
		.failed = r->tasks.failed,
		.early = r->tasks.early,
		.running = r->tasks.running,
		.now_us = now,
		.left_us = run_left_us(&r->live, now),
	};

	if (r->q->listener.progress)
		r->q->listener.progress(r->q->listener.ctx, &p);
}

static void look_at_all(struct runner *r, int64_t now)
{
	struct hes_err err;

	for (size_t i = 0; i < r->gpus.n; i++)
		run_children_look(&r->children, &r->gpus.v[i], now);
	r->events.look_us = now + LOOK_US;
	run_replan_look(&r->replans, now);
	look_for_stop(r);
	tell_progress(r, now);
	run_live_write(&r->live, now);
	/* Both read profiles, to which a planner of all that waits may add. */
	if (r->log.paused || (r->replans.planning && !r->q->waiting_stay))
		return;
	for (size_t i = 0; i < r->gpus.n && !r->stop.signals; i++) {
		run_learn_clock(&r->learner, &r->gpus.v[i], now);
		run_learn_set(&r->holder, &r->gpus.v[i], now);
	}
	/* What fails is tried again. */
	if (now >= r->samples.look_us)
		run_learn(&r->samples, &err);
	if (!r->stop.signals && run_take_added(&r->replans, &err))
		run_pause(&r->log, &err);
}

static void pass_task(struct runner *r, struct run_task *t, int64_t now)
{
	if (now >= t->stuck_us)
		run_set_aside(&r->children, t);
	if (now >= run_observe_next_us(t)) {
		run_look(&r->meter, t);
		run_observe(&r->samples, t->gpu, now);
	}
	if (now >= t->deadline_us) {
		run_end(&r->children, t, r->q->for_us ? ENDING_OVER : ENDING_TIMEOUT);
	} else if (now >= t->kill_us) {
		run_end(&r->children, t, t->ending);
		/* If it could not be watched its end is no event. */
		run_reap(&r->children, t);
	}
}

static void pass_times(struct runner *r)
{
	int64_t now = run_now_us(&r->clock);

	if (now >= r->events.look_us)
		look_at_all(r, now);
	if (now >= r->meter.keep_us)
		run_keep_joules(&r->results, now);
	if (now >= r->log.retry_us) {
		r->log.retry_us = RUN_NEVER_US;
		r->log.paused = false;
	}
	for (size_t i = 0; i < r->gpus.n; i++) {
		struct run_gpu *g = &r->gpus.v[i];

		if (g->n_running && now >= g->lock.verify_us)
			run_verify_clock(&r->settings, g);
		for (uint32_t k = 0; k < g->n_running; k++)
			pass_task(r, g->running[k], now);
		run_hold_look(&r->holder, g, now);
	}
}

/* --- the loop --- */

static void note_all_ends(struct runner *r)
{
	for (size_t i = 0; i < r->gpus.n; i++)
		for (uint32_t k = 0; k < run_gpu_started(&r->gpus.v[i]); k++)
			run_note_end(&r->children, r->gpus.v[i].running[k]);
}

static int wait_for_events(struct runner *r, struct hes_err *err)
{
	struct epoll_event events[EVENTS];
	int64_t from_us, left_us, woken_us;
	int n;

	watch_guard(r);
	from_us = run_now_us(&r->clock);
	left_us = run_sooner(next_time(r) - from_us, LONGEST_US);
	left_us = left_us > 0 ? left_us : 0;
	n = epoll_wait(r->events.epoll, events, EVENTS, (int)((left_us + 999) / 1000));

	if (n < 0 && errno != EINTR)
		return hes_fail(err, -errno, "cannot wait for jobs: %s", strerror(errno));
	woken_us = run_clock_wake(&r->clock);
	for (int i = 0; i < n; i++)
		if (events[i].data.ptr && events[i].data.ptr != r &&
		    events[i].data.ptr != &r->replans)
			run_note_end(&r->children, events[i].data.ptr);
	/* It was stopped: a job may have ended whose event comes next. */
	if (woken_us > from_us + left_us + LOOK_US)
		note_all_ends(r);
	for (int i = 0; i < n; i++) {
		/* Signals have no pointer, the guard has the run's, a process its task's. */
		if (!events[i].data.ptr)
			take_signals(r);
		else if (events[i].data.ptr == &r->replans)
			run_replan_made(&r->replans);
		else if (events[i].data.ptr == r)
			renew_guard(r);
		else
			run_reap(&r->children, events[i].data.ptr);
	}
	pass_times(r);
	return 0;
}

static bool run_is_over(const struct runner *r)
{
	if (r->tasks.running > r->tasks.stuck || r->tasks.n_ended ||
	    (r->replans.planning && !r->stop.signals))
		return false;
	if (!run_tasks_left(&r->tasks) || r->stop.signals)
		return true;
	for (size_t i = 0; i < r->gpus.n; i++)
		if (run_gpu_is_usable(&r->gpus.v[i]) && !run_admit_over(&r->gpus.v[i].queue))
			return false;
	return true;
}

/* Whether jobs were added since the last look. */
static bool took_more(struct runner *r)
{
	const size_t n = r->tasks.n;

	return !r->stop.signals && !run_take_added(&r->replans, NULL) && r->tasks.n > n;
}

/* Jobs that wait elsewhere may come to a GPU that has none: its MPS daemon stays. */
static void settle_gpus(struct runner *r)
{
	const bool may_come = r->q->replan && run_tasks_left(&r->tasks) > r->tasks.running;

	for (size_t i = 0; i < r->gpus.n; i++) {
		run_settle_clock(&r->settings, &r->gpus.v[i]);
		if (run_admit_over(&r->gpus.v[i].queue) && !may_come)
			run_close_gpu(&r->settings, &r->gpus.v[i]);
	}
}

int run_loop(struct runner *r, struct hes_err *err)
{
	int rc = watch_guard(r);

	if (rc)
		return hes_fail(err, rc, "cannot watch the guard: %s", strerror(-rc));
	look_for_stop(r);
	/* The end of a job may let others start; a start may fail at once. */
	for (;;) {
		run_finish(&r->results);
		if (!r->stop.signals && !r->log.paused && run_replan(&r->replans, err))
			run_pause(&r->log, err);
		if (run_start(&r->starter, run_replan_is_near(&r->replans)))
			continue;
		settle_gpus(r);
		if (run_is_over(r)) {
			if (!took_more(r))
				return 0;
			continue;
		}
		rc = wait_for_events(r, err);
		if (rc)
			return rc;
		rc = run_blocked(&r->log, r->tasks.running > r->tasks.stuck, r->stop.signals > 0,
				 err);
		if (rc)
			return rc;
	}
}
