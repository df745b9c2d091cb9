/*
 * journal.h - the journal of `heshare run`: runs of plans with their GPUs, jobs,
 * attempts at jobs and acts. Each act is written before it is done.
 *
 * Part of the store (docs/store.md). Every call is one transaction, except between
 * hes_journal_begin and hes_journal_end, which make one of all calls. When a transaction
 * returns 0, its rows are on the disk. So after a crash the journal has every act that
 * was begun. Times of a run are microseconds from its start, as in the plan.
 *
 * Errors are those of the store (heshare/store.h). One thread at a time uses a journal and its
 * store.
 */
#ifndef HESHARE_JOURNAL_H
#define HESHARE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/gpu_type.h"
#include "heshare/job.h"
#include "heshare/store.h"

#define HES_JOURNAL_PATH_MAX 1024
#define HES_JOURNAL_BOOT_MAX 40

struct hes_journal;

/** A process. The start time distinguishes it from a later one with the same number. */
struct hes_run_process {
	int64_t pid;   /* 0: none */
	int64_t start; /* ticks from the machine's start: field 22 of /proc/PID/stat */
	char boot[HES_JOURNAL_BOOT_MAX]; /* the machine's start: /proc/sys/kernel/random/boot_id */
};

enum hes_run_state {
	HES_RUN_GOING,   /* or interrupted, if its process is gone */
	HES_RUN_DONE,    /* every job is done */
	HES_RUN_FAILED,  /* every job is done or given up */
	HES_RUN_STOPPED, /* by a person; may be resumed */
};

extern const char *const hes_run_state_names[]; /* by enum hes_run_state; ends with NULL */

/** What experiments of a run took: clocks and co-run sets that were tried to learn of them. */
struct hes_run_learning {
	uint64_t experiments;
	int64_t took_us;     /* more than the same work took otherwise; below 0: less */
	uint64_t energy_mj;  /* the same; in no attempt */
	uint64_t iterations; /* done meanwhile */
};

struct hes_run {
	int64_t id;
	uint64_t plan_key;                 /* hash of the plan's file */
	char plan[HES_JOURNAL_PATH_MAX];   /* name of its file, for messages */
	char folder[HES_JOURNAL_PATH_MAX]; /* of the jobs' output */
	char host[64];
	int64_t started_us; /* since 1970 UTC */
	int64_t ended_us;   /* 0: not ended */
	enum hes_run_state state;
	struct hes_run_process runner;
	int64_t over_cap_us; /* time in which the GPUs drew more than the plan's power cap */
	uint64_t peak_mw;    /* the highest power of the GPUs together; 0: not measured */
	char progress[HES_JOB_PROGRESS + 1]; /* of jobs without a pattern of their own; "": none */
	struct hes_run_learning learning;
};

struct hes_run_gpu {
	char gpu[HES_NAME_MAX];
	char gpu_type[HES_NAME_MAX];
	char uuid[HES_UUID_MAX];
	uint64_t planned_mj;
	int64_t planned_busy_us;
	bool measured;   /* the rest is valid */
	int64_t busy_us; /* time with jobs on it */
	uint64_t busy_mj;
	uint64_t idle_mj; /* between jobs and after, until the run's last job */
};

/** A job that was added to a run. The run's planner places it. */
struct hes_run_added {
	int64_t id; /* given by hes_journal_add */
	struct hes_job
		job; /* without user, arrival and deadline; its command is a line for a shell */
};

/** How an attempt ended. */
enum hes_verdict {
	HES_VERDICT_OPEN,   /* not known yet */
	HES_VERDICT_DONE,   /* exit status 0 */
	HES_VERDICT_FAILED, /* by its own fault */
	HES_VERDICT_TIMEOUT,
	HES_VERDICT_CO_FAILED, /* not its own fault: a co-runner took the MPS server down, or the
				  GPU was lost */
	HES_VERDICT_STOPPED,   /* by heshare, which a person stopped */
	HES_VERDICT_LOST,      /* with the runner: how it ended is unknown */
	HES_VERDICT_EARLY,     /* exit status 0, but not all of the work was seen */
};

#define HES_RUN_NOT_STARTED \
	(-1) /* status of an attempt whose process could not be started; no exit status */

extern const char *const hes_verdict_names[]; /* by enum hes_verdict; ends with NULL */

enum hes_run_job_state {
	HES_RUN_JOB_WAITING, /* not done; there may be an attempt */
	HES_RUN_JOB_DONE,
	HES_RUN_JOB_FAILED, /* given up */
	HES_RUN_JOB_EARLY,  /* ended with 0, but not all of its work was seen */
};

extern const char *const hes_run_job_state_names[]; /* by enum hes_run_job_state; ends with NULL */

#define HES_JOURNAL_SEEN_MAX 200 /* what was seen of an attempt, a phrase */

