/*
 * bound_none.c - replaces bound.c in builds without GLPK.
 */
#include <errno.h>

#include "plan/bound.h"

const bool hes_bound_built = false;

int hes_bound(const struct hes_problem *p, struct hes_rates *const *caches, size_t n_caches,
	      const struct hes_timeline_times *known, const struct hes_objectives *plan,
	      struct hes_bounds *out)
{
	(void)p, (void)caches, (void)n_caches, (void)known, (void)plan, (void)out;
	return -ENOTSUP;
}
