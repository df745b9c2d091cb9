/*
 * children.c - the processes of jobs while they run; see children.h.
 */
#include "run/children.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "run/gpu_memory.h"
#include "run/run_files.h"

#define JUDGE_WAIT_US 30000000  /* for co-runners to notice that the MPS server has gone */
#define KILL_LOOK_US  1000000   /* between two looks at a job that is killed */
#define STUCK_LOOK_US 5000000   /* the same once it is stuck */
#define LATE_US       10000000  /* a job's end that was seen later is reported */
#define LATE_PART     50        /* of a segment: what was seen later is not learnt from */
#define UNMATCHED_US  300000000 /* after which a pattern is reported that matched no line */
#define STUCK_US      10000000  /* from a kill until a job counts as stuck */

int run_watch(const struct run_children *c, struct run_task *t)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = t };

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, t->child.pidfd, &e) ? -errno : 0;
}

/* Killed processes end within milliseconds, or wait in the driver for an unknown time. */
static void child_look_again(struct run_children *c, struct run_task *t)
{
	int64_t now = run_now_us(c->log->clock);

	t->kill_us = now + (task_state(t) == TASK_STUCK ? STUCK_LOOK_US : KILL_LOOK_US);
	if (t->stuck_us == RUN_NEVER_US)
		t->stuck_us = now + STUCK_US;
}

void run_set_aside(const struct run_children *c, struct run_task *t)
{
	struct run_gpu *g = t->gpu;

	t->stuck_us = RUN_NEVER_US;
	if (!task_go(c->tasks, t, TASK_STUCK))
		return;
	g->stuck++;
	run_tell(c->log,
		 "job %s: its processes are killed and do not end: they wait in the driver; "
		 "nothing starts on %s until they have",
		 t->job->id, run_gpu_name(g));
}

static void end_setting_aside(const struct run_children *c, struct run_task *t)
{
	struct run_gpu *g = t->gpu;

	g->stuck--;
	run_tell(c->log, "job %s has ended after all%s%s", t->job->id,
		 g->stuck ? "" : "; jobs start again on ", g->stuck ? "" : run_gpu_name(g));
}

static void tell_timeout(const struct run_children *c, const struct run_task *t)
{
	char hint[HES_PROGRESS_HINT_MAX];

	hes_progress_hint(t->job->progress, t->progress.bytes,
			  t->progress.used ? t->progress.line : t->progress.last_line, hint);
	run_tell(c->log,
		 "job %s: not done after %.0f s, where %.0f s were planned; it is ended%s%s",
		 t->job->id, (double)t->limit_us * 1e-6,
		 (double)(t->planned_end_us - t->planned_start_us) * 1e-6,
		 t->progress.known ? "" : "; whether it made progress is not known: ",
		 t->progress.known ? "" : hint);
}

/* Once for each pattern. */
static void tell_unmatched(struct run_children *c, const struct run_task *t)
{
	const char *pattern = t->job->progress;
	char hint[HES_PROGRESS_HINT_MAX];

	if (!pattern || t->progress.fd < 0 || t->progress.known ||
	    (c->unmatched && strcmp(c->unmatched, pattern) == 0))
		return;
	c->unmatched = pattern;
	hes_progress_hint(pattern, t->progress.bytes,
			  t->progress.used ? t->progress.line : t->progress.last_line, hint);
	run_tell(c->log, "job %s: its progress is not seen: %s", t->job->id, hint);
}

void run_end(struct run_children *c, struct run_task *t, enum run_ending why)
{
	struct run_gpu *g = t->gpu;
	bool again = t->ending != ENDING_OWN;

	if (!task_runs(t))
		return;
	run_release(c->holder, t, "it is to end");
	t->ending = again ? t->ending : why;
	t->deadline_us = RUN_NEVER_US;
	if (again) {
		hes_child_kill(&t->child,
			       g->mps.on && task_state(t) != TASK_STUCK ? &g->mps.daemon : NULL);
		child_look_again(c, t);
		return;
	}
	if (why == ENDING_TIMEOUT)
		tell_timeout(c, t);
	/* What it does from now on is its end. */
	if (c->q->open_ended) {
		run_account(c->meter, g);
		run_segment_begin(c->meter, g);
	}
	hes_child_terminate(&t->child);
	t->kill_us = run_now_us(c->log->clock) + c->q->grace_us;
}

