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

/** hes_alone_fn: at the default clock. */
hes_alone_fn hes_alone_at_default;
/** hes_alone_fn: of the policies of these names. */
hes_alone_fn hes_alone_tuned /* morak */, hes_alone_at_low_energy /* muserve */,
	hes_alone_capped /* batchdvfs */, hes_alone_static /* static, static-equal */;

/** Whether a variant takes the shortest job first, by hes_variant_least_us(). */
bool hes_variant_is_shortest_first(const char *variant);
/** Shortest time of a job alone on any type, as the policy would run it. */
double hes_variant_least_us(const struct hes_problem *p, hes_alone_fn *alone, size_t job);

/**
 * Place all jobs by the rule that the request's preference names.
 * @param out  [n], in the order in which the jobs are to run
 * @return 0 or -ENOMEM
 */
int hes_place_by_variant(const struct hes_problem *p, hes_alone_fn *alone, struct hes_placed *out);

#endif
