/*
 * job_set.c - jobs that share a GPU, measured against their own rates; see learner.h.
 *
 * A member without a rate of its own is measured alone while the others are held: the GPU works
 * meanwhile. Then the set is watched. One that does worse than taking turns is separated: its
 * newest job is held until the others have ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/texts.h"
#include "run/job_floor.h"
#include "run/job_set.h"

#define DRAIN_US 2000000  /* what a held job has launched before ends by then */
#define ALONE_US 60000000 /* longest wait for a member's own rate, or for one that shows none */
#define ALONE_S  10       /* a member alone */
#define HOLD_S   3        /* until the others are held and their work has ended */
#define INVITE_S 2.5      /* what a set without evidence may cost */

static uint32_t set_kinds(struct run_learner *l, const struct run_gpu *g,
			  uint32_t out[HES_MAX_SHARING])
{
	return run_learner_kinds(l, g->running, run_gpu_started(g), out);
}

/* --- own rates --- */

/* The first member without a rate of its own, that can be measured; @return the number of members:
 * none */
static uint32_t set_next_alone(struct run_holder *h, const struct run_gpu *g)
{
	struct learn_alone own;
	uint32_t i = 0;

	while (i < run_gpu_started(g) && run_learner_alone(h->learner, g->running[i], &own))
		i++;
	return i;
}

static bool set_shows_work(const struct run_gpu *g, int64_t now)
{
	for (uint32_t i = 0; i < run_gpu_started(g); i++)
		if (!run_learner_shows_work(g->running[i], now) ||
		    g->running[i]->ending != ENDING_OWN)
			return false;
	return true;
}

/* What a member alone may cost. It works in place of the others: what they did more together. */
static double set_alone_cost_s(const struct run_gpu *g, double seconds)
{
	return seconds * fmax(g->set.work - 1, 0);
}

/* A member alone leaves a part of the GPU idle if it has a share. @param w  NULL: it was given up
 */
static void set_pay_alone(struct run_learner *l, struct run_gpu *g, const struct learn_window *w,
			  int64_t now)
{
	const struct run_segment *seg = &g->energy.now;
	const bool is_there = g->n_running == 1 && g->running[0] == g->set.alone;
	struct learn_cost cost = { .seconds = (double)(now - g->set.held_us) * 1e-6 };

	if (!g->set.held_us)
		return;
	g->set.held_us = 0;
	if (w && g->set.alone->attempt.sm_pct == 100)
		cost.seconds = fmax(cost.seconds - w->seconds, 0) + set_alone_cost_s(g, w->seconds);
	if (w)
		cost.joules = cost.seconds * w->joules / w->seconds;
	else if (is_there && seg->has_energy && seg->seconds > 0)
		cost.joules = cost.seconds * seg->energy_j / seg->seconds;
	if (w && g->set.alone->progress.known)
		cost.iterations = w->members[0].rate * w->seconds;
	run_learner_pay(l, LEARN_OF_NEWCOMER, &cost, g);
}

static void set_leave(struct run_holder *h, struct run_gpu *g, enum run_set_state state,
		      const char *why)
{
	set_pay_alone(h->learner, g, NULL, run_now_us(h->learner->log->clock));
	run_release_all(h, g, why);
	g->set.state = state;
}

/* No set is judged by a job that shows no work. */
static void set_give_up(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	for (uint32_t i = 0; i < run_gpu_started(g); i++)
		if (!run_learner_shows_work(g->running[i], now))
			run_learner_no_progress(h->learner, g->running[i]);
	g->experiment_s = 0;
	if (g->set.state == RUN_SET_ALONE && g->set.alone->job->keep > 0)
		run_floor_give_up(h->learner, g->set.alone, "could not be measured alone");
	set_leave(h, g, RUN_SET_KEPT, "one of them cannot be measured alone");
}

