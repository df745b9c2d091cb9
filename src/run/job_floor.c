/*
 * job_floor.c - a job that must keep a part of its speed alone; see job_floor.h.
 *
 * Its speed is looked at every few seconds. While it is below its floor, its co-runners without a
 * floor are held, the newest first.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "run/job_floor.h"

#define LOOK_S    3        /* of a job whose lines have their time */
#define LOOK_LONG 10       /* of others, and of one that prints nothing more */
#define WINDOW_S  10       /* of the share of time in which the floor is kept */
#define LINES_US  30000000 /* after which no line of progress is waited for */
#define AGAIN_US  30000000 /* first wait, after which a held job is tried again */

bool run_has_floor(const struct run_gpu *g)
{
	for (uint32_t i = 0; i < run_gpu_started(g); i++)
		if (g->running[i]->job->keep > 0 && run_gpu_started(g) > 1)
			return true;
	return false;
}

/* At most so fast since the last look, if the next two lines come now. */
static double floor_at_most(const struct run_task *t, int64_t now)
{
	const struct run_floor *f = &t->floor;
	const struct hes_progress *p = &t->progress;
	const int64_t from_us = f->from_us > f->segment_us ? f->from_us : f->segment_us;
	const double took_s = (double)(now - from_us) * 1e-6;

	return took_s < LOOK_LONG || !p->step
		       ? INFINITY
		       : (double)(p->iterations - f->from + 2 * p->step) / took_s;
}

/* Seconds since then, by its lines where they have their time. */
static double floor_took_s(const struct run_task *t, double from_s, int64_t from_us)
{
	return isnan(t->progress.seconds) || isnan(from_s)
		       ? (double)(t->progress_us - from_us) * 1e-6
		       : t->progress.seconds - from_s;
}

/* Windows next to others, each judged by its mean speed. @param begin  the one that is open does
 * not count */
static void floor_count(struct run_learner *l, struct run_task *t, bool begin)
{
	const struct hes_progress *p = &t->progress;
	struct run_floor_window *w = &t->floor.window;
	const double took_s = floor_took_s(t, w->from_s, w->from_us);
	struct learn_alone own;

	if (!p->known || !run_learner_alone_whole(l, t, &own))
		return;
	begin |= w->attempt != t->attempt.id || p->iterations < w->from;
	if (!begin && took_s < WINDOW_S)
		return;
	if (!begin) {
		const uint32_t n = (uint32_t)(took_s / WINDOW_S);

		t->record.floor_windows += n;
		if ((double)(p->iterations - w->from) / took_s >= t->job->keep * own.rate)
			t->record.floor_kept += n;
	}
	*w = (struct run_floor_window){ p->iterations, p->seconds, t->progress_us, t->attempt.id };
}

/* Its speed since the last look, as a part of its speed alone. @return false: not long enough */
static bool floor_look(struct run_learner *l, struct run_task *t, int64_t now, double *part)
{
	const struct hes_progress *p = &t->progress;
	const int64_t segment_us = t->gpu->energy.now.start_us;
	struct run_floor *f = &t->floor;
	const double took_s = floor_took_s(t, f->from_s, f->from_us);
	struct learn_alone own;

	if (!p->known || !run_learner_alone_whole(l, t, &own))
		return false;
	if (f->segment_us == segment_us && p->iterations >= f->from &&
	    took_s < (isnan(p->seconds) ? LOOK_LONG : LOOK_S)) {
		*part = floor_at_most(t, now) / own.rate;
		return *part < t->job->keep;
	}
	*part = (double)(p->iterations - f->from) / took_s / own.rate;
	if (f->segment_us != segment_us || p->iterations < f->from)
		*part = INFINITY;
	f->from = p->iterations;
	f->from_s = p->seconds;
	f->from_us = t->progress_us;
	f->segment_us = segment_us;
	return true;
}

