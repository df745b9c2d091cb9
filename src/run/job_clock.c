/*
 * job_clock.c - the clock of a job that has its GPU to itself; see learner.h.
 *
 * The windows are those of solo_point.c, so what is tried becomes points of the store. A job begins
 * at the default clock, against which the others count. Between experiments it runs at the best
 * clock so far.
 */
#include <inttypes.h>
#include <math.h>

#include "run/learner.h"
#include "run/solo_point.h"

#define WINDOW_S       10        /* of an experiment, for the budget */
#define BY_LOOKS_S     20        /* a shorter one is not exact if lines come without their time */
#define LONG_US        120000000 /* left to a job whose clock was planned */
#define NO_PROGRESS_US 60000000  /* without a window; then its job shows no progress */

static bool job_may_try(const struct run_learner *l, const struct run_gpu *g)
{
	const struct run_task *t = g->n_running == 1 ? g->running[0] : NULL;

	/* A plan's jobs run at the plan's clocks, but for those of which nothing is known. */
	return l->prefer && t && !g->n_held && t->ending == ENDING_OWN && t->place->sm_pct == 100 &&
	       !g->lost && !l->q->plan->power_cap_mw &&
	       (t->unknown || (l->q->replan && !l->q->waiting_stay));
}

static bool gpu_holds_clocks(struct run_gpu *g)
{
	g->lock.untried |= g->lock.refused || g->planned->type->n_clocks < 2;
	return !g->lock.untried && !g->lock.foreign && !g->lock.missed;
}

static bool job_has_window(struct run_learner *l, struct run_task *t, int64_t now,
			   struct learn_window *w)
{
	if (!t->progress.known)
		return run_learner_shows_work(t, now) && run_learner_window(l, t->gpu, w) &&
		       w->seconds >= WINDOW_S;
	return run_observe_window(t, t->clock.from_us, w) &&
	       (!isnan(t->progress.seconds) || w->seconds >= BY_LOOKS_S);
}

void run_learn_clock_over(struct run_learner *l, struct run_task *t)
{
	struct learn_cost cost = { .joules = NAN };

	if (!t->clock.trying_mhz)
		return;
	cost.seconds = learn_clocks_cost_s(t->gpu->planned->type, l->prefer, t->clock.trying_mhz,
					   WINDOW_S);
	learn_pay(&l->account, LEARN_OF_CLOCK, &cost);
	t->clock.trying_mhz = 0;
	t->gpu->experiment_s = 0;
}

/* The job has co-runners, or its GPU holds no clock: back to what was planned. */
static void job_clock_leave(struct run_learner *l, struct run_gpu *g)
{
	for (uint32_t i = 0; i < g->n_running; i++) {
		struct run_task *t = g->running[i];

		if (!t->clock.on)
			continue;
		run_learn_clock_over(l, t);
		t->place->clock_mhz = t->clock.planned_mhz;
		t->clock.on = false;
		run_observe_closely(t, false);
	}
}

static uint32_t kind_expected_mhz(const struct run_learner *l, const struct run_gpu *g,
				  const struct run_place *p)
{
	uint32_t mhz = p->clock_mhz == RUN_UNLOCKED ? hes_gpu_type_static_clock(g->planned->type)
						    : p->clock_mhz;

	/* A kind that is settled says more of the type than its row. */
	for (size_t i = 0; i < l->n_kinds && p->clock_mhz == RUN_UNLOCKED; i++)
		if (l->kinds[i].type == g->planned->type && l->kinds[i].clocks.n > 2)
			mhz = learn_clocks_best(&l->kinds[i].clocks, l->prefer);
	return mhz;
}

static void job_clock_set(struct run_task *t, uint32_t mhz, int64_t now)
{
	const struct hes_gpu_type *type = t->gpu->planned->type;
	const uint32_t set = hes_gpu_type_is_unlocked(type, mhz) ? RUN_UNLOCKED : mhz;

	if (t->place->clock_mhz == set)
		return;
	t->place->clock_mhz = set;
	t->clock.from_us = now;
}

static void tell_settled(struct run_learner *l, const struct learn_clocks *c,
			 const struct run_task *t, uint32_t mhz)
{
	struct learn_alone alone;

	learn_clocks_alone(c, c->tries[0].clock_mhz, 0, &alone);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct learn_clock_try *x = &c->tries[i];

		if (x->clock_mhz == mhz)
			run_learner_note(l, run_gpu_name(t->gpu), t->job->id,
					 "stays at %" PRIu32 " MHz, the best of %" PRIu32
					 " clocks tried: against the default clock, %.2f of the "
					 "joules and %.2f of the time",
					 mhz, c->n,
					 x->joules / x->iterations * alone.rate / alone.power_w,
					 x->seconds / x->iterations * alone.rate);
	}
}

