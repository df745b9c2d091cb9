/*
 * solo_point.c - marks of progress of a job that is alone on its GPU, and the point that they make;
 * see solo_point.h.
 *
 * A mark has the progress and the sums of the meter at one moment. Two marks bound a window.
 */
#include "run/solo_point.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/gpu_point.h"
#include "run/account.h"
#include "run/gpu_memory.h"

#define MARKS           33       /* when there are more, every second one goes */
#define WINDOW_US       10000000 /* shortest window at first */
#define LEAST_US        9000000  /* of all windows together, by the clock of the job */
#define KEEP_US         60000000 /* longest time between two times that a point is kept */
#define START_LOOK_US   250000   /* between two looks at a start, at first */
#define LOOKS_PART      40       /* later: this part of the time since the start, */
#define START_LONGEST   1000000  /* until the usual looks come as often */
#define MEMBERS_LONGEST 60000000 /* between two looks at the processes on the GPU */
#define BUSY_PCT        10       /* utilisation of a GPU that is at work, */
#define RATE_US         1000000  /* over at most this time */
#define SETTLE_US       1000000  /* for a clock that was set */
#define LATE_PART       10       /* of a run: an end that was seen later is not measured */

struct run_mark {
	int64_t at_us;
	double own_s; /* by the job's clock; NaN: not printed */
	uint64_t iterations;
	bool gap; /* the window before it does not count */
	struct hes_measured gpu;
};

/* What was seen at a clock. */
struct run_observed_clock {
	uint32_t clock_mhz;
	int64_t window_us;
	size_t n;
	struct run_mark marks[MARKS];
	bool fresh;            /* there are marks since it was kept */
	struct hes_point kept; /* in the store; windows 0: none */
	int64_t kept_us;
	struct run_observed_clock *next;
};

struct run_observed {
	uint32_t sm_pct;
	bool from_start;           /* it was alone when it started */
	bool whole;                /* the same, and at this clock ever since */
	bool disturbed;            /* not alone, or at another clock, since the last mark */
	bool unlisted;             /* the driver lists no processes */
	bool close;                /* it is looked at as often as at a start */
	int64_t look_us;           /* at its start; RUN_NEVER_US: it is over */
	int64_t members_us;        /* when to look at the processes on the GPU */
	int64_t use_us, busy_us;   /* it first used the GPU, kept it busy; RUN_NEVER_US: not seen */
	int64_t first_us, seen_us; /* first and last progress that was read; 0: none */
	uint64_t first;            /* iterations at first_us */
	int64_t clock_us;          /* when its clock was seen to change; 0: never */
	double temperature_c;      /* of the last mark; NaN: not read */
	struct hes_measured begun, ended;  /* from first use of the GPU to the end */
	struct run_observed_clock *now;    /* at the GPU's clock */
	struct run_observed_clock *clocks; /* all, the last one first */
};

static struct hes_measured observed_gpu(struct run_samples *w, const struct run_gpu *g,
					struct run_observed *o)
{
	struct hes_measured now;
	struct hes_reading x;

	hes_window_read_at(w->meter->window, g->energy.metered, &now);
	if (!hes_device_read(w->gpus->devices, g->device, HES_HAS_TEMPERATURE, &x, NULL) &&
	    x.has & HES_HAS_TEMPERATURE)
		o->temperature_c = x.temperature_c;
	return now;
}

/* What was seen at a clock; the first time there is nothing. @return NULL: no memory */
static struct run_observed_clock *observed_at(struct run_observed *o, uint32_t clock_mhz)
{
	struct run_observed_clock *c = o->clocks;

	while (c && c->clock_mhz != clock_mhz)
		c = c->next;
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->clock_mhz = clock_mhz;
	c->window_us = WINDOW_US;
	c->next = o->clocks;
	return o->clocks = c;
}

static struct run_observed *observed_make(struct run_task *t, bool whole, int64_t now)
{
	struct run_observed *o = calloc(1, sizeof(*o));

	/* Without memory nothing is measured. */
	if (o)
		o->now = observed_at(o, t->gpu->lock.mhz);
	if (!o || !o->now) {
		free(o);
		return NULL;
	}
	o->sm_pct = t->attempt.sm_pct;
	o->from_start = o->whole = whole;
	o->look_us = whole ? now : RUN_NEVER_US;
	o->use_us = o->busy_us = RUN_NEVER_US;
	o->temperature_c = NAN;
	return o;
}

void run_observe_free(struct run_observed *o)
{
	struct run_observed_clock *next;

	for (struct run_observed_clock *c = o ? o->clocks : NULL; c; c = next) {
		next = c->next;
		free(c);
	}
	free(o);
}