struct hes_run_job {
	char job[HES_NAME_MAX];
	char workload[HES_NAME_MAX];
	char gpu[HES_NAME_MAX];
	uint32_t sm_pct;
	int64_t planned_start_us, planned_end_us; /* equal: nothing was known of it */
	uint64_t planned_mj;                      /* its part of the GPU's; 0: not known */
	enum hes_run_job_state state;
	int64_t start_us, end_us; /* of the attempt that counts; valid once done or failed */
	uint64_t energy_mj; /* attributed to the attempt that did the job; valid if has_energy */
	bool has_energy;
	int64_t arrival_us; /* above 0: it was added then */
	/* Read only, from its attempts. */
	uint64_t aborted_mj; /* attributed to those that did not do the job, as far as known */
	enum hes_verdict last_verdict;   /* of the last that ended; HES_VERDICT_OPEN: none has */
	int32_t last_status;             /* the same; see struct hes_attempt */
	char seen[HES_JOURNAL_SEEN_MAX]; /* the same */
	bool energy_split;               /* the same: see struct hes_attempt */
	int64_t held_us;                 /* the same: its time without work, as of hold.h */
};

struct hes_attempt {
	int64_t id; /* given by hes_journal_attempt */
	char job[HES_NAME_MAX];
	uint32_t number; /* from 1 */
	char gpu[HES_NAME_MAX];
	uint32_t sm_pct;
	uint32_t clock_mhz; /* requested; 0: none */
	int64_t started_us;
	struct hes_run_process process; /* pid 0: it was about to be started */
	int64_t ended_us;               /* valid unless open */
	int32_t status; /* as a shell reports it: exit status, or 128 + signal; HES_RUN_NOT_STARTED;
			   valid unless open */
	enum hes_verdict verdict;
	bool has_energy;
	int64_t held_us;    /* it was held for so long */
	bool energy_split;  /* energy_mj: in part split by what jobs drew alone, or by their shares,
			       because no profile says their activity */
	uint64_t energy_mj; /* attributed so far; valid if has_energy */
	char seen[HES_JOURNAL_SEEN_MAX]; /* why it ended early, or is tried again alone;
					    "": neither */
};

/**
 * What the meter of a GPU counted in a session: while one process carried out the run, until its
 * last write. The meter of a run is the sum of its sessions. What GPUs use between sessions is not
 * the run's.
 */
struct hes_run_meter {
	uint32_t session; /* from 1 */
	char gpu[HES_NAME_MAX];
	int64_t measured_us;
	uint64_t energy_mj;
};

/** @param s  must outlive the journal */
int hes_journal_open(struct hes_store *s, struct hes_journal **out, struct hes_err *err);
void hes_journal_close(struct hes_journal *j);

/** Calls until hes_journal_end are one transaction. Not nested. */
int hes_journal_begin(struct hes_journal *j, struct hes_err *err);
/** The same, but the commit does not wait for the disk: it outlives the death of this process, not
 * that of the machine. */
int hes_journal_begin_light(struct hes_journal *j, struct hes_err *err);
/** Commit if @rc is 0, else roll back. @return @rc, or the error of the commit */
int hes_journal_end(struct hes_journal *j, int rc, struct hes_err *err);

/** A new run; @run->id is set on success. */
int hes_journal_new_run(struct hes_journal *j, struct hes_run *run, const struct hes_run_gpu *gpus,
			size_t n_gpus, const struct hes_run_job *jobs, size_t n_jobs,
			struct hes_err *err);
/** The last run of a plan. @return 0; -ENOENT there was none */
int hes_journal_last_run(struct hes_journal *j, uint64_t plan_key, struct hes_run *out,
			 struct hes_err *err);
/** @return 0; -ENOENT no such run */
int hes_journal_run(struct hes_journal *j, int64_t id, struct hes_run *out, struct hes_err *err);
/** Runs that have not ended, and the last @most that have, in order; free() @out. */
int hes_journal_recent(struct hes_journal *j, size_t most, struct hes_run **out, size_t *out_n,
		       struct hes_err *err);
/** Runs other than @id that have not ended: their runners are alive or crashed. free() @out. */
int hes_journal_going(struct hes_journal *j, int64_t id, struct hes_run **out, size_t *out_n,
		      struct hes_err *err);
/** From now on the process run->runner of this machine carries out the run, with the pattern
 * run->progress. */
int hes_journal_take_over(struct hes_journal *j, const struct hes_run *run, struct hes_err *err);
/** @param state  written as HES_RUN_STOPPED on success where the run has added jobs that its
 * process has not taken */
int hes_journal_run_ended(struct hes_journal *j, int64_t run, enum hes_run_state *state,
			  int64_t ended_us, struct hes_err *err);

/** Rows of a run, in the order in which they were written; free() @out. */
int hes_journal_gpus(struct hes_journal *j, int64_t run, struct hes_run_gpu **out, size_t *out_n,
		     struct hes_err *err);
int hes_journal_jobs(struct hes_journal *j, int64_t run, struct hes_run_job **out, size_t *out_n,
		     struct hes_err *err);
int hes_journal_attempts(struct hes_journal *j, int64_t run, struct hes_attempt **out,
			 size_t *out_n, struct hes_err *err);
/** By session, then by the GPU's name. */
int hes_journal_meters(struct hes_journal *j, int64_t run, struct hes_run_meter **out,
		       size_t *out_n, struct hes_err *err);

