/*
 * groups.c - a grouping problem is checked and solved, exactly or by search; see groups.h.
 */
#include "partition/groups.h"

#include <errno.h>

static int problem_check(const struct groups_problem *p, struct hes_err *err)
{
	if (p->most < 1 || p->most > GROUPS_MOST)
		return hes_fail(err, -EINVAL, "a GPU cannot take %u jobs at most: give 1 to %u",
				p->most, GROUPS_MOST);
	for (uint32_t i = 0; i < p->n_slots; i++)
		if (p->kind_of[i] == UINT32_MAX)
			return hes_fail(err, -EINVAL, "slot %u has kind %u: give a lower number", i,
					p->kind_of[i]);
	if (p->n_jobs > (uint64_t)p->n_slots * p->most)
		return hes_fail(err, -ENOSPC,
				"%u of %u jobs have no place: %u GPUs take %u jobs each",
				p->n_jobs - p->n_slots * p->most, p->n_jobs, p->n_slots, p->most);
	return 0;
}

int groups_solve(const struct groups_problem *p, const struct groups_options *o, uint32_t *slot_of,
		 double *total, struct hes_err *err)
{
	int rc = problem_check(p, err);

	if (rc)
		return rc;
	if (p->n_jobs <= GROUPS_EXACT_MOST && p->n_slots <= GROUPS_EXACT_MOST)
		return groups_exact(p, slot_of, total, err);
	return groups_search(p, o, slot_of, total, err);
}
