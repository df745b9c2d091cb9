/*
 * interference.h - the constants of a GPU type in the closed form, with their uncertainty.
 *
 * A prior for the type; jobs that were measured together move it (least squares, one constant after
 * the other).
 */
#ifndef HES_PARTITION_INTERFERENCE_H
#define HES_PARTITION_INTERFERENCE_H

#include "partition/co_run.h"

struct interference {
	double mean[CO_CONSTANTS], sd[CO_CONSTANTS];
	double rest; /* spread of the logarithm of work per watt that no constant explains */
};

void interference_prior(const struct hes_gpu_type *g, struct interference *out);
/**
 * Move a prior by measured sets.
 * @param runs  of the sets, without constants; [n]
 */
void interference_learn(struct interference *x, const struct co_set *sets, struct co_run *runs,
			size_t n);

#endif
