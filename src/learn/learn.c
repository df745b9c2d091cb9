/*
 * learn.c - clocks, sets and their account; see learn.h.
 */
#include "learn/learn.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/root_sum.h"

#define SURE 2 /* standard errors between "unclear" and a verdict */
/* Standard error of what a share makes of a job, by the predictor. Eight networks at five shares in
 * the lab: half of them are off by 1.1 % at most, the mean square by 5.6 %. */
#define BY_MODEL   0.025
#define LEAST_WORK .001 /* of a set in which nothing moves: 1000 times worse than turns */
#define WATCH_S    8    /* a set, before it is judged */
#define UNCLEAR_S  60   /* after which a set that is neither better nor worse stays */

static const struct learn_preference preferences[] = {
	{ "balanced", 1, 1, 1.3 },
	{ "energy", 1, 0, 2 },
	{ "jct", 0, 1, 1.05 },
	{ "fleet", 1, .3, 2 },
};

const struct learn_preference *learn_preference(const char *name)
{
	for (size_t i = 1; i < sizeof(preferences) / sizeof(preferences[0]); i++)
		if (strcmp(preferences[i].name, name) == 0)
			return &preferences[i];
	return &preferences[0];
}

/* --- the clock of a job alone --- */

void learn_clocks_saw(struct learn_clocks *c, const struct learn_window *w)
{
	struct learn_clock_try *t = NULL;

	if (w->n != 1 || w->members[0].held || !(w->members[0].rate > 0) || !(w->joules > 0) ||
	    !(w->seconds > 0))
		return;
	for (uint32_t i = 0; i < c->n && !t; i++)
		t = c->tries[i].clock_mhz == w->clock_mhz ? &c->tries[i] : NULL;
	if (!t && c->n == LEARN_CLOCK_TRIES)
		return;
	if (!t) {
		t = &c->tries[c->n++];
		*t = (struct learn_clock_try){ .clock_mhz = w->clock_mhz };
	}
	t->seconds += w->seconds;
	t->joules += w->joules;
	t->iterations += w->members[0].rate * w->seconds;
}

static const struct learn_clock_try *clocks_find(const struct learn_clocks *c, uint32_t clock_mhz)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->tries[i].clock_mhz == clock_mhz)
			return &c->tries[i];
	return NULL;
}

/* The logarithm of what the preference wants least of; INFINITY: too slow. */
static double clocks_score(const struct learn_clocks *c, const struct learn_clock_try *t,
			   const struct learn_preference *p)
{
	const struct learn_clock_try *first = &c->tries[0];
	const double time = t->seconds / t->iterations, energy = t->joules / t->iterations;

	if (time > p->slowest * first->seconds / first->iterations)
		return INFINITY;
	return p->time * log(time) + p->energy * log(energy);
}

static const struct learn_clock_try *clocks_best(const struct learn_clocks *c,
						 const struct learn_preference *p)
{
	const struct learn_clock_try *best = &c->tries[0];

	for (uint32_t i = 1; i < c->n; i++)
		if (clocks_score(c, &c->tries[i], p) < clocks_score(c, best, p))
			best = &c->tries[i];
	return best;
}

/* The index of the clock nearest to @mhz. */
static size_t clocks_nearest(const struct hes_gpu_type *g, uint32_t mhz)
{
	size_t best = 0;

	for (size_t i = 1; i < g->n_clocks; i++)
		if (fabs((double)g->clocks_mhz[i] - mhz) < fabs((double)g->clocks_mhz[best] - mhz))
			best = i;
	return best;
}

/* The clock below the best one: the next lower one, or halfway to one that is too slow. */
static size_t clocks_lower(const struct learn_clocks *c, const struct hes_gpu_type *g,
			   const struct learn_preference *p, size_t at)
{
	size_t slow = at;

	for (size_t i = 0; i < at; i++) {
		const struct learn_clock_try *t = clocks_find(c, g->clocks_mhz[i]);

		slow = t && isinf(clocks_score(c, t, p)) ? i : slow;
	}
	return slow < at ? slow + (at - slow) / 2 : at - (at > 0);
}

