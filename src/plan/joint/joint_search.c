/*
 * joint_search.c - the walks of the joint search: their starts, rounds and weights, the
 * tuning after them, and what they found together; see joint_search.h.
 */
#include "plan/joint/joint_search.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "plan/joint/joint_result.h"
#include "plan/joint/joint_starts.h"
#include "plan/joint/joint_walk.h"

#define WALKS         JOINT_MEMOS     /* one for the weights from the middle one to either end */
#define STEPS         6     /* weights of a walk after the middle one, evenly spaced on a log scale */
#define FRUGAL        (1 / 60.0) /* the ends, against the middle weight */
#define QUICK         15.0
#define ROUNDS        2     /* over all weights, from plans of their own, */
#define APART         4     /* at first at a weight so many steps further out than that of the round before */
#define FIRST_PART    0.2   /* of a round's evaluations, spent at its first weight */
#define DWELLING      0.1   /* of a walk's, after all rounds, at the weight of what is wanted; */
#define TUNING        0.1   /* then for shares and clocks alone, */
#define TUNED_STEPS   12    /* at the middle weight and so many more, */
#define TUNING_LOOK   8     /* moves between two looks at what is spent: there may be no more than some dozens a weight */
#define HALVED_TO     1.01  /* the balanced weight's interval: neighbours on the front differ by more */
#define HOPE          0.04  /* part of estimated times that is left out after a round's first weight, so that more moves are asked about */
#define HOT           2.0   /* first temperature, in parts of the mean cost of a job, times their number, */
#define HOTTEST       0.5   /* and where there are few or many jobs */
#define COOLEST       0.03
#define WARM          0.3   /* part of it at a round's other weights, but with few jobs: a move of one is a large part of the plan */
#define LONG          8000.0 /* evaluations a job: with x times as many WARM is x to the third times as much, */
#define WARMER        20.0  /* times at most: 40 was no better */
#define COLD          0.002 /* last temperature, in parts of the mean cost */
#define COOL          0.004 /* first temperature of tuning, likewise */
#define START_PART    0.01  /* of a round's evaluations at most, but for the first few starts */
#define SCREEN_FROM   8     /* jobs: few make few sets, which are soon all known */
#define LEFT          1e-6  /* of the clock's time for the walks at least: parts are of it */
#define PENALTY       10.0  /* of a microsecond late, in microseconds of everybody's completion */

_Static_assert(WALKS == 2, "exchange() merges each with the other");
_Static_assert((ROUNDS - 1) * APART <= STEPS, "a round begins at one of the weights");

/* What all walks share. */
struct search {
	const struct hes_problem       *p;
	const struct hes_joint_options *o;
	struct joint_starts             starts;
	struct hes_estimator           *estimator;
	bool                            shun_far;
	double                          hot;    /* first temperature, in parts of the mean cost of a job */
	double                          begun;  /* part of the clock's time that was spent before the walks */
	size_t                          threads, turns; /* walks at a time, and how often */
	int                             first;  /* weight of this round, in steps from the middle */
	double                          foretold[WALKS]; /* [walk], its own: evaluations of all walks in the whole search; against a clock by its part before, 0 before the first */
	struct joint_walk               walks[WALKS];
	struct joint_archive            found[WALKS]; /* by each walk, in the rounds before */
};

uint64_t hes_joint_evaluations(size_t n_jobs)
{
	const uint64_t n = n_jobs;

	if (n < SCREEN_FROM)
		return 240000;
	if (n < 25)
		return 72000;
	if (n < 60)
		return n * n * n * 14 / 3;
	return n < 144 ? 16800 * n : 2419200;
}

/* Whether settings far outside of the predictor's samples cannot be avoided: by what runs, or by stage 1's own. */
static bool is_far_anyway(const struct hes_problem *p)
{
	bool far = hes_default_is_far(p);

	for (size_t g = 0; g < p->k && !far; g++) {
		struct hes_timeline_cost c;

		hes_timeline_run(p, p->rates, g, NULL, 0, &c, NULL);
		far = c.far_us > 0;
	}
	return far;
}

