/*
 * lost_gpus.h - move the waiting jobs of a GPU that is lost to other GPUs of the run.
 *
 * No planner is needed. On a GPU of the same type what was planned holds: jobs of a batch stay
 * together, with their shares and clock. On another type nothing is known of sharing: each job runs
 * alone, at the default clock. Each goes where the least work waits.
 */
#ifndef HES_RUN_LOST_GPUS_H
#define HES_RUN_LOST_GPUS_H

#include "run/run_place.h"

/**
 * Move them, say so, and write it down. Those that fit nowhere stay, and wait for --resume.
 * @return 0; -ENOMEM; errors of the journal
 */
int run_move_jobs(struct run_places *ps, struct hes_err *err);

#endif
