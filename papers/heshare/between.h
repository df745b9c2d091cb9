/*
 * between.h - stage 1's front with what lies between the supported points: the
 * exact front's assignments, and the trade-offs found in every gap (gap.h).
 *
 * No front from here has less hypervolume than the exact one it starts from, and
 * its half-planes bound this one as well. Gaps are independent of each other: the front is the same with any number of threads.
 */
#ifndef HES_ASSIGN_BETWEEN_H
#define HES_ASSIGN_BETWEEN_H

#include "plan/assign/exact.h"

struct hes_between_options {
	uint64_t evaluations;  /* moves judged at most, all gaps together, path relinking beyond; 0: as many as suit seconds */
	uint32_t threads;      /* at least 1 */
};

/**
 * @param front        replaced by a larger one
 * @param evaluations  moves judged
 * @return 0 or -ENOMEM, and the front is as it was
 */
int hes_between_search(const struct hes_assign *a, const struct hes_between_options *o, struct hes_assign_front *front,
		       uint64_t *evaluations);

#endif
