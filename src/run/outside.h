/*
 * outside.h - work that may go on outside of a job's processes: contexts on its GPU that began
 * after the job's first attempt and belong to no job, as those of a container or of a daemon that
 * works for the job.
 */
#ifndef HES_RUN_OUTSIDE_H
#define HES_RUN_OUTSIDE_H

#include "run/run_gpu.h"
#include "run/run_log.h"

/** Name all contexts on the GPUs of the run that belong to none of its jobs, before any starts. */
void run_tell_foreign(const struct run_gpus *gs, const struct run_log *log);
/** Name them at the end of a job. */
void run_name_outside(const struct hes_devices *d, const struct run_log *log, struct run_task *t);
/**
 * Whether a job that was tried before must wait, because what it began may still run: a second copy
 * would work on the same files. Reported once.
 */
bool run_waits_for_outside(const struct hes_devices *d, const struct run_log *log,
			   struct run_task *t);

#endif
