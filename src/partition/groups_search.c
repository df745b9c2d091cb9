/*
 * groups_search.c - simulated annealing over placements; see groups.h.
 *
 * Two neighbourhoods. A pair step moves a job to another slot or swaps two jobs, and is accepted by
 * Metropolis' rule. An assignment step takes one job out of each of many slots and puts them back
 * by an exact assignment; gains are perturbed by Gumbel noise times the temperature, so that it
 * anneals as well.
 */
#include "partition/groups.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "partition/groups_lap.h"
#include "partition/groups_placement.h"

#define HIT_COST   (1.0 / 32) /* of a cached value, in calls */
#define PAIR_STEPS 64         /* between two looks at the budget */
#define HOT_LEAST \
	0.5 /* first temperature, in mean changes by a pair step: the fewer jobs, the higher */
#define HOT_MOST 2.0
#define HOT_JOBS 60.0
#define COLD     0.005 /* last temperature */
/* part of the search after which only gains are accepted, from the best on */
#define DESCENT 0.95

struct search {
	struct groups_state state;
	const struct groups_options *o;
	uint64_t evaluations; /* the budget */
	uint64_t reported;    /* hundredths of progress */
	uint32_t slot[GROUPS_LAP_MOST], job[GROUPS_LAP_MOST], row_of[GROUPS_LAP_MOST];
	struct groups_set rest[GROUPS_LAP_MOST]; /* of a slot, without the job that was taken out */
	double cost[GROUPS_LAP_MOST * GROUPS_LAP_MOST];
};

/* Part of the budget that is spent, 0 to 1 and beyond. */
static double search_spent(struct search *x)
{
	const struct groups_values *v = &x->state.values;
	double spent = ((double)v->calls + HIT_COST * (double)v->hits) / (double)x->evaluations;

	if (x->o->progress && (uint64_t)(100 * fmin(spent, 1)) > x->reported) {
		x->reported = (uint64_t)(100 * fmin(spent, 1));
		x->o->progress(x->o->ctx, x->reported, 100, x->state.best.total);
	}
	return spent;
}

/* A job to another slot, or two jobs swapped: two slots' sets afterwards. */
struct pair_step {
	uint32_t slot[2];
	struct groups_set set[2];
	double value[2];
	double gain;
};

static bool pair_draw(struct groups_state *s, struct pair_step *t)
{
	const uint32_t job = hes_rng_small(&s->rng, s->p->n_jobs), a = s->now.slot_of[job],
		       b = hes_rng_small(&s->rng, s->now.n_slots);
	const struct groups_set *other = &s->now.set[b];
	const uint32_t i = hes_rng_small(&s->rng, s->p->most);

	if (a == b)
		return false;
	t->slot[0] = a;
	t->slot[1] = b;
	t->set[0] = groups_set_without(&s->now.set[a], job);
	t->set[1] = i < other->n ? groups_set_without(other, other->job[i]) : *other;
	/* Slots of a kind that would only exchange what they have. */
	if (t->set[0].n == 0 && t->set[1].n == 0 && a < s->p->n_slots && b < s->p->n_slots &&
	    s->p->kind_of[a] == s->p->kind_of[b])
		return false;
	if (i < other->n)
		t->set[0] = groups_set_with(&t->set[0], other->job[i]);
	t->set[1] = groups_set_with(&t->set[1], job);
	t->value[0] = groups_slot_value(s, a, &t->set[0]);
	if (t->value[0] == -INFINITY)
		return false;
	t->value[1] = groups_slot_value(s, b, &t->set[1]);
	t->gain = t->value[0] - s->now.value[a] + (t->value[1] - s->now.value[b]);
	return t->value[1] > -INFINITY;
}

static void pair_steps(struct groups_state *s, double temperature)
{
	for (int i = 0; i < PAIR_STEPS; i++) {
		struct pair_step t;

		if (!pair_draw(s, &t) || t.gain < temperature * log(hes_rng_unit(&s->rng)))
			continue;
		for (int k = 0; k < 2; k++)
			groups_slot_change(s, t.slot[k], &t.set[k], t.value[k]);
		groups_state_keep(s);
	}
}

/* How much pair steps change: the mean over those that are possible, those that concern virtual
 * slots left out. */
static double pair_scale(struct groups_state *s)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < 4 * PAIR_STEPS; i++) {
		struct pair_step t;

		if (pair_draw(s, &t) && t.slot[0] < s->p->n_slots && t.slot[1] < s->p->n_slots) {
			sum += fabs(t.gain);
			n++;
		}
	}
	return n ? sum / n : 0;
}

/* Slots at random, first among them virtual ones with a job. @return how many */
static uint32_t draw_slots(struct search *x)
{
	struct groups_state *s = &x->state;
	const uint32_t n = s->now.n_slots < GROUPS_LAP_MOST ? s->now.n_slots : GROUPS_LAP_MOST;
	uint32_t got = 0;

	for (uint32_t i = 0; i < s->now.n_slots; i++)
		s->order[i] = i;
	for (uint32_t i = s->p->n_slots; i < s->now.n_slots && got < n / 4; i++)
		if (s->now.set[i].n) {
			s->order[i] = s->order[got];
			s->order[got] = i;
			x->slot[got++] = i;
		}
	for (; got < n; got++) {
		const uint32_t at = got + hes_rng_small(&s->rng, s->now.n_slots - got);

		x->slot[got] = s->order[at];
		s->order[at] = s->order[got];
	}
	return got;
}

