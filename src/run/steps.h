/*
 * steps.h - the steps of a run that run.c composes, a file each.
 */
#ifndef HES_RUN_STEPS_H
#define HES_RUN_STEPS_H

#include "run/run_state.h"

/** resume.c: take over what the journal and the files know of a run that is resumed. */
int run_reconcile(struct runner *r, struct hes_err *err);
/** What the wrapper of a job wrote at its end (wrap.c). */
struct run_status {
	int code; /* exit status */
	int64_t wall_us, boot_us;
	unsigned left; /* processes that the job left running and that were killed */
};
/** resume.c: @return 0; -1 there is none */
int run_status_read(const struct hes_job_folder *folder, const char *name, struct run_status *out);
/** loop.c: start jobs, wait, finish them, until all is over or the run is stopped. */
int run_loop(struct runner *r, struct hes_err *err);
/**
 * added.c: take the jobs that were added since the last call into the queues, and say so in the
 * journal.
 * @return 0; -errno of the journal: try again
 */
int run_take_added(struct runner *r, struct hes_err *err);
/** added.c: room for @n more places. @return 0; -ENOMEM */
int run_queue_grow(struct run_queue *q, size_t n, struct hes_err *err);
/** added.c: put a task into a GPU's queue at @at, for which there is room; @p says share, clock and
 * batch. */
void run_task_place(struct runner *r, struct run_task *t, struct run_gpu *g,
		    const struct run_place *p, size_t at);
/**
 * lost_gpus.c: move the waiting jobs of GPUs that are lost to others of the run that have the
 * memory, say so, and write it down. Those that fit nowhere stay, and wait for --resume.
 * @return 0; -ENOMEM; errors of the journal
 */
int run_move_jobs(struct runner *r, struct hes_err *err);
/** plan_again.c: plan again as soon as may be; @why is a clause. */
void run_replan_want(struct runner *r, const char *why);
/** plan_again.c: a job is over. */
void run_replan_ended(struct runner *r, const struct run_task *t);
/** plan_again.c: look for running jobs that differ from the plan. */
void run_replan_look(struct runner *r, int64_t now);
/** plan_again.c: when to plan again; RUN_NEVER_US: nothing asks for it. */
int64_t run_replan_time(const struct runner *r);
/** plan_again.c: the event that a plan is made. */
void run_replan_made(struct runner *r);
/** plan_again.c: wait for a plan that is being made, and drop it. */
void run_replan_stop(struct runner *r);
/** plan_again.c: take a plan that is made, and begin another if it is time. @return 0; -ENOMEM;
 * errors of the journal */
int run_replan(struct runner *r, struct hes_err *err);
/** added.c: remove the places without a task. */
void run_queue_close_ranks(struct run_queue *q);
/** live.c: the part of its work that a running job has done, by its progress; below 0: not known */
double run_part_done(const struct run_task *t);
/** live.c: the time that is left to a running job, by its progress, else by the plan; below 0: it
 * runs longer than planned */
int64_t run_job_left_us(const struct run_task *t, int64_t now);
/** resume.c: write down a waiting job's GPU, share and planned times. */
int run_note_place(struct runner *r, const struct run_task *t, struct hes_err *err);
/** live.c: write live.json, which `heshare status` reads, as the run is at @now. */
void run_live_write(const struct runner *r, int64_t now);
/** live.c: the run is over, and the journal has all. */
void run_live_end(const struct runner *r);
/** live.c: time that the run still takes, by the plan and by how it went so far, us; 0: not known,
 * as with unknown jobs. */
int64_t run_left_us(const struct runner *r, int64_t now);
/** run.c: what follows from a task's job, planned times and place in a GPU's queue. */
void run_task_init(const struct hes_run_request *q, struct run_task *t, struct run_gpu *g,
		   struct run_place *place);
/** run_totals.c: report results. */
int run_report(struct runner *r, struct hes_run_report *out, struct hes_err *err);
/** run_samples.c: put rows into the store, as measured in this run; @d has the rows. What the store
 * refuses is reported and left out. @return 0; errors of the store that may pass */
int run_deliver(struct runner *r, struct hes_delivery *d, struct hes_err *err);
/** run_samples.c: find samples of jobs that ran together or alone, and keep them in the store.
 * @return 0; -ENOMEM; errors of the store */
int run_learn(struct runner *r, struct hes_err *err);

#endif
