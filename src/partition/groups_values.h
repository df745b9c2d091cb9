/*
 * groups_values.h - sets of jobs, and a cache of what they are worth.
 *
 * The cache takes a bounded number of values; when a bucket is full the older one goes. A set is
 * known by 63 bits of hash alone: the chance that two of 2^20 sets have the same is 6e-8.
 */
#ifndef HES_PARTITION_GROUPS_VALUES_H
#define HES_PARTITION_GROUPS_VALUES_H

#include "partition/groups.h"

struct groups_set {
	uint32_t job[GROUPS_MOST]; /* ascending */
	uint32_t n;
};

struct groups_values {
	const struct groups_problem *p;
	struct groups_cached *cache; /* [mask + 1], buckets of 2 */
	uint64_t mask;
	uint64_t calls; /* of the callback */
	uint64_t hits;  /* of the cache */
};

/** @param evaluations  calls to expect. @return 0 or -ENOMEM */
int groups_values_init(struct groups_values *v, const struct groups_problem *p,
		       uint64_t evaluations);
void groups_values_finish(struct groups_values *v);
/** The value of a set on a kind, -INFINITY where the callback's is not a finite number. */
double groups_value(struct groups_values *v, uint32_t kind, const struct groups_set *set);

/** The set with a job that it does not have; it has fewer than GROUPS_MOST. */
struct groups_set groups_set_with(const struct groups_set *s, uint32_t job);

#endif
