/*
 * pilot.h - a pilot: one Slurm job that plans and runs many jobs on its nodes. Its folder has the
 * batch script, the plan, the store and the numbers of its Slurm jobs. What is there already is
 * gone on with.
 */
#ifndef HES_CLUSTER_PILOT_H
#define HES_CLUSTER_PILOT_H

#include <limits.h>
#include <stdio.h>

#include "app/app.h"
#include "app/run_view.h"
#include "heshare/point.h"

#define PILOT_CHAIN_MAX 100

struct pilot_opts {
	uint64_t nodes, chain;
	const char *time, *partition, *gpus, *dir, *sbatch, *policy, *prefer, *predictor, *profiles,
		*catalogue, *budget;
	double before_end_s;
	bool print, no_wait, early_ok;
};

struct pilot {
	const struct app *app;
	const struct pilot_opts *o;
	char here[PATH_MAX], jobs[PATH_MAX], folder[PATH_MAX], script[PATH_MAX + 16],
		store[PATH_MAX + 16], plan[PATH_MAX + 16], program[PATH_MAX];
	char submitted[PATH_MAX + 16]; /* a file: the numbers of the Slurm jobs */
	bool begun;                    /* there is a plan */
	char line[HES_POINT_COMMAND];
	const char *command; /* a pattern, in line; NULL: jobs have their own */
	char ids[PILOT_CHAIN_MAX + 1][24];
	uint64_t n_ids; /* of the Slurm jobs that were submitted */
};

/** Whether the texts can stand in a batch script, and name what there is. @return 0; -EINVAL,
 * -ENOENT; errors of access() */
int pilot_check(const struct pilot_opts *o, struct hes_err *err);
/** Name its files. @return 0; -errno of the jobs file; -EINVAL sbatch does not take the folder */
int pilot_name(struct pilot *p, const char *jobs, struct hes_err *err);
/** Find what would else be found when the Slurm job has begun: jobs without a command, or others
 * than the pilot began with. @return 0; -ENOENT; -ESTALE */
int pilot_check_jobs(struct pilot *p, struct hes_err *err);
/** Write the batch script to a stream. */
void pilot_print(const struct pilot *p, FILE *f);
/** Make its folder, its store and its script. */
int pilot_write(const struct pilot *p, struct hes_err *err);
/** Two Slurm jobs cannot carry out one run. Where Slurm does not answer, sbatch will say so.
 * @return 0; -EBUSY there are some */
int pilot_check_submitted(const struct pilot *p, struct hes_err *err);
/** Submit its Slurm jobs and note their numbers, also of a chain that Slurm refuses half-way. */
int pilot_submit(struct pilot *p, struct hes_err *err);
/** @param state  as Slurm says it, with its reason; stays where Slurm does not answer
 * @return whether a Slurm job has ended; where Slurm does not answer it has not */
bool pilot_has_ended(const char *id, char state[64]);
/** The last run in its store. @return 0; -ENOENT none yet */
int pilot_look(const struct pilot *p, struct run_view *v, struct hes_err *err);

#endif