/* The member is alone, or will be: all others are requested to be held. */
static void set_hold_others(struct run_holder *h, struct run_gpu *g, struct run_task *t)
{
	char why[RUN_HOLD_WHY];
	struct hes_err err;
	int rc = 0;

	snprintf(why, sizeof(why), "job %.60s is measured alone", t->job->id);
	for (uint32_t i = 0; i < g->n_running; i++)
		if (g->running[i] != t && (rc = run_hold(h, g->running[i], why, &err))) {
			if (rc == -EPERM && t->job->keep > 0)
				run_floor_give_up(h->learner, t, "could not be measured alone");
			set_leave(h, g, RUN_SET_KEPT, "it cannot be measured without co-runners");
			return;
		}
}

/* What the others had launched before they were held ends first. */
static bool set_has_drained(struct run_holder *h, struct run_gpu *g, struct run_task *t,
			    int64_t now, int64_t *from_us)
{
	*from_us = g->set.from_us;
	for (uint32_t i = g->n_running; i < run_gpu_started(g); i++) {
		const int64_t us = g->running[i]->hold.since_us + DRAIN_US;

		*from_us = us > *from_us ? us : *from_us;
	}
	if (now >= *from_us)
		return true;
	run_observe_disturb(t);
	run_learner_restart(h->learner, g);
	return false;
}

/* @return whether the member was alone for long enough */
static bool set_saw_alone(struct run_holder *h, struct run_gpu *g, struct run_task *t,
			  int64_t from_us, struct learn_window *w)
{
	if (t->progress.known)
		return run_observe_window(t, from_us, w);
	return run_learner_window(h->learner, g, w) && w->seconds >= ALONE_S;
}

static void set_measure(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	struct run_task *t = g->set.alone;
	struct learn_alone own;
	struct learn_clocks *c;
	struct learn_window w;
	int64_t from_us;

	if (now > g->set.from_us + ALONE_US) {
		set_give_up(h, g, now);
		return;
	}
	if (!set_shows_work(g, now))
		return;
	if (g->n_running > 1 || g->running[0] != t) {
		set_hold_others(h, g, t);
		return;
	}
	g->set.held_us = g->set.held_us ? g->set.held_us : now;
	if (!set_has_drained(h, g, t, now, &from_us) || !set_saw_alone(h, g, t, from_us, &w))
		return;
	w.clock_mhz = hes_gpu_type_clock(g->planned->type, w.clock_mhz);
	c = run_learner_clocks(h->learner, t);
	if (c)
		learn_clocks_saw(c, &w);
	set_pay_alone(h->learner, g, &w, now);
	/* Without joules there is no figure to keep. */
	if (!run_learner_alone(h->learner, t, &own)) {
		set_give_up(h, g, now);
		return;
	}
	g->set.state = RUN_SET_NEW;
	run_release_all(h, g, "the other was measured");
}

/* --- judged --- */

static void set_note(struct run_holder *h, const struct run_gpu *g, const struct learn_gain *gain,
		     const char *what)
{
	char names[80] = "";
	bool shares = false;

	for (uint32_t i = 0; i < run_gpu_started(g); i++) {
		hes_text_add(names, sizeof(names), ", ", "%.*s", 20, g->running[i]->job->id);
		shares |= g->running[i]->attempt.sm_pct < 100;
	}
	run_learner_note(h->learner, run_gpu_name(g), NULL,
			 "jobs %s together do %.2f times the work of turns%s, with %.2f times the "
			 "joules for it: %s",
			 names, 1 / gain->time, shares ? " with their shares" : "", gain->energy,
			 what);
}

/* The members that are not to be held, the oldest first. */
struct set_free {
	struct run_task *v[HES_MAX_SHARING];
	uint32_t kinds[HES_MAX_SHARING], n;
};

