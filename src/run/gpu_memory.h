/*
 * gpu_memory.h - what jobs use of a GPU that they share: memory and contexts, of all their
 * processes.
 *
 * MPS limits each process by itself. A job with several processes is kept to its limit here, so
 * that it does not take the memory of its co-runners.
 *
 * Contexts that began after a job's first attempt and belong to no job may do its work, as those of
 * a container or of a daemon. A desktop, or a daemon that served others before, holds up no job.
 */
#ifndef HES_RUN_GPU_MEMORY_H
#define HES_RUN_GPU_MEMORY_H

#include "run/run_gpu.h"
#include "run/run_log.h"

/** An attempt begins with a limit of its memory; 0: none. */
void run_usage_reset(struct run_task *t, uint32_t limit_mib);

/** Whose the processes on a GPU are: 0 its MPS daemon, then the jobs that run. @return how many */
size_t run_member_rules(const struct run_gpu *g, struct hes_member_rule out[HES_MAX_SHARING + 1]);

/**
 * See what the jobs of a shared GPU use.
 * @return bits, one a running job: it uses more than its limit while others share its GPU, so it is
 * to be ended
 */
uint32_t run_usage_look(const struct hes_devices *d, const struct run_log *log, struct run_gpu *g);

/** See what the job uses that has a GPU to itself. @return 0; 1 others have contexts there, too;
 * errors of hes_contexts_look() */
int run_usage_look_alone(const struct hes_devices *d, struct run_gpu *g);

/**
 * Judge a job of a failure that did not get memory, or a place among the clients of MPS: it
 * reached a limit of its own, or another job took too much. t->seen says which. It is tried again
 * alone.
 * @return whether another job took it: t->cause is set
 */
bool run_judge_lack(struct run_gpu *g, uint32_t failed);

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
