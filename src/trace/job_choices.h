/*
 * job_choices.h - the workloads and batch sizes that a job may get, grouped by workload.
 *
 * Sorted, so that the result depends on the set of choices and the random
 * stream, never on their order in a file.
 */
#ifndef HES_TRACE_JOB_CHOICES_H
#define HES_TRACE_JOB_CHOICES_H

#include "base/rng.h"
#include "heshare/trace.h"

/** Choices of one workload, by rising batch size. */
struct choice_group {
	size_t first, n;
};

struct choices {
	struct hes_choice *v; /* owned copy */
	struct choice_group *groups;
	size_t n_groups;
};

/** @return 0; -EINVAL nothing left of the mix, or an iteration time that is not positive; -EEXIST;
 * -ENOMEM */
int choices_init(struct choices *m, const struct hes_choice *choices, size_t n, unsigned mix,
		 struct hes_err *err);
void choices_finish(struct choices *m);

/**
 * @param workload  taken if it is among the choices; "": any
 * @param batch     the nearest one is taken, by ratio; 0: any
 */
const struct hes_choice *choices_choose(const struct choices *m, const char *workload,
					uint32_t batch, struct hes_rng *rng);

#endif
