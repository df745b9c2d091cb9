/*
 * groups.h - which jobs share a GPU: every job of a wave in a slot, so that
 * the total value of the slots' sets is greatest.
 *
 * A slot is a GPU, its kind a GPU type. What a set of jobs is worth on a kind is the caller's to
 * say, by a callback that may be slow: values are cached, and effort is counted in calls. With two
 * jobs a slot this is weighted matching; with more it is NP-hard. The annealing of the joint search
 * solves it.
 */
#ifndef HES_PARTITION_GROUPS_H
#define HES_PARTITION_GROUPS_H

#include <stdint.h>

#include "heshare/err.h"

#define GROUPS_MOST 8 /* jobs in a slot, at most */

/**
 * The value of a set of jobs on a kind. Pure; any scale and sign.
 * @param jobs  ascending; @n may be 0, the idle GPU, which must be worth something finite
 * @return finite, or -INFINITY: these jobs cannot share this kind
 */
typedef double groups_value_fn(void *ctx, uint32_t kind, const uint32_t *jobs, uint32_t n);

struct groups_problem {
	uint32_t n_jobs, n_slots;
	const uint32_t *kind_of; /* [n_slots]; any numbers but UINT32_MAX */
	uint32_t most;           /* jobs a slot takes, 1 to GROUPS_MOST */
	groups_value_fn *value;
	void *ctx;               /* of value */
	const uint32_t *same_as; /* [n_jobs]: a job that each may stand in for, so that values are
				    the same; NULL: all jobs differ */
};

struct groups_options {
	uint64_t seed;
	/**
	 * Calls of the value callback; a cached value counts as 1/32. 0: 20000, and 2000 for each
	 * job. The starts are made in any case: about 40 calls a job, more where memory is tight.
	 */
	uint64_t evaluations;
	void (*progress)(void *ctx, uint64_t done, uint64_t of); /* may be NULL */
	void *ctx;                                               /* of progress */
};

/**
 * Place every job. Never worse than jobs assigned to the slots in turn, than slots filled one after
 * the other, and than three random placements. The same seed gives the same answer.
 * @param slot_of  [n_jobs]; slots of a kind are interchangeable
 * @return 0; -EINVAL; -ENOSPC no placement of all jobs found, the sentence says how many are left;
 * -ENOMEM. The outputs are written only on success
 */
int groups_solve(const struct groups_problem *p, const struct groups_options *o, uint32_t *slot_of,
		 double *total, struct hes_err *err);

#endif
