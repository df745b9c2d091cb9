/*
 * hold.c - tasks that stand still for a time, and what becomes of their co-runners; see hold.h.
 */
#include "run/hold.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WAIT_US       1000000  /* longest wait for a good moment */
#define WAIT_LOOK_US  50000    /* between two looks for it */
#define WATCH_US      5000000  /* co-runners are watched for so long, */
#define DRAIN_US      1000000  /* from this time on: until then work ends that began before */
#define WATCH_LOOK_US 250000   /* between two looks at the activity of the GPU */
#define EXPECTED      5        /* where so many events are expected in a watch, none is a stall */
#define QUIET_S       3        /* without an event, and so for more than chance: it paused before */
#define CONFIRM_S     5        /* in which one that stalled works again, once the other goes on; */
#define CONFIRM_MAX_S 10       /* longer, for two of its events, but not longer than this */
#define START_US      30000000 /* a job that shows no work has started by then */

/* --- co-runners --- */

bool run_has_stalled(const struct run_watched *w)
{
	if (w->moved)
		return false;
	if (w->has_activity && w->active)
		return false;
	return w->before_per_s * w->watched_s >= EXPECTED || (w->at_work && w->has_activity);
}

/* Progress lines or launches a second. */
static double events_per_s(const struct run_task *t, const struct run_count *c)
{
	const double each = c->source == RUN_COUNT_PROGRESS ? (double)t->progress.step : 1;

	return c->ran_us > 0 && each > 0 ? (double)c->n / each / (double)c->ran_us * 1e6 : 0;
}

/* What was held before and is still watched is watched on. */
static void watch_begin(struct run_gpu *g, int64_t begun_us, int64_t now)
{
	struct run_watch *w = &g->watch;

	if (!w->until_us) {
		w->from_us = now;
		w->begun_us = begun_us;
	}
	w->until_us = g->n_running ? now + WATCH_US : 0;
	w->look_us = now + DRAIN_US;
	w->n = 0;
	w->has_activity = w->active = false;
	w->stalled = NULL;
}

static void watch_count(const struct run_holder *h, struct run_gpu *g, int64_t now)
{
	struct run_watch *w = &g->watch;

	w->n = g->n_running;
	for (uint32_t i = 0; i < g->n_running; i++) {
		struct run_task *t = g->running[i];

		run_look(h->meter, t);
		w->v[i].task = t;
		w->v[i].from = run_count_of(t, now);
		w->v[i].before_per_s = events_per_s(t, &w->v[i].from);
		w->v[i].quiet_s = t->progress.known
					  ? fmax((double)(w->begun_us - t->progress_us), 0) * 1e-6
					  : 0;
		w->v[i].at_work = w->v[i].from.n || task_ran_us(t, now) > START_US;
	}
}

/* The first co-runner that seems to stall, of those that still run; none: NULL */
static void watch_end(struct run_gpu *g, int64_t now)
{
	struct run_watch *w = &g->watch;

	for (uint32_t i = 0; i < w->n; i++)
		for (uint32_t k = 0; k < g->n_running; k++) {
			const struct run_task *t = g->running[k];
			const struct run_count to = run_count_of(t, now);
			const struct run_watched seen = {
				.before_per_s = w->v[i].before_per_s,
				.moved = to.source != w->v[i].from.source || to.n != w->v[i].from.n,
				.watched_s = (WATCH_US - DRAIN_US) * 1e-6,
				.at_work = w->v[i].at_work,
				.has_activity = w->has_activity,
				.active = w->active,
			};

			if (w->stalled || t != w->v[i].task || !run_has_stalled(&seen))
				continue;
			w->stalled = t;
			w->stalled_before = w->v[i].quiet_s >= QUIET_S &&
					    seen.before_per_s * w->v[i].quiet_s >= EXPECTED;
			w->stalled_at = to;
			w->confirm_us = (int64_t)(1e6 * fmin(fmax(CONFIRM_S, 2 / seen.before_per_s),
							     CONFIRM_MAX_S));
		}
}

static bool read_activity(const struct run_holder *h, const struct run_gpu *g, bool *active)
{
	struct hes_reading x;

	if (hes_device_read(h->settings->devices, g->device, HES_HAS_UTILISATION, &x, NULL) ||
	    !(x.has & HES_HAS_UTILISATION))
		return false;
	*active = x.busy_pct > 0;
	return true;
}

/* --- held --- */

/* @param to  the place of another of its GPU's tasks */
static void running_swap(struct run_gpu *g, struct run_task *t, uint32_t to)
{
	for (uint32_t i = 0; i < run_gpu_started(g); i++)
		if (g->running[i] == t) {
			g->running[i] = g->running[to];
			g->running[to] = t;
			return;
		}
}