static double gumbel(struct hes_rng *r)
{
	return -log(-log(hes_rng_unit(r) + 0x1p-54));
}

static void lap_fill(struct search *x, uint32_t n_rows, uint32_t n, double temperature)
{
	struct groups_state *s = &x->state;

	for (uint32_t c = 0; c < n; c++) {
		const double alone =
			fmax(groups_slot_value(s, x->slot[c], &x->rest[c]), -4 * s->penalty);

		for (uint32_t r = 0; r < n_rows; r++) {
			double cost = INFINITY;

			if (x->rest[c].n < s->p->most) {
				const struct groups_set set =
					groups_set_with(&x->rest[c], x->job[r]);

				cost = alone - groups_slot_value(s, x->slot[c], &set);
			}
			x->cost[r * n + c] =
				temperature > 0 ? cost - temperature * gumbel(&s->rng) : cost;
		}
	}
}

/* Put in each slot what the assignment says, unless a slot's rest cannot be without one more. */
static void lap_apply(struct search *x, uint32_t n)
{
	struct groups_state *s = &x->state;
	double value[GROUPS_LAP_MOST];

	for (uint32_t c = 0; c < n; c++) {
		if (x->row_of[c] != GROUPS_LAP_FREE)
			x->rest[c] = groups_set_with(&x->rest[c], x->job[x->row_of[c]]);
		value[c] = groups_slot_value(s, x->slot[c], &x->rest[c]);
		if (value[c] == -INFINITY)
			return;
	}
	for (uint32_t c = 0; c < n; c++)
		groups_slot_change(s, x->slot[c], &x->rest[c], value[c]);
	groups_state_keep(s);
}

static void lap_step(struct search *x, double temperature)
{
	struct groups_state *s = &x->state;
	const uint32_t n = draw_slots(x);
	uint32_t n_rows = 0;

	for (uint32_t c = 0; c < n; c++) {
		const struct groups_set *set = &s->now.set[x->slot[c]];

		x->rest[c] = *set;
		if (set->n == 0 || (set->n < s->p->most && hes_rng_small(&s->rng, 4) == 0))
			continue;
		x->job[n_rows] = set->job[hes_rng_small(&s->rng, set->n)];
		x->rest[c] = groups_set_without(set, x->job[n_rows++]);
	}
	lap_fill(x, n_rows, n, temperature);
	if (groups_lap(n_rows, n, x->cost, x->row_of))
		lap_apply(x, n);
}

static void search_run(struct search *x)
{
	struct groups_state *s = &x->state;
	const double scale = pair_scale(s), first = search_spent(x);
	const double hot = clamp(HOT_JOBS / s->p->n_jobs, HOT_LEAST, HOT_MOST);
	uint64_t by_pairs = 0, by_lap = 0; /* calls */
	bool ending = false;
	double spent;

	while ((spent = search_spent(x)) < 1) {
		const double at = (spent - first) / (1 - first);
		const double temperature = ending ? 0 : scale * hot * pow(COLD / hot, at);
		const uint64_t before = s->values.calls + 1;

		if (by_lap <= by_pairs) {
			lap_step(x, temperature);
			by_lap += s->values.calls - before + 2;
		} else {
			pair_steps(s, temperature);
			by_pairs += s->values.calls - before + 2;
		}
		if (at > DESCENT && !ending) {
			groups_state_return(s);
			ending = true;
		}
	}
}

/* Write the result if every job has a place. */
static int search_result(const struct groups_state *s, uint32_t *slot_of, double *total,
			 struct hes_err *err)
{
	const struct groups_problem *p = s->p;
	uint32_t left = 0;

	for (uint32_t job = 0; job < p->n_jobs; job++)
		left += s->best.slot_of[job] >= p->n_slots;
	if (left)
		return hes_fail(err, -ENOSPC, "%u of %u jobs have no place", left, p->n_jobs);
	*total = 0;
	for (uint32_t i = 0; i < p->n_slots; i++)
		*total += s->best.value[i];
	memcpy(slot_of, s->best.slot_of, p->n_jobs * sizeof(*slot_of));
	return 0;
}

int groups_search(const struct groups_problem *p, const struct groups_options *o, uint32_t *slot_of,
		  double *total, struct hes_err *err)
{
	struct search *x = calloc(1, sizeof(*x));
	int rc = x ? 0 : -ENOMEM;

	if (!rc) {
		x->o = o;
		x->evaluations = o->evaluations;
		if (!x->evaluations)
			x->evaluations = 20000 + 2000 * (uint64_t)p->n_jobs;
		rc = groups_state_init(&x->state, p, o->seed, x->evaluations);
	}
	if (rc) {
		free(x);
		return hes_fail(err, rc, "out of memory");
	}
	groups_state_start(&x->state);
	if (p->n_jobs)
		search_run(x);
	rc = search_result(&x->state, slot_of, total, err);
	groups_state_finish(&x->state);
	free(x);
	return rc;
}