/* @return whether they did worse together than in turns */
static bool set_is_worse(struct run_learner *l, const struct run_gpu *g, struct set_free *f)
{
	f->n = 0;
	for (uint32_t i = 0; i < g->n_running; i++) {
		struct run_task *t = g->running[i];
		uint32_t at = f->n;

		if (t->hold.wanted_us)
			continue;
		for (; at && f->v[at - 1]->attempt.started_us > t->attempt.started_us; at--)
			f->v[at] = f->v[at - 1];
		f->v[at] = t;
		f->n++;
	}
	return run_learner_kinds(l, f->v, f->n, f->kinds) == f->n &&
	       learn_is_refused(&l->refused_shares, 0, f->kinds, f->n);
}

/* Jobs without a deadline are held until others have ended: as many as leave no refused set. */
static void set_separate(struct run_holder *h, struct run_gpu *g)
{
	struct hes_err err;
	struct set_free f;

	g->set.state = RUN_SET_SEPARATE;
	hes_fail(&err, -EPERM, "each has a deadline, or cannot be held");
	while (set_is_worse(h->learner, g, &f)) {
		uint32_t may_hold = 0, at;
		int rc = 0;

		for (uint32_t i = 0; i < f.n; i++)
			may_hold |= (uint32_t)(!f.v[i]->job->has_deadline && !f.v[i]->hold.refused)
				    << i;
		at = learn_set_to_hold(&h->learner->refused_shares, 0, f.kinds, f.n, 0, may_hold);
		if (at < f.n)
			rc = run_hold(h, f.v[at], "it does worse with its co-runners than in turns",
				      &err);
		/* Another one is held in its place. */
		if (at < f.n && (!rc || rc == -EPERM))
			continue;
		run_tell(h->learner->log, "%s: its jobs stay together: %s", run_gpu_name(g),
			 err.msg);
		set_leave(h, g, RUN_SET_KEPT, "its jobs stay together");
		return;
	}
}

/* Against turns with the whole GPU: jobs like these that start later can have it. */
static void set_judge_whole(struct run_learner *l, const struct run_gpu *g,
			    const struct learn_window *w)
{
	struct learn_alone whole[HES_MAX_SHARING];
	uint32_t kinds[HES_MAX_SHARING];
	struct learn_gain gain;

	for (uint32_t i = 0; i < w->n; i++)
		if (!run_learner_alone_whole(l, g->running[i], &whole[i]))
			return;
	if (!learn_set_gain(w, whole, &gain))
		return;
	run_learner_judged(l, g, &gain);
	if (learn_set_judge(&gain, l->prefer, w->seconds) == LEARN_SEPARATE)
		learn_refuse(&l->refused_whole, 0, kinds, set_kinds(l, g, kinds));
}

static void set_pay(struct run_learner *l, struct run_gpu *g, const struct learn_window *w,
		    const struct learn_alone *own)
{
	struct learn_cost cost = learn_cost_of(w, own);

	cost.iterations = 0; /* launches are none */
	for (uint32_t i = 0; i < w->n; i++)
		if (g->running[i]->progress.known)
			cost.iterations += w->members[i].rate * w->seconds;
	run_learner_pay(l, LEARN_OF_SET, &cost, g);
}

static void set_watch(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	struct run_learner *l = h->learner;
	struct learn_alone own[HES_MAX_SHARING];
	uint32_t kinds[HES_MAX_SHARING];
	struct learn_gain gain;
	struct learn_window w;
	enum learn_verdict verdict;

	if (g->n_held || !run_learner_window(l, g, &w)) {
		if (now > g->set.from_us + ALONE_US && !set_shows_work(g, now))
			set_give_up(h, g, now);
		return;
	}
	for (uint32_t i = 0; i < w.n; i++)
		if (!run_learner_alone(l, g->running[i], &own[i]))
			return;
	if (!learn_set_gain(&w, own, &gain))
		return;
	verdict = learn_set_judge(&gain, l->prefer, w.seconds);
	if (verdict == LEARN_UNCLEAR)
		return;
	g->experiment_s = 0;
	if (g->set.invited || verdict == LEARN_SEPARATE)
		set_pay(l, g, &w, own);
	set_note(h, g, &gain, verdict == LEARN_SEPARATE ? "separated" : "they stay together");
	set_judge_whole(l, g, &w);
	g->set.state = RUN_SET_KEPT;
	g->set.work = 1 / gain.time;
	if (verdict != LEARN_SEPARATE)
		return;
	g->set.work = 0;
	learn_refuse(&l->refused_shares, 0, kinds, set_kinds(l, g, kinds));
	set_separate(h, g);
}

