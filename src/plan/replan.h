/*
 * replan.h - a plan of open queues kept up to date as jobs arrive: what runs or
 * should have started stays where it is, the new job is placed, and nothing
 * else is looked at.
 *
 * An arrival costs a glance at each GPU and some runs of the few queues where
 * the job would do best; only the queue it joins changes. Times go by the
 * predictions the plan was opened with: open it anew when reality has drifted from
 * them, or when the room for more is used up.
 */
#ifndef HES_PLAN_REPLAN_H
#define HES_PLAN_REPLAN_H

#include "heshare/policy.h"

struct hes_replan;

/**
 * @param r     must outlive the replan; its jobs hold those to come, too
 * @param plan  of r's waiting jobs, every queue open
 * @param mj_per_us  energy that a microsecond of a job's completion time is worth (joules a second are millijoules a millisecond)
 * @return 0; -EINVAL a queue with barriers, or a clock its type does not offer; what a policy fails with; -ENOMEM
 */
int  hes_replan_open(const struct hes_request *r, const struct hes_plan *plan, double mj_per_us,
		     struct hes_replan **out, struct hes_err *err);
void hes_replan_close(struct hes_replan *s);

/**
 * A job has arrived.
 * @param job   index into the request's jobs
 * @param gpu   where it goes
 * @return 0; -ENOSPC it fits no GPU, or no room is left: open anew; -ENOENT never profiled; -ENOMEM
 */
int hes_replan_arrive(struct hes_replan *s, uint32_t job, int64_t now_us, size_t *gpu, struct hes_err *err);

/** Append a GPU's queue as it is now to a plan in which it is empty. @return 0; -ENOMEM; -ERANGE over 300 years */
int hes_replan_write(const struct hes_replan *s, size_t gpu, struct hes_plan *plan);

#endif