/* What walks need. Against a clock at the same time; else the genetic algorithm has all threads. */
static int prepare(struct search *s)
{
	int starts = 0, estimator = 0;

#pragma omp parallel sections num_threads(s->o->spent && s->threads > 1 ? 2 : 1)
	{
#pragma omp section
		starts = joint_starts_find(s->p, s->o, &s->starts);
#pragma omp section
		if (s->p->n >= SCREEN_FROM)
			estimator = hes_estimator_new(s->p, s->o->seed, true, &s->estimator);
	}
	return starts ? starts : estimator;
}

static int open_walk(struct search *s, size_t number, struct hes_rates *rates)
{
	struct hes_paces *paces = hes_paces_new(s->p, rates, s->estimator);
	struct joint_walk *w = &s->walks[number];
	struct hes_rng all;
	int rc = paces ? joint_walk_init(w, s->p, paces) : -ENOMEM;

	if (rc) {
		hes_paces_free(paces);
		return rc;
	}
	hes_rng_seed(&all, s->o->seed);
	w->rng = hes_rng_fork(&all, number);
	w->power_cap_mw = s->o->power_cap_mw;
	w->spent = s->o->spent;
	w->spent_ctx = s->o->spent_ctx;
	w->shun_far = s->shun_far;
	w->pool = joint_pool_new();
	s->foretold[number] = s->o->spent ? 0 : (double)s->o->evaluations;
	s->found[number] = (struct joint_archive){ .n = s->p->n, .k = s->p->k };
	return w->pool ? 0 : -ENOMEM;
}

static void close_walk(struct search *s, size_t number)
{
	struct joint_walk *w = &s->walks[number];

	joint_archive_finish(&s->found[number]);
	if (!w->p)
		return;
	hes_paces_free(w->paces);
	joint_walk_finish(w);
}

static void set_weight(const struct search *s, struct joint_walk *w, double lambda)
{
	w->lambda = lambda;
	w->penalty = PENALTY * fmax(lambda, s->starts.middle) * (double)s->p->n;
}

/* Steps from the middle one to a walk's end. */
static double weight_at(const struct search *s, size_t number, double step)
{
	return s->starts.middle * pow(number ? QUICK : FRUGAL, step / STEPS);
}

/*
 * First temperature at a round's other weights, in parts of the mean cost of a job. A longer search has time
 * to cool from higher up; else it ends where a short one ends, in plans that no few moves lead out of.
 */
static double warm_of(const struct search *s, size_t number)
{
	double longer;

	if (s->p->n < SCREEN_FROM)
		return s->hot;
	longer = s->foretold[number] / (LONG * (double)s->p->n);
	return fmin(s->hot * WARM * fmin(fmax(longer * longer * longer, 1), WARMER), HOTTEST);
}

/* At a round's first weight, hot, and no less than at the others. */
static int begin_round(struct search *s, size_t number)
{
	struct joint_walk *w = &s->walks[number];
	int rc;

	set_weight(s, w, weight_at(s, number, s->first));
	hes_paces_hope(w->paces, 0);
	rc = joint_starts_try(&s->starts, w, number, WALKS, START_PART / FIRST_PART);
	return rc ? rc : joint_walk_anneal(w, 1, fmax(s->hot, warm_of(s, number)), COLD);
}

/* Warm, from the best that is known at a weight by then. */
static int visit(struct search *s, size_t number, int step, double until)
{
	struct joint_walk *w = &s->walks[number];
	int rc;

	if (joint_walk_spent(w) >= until)
		return 0;
	set_weight(s, w, weight_at(s, number, step));
	rc = joint_walk_recombine(w);
	if (!rc)
		rc = joint_walk_restart(w);
	return rc ? rc : joint_walk_anneal(w, until, warm_of(s, number), COLD);
}

/* From the first weight to the middle one, and then to the end. */
static int sweep(struct search *s, size_t number)
{
	int rc = 0, visited = 0;

	hes_paces_hope(s->walks[number].paces, HOPE);
	for (int step = s->first - 1; step >= 0 && !rc; step--)
		rc = visit(s, number, step, (double)++visited / STEPS);
	for (int step = s->first + 1; step <= STEPS && !rc; step++)
		rc = visit(s, number, step, (double)++visited / STEPS);
	return rc;
}

