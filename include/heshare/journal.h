/*
 * journal.h - what `heshare run` does, written down before it is done: runs of
 * plans with their GPUs, jobs, attempts at jobs and acts.
 *
 * Part of the store (docs/store.md). Every call is one transaction, unless it
 * lies between hes_journal_begin and hes_journal_end; when the outermost returns
 * 0 what was written is on the disk. After a crash the journal therefore knows at
 * least everything that was done; what it does not know did not begin. Times of a run
 * are microseconds from its start, so that they compare with the plan's.
 *
 * Errors are those of the store (heshare/store.h). A journal is used by one thread at a time, and with its store by the same.
 */
#ifndef HESHARE_JOURNAL_H
#define HESHARE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/gpu_type.h"
#include "heshare/store.h"

#define HES_JOURNAL_PATH_MAX 1024
#define HES_JOURNAL_UUID_MAX 80
#define HES_JOURNAL_BOOT_MAX 40

struct hes_journal;

/** A process. The start time distinguishes it from a later one with the same number. */
struct hes_run_process {
	int64_t pid;                        /* 0: none */
	int64_t start;                      /* ticks from the machine's start: field 22 of /proc/PID/stat */
	char    boot[HES_JOURNAL_BOOT_MAX]; /* the machine's start: /proc/sys/kernel/random/boot_id */
};

enum hes_run_state {
	HES_RUN_GOING,    /* or interrupted: its process tells */
	HES_RUN_DONE,     /* every job is done */
	HES_RUN_FAILED,   /* every job is done or given up */
	HES_RUN_STOPPED,  /* by a person; may be resumed */
};

extern const char *const hes_run_state_names[]; /* by enum hes_run_state; ends with NULL */

struct hes_run {
	int64_t  id;
	uint64_t plan_key;                  /* of what the plan's file holds */
	char     plan[HES_JOURNAL_PATH_MAX];   /* its name, for people */
	char     folder[HES_JOURNAL_PATH_MAX]; /* of the jobs' output */
	char     host[64];
	int64_t  started_us;                /* since 1970 UTC */
	int64_t  ended_us;                  /* 0: not ended */
	enum hes_run_state state;
	struct hes_run_process runner;
};

struct hes_run_gpu {
	char     gpu[HES_NAME_MAX];
	char     gpu_type[HES_NAME_MAX];
	char     uuid[HES_JOURNAL_UUID_MAX];
	uint64_t planned_mj;
	int64_t  planned_busy_us;
	bool     measured;                  /* the rest is valid */
	int64_t  busy_us;                   /* with jobs on it */
	uint64_t busy_mj;
	uint64_t idle_mj;                   /* between jobs and after, until the run's last job */
};

enum hes_run_job_state {
	HES_RUN_JOB_WAITING,  /* not done; there may be an attempt */
	HES_RUN_JOB_DONE,
	HES_RUN_JOB_FAILED,   /* given up */
};

struct hes_run_job {
	char     job[HES_NAME_MAX];
	char     workload[HES_NAME_MAX];
	char     gpu[HES_NAME_MAX];
	uint32_t sm_pct;
	int64_t  planned_start_us, planned_end_us;
	enum hes_run_job_state state;
	int64_t  start_us, end_us;          /* of the attempt that counts; valid once done or failed */
	uint64_t energy_mj;                 /* attributed, all attempts; valid if has_energy */
	bool     has_energy;
};

/** How an attempt ended. */
enum hes_verdict {
	HES_VERDICT_OPEN,     /* not known yet */
	HES_VERDICT_DONE,     /* exit status 0 */
	HES_VERDICT_FAILED,   /* by its own fault */
	HES_VERDICT_TIMEOUT,
	HES_VERDICT_CO_FAILED, /* a co-runner took the MPS server down, or the GPU was lost: not its own fault, as far as known */
	HES_VERDICT_STOPPED,  /* by heshare, which a person stopped */
	HES_VERDICT_LOST,     /* with the runner: how it ended is unknown */
};

