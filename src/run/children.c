/*
 * children.c - the processes of jobs while they run; see children.h.
 */
#include "run/children.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "run/verdict.h"
#include "run/solo_point.h"
#include "run/outside.h"
#include "run/start_jobs.h"
#include "run/steps.h"
#include "run/gpu_memory.h"

#define JUDGE_WAIT_US 30000000 /* for co-runners to notice that the MPS server has gone */
#define KILL_LOOK_US  1000000  /* between two looks at a job that is killed */
#define STUCK_LOOK_US 5000000  /* the same once it is stuck */
#define LATE_US       10000000 /* a job's end that was seen later is reported */
#define LATE_PART     50       /* of a segment: what was seen later is not learnt from */
#define STUCK_US      10000000 /* from a kill until a job counts as stuck */

int run_watch(struct runner *r, struct run_task *t)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = t };

	return epoll_ctl(r->events.epoll, EPOLL_CTL_ADD, t->child.pidfd, &e) ? -errno : 0;
}

/* Killed processes end within milliseconds, or wait in the driver for an unknown time. */
static void child_look_again(struct runner *r, struct run_task *t)
{
	int64_t now = run_now_us(&r->clock);

	t->kill_us = now + (t->stuck ? STUCK_LOOK_US : KILL_LOOK_US);
	if (t->stuck_us == RUN_NEVER_US)
		t->stuck_us = now + STUCK_US;
}

void run_set_aside(struct runner *r, struct run_task *t)
{
	struct run_gpu *g = t->gpu;

	t->stuck_us = RUN_NEVER_US;
	if (t->stuck)
		return;
	t->stuck = true;
	g->stuck++;
	r->counts.stuck++;
	run_tell(&r->log,
		 "job %s: its processes are killed and do not end: they wait in the driver; "
		 "nothing starts on %s until they have",
		 t->job->id, run_gpu_name(g));
}

static void end_setting_aside(struct runner *r, struct run_task *t)
{
	struct run_gpu *g = t->gpu;

	if (!t->stuck)
		return;
	t->stuck = false;
	g->stuck--;
	r->counts.stuck--;
	run_tell(&r->log, "job %s has ended after all%s%s", t->job->id,
		 g->stuck ? "" : "; jobs start again on ", g->stuck ? "" : run_gpu_name(g));
}

static void tell_timeout(const struct runner *r, const struct run_task *t)
{
	char hint[HES_PROGRESS_HINT_MAX];

	hes_progress_hint(t->job->progress, t->progress.bytes,
			  t->progress.used ? t->progress.line : t->progress.last_line, hint);
	run_tell(&r->log,
		 "job %s: not done after %.0f s, where %.0f s were planned; it is ended%s%s",
		 t->job->id, (double)t->limit_us * 1e-6,
		 (double)(t->planned_end_us - t->planned_start_us) * 1e-6,
		 t->progress.known ? "" : "; whether it made progress is not known: ",
		 t->progress.known ? "" : hint);
}

void run_tell_unmatched(struct runner *r, const struct run_task *t)
{
	const char *pattern = t->job->progress;
	char hint[HES_PROGRESS_HINT_MAX];

	if (!pattern || t->progress.fd < 0 || t->progress.known ||
	    (r->unmatched && strcmp(r->unmatched, pattern) == 0))
		return;
	r->unmatched = pattern;
	hes_progress_hint(pattern, t->progress.bytes,
			  t->progress.used ? t->progress.line : t->progress.last_line, hint);
	run_tell(&r->log, "job %s: its progress is not seen: %s", t->job->id, hint);
}

void run_end(struct runner *r, struct run_task *t, enum run_ending why)
{
	struct run_gpu *g = t->gpu;
	bool again = t->ending != ENDING_OWN;

	if (t->state != TASK_RUNNING)
		return;
	t->ending = again ? t->ending : why;
	t->deadline_us = RUN_NEVER_US;
	if (again) {
		hes_child_kill(&t->child, g->mps.on && !t->stuck ? &g->mps.daemon : NULL);
		child_look_again(r, t);
		return;
	}
	if (why == ENDING_TIMEOUT)
		tell_timeout(r, t);
	/* What it does from now on is its end. */
	if (r->q->open_ended) {
		run_account(&r->meter, g);
		run_segment_begin(&r->meter, g);
	}
	hes_child_terminate(&t->child);
	t->kill_us = run_now_us(&r->clock) + r->q->grace_us;
}

/* --- reaped --- */

static void task_leave(struct run_gpu *g, const struct run_task *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_running; i++)
		if (g->running[i] != t)
			g->running[n++] = g->running[i];
	g->n_running = n;
	hes_contexts_free(&g->contexts);
}