static const struct hes_objectives *best_at(const struct hes_pareto *front, double lambda)
{
	const struct hes_objectives *best = &front->v[0].at;

	for (size_t m = 1; m < front->n; m++) {
		const struct hes_objectives *x = &front->v[m].at;

		if (x->energy_mj + lambda * x->jct_us < best->energy_mj + lambda * best->jct_us)
			best = x;
	}
	return best;
}

/* The weight, between the ends, on whose one side what is best gains more energy than time over the knee, on the other less. */
static double balanced_weight(const struct search *s, const struct hes_pareto *front)
{
	const struct hes_objectives *knee = &s->starts.knee;
	double low = s->starts.middle * FRUGAL, high = s->starts.middle * QUICK;

	while (high > HALVED_TO * low) {
		const double lambda = sqrt(low * high);
		const struct hes_objectives *best = best_at(front, lambda);

		if (best->energy_mj * knee->jct_us < best->jct_us * knee->energy_mj)
			low = lambda;
		else
			high = lambda;
	}
	return sqrt(low * high);
}

static double wanted_weight(const struct search *s, const struct hes_pareto *front)
{
	switch (s->o->wanted) {
	case HES_JOINT_FRUGAL: return s->starts.middle * FRUGAL;
	case HES_JOINT_QUICK: return s->starts.middle * QUICK;
	default: return balanced_weight(s, front);
	}
}

/* What is wanted is one plan: both walks are at its weight, each its own way, from what either found. */
static int dwell(struct search *s, size_t number)
{
	struct joint_walk *w = &s->walks[number];
	int rc;

	if (joint_walk_spent(w) >= 1)
		return 0;
	set_weight(s, w, wanted_weight(s, &w->archive.front));
	rc = joint_walk_recombine(w);
	if (!rc)
		rc = joint_walk_restart(w);
	return rc ? rc : joint_walk_anneal(w, 1, warm_of(s, number), COLD);
}

/* The best that either walk knows at this one's weights and between them, jobs where they are: shares and clocks alone, cool. */
static int tune(struct search *s, size_t number)
{
	struct joint_walk *w = &s->walks[number];
	int rc = joint_walk_recombine(w);

	w->stays = true;
	w->look = TUNING_LOOK;
	for (int i = 0; i <= TUNED_STEPS && joint_walk_spent(w) < 1 && !rc; i++) {
		set_weight(s, w, weight_at(s, number, (double)i * STEPS / TUNED_STEPS));
		rc = joint_walk_restart(w);
		if (!rc)
			rc = joint_walk_anneal(w, (i + 1.0) / (TUNED_STEPS + 1), COOL, COLD);
	}
	w->stays = false;
	return rc ? rc : joint_walk_recombine(w);
}

/* Walks that one thread makes in turn share the time there is for this part of the search. */
static void begin_part(const struct search *s, struct joint_walk *w, size_t number, double from, double to)
{
	const double each = (to - from) / (double)s->turns, at = from + each * (double)(number / s->threads);

	w->from = s->begun + (1 - s->begun) * at;
	w->to = s->begun + (1 - s->begun) * (at + each);
	w->since = w->evaluations;
	w->budget = (uint64_t)((to - from) * (double)s->o->evaluations / WALKS) + 1;
}

/* Evaluations of all walks in the whole search, by what one made in a part of it. */
static double foretell(const struct joint_walk *w, double part)
{
	return WALKS * (double)(w->evaluations - w->since) / (part * fmax(joint_walk_spent(w), 1));
}

static int walk_all(struct search *s, double from, double to, int (*part)(struct search *s, size_t number))
{
	int rc = 0;

#pragma omp parallel for schedule(static, 1) num_threads((int)s->threads) reduction(min : rc)
	for (size_t i = 0; i < WALKS; i++) {
		int failed;

		begin_part(s, &s->walks[i], i, from, to);
		failed = part(s, i);
		if (s->o->spent)
			s->foretold[i] = foretell(&s->walks[i], to - from);
		rc = failed < rc ? failed : rc;
	}
	return rc;
}