/* MPS itself keeps a job with a single process to its limit. */
static void usage_look(struct run_children *c, struct run_gpu *g)
{
	const uint32_t exceed = run_usage_look(c->settings->devices, c->log, g);

	for (uint32_t i = 0; i < g->n_running; i++)
		if (exceed >> i & 1)
			run_end(c, g->running[i], ENDING_MEMORY);
}

void run_children_look(struct run_children *c, struct run_gpu *g, int64_t now)
{
	for (uint32_t k = 0; k < g->n_running; k++) {
		run_look(c->meter, g->running[k]);
		if (task_ran_us(g->running[k], now) > UNMATCHED_US)
			tell_unmatched(c, g->running[k]);
	}
	run_segment_settle(c->meter, g);
	usage_look(c, g);
	run_observe(c->samples, g, now);
}

/* --- reaped --- */

static void task_leave(struct run_gpu *g, const struct run_task *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run_gpu_started(g); i++)
		if (g->running[i] != t)
			g->running[n++] = g->running[i];
	g->n_running = n - g->n_held;
	hes_contexts_free(&g->contexts);
}

static void failure_open(struct run_children *c, struct run_gpu *g)
{
	usage_look(c, g);
	/* Whether they live must be seen. */
	run_release_all(c->holder, g, "a co-runner failed");
	g->failure.open = true;
	g->failure.from_us = run_now_us(c->log->clock);
	g->failure.until_us = g->failure.from_us + JUDGE_WAIT_US;
	memcpy(g->failure.v, g->running, g->n_running * sizeof(g->failure.v[0]));
	g->failure.n = g->n_running;
}

void run_note_end(const struct run_children *c, struct run_task *t)
{
	struct run_status end;
	int64_t ended_us;

	t->late_us = 0;
	if (!task_runs(t) || t->ending == ENDING_LEFT ||
	    run_status_read(c->log->folder, t->job->id, t->attempt.number, &end) || end.left)
		return;
	ended_us = run_now_us(c->log->clock) - (hes_boottime_us() - end.boot_us);
	if (ended_us >= t->attempt.started_us && ended_us < c->log->clock->woken_us)
		t->late_us = c->log->clock->woken_us - ended_us;
}

/* This program was stopped, or had no time: the power and speed until now are not the job's. */
static void judge_lateness(struct run_children *c, const struct run_task *t)
{
	struct run_segment *s = &t->gpu->energy.now;

	if (t->late_us > (c->log->clock->woken_us - s->start_us) / LATE_PART)
		s->has_energy = false;
	if (t->late_us > LATE_US)
		run_tell(c->log,
			 "job %s ended %.0f s before this was seen, because heshare was stopped: "
			 "its joules are estimated, and nothing is learnt from it",
			 t->job->id, (double)t->late_us * 1e-6);
}

void run_reap(struct run_children *c, struct run_task *t)
{
	struct run_gpu *g = t->gpu;
	struct hes_err err;
	int rc;

	if (!task_runs(t))
		return;
	run_release(c->holder, t, "its process has ended");
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, t->child.pidfd, NULL);
	/* Joules first: from now on its co-runners are charged. */
	run_account(c->meter, g);
	run_look(c->meter, t);
	run_observe_end(c->samples, t);
	rc = hes_guard_reap(c->settings->guard, &t->child, &t->end, &err);
	/* An event of an earlier process, or it is killed and still there. */
	if (rc == 0 && !run_watch(c, t))
		return;
	/* Its own descriptor stays readable; the processes that it left have none. */
	if (rc == -EBUSY) {
		t->ending = t->ending == ENDING_OWN ? ENDING_LEFT : t->ending;
		child_look_again(c, t);
		return;
	}
	if (task_state(t) == TASK_STUCK)
		end_setting_aside(c, t);
	if (rc < 0)
		run_tell(c->log, "job %s: %s", t->job->id, err.msg);
	t->ended_us = c->log->clock->woken_us - t->late_us;
	judge_lateness(c, t);
	run_name_outside(c->settings->devices, c->log, t);
	task_end(c->tasks, t);
	if (!run_judge_alone(c->judge, t) && !g->failure.open)
		failure_open(c, g);
	/* Not the one of an experiment: the job may be tried again. */
	if (t->clock.on)
		t->place->clock_mhz = t->clock.planned_mhz;
	task_leave(g, t);
	run_segment_begin(c->meter, g);
	t->record.iterations = t->progress.iterations;
	if (t->end.code == 0)
		tell_unmatched(c, t);
	hes_progress_close(&t->progress);
	run_launches_close(t);
}