/**
 * Add waiting jobs to a run that has not ended, or was stopped, in this order; all or none.
 * @param arrival_us  of the run; at least 1
 * @param after       id of the last added job that the names take into account; 0: none was added
 * @return 0; -ESHUTDOWN the run is over; -EAGAIN others were added after @after; -EEXIST the run
 * has a job of this name
 */
int hes_journal_add(struct hes_journal *j, int64_t run, const struct hes_run_added *v, size_t n,
		    int64_t arrival_us, int64_t after, struct hes_err *err);
/** Jobs that were added after that with the id @after, in order; hes_run_added_free() them. */
int hes_journal_added(struct hes_journal *j, int64_t run, int64_t after, struct hes_run_added **out,
		      size_t *out_n, struct hes_err *err);
/** The run's process has all added jobs up to the id @last. */
int hes_journal_added_taken(struct hes_journal *j, int64_t run, int64_t last, struct hes_err *err);
/** Number of added jobs that the run's process does not have yet. */
int hes_journal_added_waiting(struct hes_journal *j, int64_t run, size_t *out, struct hes_err *err);
void hes_run_added_free(struct hes_run_added *v, size_t n);

/**
 * Place waiting jobs of a run again: add the GPUs that it does not have, and change GPU, SM share
 * and planned times of the jobs. A GPU that it has by this name gets type and UUID of the one that
 * is there now; the rest of its row stays. Belongs into a transaction.
 */
int hes_journal_replan(struct hes_journal *j, int64_t run, const struct hes_run_gpu *gpus,
		       size_t n_gpus, const struct hes_run_job *jobs, size_t n_jobs,
		       struct hes_err *err);
/** Write an attempt as the journal of a node has it, found by its job and number: new, or with how
 * it ended and what it took by now. Its process is left out. */
int hes_journal_copy_attempt(struct hes_journal *j, int64_t run, const struct hes_attempt *a,
			     struct hes_err *err);
/** Forget attempts, meters and results of a run, to be written again from the journals of its
 * nodes. Belongs into a transaction. */
int hes_journal_clear(struct hes_journal *j, int64_t run, struct hes_err *err);

/** Write the next act in words. @gpu, @job: NULL if it has none */
int hes_journal_act(struct hes_journal *j, int64_t run, int64_t at_us, const char *gpu,
		    const char *job, const char *what, struct hes_err *err);
/** An attempt is about to be started: @a->id is set on success. */
int hes_journal_attempt(struct hes_journal *j, int64_t run, struct hes_attempt *a,
			struct hes_err *err);
int hes_journal_attempt_runs(struct hes_journal *j, int64_t attempt,
			     const struct hes_run_process *p, struct hes_err *err);
/** The clock of its GPU was set to @clock_mhz while it runs; 0: unlocked. */
int hes_journal_attempt_clock(struct hes_journal *j, int64_t attempt, uint32_t clock_mhz,
			      struct hes_err *err);
/** It was held for @held_us so far. */
int hes_journal_attempt_held(struct hes_journal *j, int64_t attempt, int64_t held_us,
			     struct hes_err *err);
/** Co-runners stalled in @run while a job of the workload was held: no job of it is held again. */
int hes_journal_never_hold(struct hes_journal *j, int64_t run, const char *workload,
			   struct hes_err *err);
/** @param out  whether jobs of the workload may be held */
int hes_journal_may_hold(struct hes_journal *j, const char *workload, bool *out,
			 struct hes_err *err);
/** @param seen  as in struct hes_attempt; NULL: "" */
int hes_journal_attempt_ended(struct hes_journal *j, int64_t attempt, int64_t ended_us,
			      int32_t status, enum hes_verdict verdict, const char *seen,
			      struct hes_err *err);
/** Write the joules that an attempt was attributed so far. @split  as energy_split */
int hes_journal_attempt_took(struct hes_journal *j, int64_t attempt, bool known, uint64_t energy_mj,
			     bool split, struct hes_err *err);
/** Write the result of a job, found by its name: state, start_us, end_us, energy_mj and has_energy
 * of @r. */
int hes_journal_result(struct hes_journal *j, int64_t run, const struct hes_run_job *r,
		       struct hes_err *err);
/** Write what a GPU, found by its name, has used so far: measured, and then busy_us, busy_mj,
 * idle_mj of @g. */
int hes_journal_gpu_took(struct hes_journal *j, int64_t run, const struct hes_run_gpu *g,
			 struct hes_err *err);
/** Write what the meter of a GPU counted so far in a session. */
int hes_journal_meter(struct hes_journal *j, int64_t run, const struct hes_run_meter *m,
		      struct hes_err *err);
/** Write over_cap_us and peak_mw of a run. */
int hes_journal_power(struct hes_journal *j, int64_t run, int64_t over_cap_us, uint64_t peak_mw,
		      struct hes_err *err);
/** Write what experiments of a run took so far. */
int hes_journal_learning(struct hes_journal *j, int64_t run, const struct hes_run_learning *l,
			 struct hes_err *err);

#endif
