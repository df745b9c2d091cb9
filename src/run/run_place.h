/*
 * run_place.h - the places of tasks in the queues of their GPUs: of the plan, of a plan that is
 * made while the run goes on, of jobs that are added. The one way for a task to get or change its
 * place.
 */
#ifndef HES_RUN_RUN_PLACE_H
#define HES_RUN_RUN_PLACE_H

#include "run/power_cap.h"
#include "run/run_gpu.h"
#include "run/run_log.h"

struct run_places {
	const struct hes_run_request *q;
	struct run_log *log;
	struct run_tasks *tasks;
	struct run_gpus *gpus;
	struct run_cap *cap;
};

/** Make the GPUs of this machine, their tasks and their queues as the request's plan has them.
 * @return 0; -ENOMEM; errors of a GPU */
int run_places_make(struct run_places *ps, struct hes_err *err);

/**
 * Move tasks that wait to where @plan, of the fleet, has them, behind those that stay; say so, and
 * write it down. Jobs of the plan are indices of tasks; those that do not wait any more stay.
 * @param why  a clause; NULL: because they wait for a GPU that is lost
 * @return 0; -ENOMEM: nothing has moved; errors of the journal
 */
int run_places_apply(struct run_places *ps, const struct hes_plan *plan, const char *why,
		     struct hes_err *err);

/**
 * Move jobs that wait for a lost GPU to other GPUs of the run (lost_gpus.c), say so, and write it
 * down. Those that fit nowhere stay, and wait for --resume. @return 0; -ENOMEM; errors of the
 * journal
 */
int run_move_jobs(struct run_places *ps, struct hes_err *err);

/** Room for @n more places. @return 0; -ENOMEM */
int run_queue_grow(struct run_queue *q, size_t n, struct hes_err *err);

/** Put a task without a place into a GPU's queue at @at, for which there is room; @p says share,
 * clock and batch. */
void run_place_task(const struct run_places *ps, struct run_task *t, struct run_gpu *g,
		    const struct run_place *p, size_t at);

/** Write down a waiting job's GPU, share and planned times. */
int run_note_place(struct run_log *log, const struct run_task *t, struct hes_err *err);

#endif