static bool floor_may_hold(const struct run_task *t)
{
	return !(t->job->keep > 0) && !t->job->has_deadline && !t->hold.wanted_us &&
	       !t->hold.refused;
}

static struct run_task *newest_without_floor(const struct run_gpu *g)
{
	struct run_task *newest = NULL;

	for (uint32_t i = 0; i < g->n_running; i++) {
		struct run_task *t = g->running[i];

		if (floor_may_hold(t) &&
		    (!newest || t->attempt.started_us >= newest->attempt.started_us))
			newest = t;
	}
	return newest;
}

static uint32_t count_without_floor(const struct run_gpu *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_running; i++)
		n += floor_may_hold(g->running[i]);
	return n;
}

/* @return whether one is to be held */
static bool floor_hold(struct run_learner *l, struct run_holder *h, struct run_gpu *g,
		       const struct run_task *below, double part)
{
	struct run_task *t;
	char why[RUN_HOLD_WHY];
	struct hes_err err;
	int rc = -EPERM;

	snprintf(why, sizeof(why), "job %.60s has %.2f of its speed alone, and is to keep %.2f",
		 below->job->id, part, below->job->keep);
	while (rc == -EPERM) {
		t = newest_without_floor(g);
		if (!t)
			return false;
		rc = run_hold(h, t, why, &err);
		if (rc == -EPERM)
			run_tell(l->log, "%s: %s", run_gpu_name(g), err.msg);
	}
	if (rc)
		return false;
	run_learner_note(l, run_gpu_name(g), below->job->id,
			 "had %.2f of its speed alone, below its floor of %.2f: job %s is held",
			 part, below->job->keep, t->job->id);
	return true;
}

struct run_task *run_floor_unknown(struct run_learner *l, const struct run_gpu *g)
{
	struct learn_alone own;

	for (uint32_t i = 0; i < g->n_running; i++)
		if (g->running[i]->job->keep > 0 && g->running[i]->progress.known &&
		    g->running[i]->floor.given_up != g->running[i]->attempt.id &&
		    !run_learner_alone_whole(l, g->running[i], &own))
			return g->running[i];
	return NULL;
}

void run_floor_give_up(struct run_learner *l, struct run_task *t, const char *why)
{
	if (t->floor.given_up == t->attempt.id)
		return;
	t->floor.given_up = t->attempt.id;
	run_learner_note(l, run_gpu_name(t->gpu), t->job->id, "%s: its floor of %.2f is not kept",
			 why, t->job->keep);
}

/* One that is held goes on. */
static void floor_try_again(struct run_holder *h, struct run_gpu *g, bool changed, int64_t now)
{
	struct run_set *s = &g->set;

	s->wait_us = changed || !s->wait_us ? AGAIN_US : s->wait_us;
	if (!g->n_held || (!changed && now < s->again_us))
		return;
	s->again_us = now + s->wait_us;
	run_release(h, g->running[g->n_running],
		    changed ? "its co-runners have changed" : "it is tried again");
}

void run_keep_floor(struct run_learner *l, struct run_holder *h, struct run_gpu *g, bool changed,
		    int64_t now)
{
	bool held = false;
	double part;

	floor_try_again(h, g, changed, now);
	for (uint32_t i = 0; i < g->n_running; i++) {
		struct run_task *t = g->running[i];

		if (t->job->keep > 0)
			floor_count(l, t, changed);
		if (t->job->keep > 0 && !t->progress.known && task_ran_us(t, now) > LINES_US)
			run_floor_give_up(l, t, "prints no lines of progress");
		if (!(t->job->keep > 0) || !floor_look(l, t, now, &part) || part >= t->job->keep)
			continue;
		/* The further below, the more of them. */
		for (double n = ceil((1 - part / t->job->keep) * count_without_floor(g)); n > 0;
		     n--)
			held |= floor_hold(l, h, g, t, part);
	}
	if (!held)
		return;
	g->set.again_us = now + g->set.wait_us;
	g->set.wait_us *= 2;
}