/* By the tasks of this run, also where the journal could not be written. */
static bool workload_is_never_held(const struct run_holder *h, const struct run_task *t)
{
	for (size_t i = 0; i < h->tasks->n; i++) {
		const struct run_task *o = h->tasks->v[i];

		if (o->stalls_others && strcmp(o->job->workload, t->job->workload) == 0)
			return true;
	}
	return false;
}

int run_hold(struct run_holder *h, struct run_task *t, const char *why, struct hes_err *err)
{
	const char *cause;
	bool may;
	int rc;

	if (task_state(t) == TASK_HELD)
		return 0;
	cause = task_state(t) != TASK_RUNNING ? "it does not run"
		: t->ending != ENDING_OWN     ? "it is to end"
		: t->gpu->failure.open        ? "a co-runner failed"
		: h->stop->signals            ? "the run is to stop"
					      : NULL;
	if (cause)
		return hes_fail(err, -EBUSY, "job %s cannot be held: %s", t->job->id, cause);
	if (t->job->has_deadline)
		return hes_fail(err, -EPERM, "job %s has a deadline", t->job->id);
	if (t->hold.refused)
		return hes_fail(err, -EPERM, "job %s cannot be held, as was said", t->job->id);
	rc = hes_journal_may_hold(h->log->journal, t->job->workload, &may, err);
	if (rc)
		return rc;
	t->hold.refused = !may || workload_is_never_held(h, t);
	if (t->hold.refused)
		return hes_fail(err, -EPERM,
				"job %s: co-runners stalled when a job of workload %s was held",
				t->job->id, t->job->workload);
	if (!t->hold.wanted_us)
		t->hold.wanted_us = run_now_us(h->log->clock);
	snprintf(t->hold.why, sizeof(t->hold.why), "%s", why);
	return 0;
}

/* The journal first, then the GPU's account, then the act. */
static void hold_now(struct run_holder *h, struct run_task *t)
{
	const int64_t begun_us = run_now_us(h->log->clock); /* to stop one takes time */
	struct run_gpu *g = t->gpu;
	struct hes_err err;
	int64_t now;

	t->hold.wanted_us = 0;
	if (run_act(h->log, run_gpu_name(g), t->job->id, &err, "hold the job: %s", t->hold.why)) {
		run_pause(h->log, &err);
		return;
	}
	run_account(h->meter, g);
	if (hes_guard_stop(h->settings->guard, &t->child, &err)) {
		run_tell(h->log, "job %s cannot be held: %s", t->job->id, err.msg);
		t->hold.refused = true;
		return;
	}
	now = run_now_us(h->log->clock);
	task_go(h->tasks, t, TASK_HELD);
	t->hold.since_us = now;
	for (uint32_t i = 0; i < run_gpu_started(g); i++)
		g->running[i]->set_changed = true;
	running_swap(g, t, g->n_running - 1);
	g->n_running--;
	g->n_held++;
	run_observe_disturb(t);
	run_segment_begin(h->meter, g);
	watch_begin(g, begun_us, now);
}

/* Times of the task go on from where they were. */
static void hold_end(struct run_task *t, int64_t now)
{
	const int64_t held_us = now - t->hold.since_us;

	t->hold.before_us += held_us;
	t->expected_end_us += held_us;
	if (t->deadline_us != RUN_NEVER_US)
		t->deadline_us += held_us;
}

void run_release(struct run_holder *h, struct run_task *t, const char *why)
{
	struct run_gpu *g = t->gpu;
	struct hes_err err;

	t->hold.wanted_us = 0;
	if (task_state(t) != TASK_HELD)
		return;
	if (run_act(h->log, run_gpu_name(g), t->job->id, &err, "let the job go on: %s", why))
		run_pause(h->log, &err);
	run_account(h->meter, g);
	if (hes_guard_continue(h->settings->guard, &t->child, &err))
		run_tell(h->log, "job %s goes on, and the guard does not know it: %s", t->job->id,
			 err.msg);
	hold_end(t, run_now_us(h->log->clock));
	if (hes_journal_attempt_held(h->log->journal, t->attempt.id, t->hold.before_us, &err))
		run_pause(h->log, &err);
	task_go(h->tasks, t, TASK_RUNNING);
	running_swap(g, t, g->n_running);
	g->n_running++;
	g->n_held--;
	if (!g->n_held)
		g->watch.until_us = 0;
	for (uint32_t i = 0; i < g->n_running; i++)
		run_observe_disturb(g->running[i]);
	run_segment_begin(h->meter, g);
}

void run_release_all(struct run_holder *h, struct run_gpu *g, const char *why)
{
	for (uint32_t i = 0; i < g->n_running; i++)
		g->running[i]->hold.wanted_us = 0;
	while (g->n_held)
		run_release(h, g->running[g->n_running], why);
}