/* --- begun --- */

static bool set_is_same(const struct run_gpu *g)
{
	const uint32_t n = run_gpu_started(g);
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < g->set.n; k++)
			found += g->set.v[k] == g->running[i] &&
				 g->set.attempts[k] == g->running[i]->attempt.id;
	return n == g->set.n && found == n;
}

static void set_begin(struct run_gpu *g, int64_t now)
{
	if (run_gpu_started(g) <= g->set.n)
		g->set.work = 0;
	g->set.n = run_gpu_started(g);
	g->set.state = g->set.n > 1 ? RUN_SET_NEW : RUN_SET_NONE;
	g->set.from_us = now;
	for (uint32_t i = 0; i < g->set.n; i++) {
		if (g->running[i]->unknown && !g->running[i]->clock.on)
			g->running[i]->place->clock_mhz = RUN_UNLOCKED; /* not of the last set */
		g->set.v[i] = g->running[i];
		g->set.attempts[i] = g->running[i]->attempt.id;
	}
	g->set.invited &= g->set.n > 1;
	if (!g->set.invited)
		g->experiment_s = 0;
}

/* Of unknown jobs: others have the clock of their plan. */
static void set_clock(struct run_holder *h, struct run_gpu *g)
{
	const struct hes_gpu_type *type = g->planned->type;
	const struct learn_clocks *c[HES_MAX_SHARING];
	uint32_t mhz;

	for (uint32_t i = 0; i < g->n_running; i++) {
		c[i] = run_learner_clocks(h->learner, g->running[i]);
		if (!c[i] || !g->running[i]->unknown || g->lock.refused)
			return;
	}
	mhz = learn_set_clock(c, g->n_running, type, h->learner->prefer);
	for (uint32_t i = 0; i < g->n_running; i++)
		g->running[i]->place->clock_mhz =
			hes_gpu_type_is_unlocked(type, mhz) ? RUN_UNLOCKED : mhz;
}

static void set_choose(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	struct set_free f;
	uint32_t at;

	/* How a job shows its work decides what it is compared with. */
	if (!set_shows_work(g, now)) {
		if (now > g->set.from_us + ALONE_US)
			set_give_up(h, g, now);
		return;
	}
	if (set_is_worse(h->learner, g, &f)) {
		run_learner_note(h->learner, run_gpu_name(g), NULL,
				 "these jobs did worse together than in turns before: separated");
		set_separate(h, g);
		return;
	}
	at = set_next_alone(h, g);
	if (at < g->set.n && !run_learner_may(h->learner, g, HOLD_S + set_alone_cost_s(g, ALONE_S)))
		return;
	g->set.from_us = now;
	g->set.state = at == g->set.n ? RUN_SET_WATCHED : RUN_SET_ALONE;
	if (at == g->set.n) {
		set_clock(h, g);
		return;
	}
	g->set.alone = g->running[at];
}

/* --- invited --- */

static bool task_may_join(const struct run_gpu *g, const struct run_place *p)
{
	const struct run_task *t = p->task;
	uint64_t taken_mib = 0;

	for (uint32_t i = 0; i < run_gpu_started(g); i++) {
		const struct run_task *r = g->running[i];
		const uint32_t given_mib = hes_job_memory_mib(r->job);

		taken_mib += r->most_mib > given_mib ? r->most_mib : given_mib;
		/* An unknown job without lines has to be measured as a whole. */
		if ((r->unknown && !r->progress.known) || !r->mps_daemon ||
		    r->place->user != p->user || r->clock.trying_mhz || r->job->has_deadline)
			return false;
	}
	return p->state == RUN_WAITING && !t->charged && !t->co_failures && !t->unplaced &&
	       !t->job->has_deadline &&
	       taken_mib + (hes_job_memory_mib(t->job) ? hes_job_memory_mib(t->job)
						       : g->queue.memory_mib / 2) <=
		       g->queue.memory_mib;
}