static void trial_open(struct runner *r, struct run_gpu *g)
{
	run_usage_look(r, g);
	g->trial.open = true;
	g->trial.from_us = run_now_us(&r->clock);
	g->trial.until_us = g->trial.from_us + JUDGE_WAIT_US;
	memcpy(g->trial.v, g->running, g->n_running * sizeof(g->trial.v[0]));
	g->trial.n = g->n_running;
}

static bool task_complete(const struct run_task *t)
{
	return t->end.code == 0 && t->progress.known && !t->job->whole_run &&
	       t->progress.iterations >= t->job->iterations;
}

/* A job whose MPS daemon does not answer is not charged for its timeout. */
static enum hes_verdict judge_timeout(struct runner *r, struct run_task *t)
{
	struct run_gpu *g = t->gpu;

	run_revive_mps(&r->settings, g);
	t->excuse = "its MPS daemon ended or does not answer";
	return t->mps_daemon && t->mps_daemon <= g->mps.gone ? HES_VERDICT_CO_FAILED
							     : HES_VERDICT_TIMEOUT;
}

/* @return whether the verdict is known without the co-runners */
static bool judge_alone(struct runner *r, struct run_task *t)
{
	if (t->end.code == 0 &&
	    (t->ending == ENDING_OWN || t->ending == ENDING_LEFT || task_complete(t)))
		run_judge_done(r, t);
	else if (t->ending == ENDING_OVER || (t->ending == ENDING_STOP && r->q->open_ended))
		t->verdict = HES_VERDICT_DONE;
	else if (t->ending == ENDING_STOP || (r->events.stopping && t->end.code == 128 + SIGTERM))
		t->verdict = HES_VERDICT_STOPPED;
	else if (t->ending == ENDING_TIMEOUT)
		t->verdict = judge_timeout(r, t);
	else if (t->ending == ENDING_MEMORY)
		t->verdict = HES_VERDICT_FAILED;
	else
		return false;
	return true;
}

void run_note_end(const struct runner *r, struct run_task *t)
{
	char name[RUN_FILE_NAME_MAX];
	struct run_status end;
	int64_t ended_us;

	t->late_us = 0;
	run_status_name(t->job->id, t->attempt.number, name);
	if (t->state != TASK_RUNNING || t->ending == ENDING_LEFT ||
	    run_status_read(&r->folder, name, &end) || end.left)
		return;
	ended_us = run_now_us(&r->clock) - (hes_boottime_us() - end.boot_us);
	if (ended_us >= t->attempt.started_us && ended_us < r->events.woken_us)
		t->late_us = r->events.woken_us - ended_us;
}

/* This program was stopped, or had no time: the power and speed until now are not the job's. */
static void judge_lateness(struct runner *r, const struct run_task *t)
{
	struct run_segment *s = &t->gpu->energy.now;

	if (t->late_us > (r->events.woken_us - s->start_us) / LATE_PART)
		s->has_energy = false;
	if (t->late_us > LATE_US)
		run_tell(&r->log,
			 "job %s ended %.0f s before this was seen, because heshare was stopped: "
			 "its joules are estimated, and nothing is learnt from it",
			 t->job->id, (double)t->late_us * 1e-6);
}

void run_reap(struct runner *r, struct run_task *t)
{
	struct run_gpu *g = t->gpu;
	struct hes_err err;
	int rc;

	if (t->state != TASK_RUNNING)
		return;
	epoll_ctl(r->events.epoll, EPOLL_CTL_DEL, t->child.pidfd, NULL);
	/* Joules first: from now on its co-runners are charged. */
	run_account(&r->meter, g);
	run_look(&r->meter, t);
	run_observe_end(r, t);
	rc = hes_guard_reap(r->settings.guard, &t->child, &t->end, &err);
	/* An event of an earlier process, or it is killed and still there. */
	if (rc == 0 && !run_watch(r, t))
		return;
	/* Its own descriptor stays readable; the processes that it left have none. */
	if (rc == -EBUSY) {
		t->ending = t->ending == ENDING_OWN ? ENDING_LEFT : t->ending;
		child_look_again(r, t);
		return;
	}
	end_setting_aside(r, t);
	if (rc < 0)
		run_tell(&r->log, "job %s: %s", t->job->id, err.msg);
	t->ended_us = r->events.woken_us - t->late_us;
	judge_lateness(r, t);
	run_name_outside(r, t);
	t->state = judge_alone(r, t) ? TASK_JUDGED : TASK_ENDED;
	if (t->state == TASK_ENDED && !g->trial.open)
		trial_open(r, g);
	task_leave(g, t);
	run_segment_begin(&r->meter, g);
	t->iterations = t->progress.iterations;
	if (t->end.code == 0)
		run_tell_unmatched(r, t);
	hes_progress_close(&t->progress);
	r->ended[r->n_ended++] = t;
	r->counts.running--;
}