uint32_t learn_clocks_next(const struct learn_clocks *c, const struct hes_gpu_type *g,
			   const struct learn_preference *p, bool *over)
{
	const struct learn_clock_try *best;
	size_t at;

	*over = g->n_clocks < 2;
	if (!c->n || *over)
		return g->clock_default_mhz;
	at = clocks_nearest(g, c->expected_mhz);
	if (c->n < 2 && c->expected_mhz && !clocks_find(c, g->clocks_mhz[at]))
		return g->clocks_mhz[at];
	best = clocks_best(c, p);
	if (c->n < LEARN_CLOCK_TRIES) {
		/* Lower first: a job rarely gains at a higher clock than the expected one. */
		at = clocks_lower(c, g, p, clocks_nearest(g, best->clock_mhz));
		if (!clocks_find(c, g->clocks_mhz[at]))
			return g->clocks_mhz[at];
		at = clocks_nearest(g, best->clock_mhz) + 1;
		if (at < g->n_clocks && !clocks_find(c, g->clocks_mhz[at]))
			return g->clocks_mhz[at];
	}
	*over = true;
	return best->clock_mhz;
}

uint32_t learn_clocks_best(const struct learn_clocks *c, const struct learn_preference *p)
{
	return c->n ? clocks_best(c, p)->clock_mhz : 0;
}

double learn_clocks_cost_s(const struct hes_gpu_type *g, const struct learn_preference *p,
			   uint32_t clock_mhz, double seconds)
{
	return seconds * (fmin((double)g->clock_default_mhz / clock_mhz, p->slowest) - 1);
}

bool learn_clocks_alone(const struct learn_clocks *c, uint32_t clock_mhz, double rate_se,
			struct learn_alone *out)
{
	const struct learn_clock_try *t = &c->tries[0];

	for (uint32_t i = 1; i < c->n; i++)
		if (fabs((double)c->tries[i].clock_mhz - clock_mhz) <
		    fabs((double)t->clock_mhz - clock_mhz))
			t = &c->tries[i];
	if (!c->n)
		return false;
	*out = (struct learn_alone){ .rate = t->iterations / t->seconds,
				     .rate_se = rate_se,
				     .power_w = t->joules / t->seconds };
	return true;
}

/* --- sets --- */

struct learn_alone learn_alone_with(const struct learn_alone *whole, const struct learn_share *s)
{
	return (struct learn_alone){ .rate = whole->rate / s->time,
				     .rate_se = hes_root_sum(whole->rate_se, BY_MODEL),
				     .power_w = whole->power_w * s->power };
}

bool learn_set_gain(const struct learn_window *w, const struct learn_alone *alone,
		    struct learn_gain *out)
{
	double work = 0, variance = 0, turns_j = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct learn_member *m = &w->members[i];
		double part, se;

		if (m->held)
			continue;
		if (!(m->rate >= 0) || !(alone[i].rate > 0))
			return false;
		part = m->rate / alone[i].rate;
		se = part * hes_root_sum(m->rate_se, alone[i].rate_se);
		work += part;
		variance += se * se;
		turns_j += part * w->seconds * alone[i].power_w;
	}
	if (!w->n)
		return false;
	work = fmax(work, LEAST_WORK);
	*out = (struct learn_gain){ .time = 1 / work,
				    .energy = turns_j > 0 ? w->joules / turns_j : NAN,
				    .se = sqrt(variance) / work };
	return true;
}

double learn_set_score(const struct learn_gain *g, const struct learn_preference *p)
{
	const double energy = g->energy > 0 && p->energy > 0 ? p->energy * log(g->energy) : 0;

	/* Without joules only time tells. */
	if (!(g->energy > 0) && !(p->time > 0))
		return g->time;
	return exp(p->time * log(g->time) + energy);
}

enum learn_verdict learn_set_judge(const struct learn_gain *g, const struct learn_preference *p,
				   double seconds)
{
	const double score = log(learn_set_score(g, p)),
		     error = SURE * g->se * (p->time + p->energy);

	if (seconds < WATCH_S)
		return LEARN_UNCLEAR;
	if (score > error)
		return LEARN_SEPARATE;
	return score < -error || seconds >= UNCLEAR_S ? LEARN_KEEP : LEARN_UNCLEAR;
}

uint32_t learn_set_clock(const struct learn_clocks *const *c, uint32_t n,
			 const struct hes_gpu_type *g, const struct learn_preference *p)
{
	uint32_t least = 0, found = g->clock_default_mhz;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t best = learn_clocks_best(c[i], p);

		least = best > least ? best : least;
	}
	for (size_t k = g->n_clocks; k-- && g->clocks_mhz[k] >= least;) {
		bool all = true;

		for (uint32_t i = 0; i < n && all; i++)
			all = clocks_find(c[i], g->clocks_mhz[k]);
		found = all ? g->clocks_mhz[k] : found;
	}
	return found;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sorted_kinds(uint32_t out[HES_MAX_SHARING], const uint32_t *kinds, uint32_t n)
{
	memcpy(out, kinds, n * sizeof(*kinds));
	qsort(out, n, sizeof(*out), by_number);
}

