/*
 * groups_exact.c - the best placement of a few jobs, by dynamic programming over subsets; see
 * groups.h.
 *
 * Slot after slot: the most that the slots so far are worth with exactly a subset of the jobs, a
 * mask. Values are computed again where the kind changes from one slot to the next.
 */
#include "partition/groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct exact {
	const struct groups_problem *p;
	uint32_t n_masks;
	double *value;    /* [n_masks] of sets on the present kind */
	double *best;     /* [n_masks] of the slots so far */
	uint16_t *choice; /* [n_slots * n_masks]: a slot's set */
};

static void exact_values(struct exact *x, uint32_t kind)
{
	for (uint32_t mask = 0; mask < x->n_masks; mask++) {
		uint32_t jobs[GROUPS_EXACT_MOST], n = 0;
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

static int exact_result(const struct exact *x, uint32_t *slot_of, double *total,
			struct hes_err *err)
{
	uint32_t mask = x->n_masks - 1;
	int placed = 0;

	for (uint32_t m = 0; m < x->n_masks; m++)
		if (isfinite(x->best[m]) && __builtin_popcount(m) > placed)
			placed = __builtin_popcount(m);
	if (!isfinite(x->best[mask]))
		return hes_fail(err, -ENOSPC, "%u of %u jobs have no place",
				x->p->n_jobs - (uint32_t)placed, x->p->n_jobs);
	*total = x->best[mask];
	for (uint32_t slot = x->p->n_slots; slot-- > 0;) {
		const uint32_t set = x->choice[(size_t)slot * x->n_masks + mask];

		for (uint32_t left = set; left; left &= left - 1)
			slot_of[__builtin_ctz(left)] = slot;
		mask ^= set;
	}
	return 0;
}

int groups_exact(const struct groups_problem *p, uint32_t *slot_of, double *total,
		 struct hes_err *err)
{
	struct exact x = { .p = p, .n_masks = (uint32_t)1 << p->n_jobs };
	int rc = -ENOMEM;

	x.value = calloc(x.n_masks, sizeof(*x.value));
	x.best = calloc(x.n_masks, sizeof(*x.best));
	x.choice = calloc((size_t)(p->n_slots + 1) * x.n_masks, sizeof(*x.choice));
	if (x.value && x.best && x.choice) {
		for (uint32_t mask = 1; mask < x.n_masks; mask++)
			x.best[mask] = -INFINITY;
		for (uint32_t slot = 0; slot < p->n_slots; slot++) {
			if (slot == 0 || p->kind_of[slot] != p->kind_of[slot - 1])
				exact_values(&x, p->kind_of[slot]);
			exact_slot(&x, &x.choice[(size_t)slot * x.n_masks]);
		}
		rc = exact_result(&x, slot_of, total, err);
	} else {
		hes_fail(err, rc, "out of memory");
	}
	free(x.value);
	free(x.best);
	free(x.choice);
	return rc;
}
