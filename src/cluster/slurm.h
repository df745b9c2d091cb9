/*
 * slurm.h - what a program can learn of the Slurm job that it is in: nodes, and the time that is
 * left.
 */
#ifndef HES_CLUSTER_SLURM_H
#define HES_CLUSTER_SLURM_H

#include <stdbool.h>
#include <stddef.h>

#include "app/app.h"
#include "heshare/gpu_type.h"

typedef char slurm_name[HES_NAME_MAX];

/**
 * Whether a name of a node, HOST or USER@HOST, can name a folder and be an argument of a command:
 * letters, digits and "._-+:", each part begins with a letter, a digit, "_" or ":", and GPUs can be
 * called NAME/NUMBER.
 */
bool slurm_name_is_good(const char *name);

/** Whether this process is the script or the shell of a Slurm job, and not a task that srun
 * started. */
bool slurm_is_job(const struct app *app);
/** Number of nodes of the job; 0: not in a job. */
size_t slurm_count_nodes(const struct app *app);

/** Names of the job's nodes; free() @out. @return 0; -ENOENT not in a job, or Slurm's commands are
 * not there; -EIO */
int slurm_nodes(const struct app *app, slurm_name **out, size_t *n, struct hes_err *err);

/**
 * Seconds until the time limit of the job: by SLURM_JOB_END_TIME, else by one call of squeue; then
 * the variable is set for programs that are started from here.
 * @return below 0: no limit, not in a job, or not known
 */
double slurm_seconds_left(const struct app *app);

/**
 * Nodes that Slurm or its administrator takes out of service: draining, drained, failing.
 * @param out  their names, one a line, in a text of @size bytes; empty where Slurm does not answer
 */
void slurm_drained(const struct app *app, char *out, size_t size);

/**
 * Run one of Slurm's commands to its end.
 * @param out  its standard output
 * @return 0; -ENOENT it is not in PATH; -EIO it failed, and @err has its first error; -ETIMEDOUT
 */
int slurm_call(const char *const argv[], char *out, size_t size, struct hes_err *err);

/** "2-01:30:00", "1:30:00", "90:00" (minutes) or "90" (minutes) as seconds, as Slurm writes times.
 * @return below 0: none of them */
double slurm_parse_time(const char *text);

#endif
