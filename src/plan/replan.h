/*
 * replan.h - a plan of open queues kept up to date as jobs arrive: what runs or
 * should have started stays where it is, the new job is placed, and those that wait
 * near it are moved about.
 *
 * An arrival costs a glance at each GPU and some hundred runs of the few queues where
 * the job would do best; only those change. Times go by the
 * predictions; what really started and runs is told GPU by GPU, where something did. When the
 * room for more is used up, open it anew. Memory for the rates of sets is taken, and touched, when it is opened.
 */
#ifndef HES_PLAN_REPLAN_H
#define HES_PLAN_REPLAN_H

#include "heshare/policy.h"

#define HES_REPLAN_TRIED 8 /* GPUs looked at closely */

struct hes_replan;

/**
 * @param r     must outlive the replan; its jobs hold those to come, too. Its preference and seed are those of all arrivals
 * @param plan  of r's waiting jobs, every queue open
 * @param mj_per_us  energy that a microsecond of a job's completion time is worth (joules a second are millijoules a millisecond);
 *                   0: at each arrival, by all energy and all time to completion that the plan has to come (docs/planning.md)
 * @return 0; -EINVAL a queue with barriers, or a clock its type does not offer; what a policy fails with; -ENOMEM
 */
int  hes_replan_open(const struct hes_request *r, const struct hes_plan *plan, double mj_per_us,
		     struct hes_replan **out, struct hes_err *err);
void hes_replan_close(struct hes_replan *s);

/**
 * What a GPU's queue has come to.
 * @param n_started  so many of its jobs, in order, have started since this was told last; some may have ended
 * @param running    those of all its jobs that run now; their ends are what is thought of them
 * @return 0; -EINVAL a job that nobody planned, or more than can run together: nothing has changed then
 */
int hes_replan_observe(struct hes_replan *s, size_t gpu, size_t n_started, const struct hes_running *running, size_t n,
		       int64_t now_us, struct hes_err *err);

/** Jobs in a GPU's queue that have not started, in order: indices into the request's jobs. @return how many */
size_t hes_replan_queue(const struct hes_replan *s, size_t gpu, uint32_t *jobs, size_t room);

/**
 * A job has arrived.
 * @param job   index into the request's jobs
 * @param gpu   where it goes; queues of other GPUs may have changed, too: hes_replan_changed
 * @return 0; -ENOSPC it fits no GPU; -EXFULL no room is left: open anew; -ENOENT never profiled; -ENOMEM
 */
int hes_replan_arrive(struct hes_replan *s, uint32_t job, int64_t now_us, size_t *gpu, struct hes_err *err);

/** Whose queues the last arrival changed. @return how many */
size_t hes_replan_changed(const struct hes_replan *s, size_t gpus[HES_REPLAN_TRIED]);

/** Append a GPU's queue as it is now to a plan in which it is empty. @return 0; -ENOMEM; -ERANGE over 300 years */
int hes_replan_write(const struct hes_replan *s, size_t gpu, struct hes_plan *plan);

#endif