/* --- looks --- */

int64_t run_hold_next_us(const struct run_gpu *g)
{
	int64_t next = g->watch.until_us  ? run_sooner(g->watch.look_us, g->watch.until_us)
		       : g->watch.stalled ? g->watch.look_us
					  : RUN_NEVER_US;

	for (uint32_t i = 0; i < g->n_running; i++)
		if (g->running[i]->hold.wanted_us)
			next = run_sooner(next, g->running[i]->hold.look_us);
	return next;
}

/* Whether a task that is to be held should be held now. */
static bool hold_is_due(struct run_holder *h, struct run_task *t, int64_t now)
{
	bool active = true;

	if (now < t->hold.look_us)
		return false;
	t->hold.look_us = now + WAIT_LOOK_US;
	run_look(h->meter, t);
	return t->progress_us > t->hold.wanted_us || now - t->hold.wanted_us >= WAIT_US ||
	       (read_activity(h, t->gpu, &active) && !active);
}

static void never_hold(struct run_holder *h, struct run_task *t, const struct run_task *stalled)
{
	struct hes_err err;

	t->stalls_others = true;
	if (hes_journal_never_hold(h->log->journal, h->log->run->id, t->job->workload, &err))
		run_pause(h->log, &err);
	run_learner_note(h->learner, run_gpu_name(t->gpu), NULL,
			 "job %s stalled while job %s was held, which goes on: jobs of workload %s "
			 "are not held again",
			 stalled->job->id, t->job->id, t->job->workload);
}

static bool task_runs_on(const struct run_gpu *g, const struct run_task *t)
{
	for (uint32_t i = 0; i < g->n_running; i++)
		if (g->running[i] == t)
			return true;
	return false;
}

/* Whether one that seemed to stall works again, now that the others go on. */
static void confirm_look(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	struct run_watch *w = &g->watch;
	struct run_count to;
	bool runs = task_runs_on(g, w->stalled), again = false, active;

	for (uint32_t i = 0; i < g->n_running; i++)
		run_look(h->meter, g->running[i]);
	if (runs) {
		to = run_count_of(w->stalled, now);
		again = to.source != w->stalled_at.source || to.n != w->stalled_at.n ||
			(to.source == RUN_COUNT_NONE && read_activity(h, g, &active) && active);
	}
	w->look_us = now + WATCH_LOOK_US;
	if (runs && !again && now < w->confirm_us)
		return;
	for (uint32_t i = 0; i < g->n_running; i++) {
		struct run_task *t = g->running[i];

		if (t->hold.suspected && again && !w->stalled_before)
			never_hold(h, t, w->stalled);
		t->hold.suspected = false;
	}
	if (runs && (!again || w->stalled_before))
		run_tell(h->log,
			 "job %s paused while a co-runner was held, and before or after it: no "
			 "stall",
			 w->stalled->job->id);
	w->stalled = NULL;
}

static void watch_look(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	struct run_watch *w = &g->watch;
	bool active = false;

	if (now >= w->look_us) {
		w->look_us = now + WATCH_LOOK_US;
		if (!w->n)
			watch_count(h, g, now);
		w->has_activity |= read_activity(h, g, &active);
		w->active |= active;
	}
	if (now < w->until_us)
		return;
	for (uint32_t i = 0; i < g->n_running; i++)
		run_look(h->meter, g->running[i]);
	watch_end(g, now);
	for (uint32_t i = g->n_running; w->stalled && i < run_gpu_started(g); i++) {
		struct run_task *t = g->running[i];

		if (t->hold.since_us < w->from_us)
			continue;
		t->hold.suspected = true;
		run_release(h, t, "its co-runners stall");
		i = g->n_running - 1; /* the others have moved */
	}
	w->confirm_us += run_now_us(h->log->clock);
	w->until_us = 0;
}

/* No job runs: the one that was held first goes on. */
static void release_first(struct run_holder *h, struct run_gpu *g)
{
	struct run_task *first = g->running[0];

	for (uint32_t i = 1; i < g->n_held; i++)
		if (g->running[i]->hold.since_us < first->hold.since_us)
			first = g->running[i];
	run_release(h, first, "no other job runs there");
}

void run_hold_look(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	for (uint32_t i = 0; i < g->n_running; i++) {
		struct run_task *t = g->running[i];

		if (!t->hold.wanted_us || !hold_is_due(h, t, now))
			continue;
		hold_now(h, t);
		i -= task_state(t) == TASK_HELD; /* another task has its place */
	}
	if (g->watch.until_us)
		watch_look(h, g, now);
	else if (g->watch.stalled)
		confirm_look(h, g, now);
	if (!g->n_running && g->n_held)
		release_first(h, g);
}
