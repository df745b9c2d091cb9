/*
 * variants.h - rules for the order of jobs and their GPU, which a rival may follow in place of
 * those of its paper. They are named by struct hes_policy's variants:
 *
 *   eft      first come first served, the GPU of earliest predicted finish
 *   least    first come first served, the GPU with the least queued work
 *   edp-sjf  shortest first, the GPU of least predicted finish x energy
 */
#ifndef HES_POLICY_VARIANTS_H
#define HES_POLICY_VARIANTS_H

#include "policy/decide.h"

struct hes_placed {
	uint32_t job, gpu;
};

/** A job alone on a type that it runs on, as a policy would run it. */
typedef struct hes_cost hes_alone_fn(const struct hes_problem *p, size_t job, uint32_t type);

/** hes_alone_fn: at the default clock. */
hes_alone_fn hes_alone_at_default;

/**
 * Place all jobs by the rule that the request's preference names.
 * @param out  [n], in the order in which the jobs are to run
 * @return 0 or -ENOMEM
 */
int hes_place_by_variant(const struct hes_problem *p, hes_alone_fn *alone, struct hes_placed *out);

#endif