/* A window has ended. */
static void job_clock_saw(struct run_learner *l, struct learn_clocks *c, struct run_task *t,
			  struct learn_window *w)
{
	struct learn_alone alone;
	struct learn_cost cost;

	w->clock_mhz = hes_gpu_type_clock(t->gpu->planned->type, w->clock_mhz);
	if (w->clock_mhz == t->clock.trying_mhz &&
	    learn_clocks_alone(c, c->tries[0].clock_mhz, 0, &alone)) {
		cost = learn_cost_of(w, &alone);
		cost.iterations = t->progress.known ? cost.iterations : 0;
		run_learner_pay(l, LEARN_OF_CLOCK, &cost, t->gpu);
	}
	learn_clocks_saw(c, w);
	t->clock.trying_mhz = 0;
	t->gpu->experiment_s = 0;
}

static void job_clock_choose(struct run_learner *l, struct learn_clocks *c, struct run_task *t,
			     int64_t now)
{
	const struct hes_gpu_type *type = t->gpu->planned->type;
	bool over;
	uint32_t mhz = learn_clocks_next(c, type, l->prefer, &over);

	if (over && !t->clock.reported && c->n > 1)
		tell_settled(l, c, t, mhz);
	t->clock.reported |= over;
	t->clock.settled |= over;
	if (!over && c->n) {
		if (run_learner_may(l, t->gpu, learn_clocks_cost_s(type, l->prefer, mhz, WINDOW_S)))
			t->clock.trying_mhz = mhz;
		else
			mhz = learn_clocks_best(c, l->prefer);
	}
	run_observe_closely(t, t->clock.trying_mhz || !c->n);
	job_clock_set(t, mhz, now);
}

static void job_look_no_progress(struct run_learner *l, struct run_task *t, int64_t now)
{
	if (now > t->attempt.started_us + NO_PROGRESS_US && !run_learner_shows_work(t, now))
		run_learner_no_progress(l, t);
}

/* The clocks of the only job of a GPU, if any may be tried now; NULL: none */
static struct learn_clocks *job_clocks(struct run_learner *l, struct run_gpu *g, int64_t now)
{
	struct run_task *t = g->running[0];
	const long kind = run_learner_kind(l, t);

	if (kind < 0 || l->kinds[kind].measured)
		return NULL;
	if (!gpu_holds_clocks(g)) {
		job_clock_leave(l, g);
		return NULL;
	}
	/* It has to be measured as a whole, at one clock. */
	if (t->unknown && !t->progress.known) {
		job_look_no_progress(l, t, now);
		return NULL;
	}
	/* A planned clock is a good guess: only a long job can gain. */
	if (!t->clock.on && !t->unknown && task_left_us(t, now) < LONG_US)
		return NULL;
	return run_learner_clocks(l, t);
}

static void job_clock_begin(const struct run_learner *l, struct run_task *t, struct learn_clocks *c,
			    int64_t now)
{
	t->clock.on = true;
	t->clock.settled = false;
	t->clock.trying_mhz = 0;
	t->clock.planned_mhz = t->place->clock_mhz;
	t->clock.from_us = now;
	if (!c->expected_mhz)
		c->expected_mhz = kind_expected_mhz(l, t->gpu, t->place);
}

void run_learn_clock(struct run_learner *l, struct run_gpu *g, int64_t now)
{
	struct run_task *t = g->running[0];
	struct learn_clocks *c;
	struct learn_window w;

	if (!job_may_try(l, g)) {
		job_clock_leave(l, g);
		return;
	}
	c = job_clocks(l, g, now);
	if (!c)
		return;
	if (!t->clock.on) {
		job_clock_begin(l, t, c, now);
	} else if (!t->clock.settled && job_has_window(l, t, now, &w)) {
		job_clock_saw(l, c, t, &w);
		t->clock.from_us = t->progress_us;
		if (!t->progress.known)
			run_learner_restart(l, g);
	} else {
		job_look_no_progress(l, t, now);
		if (t->clock.trying_mhz || t->clock.settled)
			return;
	}
	job_clock_choose(l, c, t, now);
}