void run_observe_begin(struct run_samples *w, struct run_task *t)
{
	struct run_gpu *g = t->gpu;

	run_observe_free(t->observed);
	t->observed = NULL;
	if (!w->store || g->n_running != 1 || g->running[0] != t)
		return;
	t->observed = observed_make(t, true, t->attempt.started_us);
	if (t->observed)
		t->observed->begun = observed_gpu(w, g, t->observed);
}

int64_t run_observe_next_us(const struct run_task *t)
{
	return t->observed ? t->observed->look_us : RUN_NEVER_US;
}

/* --- looks --- */

static void observe_start(struct run_samples *w, const struct run_task *t, struct run_observed *o,
			  int64_t now)
{
	const struct run_gpu *g = t->gpu;
	const bool moves = t->progress.known;
	const int64_t pause = run_later((now - t->attempt.started_us) / LOOKS_PART, START_LOOK_US);
	struct hes_reading x;

	if (!o->from_start)
		return;
	if (o->use_us == RUN_NEVER_US && t->contexts) {
		o->use_us = now;
		o->begun = observed_gpu(w, g, o);
	}
	if (o->busy_us == RUN_NEVER_US && !moves && (o->unlisted || t->contexts) &&
	    now >= t->attempt.started_us + RATE_US &&
	    !hes_device_read(w->gpus->devices, g->device, HES_HAS_UTILISATION, &x, NULL) &&
	    x.has & HES_HAS_UTILISATION && x.busy_pct >= BUSY_PCT) {
		o->busy_us = now;
		o->begun = observed_gpu(w, g, o);
	}
	if (o->look_us != RUN_NEVER_US)
		o->look_us = pause < START_LONGEST && !moves ? now + pause : RUN_NEVER_US;
}

static void marks_halve(struct run_observed_clock *c)
{
	size_t n = 1;

	for (size_t i = 2; i < c->n; i += 2) {
		c->marks[i].gap |= c->marks[i - 1].gap;
		c->marks[n++] = c->marks[i];
	}
	c->n = n;
	c->window_us *= 2;
}

/* @param last  the attempt has ended: what came after the last mark makes the last window longer */
static void observe_progress(struct run_samples *w, const struct run_task *t,
			     struct run_observed *o, bool last)
{
	struct run_observed_clock *c = o->now;
	const struct run_mark *before = c->n ? &c->marks[c->n - 1] : NULL;
	struct run_mark m = { .at_us = t->progress_us,
			      .own_s = t->progress.seconds,
			      .iterations = t->progress.iterations };

	if (!t->progress.known || t->progress_us == o->seen_us)
		return;
	o->seen_us = t->progress_us;
	if (!o->first_us) {
		o->first_us = t->progress_us;
		o->first = m.iterations;
	}
	m.gap = !before || o->disturbed || m.iterations < before->iterations;
	if (!m.gap && m.at_us - before->at_us < c->window_us && !last)
		return;
	m.gpu = observed_gpu(w, t->gpu, o);
	if (c->n > 1 && !m.gap && !before->gap && m.at_us - before->at_us < c->window_us)
		c->n--;
	else if (c->n == MARKS)
		marks_halve(c);
	c->marks[c->n++] = m;
	c->fresh = true;
	o->disturbed = false;
}

/* Marks belong to the GPU's clock. @return whether it has settled */
static bool observe_clock(const struct run_task *t, struct run_observed *o, int64_t now)
{
	const uint32_t clock_mhz = t->gpu->lock.mhz;
	struct run_observed_clock *c;

	if (o->now->clock_mhz == clock_mhz)
		return !o->clock_us || now >= o->clock_us + SETTLE_US;
	o->whole = false;
	c = observed_at(o, clock_mhz);
	o->now = c ? c : o->now;
	o->clock_us = now;
	return false;
}

void run_observe_disturb(struct run_task *t)
{
	struct run_observed *o = t->observed;

	if (!o)
		return;
	o->disturbed = true;
	o->whole = false;
	o->look_us = RUN_NEVER_US;
}

void run_observe_closely(struct run_task *t, bool close)
{
	if (!t->observed)
		return;
	t->observed->close = close;
	t->observed->look_us = close ? 0 : t->observed->look_us;
}

