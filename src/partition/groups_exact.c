/*
 * groups_exact.c - the best placement of a few jobs, by dynamic programming over subsets; see groups.h.
 *
 * Slot after slot: the most that the slots so far are worth with exactly a subset of the jobs, a mask. Of a
 * kind at most n_jobs slots are not idle.
 */
#include "partition/groups.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define EXACT_MOST 16

struct exact {
	const struct groups_problem *p;
	uint32_t  n_masks;
	double   *value;   /* [n_masks] of sets on the present kind */
	double   *best;    /* [n_masks] of the slots so far */
	uint16_t *choice;  /* [slots * n_masks]: the last slot's set; idle slots beyond n_jobs of a kind have none */
};

/* How many slots before this one are of its kind. */
static uint32_t same_before(const struct groups_problem *p, uint32_t slot)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < slot; i++)
		n += p->kind_of[i] == p->kind_of[slot];
	return n;
}

uint64_t groups_exact_evaluations(const struct groups_problem *p)
{
	uint64_t sets = 0, kinds = 0, choose = 1;

	for (uint32_t k = 0; k <= p->most && k <= p->n_jobs; k++) {
		sets += choose;
		choose = choose * (p->n_jobs - k) / (k + 1);
	}
	for (uint32_t i = 0; i < p->n_slots; i++)
		kinds += same_before(p, i) == 0;
	return sets * kinds;
}

static void exact_values(struct exact *x, uint32_t kind)
{
	for (uint32_t mask = 0; mask < x->n_masks; mask++) {
		uint32_t jobs[EXACT_MOST], n = 0;
		double v = -INFINITY;

		for (uint32_t left = mask; left; left &= left - 1)
			jobs[n++] = (uint32_t)__builtin_ctz(left);
		if (n <= x->p->most)
			v = x->p->value(x->p->ctx, kind, jobs, n);
		x->value[mask] = isfinite(v) ? v : -INFINITY;
	}
}

/* One slot more. Masks fall, so that the smaller ones are still those of the slots before. */
static void exact_slot(struct exact *x, uint16_t *choice)
{
	for (uint32_t mask = x->n_masks; mask-- > 0;) {
		double best = -INFINITY;

		for (uint32_t set = mask;; set = (set - 1) & mask) {
			const double v = x->best[mask ^ set] + x->value[set];

			if (v > best) {
				best = v;
				choice[mask] = (uint16_t)set;
			}
			if (!set)
				break;
		}
		x->best[mask] = best;
	}
}

/* All slots of a kind; those that may have jobs are added to @order, the others are worth what an idle GPU is. */
static void exact_kind(struct exact *x, uint32_t first, uint32_t *order, uint32_t *n_order)
{
	const uint32_t kind = x->p->kind_of[first];
	uint32_t n = 0;

	exact_values(x, kind);
	for (uint32_t slot = first; slot < x->p->n_slots; slot++) {
		if (x->p->kind_of[slot] != kind)
			continue;
		if (n++ < x->p->n_jobs) {
			exact_slot(x, &x->choice[(size_t)*n_order * x->n_masks]);
			order[(*n_order)++] = slot;
		} else {
			for (uint32_t mask = 0; mask < x->n_masks; mask++)
				x->best[mask] += x->value[0];
		}
	}
}

static int exact_result(const struct exact *x, const uint32_t *order, uint32_t n_order, uint32_t *slot_of, double *total,
			struct hes_err *err)
{
	uint32_t mask = x->n_masks - 1;
	int placed = 0;

	for (uint32_t m = 0; m < x->n_masks; m++)
		if (isfinite(x->best[m]) && __builtin_popcount(m) > placed)
			placed = __builtin_popcount(m);
	if (!isfinite(x->best[mask]))
		return hes_fail(err, -ENOSPC, "%u of %u jobs have no place", x->p->n_jobs - (uint32_t)placed, x->p->n_jobs);
	*total = x->best[mask];
	for (uint32_t i = n_order; i-- > 0;) {
		const uint32_t set = x->choice[(size_t)i * x->n_masks + mask];

		for (uint32_t left = set; left; left &= left - 1)
			slot_of[__builtin_ctz(left)] = order[i];
		mask ^= set;
	}
	return 0;
}

int groups_exact(const struct groups_problem *p, uint32_t *slot_of, double *total, struct hes_err *err)
{
	struct exact x = { .p = p, .n_masks = (uint32_t)1 << p->n_jobs };
	uint32_t *order = calloc(p->n_slots + 1, sizeof(*order)), n_order = 0, n_active = 0;
	int rc = -ENOMEM;

	for (uint32_t i = 0; i < p->n_slots; i++)
		n_active += same_before(p, i) < p->n_jobs;
	x.value = calloc(x.n_masks, sizeof(*x.value));
	x.best = calloc(x.n_masks, sizeof(*x.best));
	x.choice = calloc((size_t)(n_active + 1) * x.n_masks, sizeof(*x.choice));
	if (order && x.value && x.best && x.choice) {
		for (uint32_t mask = 1; mask < x.n_masks; mask++)
			x.best[mask] = -INFINITY;
		for (uint32_t i = 0; i < p->n_slots; i++)
			if (same_before(p, i) == 0)
				exact_kind(&x, i, order, &n_order);
		rc = exact_result(&x, order, n_order, slot_of, total, err);
	} else {
		hes_fail(err, rc, "out of memory");
	}
	free(order);
	free(x.value);
	free(x.best);
	free(x.choice);
	return rc;
}
