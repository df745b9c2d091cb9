/*
 * job.h - what a user wants to run: a workload, a batch size, a number of
 * iterations, and the time at which the job arrives.
 */
#ifndef HESHARE_JOB_H
#define HESHARE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/gpu_type.h"

#define HES_MAX_JOBS       10000000 /* rows accepted from one file */
#define HES_MAX_BATCH_SIZE 65536
#define HES_MAX_ITERATIONS UINT64_C(1000000000000)
#define HES_JOB_PROGRESS   200 /* bytes of a pattern */

struct hes_job {
	char id[HES_NAME_MAX]; /* unique in a file */
	int64_t arrival_us;    /* from the start of the trace */
	char workload[HES_NAME_MAX];
	uint32_t batch_size; /* items an iteration */
	uint64_t iterations;
	bool whole_run;        /* iterations were not given: the whole run counts as one */
	uint32_t memory_mib;   /* device memory that the user says it needs, on any type; 0: not
				  given */
	uint32_t measured_mib; /* that it used when it was profiled; 0: not known */
	bool has_deadline;
	int64_t deadline_us; /* from the start of the trace; valid if has_deadline */
	uint32_t weight;     /* importance, 1..1000 */
	double keep; /* part of its speed alone that co-runners must leave it; 0: not given */
	char user[HES_NAME_MAX]; /* "" when not given */
	char *command;           /* NULL when not given; owned */
	char *progress;          /* pattern with a group for the count in its progress lines
				    (docs/running.md); NULL: heshare's own lines only. Owned */
};

struct hes_jobs {
	struct hes_job *v;
	size_t n;
	char *file; /* that they were read from, or that a plan was made from; NULL: none. Owned */
	char *unread;  /* columns of the file that are no field of a job, each followed by a line
			  end; NULL: none. Owned */
	bool made_ids; /* some have no id in their file, and got their number in it */
};

/**
 * Read jobs from CSV (.gz too) or, when the name ends in .yaml or .yml, YAML
 * (docs/formats/jobs.md). Rows are checked one by one; ids must be unique; the order of the file is
 * kept. A column that counts GPUs, such as gpus, may have no number above 1.
 * @param out  written on success only; hes_jobs_free it
 * @return 0; -EINVAL, -ERANGE with file, line, field, value and what would be right; -EINVAL no
 * jobs; -ENOTSUP a job on several GPUs; -EEXIST an id that occurs twice; -ENOENT a missing column;
 * -E2BIG more than HES_MAX_JOBS, or a row that is too long; -EFBIG YAML above 256 MiB; -EIO damaged
 * .gz; -ENOMEM; -errno of reading the file
 */
int hes_jobs_load(const char *path, struct hes_jobs *out, struct hes_err *err);
/** The same for jobs that a pattern of commands starts (app/jobs_load.h); NULL: none. It is the
 * workload of jobs without a workload and a command. */
int hes_jobs_load_for(const char *pattern, const char *path, struct hes_jobs *out,
		      struct hes_err *err);
/**
 * Write CSV; @path "-" is standard output. The file is written completely or not at all.
 * @return 0; -errno of creating or writing it
 */
int hes_jobs_save(const char *path, const struct hes_jobs *jobs, struct hes_err *err);
/**
 * The workload of jobs that name none: @command, word for word. One that is no name (too long, a
 * comma, a control character) gets its beginning and a hash of the whole.
 */
void hes_job_workload_of(const char *command, char out[HES_NAME_MAX]);
/**
 * The unit of an iteration is part of what a workload is: that of a job without iterations gets
 * ": whole run" behind its name, once. Readers of jobs call it.
 * @param pattern  the command of jobs without one; may be NULL
 * @return 0; -ERANGE a given name is too long for that; -EINVAL such a name, with iterations
 */
int hes_job_name_unit(struct hes_job *job, const char *pattern, struct hes_err *err);
/** The name of the same workload where its iterations are counted, as `heshare profile` does. */
void hes_job_name_iterations(struct hes_job *job, const char *pattern);
/** The workload of a job without iterations, by the name or command that was given. */
void hes_job_whole_run_of(const char *given, char out[HES_NAME_MAX]);
/** Whether one iteration of a workload of this name is a whole run. */
bool hes_workload_is_whole_run(const char *workload);
/**
 * Whether a user means a workload: by its name, its command, or its name as tables print it, also
 * with "/" and the batch size behind it, without ": whole run", or without its middle.
 */
bool hes_workload_is_meant(const char *workload, uint32_t batch_size, const char *text);
/** The length of the workload's name as the user gave it. */
int hes_job_workload_given(const struct hes_job *job);
/** Whether a job's own command is its one iteration, so that only a run measures it. */
bool hes_job_is_script(const struct hes_job *job);
/** Say that such a job is unknown, and what measures it. @return -ENOENT */
int hes_job_fail_script(const struct hes_job *job, struct hes_err *err);
struct hes_profiles;
/** Set measured_mib of the jobs whose workload and batch size have a profile on any type: the
 * largest value. */
void hes_jobs_take_measured(struct hes_jobs *jobs, const struct hes_profiles *p);

/**
 * The device memory to plan a job with: what its user says, else what was measured plus a tenth.
 * @return 0: not known
 */
static inline uint32_t hes_job_memory_mib(const struct hes_job *j)
{
	return j->memory_mib ? j->memory_mib : j->measured_mib + j->measured_mib / 10;
}

/** The memory that a job of @memory_mib takes on a GPU: all of it where 0, not known. */
static inline uint32_t hes_memory_on(const struct hes_gpu_type *g, uint32_t memory_mib)
{
	return memory_mib ? memory_mib : g->memory_mib;
}

/** Check a pattern and give a copy to the jobs that have none of their own. @what  for messages.
 * @return 0; -EINVAL, -ERANGE no pattern; -ENOMEM */
int hes_jobs_set_progress(struct hes_job *v, size_t n, const char *what, const char *pattern,
			  struct hes_err *err);
/** Whether the id of the job at @index of a file is its number there; see hes_jobs.made_ids. */
bool hes_job_is_numbered(const struct hes_job *job, size_t index);
/** Number of jobs with a deadline. */
size_t hes_jobs_due(const struct hes_jobs *jobs);
/** Free the texts that a job owns. */
void hes_job_finish(struct hes_job *job);
/** Free what they hold and clear them. */
void hes_jobs_free(struct hes_jobs *jobs);

#endif