extern const char *const hes_verdict_names[]; /* by enum hes_verdict; ends with NULL */

struct hes_attempt {
	int64_t  id;                        /* given by hes_journal_attempt */
	char     job[HES_NAME_MAX];
	uint32_t number;                    /* from 1 */
	char     gpu[HES_NAME_MAX];
	uint32_t sm_pct;
	uint32_t clock_mhz;                 /* requested; 0: none */
	int64_t  started_us;
	struct hes_run_process process;         /* pid 0: it was about to be started */
	int64_t  ended_us;                  /* valid unless open */
	int32_t  status;                    /* as a shell reports it: exit status, or 128 + signal; valid unless open */
	enum hes_verdict verdict;
};

/** @param s  must outlive the journal */
int  hes_journal_open(struct hes_store *s, struct hes_journal **out, struct hes_err *err);
void hes_journal_close(struct hes_journal *j);

/** What follows is one transaction, until hes_journal_end. Not nested. */
int hes_journal_begin(struct hes_journal *j, struct hes_err *err);
/** Keep it if @rc is 0, else drop it. @return @rc, or why it could not be kept */
int hes_journal_end(struct hes_journal *j, int rc, struct hes_err *err);

/** A new run; @run->id is set on success. */
int hes_journal_new_run(struct hes_journal *j, struct hes_run *run, const struct hes_run_gpu *gpus, size_t n_gpus,
			const struct hes_run_job *jobs, size_t n_jobs, struct hes_err *err);
/** The last run of a plan. @return 0; -ENOENT there was none */
int hes_journal_last_run(struct hes_journal *j, uint64_t plan_key, struct hes_run *out, struct hes_err *err);
/** Runs that have not ended, those of @id left out: their runners live or died. free() @out. */
int hes_journal_going(struct hes_journal *j, int64_t id, struct hes_run **out, size_t *out_n, struct hes_err *err);
/** Somebody else carries the run on. */
int hes_journal_take_over(struct hes_journal *j, int64_t run, const struct hes_run_process *runner, struct hes_err *err);
int hes_journal_run_ended(struct hes_journal *j, int64_t run, enum hes_run_state state, int64_t ended_us,
			  struct hes_err *err);

/** Of a run, in the order they came; free() @out. */
int hes_journal_gpus(struct hes_journal *j, int64_t run, struct hes_run_gpu **out, size_t *out_n, struct hes_err *err);
int hes_journal_jobs(struct hes_journal *j, int64_t run, struct hes_run_job **out, size_t *out_n, struct hes_err *err);
int hes_journal_attempts(struct hes_journal *j, int64_t run, struct hes_attempt **out, size_t *out_n,
			 struct hes_err *err);

/** What is about to be done, in words. @gpu, @job: NULL where there is none */
int hes_journal_act(struct hes_journal *j, int64_t run, int64_t at_us, const char *gpu, const char *job, const char *what,
		    struct hes_err *err);
/** An attempt is about to be started: @a->id is set on success. */
int hes_journal_attempt(struct hes_journal *j, int64_t run, struct hes_attempt *a, struct hes_err *err);
int hes_journal_attempt_runs(struct hes_journal *j, int64_t attempt, const struct hes_run_process *p, struct hes_err *err);
int hes_journal_attempt_ended(struct hes_journal *j, int64_t attempt, int64_t ended_us, int32_t status,
			      enum hes_verdict verdict, struct hes_err *err);
/** What came of a job: state, start_us, end_us, energy_mj and has_energy of @r, found by its name. */
int hes_journal_result(struct hes_journal *j, int64_t run, const struct hes_run_job *r, struct hes_err *err);
/** What a GPU took so far: measured, and if so busy_us, busy_mj and idle_mj of @g, found by its name. */
int hes_journal_gpu_took(struct hes_journal *j, int64_t run, const struct hes_run_gpu *g, struct hes_err *err);

#endif