static void set_invite(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	struct run_learner *l = h->learner;
	uint32_t kinds[HES_MAX_SHARING], n = set_kinds(l, g, kinds);
	struct learn_alone own;

	if (!g->mps.on || !n || n == HES_MAX_SHARING || l->q->plan->power_cap_mw ||
	    g->failure.open || !set_shows_work(g, now) || n != run_gpu_started(g) ||
	    (n == 1 && !run_learner_alone_whole(h->learner, g->running[0], &own)))
		return;
	for (size_t i = g->queue.over; i < g->queue.n; i++) {
		struct run_place *p = &g->queue.v[i];
		long kind;

		if (p->state != RUN_WAITING)
			continue;
		kind = task_may_join(g, p) ? run_learner_kind(l, p->task) : -1;
		if (kind < 0)
			return;
		kinds[n] = (uint32_t)kind;
		/* What was measured together is planned, or is not worth it. */
		if (learn_is_refused(&l->refused_whole, 0, kinds, n + 1) ||
		    learn_is_refused(&l->measured, 0, kinds, n + 1))
			continue;
		if (!run_learner_may(l, g,
				     INVITE_S + (l->kinds[kind].clocks.n
							 ? 0
							 : HOLD_S + set_alone_cost_s(g, ALONE_S))))
			return;
		p->invited = g->set.invited = true;
		return;
	}
}

static bool set_is_wanted(const struct run_gpu *g)
{
	for (uint32_t i = 0; i < g->n_running; i++)
		if (g->running[i]->hold.wanted_us)
			return true;
	return false;
}

/* Sets that are planned, or of unknown jobs, are judged in runs of a jobs file only. */
static void set_step(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	if (g->set.state == RUN_SET_NEW && !g->n_held)
		set_choose(h, g, now);
	else if (g->set.state == RUN_SET_ALONE)
		set_measure(h, g, now);
	else if (g->set.state == RUN_SET_WATCHED)
		set_watch(h, g, now);
	else if (g->set.state == RUN_SET_SEPARATE && !g->n_held && !set_is_wanted(g))
		g->set.state = RUN_SET_KEPT; /* its co-runners stalled, or it could not be held */
	else if (g->set.state == RUN_SET_NONE || g->set.state == RUN_SET_KEPT)
		set_invite(h, g, now);
}

/* A member with a floor must have been measured alone. */
static void set_floor(struct run_holder *h, struct run_gpu *g, bool changed, int64_t now)
{
	g->set.alone = run_floor_unknown(h->learner, g);
	g->set.from_us = now;
	g->set.state = g->set.alone ? RUN_SET_ALONE : RUN_SET_FLOOR;
	if (!g->set.alone)
		run_keep_floor(h->learner, h, g, changed, now);
}

void run_learn_set(struct run_holder *h, struct run_gpu *g, int64_t now)
{
	const struct hes_run_request *q = h->learner->q;
	const bool floor = run_has_floor(g), changed = !set_is_same(g);

	if (!floor && g->set.state == RUN_SET_FLOOR)
		set_leave(h, g, RUN_SET_NEW, "no job has a floor there any more");
	if (g->lost)
		return;
	if (changed && (!floor || g->set.state == RUN_SET_ALONE))
		set_leave(h, g, g->set.state, "its co-runners have changed");
	if (!floor && (!h->learner->prefer || !q->replan || q->waiting_stay)) {
		g->set.state = RUN_SET_NONE;
		return;
	}
	if (changed)
		set_begin(g, now);
	if (floor && g->set.state != RUN_SET_ALONE)
		set_floor(h, g, changed, now);
	else
		set_step(h, g, now);
}
