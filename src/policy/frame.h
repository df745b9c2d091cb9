/*
 * frame.h - what the policies have in common: from a request to a finished
 * plan around the one decision in which they differ.
 */
#ifndef HES_POLICY_FRAME_H
#define HES_POLICY_FRAME_H

#include "heshare/policy.h"
#include "plan/batch/compose.h"
#include "plan/problem.h"

/**
 * Fill an empty plan with batches (hes_compose_batch).
 * @param front  where to leave the front chosen from; NULL: not wanted
 * @return 0; -ENOMEM; -ERANGE (hes_compose_batch)
 */
typedef int hes_decide_fn(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front);

/** Prepare the problem, decide, add up. Outputs are written only on success. */
int hes_policy_run(const struct hes_policy *self, hes_decide_fn *decide, const struct hes_request *r,
		   struct hes_plan *out, struct hes_front *front, struct hes_err *err);

/**
 * A GPU drawn for a job among those it can run on. Depends on the seed and
 * on the job's place in the file alone: planning again gives the same GPU.
 */
size_t hes_draw_gpu(const struct hes_problem *p, size_t job);

/**
 * The GPU that is free first, of those a job can run on; among the ones free
 * at that moment the one with the least @dislike, then the first.
 */
size_t hes_next_free_gpu(const struct hes_problem *p, const struct hes_plan *plan, size_t job,
			 double (*dislike)(const struct hes_problem *p, size_t job, uint32_t type));

/** Run a job alone on a whole board at its default clock. @return 0; -ENOMEM; -ERANGE (hes_compose_batch) */
int hes_run_alone(const struct hes_problem *p, struct hes_plan *plan, size_t gpu, size_t job);

#endif