void run_observe(struct run_samples *w, struct run_gpu *g, int64_t now)
{
	struct run_task *t = g->running[0];
	struct run_observed *o;
	struct hes_err err;
	int others = g->n_running > 1;
	bool looked;

	/* A job that is requested to end does other things. */
	if (!w->store || g->lost || !g->n_running || t->ending != ENDING_OWN)
		return;
	for (uint32_t i = 0; others && i < g->n_running; i++)
		run_observe_disturb(g->running[i]);
	if (others)
		return;
	if (!t->observed)
		t->observed = observed_make(t, false, now);
	o = t->observed;
	if (!o)
		return;
	looked = now >= o->members_us;
	if (looked) {
		others = run_usage_look_alone(w->gpus->devices, g);
		o->unlisted |= others < 0;
		o->members_us =
			now + run_sooner(run_later((now - t->attempt.started_us) / LOOKS_PART,
						   o->look_us == RUN_NEVER_US ? START_LONGEST
									      : START_LOOK_US),
					 MEMBERS_LONGEST);
	}
	if (others > 0 || !observe_clock(t, o, now)) {
		run_observe_disturb(t);
		o->look_us = o->close ? now + START_LOOK_US : RUN_NEVER_US;
		return;
	}
	observe_start(w, t, o, now);
	o->look_us = o->close ? now + START_LOOK_US : o->look_us;
	observe_progress(w, t, o, false);
	if (looked && o->from_start && o->now->n < 2)
		o->ended = observed_gpu(w, g, o);
	if (!w->log->paused)
		run_observe_keep(w, t, false, &err);
}

void run_observe_end(struct run_samples *w, struct run_task *t)
{
	struct run_gpu *g = t->gpu;
	struct run_observed *o = t->observed;
	const int64_t ran_us = w->log->clock->woken_us - t->late_us - t->attempt.started_us;

	if (!o)
		return;
	if (g->n_running != 1 || g->lost || (t->ending != ENDING_OWN && t->ending != ENDING_LEFT)) {
		o->whole = false;
		return;
	}
	/* The GPU has idled since the end: what was seen before counts. */
	if (t->late_us > ran_us / LATE_PART) {
		o->whole &= o->ended.seconds > 0;
		return;
	}
	o->ended = observed_gpu(w, g, o);
	if (observe_clock(t, o, w->log->clock->woken_us))
		observe_progress(w, t, o, true);
}

/* --- the point --- */

/* What the marks bound. @return how many windows have iterations and power */
static size_t observed_windows(const struct run_observed_clock *c, int64_t since_us,
			       struct hes_measured v[MARKS], double us[MARKS], double *iteration_us,
			       double *iterations)
{
	double all_us = 0;
	size_t n = 0;

	*iterations = 0;
	for (size_t i = 1; i < c->n; i++) {
		const struct run_mark *a = &c->marks[i - 1], *b = &c->marks[i];
		const double own_us = (b->own_s - a->own_s) * 1e6,
			     took_us = own_us > 0 ? own_us : (double)(b->at_us - a->at_us),
			     done = (double)(b->iterations - a->iterations);

		v[n] = hes_measured_between(&a->gpu, &b->gpu);
		if (b->gap || a->at_us < since_us || !(done > 0) || !(took_us > 0) ||
		    !(v[n].mean_w > 0))
			continue;
		us[n++] = took_us / done;
		*iterations += done;
		all_us += took_us;
	}
	*iteration_us = n ? all_us / *iterations : NAN;
	return n;
}

bool run_observe_window(const struct run_task *t, int64_t since_us, struct learn_window *out)
{
	const struct run_observed *o = t->observed;
	struct hes_measured v[MARKS];
	double us[MARKS], iteration_us, done, mean_w = 0;
	const size_t n = o ? observed_windows(o->now, since_us, v, us, &iteration_us, &done) : 0;

	if (!n || o->now->clock_mhz != t->gpu->lock.mhz)
		return false;
	for (size_t i = 0; i < n; i++)
		mean_w += v[i].mean_w / (double)n;
	*out = (struct learn_window){ .clock_mhz = o->now->clock_mhz,
				      .seconds = iteration_us * done * 1e-6,
				      .joules = mean_w * iteration_us * done * 1e-6,
				      .n = 1,
				      .members = { { .sm_pct = o->sm_pct,
						     .rate = 1e6 / iteration_us,
						     .rate_se = n > 1 ? steady_se(us, n) : 0 } } };
	return true;
}

/* The first line came after some iterations: at most as many as between two lines. */
static double start_of_progress(const struct run_task *t, const struct run_observed *o,
				double iteration_us)
{
	const uint64_t n = o->first < t->progress.step ? o->first : t->progress.step;
	const int64_t began_us = t->attempt.started_us,
		      use_us = o->use_us == RUN_NEVER_US ? began_us : o->use_us;
	const double start_us = (double)(o->first_us - began_us) - (double)n * iteration_us;

	return fmax(start_us, (double)(use_us - began_us)) * 1e-6;
}

/* From the first work on the GPU to the end. */
static bool point_of_whole(const struct run_task *t, const struct run_observed *o, double run_s,
			   struct hes_point *out)
{
	const int64_t from_us = o->busy_us != RUN_NEVER_US  ? o->busy_us
				: o->use_us != RUN_NEVER_US ? o->use_us
							    : t->attempt.started_us;
	const double start_s = (double)(from_us - t->attempt.started_us) * 1e-6;
	const struct hes_measured all = hes_measured_between(&o->begun, &o->ended);

