/*
 * between.h - extends the exact front by the trade-offs between its points (gap.h).
 *
 * The result has at least the hypervolume of the front it starts from, and the half-planes of that
 * front bound it as well. Gaps are independent: the front does not depend on the number of threads.
 */
#ifndef HES_ASSIGN_BETWEEN_H
#define HES_ASSIGN_BETWEEN_H

#include "exact.h"

struct hes_between_options {
	uint64_t evaluations; /* moves judged at most, over all gaps, without path relinking; 0: 2e8
			       */
	uint32_t threads;     /* at least 1 */
};

/**
 * @param front        replaced by a larger one
 * @param evaluations  moves judged
 * @return 0 or -ENOMEM, and the front is as it was
 */
int hes_between_search(const struct hes_assign *a, const struct hes_between_options *o,
		       struct hes_assign_front *front, uint64_t *evaluations);

#endif
