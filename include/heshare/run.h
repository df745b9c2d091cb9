/*
 * run.h - carry a plan out on this machine's GPUs: jobs as processes with their shares, clocks as
 * planned, everything measured and written down (docs/running.md).
 *
 * One thread runs the plan and owns the GPUs meanwhile; the meter has a thread of its own. Each act is written to
 * the journal before it is done. When it dies the guard (src/launch) ends its jobs and sets the GPUs back, and the plan can be
 * resumed: a job that is done is never run again.
 */
#ifndef HESHARE_RUN_H
#define HESHARE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/device.h"
#include "heshare/journal.h"
#include "heshare/plan.h"
#include "heshare/profile.h"

/** Where the run stands, for people. */
struct hes_run_progress {
	size_t  jobs, done, failed, running;
	int64_t now_us;    /* since its start */
	int64_t left_us;   /* as planned, stretched by how the jobs so far went */
};

/** What is reported meanwhile. Any may be NULL. */
struct hes_run_listener {
	void *ctx;
	/** A sentence a person should see: what cannot be done, what failed. */
	void (*message)(void *ctx, const char *sentence);
	/** An act, as it is in the journal; in a rehearsal at the planned time. @gpu, @job: NULL where there is none */
	void (*act)(void *ctx, int64_t at_us, const char *gpu, const char *job, const char *what);
	void (*progress)(void *ctx, const struct hes_run_progress *p);
};

/** What to run and how. All of it is the caller's and must outlive the run. */
struct hes_run_request {
	const struct hes_plan    *plan;
	const struct hes_fleet   *fleet;
	const struct hes_jobs    *jobs;
	const char *const        *commands;  /* one a job, lines for a shell */
	const struct hes_devices *devices;
	const long               *gpus;    /* one a GPU of the fleet; negative: not ours (hes_run_fit) */
	const struct hes_profiles *profiles; /* what is known of the workloads; may be NULL */
	const char *folder;                  /* of the jobs' output; absolute, is there */
	const char *mps_folder;              /* of MPS's pipes and logs; absolute, short, is there */
	const char *const *guard;            /* program and arguments that call hes_guard_serve; ends with NULL */
	const char *const *wrap;             /* the same, followed by a command, for hes_run_wrap */
	const char *user;                    /* that jobs without a user of their own run as; NULL: ourselves */
	bool     allow_setuid;               /* jobs may gain rights by setuid programs; else they have "no new privileges" */
	unsigned retries;                    /* failures of a job's own beyond the first that are tried again */
	double   timeout_factor;             /* of the planned duration; 0: no limit */
	int64_t  timeout_least_us;
	int64_t  grace_us;                   /* from a polite end to a kill */
	bool     no_clocks, no_mps;          /* leave these knobs alone */
	struct hes_run_listener listener;
};

/** What came of it. Arrays are in the order of the fleet and of the jobs; those of other nodes are left out. */
struct hes_run_report {
	struct hes_run      run;
	struct hes_run_gpu *gpus;
	size_t              n_gpus;
	struct hes_run_job *jobs;
	uint32_t           *attempts;        /* one a job */
	uint64_t           *planned_mj;      /* one a job: attributed as measured energy is */
	size_t              n_jobs, done, failed, waiting;
	size_t              retried, co_failed, timeouts; /* attempts */
	struct hes_totals   planned, measured; /* of the jobs that are here; measured: of those done */
	bool                has_energy;      /* measured's energies are valid */
	uint32_t            clocks_refused;  /* GPUs whose clock could not be set */
	uint32_t            clocks_missed;   /* GPUs that did not hold it */
	double              longest_gap_s;   /* without a power reading, of any GPU */
	struct hes_samples  samples;         /* what was learnt under sharing */
};

void hes_run_report_free(struct hes_run_report *r);

/**
 * Map a plan's GPUs to this machine's GPUs, by type and in order.
 * @param node  carry out this node's part alone; NULL: all
 * @param out   one a GPU: index of a GPU; -1
 * @return 0; -ENODEV they do not fit; -ENOENT the plan has no such node
 */
int hes_run_fit(const struct hes_fleet *f, const struct hes_plan *p, const char *node, const struct hes_devices *d,
		long *out, struct hes_err *err);

/** A job's command from a pattern: {job}, {workload}, {batch}, {iterations}, {memory}. free() @out. @return 0; -EINVAL */
int hes_run_words(const char *pattern, const struct hes_job *job, char **out, struct hes_err *err);

/**
 * Tell every act in order to the listener, at the planned times, and touch nothing. Without devices GPUs go by
 * their GPUs' names.
 * @return 0; -ENOMEM
 */
int hes_run_rehearse(const struct hes_run_request *q, struct hes_err *err);

/**
 * Carry the plan out. SIGINT, SIGTERM and SIGHUP stop it in order, a second one at once: other threads of the program must
 * have them blocked.
 * @param journal  its calls wait for other writers at most as long as hes_store_open() said
 * @param run      id 0: a new run, else one to resume, as the journal has it; id and started_us are set
 * @return 0 whatever became of the jobs: @out tells; -EBUSY somebody carries it out; -errno nothing could be started
 */
int hes_run_carry_out(const struct hes_run_request *q, struct hes_journal *journal, struct hes_run *run,
		      struct hes_run_report *out, struct hes_err *err);

/** Of a status file: what is there of it before the job starts, blank. */
#define HES_RUN_STATUS_BYTES 48

/**
 * In a process of its own, under the runner: run a line of shell, keep how it ended in the file that is standard input, and
 * kill what it left running. @return exit status
 */
int hes_run_wrap(const char *command);

#endif
