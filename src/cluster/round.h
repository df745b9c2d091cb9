/*
 * round.h - plan what is left for the nodes that are up, and write it down before a runner starts.
 */
#ifndef HES_CLUSTER_ROUND_H
#define HES_CLUSTER_ROUND_H

#include <stddef.h>

#include "heshare/err.h"

struct head;

/** Number of jobs that wait and belong to no part. */
size_t round_pool(const struct head *h);
/** Plan these jobs on the nodes that are up. The first round of a run is the plan itself where its
 * GPUs are there. */
int round_plan(struct head *h, struct hes_err *err);

#endif
