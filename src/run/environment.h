/*
 * environment.h - the environment variables that a job gets from the runner. Pure.
 */
#ifndef HES_RUN_ENVIRONMENT_H
#define HES_RUN_ENVIRONMENT_H

#include "heshare/job.h"
#include "heshare/mps.h"
#include "heshare/plan.h"

#define RUN_VARIABLES 16

struct run_environment {
	const char *v[RUN_VARIABLES + 1]; /* NAME=VALUE, ends with NULL; points into what follows */
	char own[RUN_VARIABLES][HES_MPS_PATH_MAX];
	char mps[4][HES_MPS_VARIABLE_MAX];
};

struct run_environment_of {
	const struct hes_job *job;
	int64_t run; /* 0: it has no number yet */
	uint32_t attempt;
	const char *gpu; /* its name in the plan */
	const char *uuid;
	uint32_t sm_pct;
	uint32_t limit_mib;        /* of memory, behind MPS; 0: none */
	const struct hes_mps *mps; /* NULL: none */
	bool yields; /* others of the run have floors: its work comes after theirs, behind MPS */
	const char *mps_folder; /* where daemons have their folders */
	const char *launches;   /* file for the count of launches, with the library that counts, */
	const char *preload;    /* "LD_PRELOAD=..."; NULL: they are not counted */
};

void run_environment_set(struct run_environment *out, const struct run_environment_of *of);

/** The memory that a job may use on a shared GPU of @gpu_mib. @return 0: no limit */
uint32_t run_memory_limit(const struct hes_job *job, uint32_t gpu_mib);

/** A number for a user's name; 0 for nobody's. */
uint32_t run_user(const char *name);

/** Whether a GPU's part of a plan needs MPS: jobs that share the GPU, or a share below 100 %. */
bool run_shares(const struct hes_queue *q);

#endif