int learn_refuse(struct learn_refusals *r, uint32_t type, const uint32_t *kinds, uint32_t n)
{
	struct learn_refused *v;

	if (learn_is_refused(r, type, kinds, n))
		return 0;
	v = reallocarray(r->v, r->n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	r->v = v;
	v[r->n] = (struct learn_refused){ .type = type, .n = n };
	sorted_kinds(v[r->n++].kinds, kinds, n);
	return 0;
}

/* Whether ascending @part is in ascending @all. */
static bool kinds_contain(const uint32_t *all, uint32_t n, const struct learn_refused *part)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n && found < part->n; i++)
		found += all[i] == part->kinds[found];
	return found == part->n;
}

/* @param with  a kind of the refused set; NULL: any */
static bool kinds_are_refused(const struct learn_refusals *r, uint32_t type, const uint32_t *kinds,
			      uint32_t n, const uint32_t *with)
{
	uint32_t all[HES_MAX_SHARING];

	sorted_kinds(all, kinds, n);
	for (size_t i = 0; i < r->n; i++) {
		const struct learn_refused *x = &r->v[i];

		if (x->type == type && kinds_contain(all, n, x) &&
		    (!with || bsearch(with, x->kinds, x->n, sizeof(*with), by_number)))
			return true;
	}
	return false;
}

bool learn_is_refused(const struct learn_refusals *r, uint32_t type, const uint32_t *kinds,
		      uint32_t n)
{
	return kinds_are_refused(r, type, kinds, n, NULL);
}

bool learn_join_is_refused(const struct learn_refusals *r, uint32_t type, const uint32_t *kinds,
			   uint32_t n)
{
	return kinds_are_refused(r, type, kinds, n, &kinds[0]);
}

/* Whether the members that are not in @without, a bit each, are refused. */
static bool refuses_without(const struct learn_refusals *r, uint32_t type, const uint32_t *kinds,
			    uint32_t n, uint32_t without)
{
	uint32_t left[HES_MAX_SHARING] = { 0 }, n_left = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!(without >> i & 1))
			left[n_left++] = kinds[i];
	return learn_is_refused(r, type, left, n_left);
}

uint32_t learn_set_to_hold(const struct learn_refusals *r, uint32_t type, const uint32_t *kinds,
			   uint32_t n, uint32_t held, uint32_t may_hold)
{
	uint32_t last = n;

	if (!refuses_without(r, type, kinds, n, held))
		return n;
	for (uint32_t i = n; i--;) {
		const uint32_t bit = 1u << i;

		if (held & bit || !(may_hold & bit))
			continue;
		if (!refuses_without(r, type, kinds, n, held | bit))
			return i;
		last = last == n ? i : last;
	}
	return last;
}

void learn_refusals_finish(struct learn_refusals *r)
{
	free(r->v);
	*r = (struct learn_refusals){ 0 };
}

/* --- the account --- */

const char *const learn_whats[LEARN_WHATS] = { "clock", "newcomer", "set" };

struct learn_cost learn_cost_of(const struct learn_window *w, const struct learn_alone *alone)
{
	struct learn_cost c = { .seconds = w->seconds, .joules = w->joules };

	for (uint32_t i = 0; i < w->n; i++) {
		const double done = w->members[i].held ? 0 : w->members[i].rate * w->seconds,
			     turn_s = done / alone[i].rate;

		if (!(turn_s >= 0))
			continue;
		c.iterations += done;
		c.seconds -= turn_s;
		c.joules -= turn_s * alone[i].power_w;
	}
	return c;
}

void learn_pay(struct learn_account *a, enum learn_what what, const struct learn_cost *c)
{
	struct learn_cost *sum = &a->cost[what];

	a->n[what]++;
	/* What one experiment gains pays for no other. */
	sum->seconds += fmax(c->seconds, 0);
	sum->iterations += c->iterations;
	/* Joules that were not measured are not in the sum. */
	if (isfinite(c->joules))
		sum->joules += fmax(c->joules, 0);
}

struct learn_cost learn_paid(const struct learn_account *a)
{
	struct learn_cost all = { 0 };

	for (size_t i = 0; i < LEARN_WHATS; i++) {
		all.seconds += a->cost[i].seconds;
		all.joules += a->cost[i].joules;
		all.iterations += a->cost[i].iterations;
	}
	return all;
}

bool learn_may(const struct learn_account *a, double cost_s)
{
	return learn_paid(a).seconds + a->going_s + cost_s <=
	       a->explore_pct / 100 * (a->start_s + a->worked_s);
}
