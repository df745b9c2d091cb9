/*
 * decide.h - how the policies decide: one function for each row of hes_policies[] (policies.c).
 *
 * A decide function fills an empty plan with batches (plan/batch/compose.h). It may leave the front
 * that it chose from; front is NULL if it is not wanted. It returns 0, -ENOMEM, or -ERANGE as
 * hes_compose_batch() does.
 */
#ifndef HES_POLICY_DECIDE_H
#define HES_POLICY_DECIDE_H

#include "plan/assign/pareto.h"
#include "heshare/policy.h"
#include "plan/batch/compose.h"
#include "plan/problem.h"

hes_decide_fn hes_decide_heshare, hes_decide_heshare_tuned, hes_decide_joint, hes_decide_sched_only,
	hes_decide_morak, hes_decide_muserve, hes_decide_pwr, hes_decide_batchdvfs,
	hes_decide_mps_equal, hes_decide_mps_default, hes_decide_static, hes_decide_static_equal,
	hes_decide_exclusive, hes_decide_random;

/** The variant `pwr:shared`. @return as decide functions */
int hes_decide_pwr_shared(const struct hes_problem *p, struct hes_plan *plan);

/** The plan of a policy outside of the library, checked and predicted. @return 0, or a negative
 * errno with a sentence */
int hes_decide_external(const struct hes_policy *policy, struct hes_problem *p,
			struct hes_plan *plan, struct hes_err *err);
/** The sentence for what a decide function returned. */
void hes_policy_fail(const struct hes_problem *p, int rc, struct hes_err *err);

/** "balanced", "energy", "jct", "fleet": the preferences of policies that make a front.
 * NULL-terminated. */
extern const char *const hes_preferences[];

/** A rough measure of planning time: see struct hes_policy. */
double hes_effort_heshare(size_t n_jobs, size_t n_gpus);
double hes_effort_heshare_tuned(size_t n_jobs, size_t n_gpus);

/** A random GPU of those that a job can run on. The same seed and job always give the same GPU. */
size_t hes_draw_gpu(const struct hes_problem *p, size_t job);

typedef double hes_dislike_fn(const struct hes_problem *p, size_t job, uint32_t type);

/** The GPU that is free first, of those that a job can run on; of several the one with the least
 * @dislike. */
size_t hes_next_free_gpu(const struct hes_problem *p, const struct hes_plan *plan, size_t job,
			 hes_dislike_fn *dislike);

/** hes_dislike_fn: run time alone at the default clock. */
double hes_alone_us(const struct hes_problem *p, size_t job, uint32_t type);

/** A front of sums over jobs as means over jobs, waiting so far included. @return 0 or -ENOMEM */
int hes_front_report(const struct hes_problem *p, const struct hes_pareto *found,
		     struct hes_front *out);

/*
 * Variants: rules for the order of jobs and their GPU, which a rival may follow in place of those
 * of its paper. They are named by struct hes_policy's variants:
 *
 *   eft      first come first served, the GPU of earliest predicted finish
 *   least    first come first served, the GPU with the least queued work
 *   edp-sjf  shortest first, the GPU of least predicted finish x energy
 */
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
