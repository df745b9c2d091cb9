/*
 * replan.h - a plan of open queues, kept up to date as jobs arrive. Running and started jobs stay
 * where they are. The new job is inserted, and a short local search moves jobs that wait near it.
 *
 * An arrival ranks all GPUs and changes only the queues of the best HES_REPLAN_TRIED. Times follow
 * the predictions; hes_replan_observe() reports what really started and runs. All memory is
 * allocated and prefaulted when a replan is opened. When the room for arrivals is used up, open it
 * again.
 */
#ifndef HES_PLAN_REPLAN_H
#define HES_PLAN_REPLAN_H

#include "heshare/policy.h"

#define HES_REPLAN_TRIED 8 /* GPUs that are tried for an arrival */

struct hes_replan;

/**
 * @param r     must outlive the replan; its jobs include those to come. Its preference and seed
 * hold for all arrivals
 * @param plan  of r's waiting jobs, every queue open
 * @param mj_per_us  energy that a microsecond of a job's completion time is worth, in mJ; 0:
 * derived at each arrival from the plan's remaining energy and completion times
 * @return 0; -EINVAL a queue with barriers, or a clock its type does not offer; an error of a
 * policy; -ENOMEM
 */
int hes_replan_open(const struct hes_request *r, const struct hes_plan *plan, double mj_per_us,
		    struct hes_replan **out, struct hes_err *err);
void hes_replan_close(struct hes_replan *s);

/**
 * Report the state of a GPU's queue.
 * @param n_started  jobs, in order, that have started since the last report; some may have ended
 * @param running    the jobs that run now, with their predicted ends
 * @return 0; -EINVAL a job that was never planned, or more than can run together: nothing has
 * changed then
 */
int hes_replan_observe(struct hes_replan *s, size_t gpu, size_t n_started,
		       const struct hes_running *running, size_t n, int64_t now_us,
		       struct hes_err *err);

/** Jobs in a GPU's queue that have not started, in order: indices into the request's jobs. @return
 * how many */
size_t hes_replan_queue(const struct hes_replan *s, size_t gpu, uint32_t *jobs, size_t room);

/**
 * Insert a job that has arrived.
 * @param job   index into the request's jobs
 * @param gpu   its GPU; queues of other GPUs may have changed, too
 * @return 0; -ENOSPC it fits no GPU; -EXFULL no room is left: open again; -ENOENT never profiled;
 * -ENOMEM
 */
int hes_replan_arrive(struct hes_replan *s, uint32_t job, int64_t now_us, size_t *gpu,
		      struct hes_err *err);

/** Append a GPU's queue as it is now to a plan in which it is empty. @return 0; -ENOMEM; -ERANGE
 * over 300 years */
int hes_replan_write(const struct hes_replan *s, size_t gpu, struct hes_plan *plan);

#endif