	if (!(run_s > start_s) || !(all.mean_w > 0))
		return false;
	*out = hes_gpu_point(&all, 1);
	out->iteration_us = (run_s - start_s) * 1e6 / (double)t->job->iterations;
	out->start_s = from_us > t->attempt.started_us ? start_s : NAN;
	return true;
}

/* @return false: nothing was measured that a point can hold */
static bool observed_point(const struct run_task *t, const struct run_observed *o,
			   const struct run_observed_clock *c, bool over, struct hes_point *out)
{
	const bool done_well = over && t->verdict == HES_VERDICT_DONE,
		   whole = done_well && o->whole;
	double run_s = whole ? (double)(t->ended_us - t->attempt.started_us) * 1e-6 : NAN;
	struct hes_measured v[MARKS];
	double us[MARKS], iteration_us, done;
	const size_t n = observed_windows(c, 0, v, us, &iteration_us, &done);

	/* What its lines count is not known: its iteration is the whole run. Where it was tried at
	 * clocks or with others, that is as long as all its lines would take alone. */
	if (t->job->whole_run && !whole && !(done_well && n))
		return false;
	if (n && (whole || iteration_us * done >= LEAST_US)) {
		*out = hes_gpu_point(v, n);
		out->iteration_us = iteration_us;
		out->start_s = o->from_start ? start_of_progress(t, o, iteration_us) : NAN;
		out->cv = n > 1 ? steady_cv(us, n) : 0;
		out->time_se = n > 1 ? steady_se(us, n) : NAN;
		if (t->job->whole_run && !whole)
			run_s = (isnan(out->start_s) ? 0 : out->start_s) +
				(double)t->record.iterations * iteration_us * 1e-6;
		if (t->job->whole_run)
			out->iteration_us =
				fmax(run_s - (isnan(out->start_s) ? 0 : out->start_s), 0) * 1e6;
	} else if (!whole || !point_of_whole(t, o, run_s, out)) {
		return false;
	}
	snprintf(out->workload, sizeof(out->workload), "%s", t->job->workload);
	snprintf(out->gpu_type, sizeof(out->gpu_type), "%s", t->gpu->planned->type->name);
	hes_point_command(t->command, t->job->whole_run ? 0 : t->job->iterations, out->command);
	if (t->job->progress && !t->job->whole_run)
		snprintf(out->progress, sizeof(out->progress), "%s", t->job->progress);
	out->batch_size = t->job->batch_size;
	out->sm_pct = o->sm_pct;
	out->clock_mhz = c->clock_mhz;
	out->memory_mib = t->most_mib ? (double)t->most_mib : NAN;
	out->temperature_c = o->temperature_c;
	out->run_s = run_s;
	if (o->use_us != RUN_NEVER_US)
		out->first_use_s = (double)(o->use_us - t->attempt.started_us) * 1e-6;
	return true;
}

/* --- kept --- */

static int point_store(struct run_samples *w, const struct hes_point *old, struct hes_point *new,
		       struct hes_err *err)
{
	struct hes_point before = *old;
	struct hes_points points = { new, 1 }, replaced = { &before, old->windows ? 1 : 0 };
	struct hes_delivery d = { .points = &points, .replaced = &replaced };

	return run_deliver(w, &d, err);
}

static int clock_keep(struct run_samples *w, struct run_task *t, struct run_observed_clock *c,
		      bool over, struct hes_err *err)
{
	const struct run_observed *o = t->observed;
	const int64_t now = run_now_us(w->log->clock);
	struct hes_point new;
	int rc;

	if ((c != o->now && !c->fresh) ||
	    (!over && c->kept_us &&
	     now < c->kept_us + run_sooner(KEEP_US, c->kept_us - t->attempt.started_us)) ||
	    !observed_point(t, o, c, over, &new))
		return 0;
	c->kept_us = now;
	rc = point_store(w, &c->kept, &new, err);
	if (rc)
		return rc;
	c->kept = new;
	c->fresh = false;
	run_samples_know(w, &new);
	return 0;
}

int run_observe_keep(struct run_samples *w, struct run_task *t, bool over, struct hes_err *err)
{
	const struct run_lock *lock = &t->gpu->lock;
	struct run_observed_clock *c = t->observed ? t->observed->clocks : NULL;
	int rc = 0;

	/* At a clock that is not the one that was set nothing is learnt. */
	for (; c && !lock->foreign && !lock->missed && !rc; c = c->next)
		rc = clock_keep(w, t, c, over, err);
	return rc;
}
