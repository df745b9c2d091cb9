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

#define WINDOW_S   10        /* of an experiment, for the budget */
#define BY_LOOKS_S 20        /* a shorter one is not exact if lines come without their time */
#define LONG_US    120000000 /* left to a job whose clock was planned */
#define MUTE_US    60000000  /* without a window; then its job shows no progress */

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

static bool job_has_window(const struct run_task *t, struct learn_window *w)
{
	return run_observe_window(t, t->clock.from_us, w) &&
	       (!isnan(t->progress.seconds) || w->seconds >= BY_LOOKS_S);
}

static void job_look_mute(struct run_learner *l, struct run_task *t, int64_t now)
{
	if (t->clock.mute || t->progress.known || now < t->attempt.started_us + MUTE_US)
		return;
	t->clock.mute = true;
	l->mute++;
}

/* The job has co-runners, or its GPU holds no clock: back to what was planned. */
static void job_clock_leave(struct run_gpu *g)
{
	for (uint32_t i = 0; i < g->n_running; i++) {
		struct run_task *t = g->running[i];

		if (!t->clock.on)
			continue;
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

/* At the default clock, by all that was seen there. */
static struct learn_alone kind_alone(const struct run_kind *k)
{
	const struct learn_clock_try *first = &k->clocks.tries[0];

	return (struct learn_alone){ .rate = first->iterations / first->seconds,
				     .power_w = first->joules / first->seconds };
}

/* What a window at a clock costs at most. */
static double try_cost_s(const struct run_learner *l, const struct run_kind *k, uint32_t mhz)
{
	return WINDOW_S * (fmin((double)k->type->clock_default_mhz / mhz, l->prefer->slowest) - 1);
}

static void tell_settled(struct run_learner *l, const struct run_kind *k, const struct run_task *t,
			 uint32_t mhz)
{
	const struct learn_alone alone = kind_alone(k);

	for (uint32_t i = 0; i < k->clocks.n; i++) {
		const struct learn_clock_try *x = &k->clocks.tries[i];

		if (x->clock_mhz == mhz)
			run_learner_note(l, run_gpu_name(t->gpu), t->job->id,
					 "stays at %" PRIu32 " MHz, the best of %" PRIu32
					 " clocks tried: against the default clock, %.2f of the "
					 "joules and %.2f of the time",
					 mhz, k->clocks.n,
					 x->joules / x->iterations * alone.rate / alone.power_w,
					 x->seconds / x->iterations * alone.rate);
	}
}

/* A window has ended. */
static void job_clock_saw(struct run_learner *l, struct run_kind *k, struct run_task *t,
			  struct learn_window *w)
{
	const struct learn_alone alone = kind_alone(k);
	struct learn_cost cost;

	w->clock_mhz = hes_gpu_type_clock(k->type, w->clock_mhz);
	if (w->clock_mhz == t->clock.trying_mhz) {
		cost = learn_cost_of(w, &alone);
		run_learner_pay(l, LEARN_OF_CLOCK, &cost, t);
	}
	learn_clocks_saw(&k->clocks, w);
	t->clock.trying_mhz = 0;
}

static void job_clock_choose(struct run_learner *l, struct run_kind *k, struct run_task *t,
			     int64_t now)
{
	bool over;
	uint32_t mhz = learn_clocks_next(&k->clocks, k->type, l->prefer, &over);

	if (over && !t->clock.settled && k->clocks.n > 1)
		tell_settled(l, k, t, mhz);
	t->clock.settled |= over;
	if (!over && k->clocks.n) {
		run_learner_work(l);
		if (learn_may(&l->account, try_cost_s(l, k, mhz)))
			t->clock.trying_mhz = mhz;
		else
			mhz = learn_clocks_best(&k->clocks, l->prefer);
	}
	run_observe_closely(t, t->clock.trying_mhz || !k->clocks.n);
	job_clock_set(t, mhz, now);
}

void run_learn_clock(struct run_learner *l, struct run_gpu *g, int64_t now)
{
	struct run_task *t = g->running[0];
	struct learn_window w;
	struct run_kind *k;
	long kind;

	if (!job_may_try(l, g)) {
		job_clock_leave(g);
		return;
	}
	kind = run_learner_kind(l, t);
	k = kind < 0 ? NULL : &l->kinds[kind];
	if (!k || k->measured)
		return;
	if (!gpu_holds_clocks(g)) {
		job_clock_leave(g);
		return;
	}
	/* A planned clock is a good guess: only a long job can gain. */
	if (!t->clock.on && !t->unknown && task_left_us(t, now) < LONG_US)
		return;
	if (!t->clock.on) {
		t->clock = (struct run_job_clock){ .on = true,
						   .planned_mhz = t->place->clock_mhz,
						   .from_us = now };
		if (!k->clocks.expected_mhz)
			k->clocks.expected_mhz = kind_expected_mhz(l, g, t->place);
	} else if (!t->clock.settled && job_has_window(t, &w)) {
		job_clock_saw(l, k, t, &w);
		t->clock.from_us = t->progress_us;
	} else {
		job_look_mute(l, t, now);
		if (t->clock.trying_mhz || t->clock.settled)
			return;
	}
	job_clock_choose(l, k, t, now);
}
