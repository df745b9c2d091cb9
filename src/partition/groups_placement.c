/*
 * groups_placement.c - where a search stands, and its starts; see groups_placement.h.
 */
#include "partition/groups_placement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define START_RANDOM 3  /* random starts */
#define START_SLOTS  32 /* slots that a job is tried in by the greedy start */
#define NO_SLOT      UINT32_MAX

static int placement_init(struct groups_placement *x, uint32_t n_jobs, size_t n_slots)
{
	x->set = calloc(n_slots, sizeof(*x->set));
	x->value = calloc(n_slots, sizeof(*x->value));
	x->slot_of = calloc(n_jobs + (size_t)1, sizeof(*x->slot_of));
	x->total = -INFINITY;
	return x->set && x->value && x->slot_of ? 0 : -ENOMEM;
}

static void placement_finish(struct groups_placement *x)
{
	free(x->set);
	free(x->value);
	free(x->slot_of);
}

static void placement_copy(const struct groups_placement *from, struct groups_placement *to,
			   uint32_t n_jobs)
{
	memcpy(to->set, from->set, from->n_slots * sizeof(*to->set));
	memcpy(to->value, from->value, from->n_slots * sizeof(*to->value));
	memcpy(to->slot_of, from->slot_of, n_jobs * sizeof(*to->slot_of));
	to->n_slots = from->n_slots;
	to->total = from->total;
}

int groups_state_init(struct groups_state *s, const struct groups_problem *p, uint64_t seed,
		      uint64_t evaluations)
{
	const size_t n_slots = (size_t)p->n_slots + p->n_jobs + 1;
	int rc;

	*s = (struct groups_state){ .p = p };
	hes_rng_seed(&s->rng, seed);
	s->order = calloc(n_slots, sizeof(*s->order));
	rc = s->order ? groups_values_init(&s->values, p, evaluations) : -ENOMEM;
	if (!rc)
		rc = placement_init(&s->now, p->n_jobs, n_slots);
	if (!rc)
		rc = placement_init(&s->best, p->n_jobs, n_slots);
	if (rc)
		groups_state_finish(s);
	return rc;
}

void groups_state_finish(struct groups_state *s)
{
	groups_values_finish(&s->values);
	placement_finish(&s->now);
	placement_finish(&s->best);
	free(s->order);
}

double groups_slot_value(struct groups_state *s, uint32_t slot, const struct groups_set *set)
{
	if (slot < s->p->n_slots)
		return set->n <= s->p->most ? groups_value(&s->values, s->p->kind_of[slot], set)
					    : -INFINITY;
	return set->n == 0 ? 0 : set->n == 1 ? -s->penalty : -INFINITY;
}

void groups_slot_change(struct groups_state *s, uint32_t slot, const struct groups_set *set,
			double value)
{
	s->now.total += value - s->now.value[slot];
	s->now.set[slot] = *set;
	s->now.value[slot] = value;
	for (uint32_t i = 0; i < set->n; i++)
		s->now.slot_of[set->job[i]] = slot;
}

void groups_state_keep(struct groups_state *s)
{
	if (s->now.total > s->best.total)
		placement_copy(&s->now, &s->best, s->p->n_jobs);
}

void groups_state_return(struct groups_state *s)
{
	placement_copy(&s->best, &s->now, s->p->n_jobs);
}

/* Which slot a start gives each job. */
struct start {
	uint32_t cursor; /* first slot to try */
	uint32_t
		step; /* from the slot that took a job to the next one's cursor: 1 deals, 0 fills */
	uint32_t sample; /* try so many random slots and take the best; 0: take the first that is
			    possible */
};

static double start_gain(struct groups_state *s, uint32_t slot, uint32_t job)
{
	struct groups_set set;

	if (s->now.set[slot].n >= s->p->most)
		return -INFINITY;
	set = groups_set_with(&s->now.set[slot], job);
	return groups_slot_value(s, slot, &set) - s->now.value[slot];
}

static uint32_t start_first(struct groups_state *s, const struct start *how, uint32_t job)
{
	for (uint32_t i = 0; i < s->p->n_slots; i++) {
		const uint32_t slot = (how->cursor + i) % s->p->n_slots;

		if (start_gain(s, slot, job) > -INFINITY)
			return slot;
	}
	return NO_SLOT;
}

static uint32_t start_best(struct groups_state *s, const struct start *how, uint32_t job)
{
	uint32_t best = NO_SLOT, n = how->sample < s->p->n_slots ? how->sample : s->p->n_slots;
	double most = -INFINITY;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t slot = n < s->p->n_slots ? hes_rng_small(&s->rng, s->p->n_slots) : i;
		const double gain = start_gain(s, slot, job);

		if (gain > most) {
			most = gain;
			best = slot;
		}
	}
	return best;
}

/* Place the jobs in the order of @s->order. */
static void start_make(struct groups_state *s, struct start how)
{
	const struct groups_set none = { .n = 0 };

	s->now.n_slots = s->p->n_slots;
	s->now.total = 0;
	for (uint32_t slot = 0; slot < s->p->n_slots; slot++) {
		s->now.value[slot] = 0;
		groups_slot_change(s, slot, &none, groups_slot_value(s, slot, &none));
	}
	for (uint32_t i = 0; i < s->p->n_jobs; i++) {
		uint32_t slot = how.sample ? start_best(s, &how, s->order[i]) : NO_SLOT;
		struct groups_set set;

		if (slot == NO_SLOT)
			slot = start_first(s, &how, s->order[i]);
		if (slot == NO_SLOT) {
			slot = s->now.n_slots++;
			s->now.set[slot] = none;
			s->now.value[slot] = 0;
		} else {
			how.cursor = slot + how.step;
		}
		set = groups_set_with(&s->now.set[slot], s->order[i]);
		groups_slot_change(s, slot, &set, groups_slot_value(s, slot, &set));
	}
	groups_state_keep(s);
}

/* A million times the most that a job alone is worth. */
static void find_penalty(struct groups_state *s)
{
	double most = 0;

	for (uint32_t job = 0; job < s->p->n_jobs; job++) {
		const struct groups_set alone = { { job }, 1 };
		const double v =
			fabs(groups_slot_value(s, hes_rng_small(&s->rng, s->p->n_slots), &alone));

		if (isfinite(v) && v > most)
			most = v;
	}
	s->penalty = most > 0 ? 1e6 * most : 1e6;
}

void groups_state_start(struct groups_state *s)
{
	find_penalty(s);
	for (uint32_t i = 0; i < s->p->n_jobs; i++)
		s->order[i] = i;
	start_make(s, (struct start){ .step = 1 });
	start_make(s, (struct start){ .step = 0 });
	for (int i = 0; i < START_RANDOM; i++) {
		hes_rng_shuffle(&s->rng, s->order, s->p->n_jobs);
		start_make(s, (struct start){ .step = 1 });
	}
	start_make(s, (struct start){ .sample = START_SLOTS });
	groups_state_return(s);
}