/* Each walk has a memo of its own, for nobody else may ask it meanwhile. */
static int open_all(struct search *s, struct hes_joint *j)
{
	int rc = 0;

	s->turns = (WALKS + s->threads - 1) / s->threads;
	s->shun_far = !is_far_anyway(s->p);
	s->begun = s->o->spent ? fmin(s->o->spent(s->o->spent_ctx), 1 - LEFT) : 0;
	for (size_t i = 0; i < WALKS && !rc; i++) {
		j->memos[i] = hes_rates_new(s->p->request->predictor, s->p->types, s->p->solo, s->p->n_kinds);
		if (!j->memos[i])
			return -ENOMEM;
		j->n_memos++;
		rc = open_walk(s, i, j->memos[i]);
	}
	return rc;
}

/* Both go on from what either found. */
static int exchange(struct search *s)
{
	int rc = 0;

	for (size_t i = 0; i < WALKS && !rc; i++)
		rc = joint_archive_merge(&s->walks[i].archive, &s->walks[WALKS - 1 - i].archive);
	return rc;
}

static int make_round(struct search *s, double from, double to)
{
	const double begun = from + FIRST_PART * (to - from);
	int rc = walk_all(s, from, begun, begin_round);

	if (!rc && s->first == 0) /* both walks begin at the same weight */
		rc = exchange(s);
	return rc ? rc : walk_all(s, begun, to, sweep);
}

/* The next round shall not go on from it; the queues in pools, and what estimates learnt, it has. */
static int set_all_aside(struct search *s)
{
	int rc = 0;

	for (size_t i = 0; i < WALKS && !rc; i++) {
		rc = joint_archive_merge(&s->found[i], &s->walks[i].archive);
		joint_archive_clear(&s->walks[i].archive);
	}
	return rc;
}

static bool is_over(const struct search *s)
{
	return s->o->spent && s->o->spent(s->o->spent_ctx) >= 1;
}

static int make_rounds(struct search *s, double until)
{
	const double each = until / ROUNDS;
	int rc = make_round(s, 0, each);

	for (int i = 1; i < ROUNDS && !is_over(s) && !rc; i++) {
		s->first = i * APART;
		rc = set_all_aside(s);
		if (!rc)
			rc = make_round(s, i * each, (i + 1) * each);
	}
	for (size_t i = 0; i < WALKS && !rc; i++)
		rc = joint_archive_merge(&s->walks[i].archive, &s->found[i]);
	return rc;
}

static int search_all(struct search *s)
{
	int rc = make_rounds(s, 1 - DWELLING - TUNING);

	if (!rc)
		rc = exchange(s);
	if (!rc)
		rc = walk_all(s, 1 - DWELLING - TUNING, 1 - TUNING, dwell);
	if (!rc)
		rc = exchange(s);
	return rc ? rc : walk_all(s, 1 - TUNING, 1, tune);
}

static int gather(struct search *s, struct hes_joint *j)
{
	int rc = 0;

	j->archive = (struct joint_archive){ .n = s->p->n, .k = s->p->k };
	for (size_t i = 0; i < WALKS && !rc; i++) {
		rc = joint_archive_merge(&j->archive, &s->walks[i].archive);
		j->evaluations += s->walks[i].evaluations;
	}
	return rc;
}

int hes_joint_search_whole(const struct hes_problem *p, const struct hes_joint_options *o, struct hes_joint **out)
{
	struct hes_joint_options options = *o;
	struct search s = { .p = p, .o = &options };
	struct hes_joint *j = calloc(1, sizeof(*j));
	int rc;

	s.threads = o->threads ? o->threads : (size_t)omp_get_max_threads();
	s.threads = s.threads < WALKS ? s.threads : WALKS;
	rc = j ? prepare(&s) : -ENOMEM;
	s.hot = fmin(fmax(HOT / (double)p->n, COOLEST), HOTTEST);
	if (!options.evaluations)
		options.evaluations = hes_joint_evaluations(p->n);
	if (!rc)
		rc = open_all(&s, j);
	if (!rc)
		rc = search_all(&s);
	if (!rc)
		rc = gather(&s, j);
	if (j) {
		j->p = p;
		j->knee = s.starts.knee;
		j->wanted = o->wanted;
	}
	for (size_t i = 0; i < WALKS; i++)
		close_walk(&s, i);
	hes_estimator_free(s.estimator);
	joint_starts_finish(&s.starts);
	if (rc)
		hes_joint_free(j);
	else
		*out = j;
	return rc;
}
