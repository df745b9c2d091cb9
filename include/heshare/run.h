/*
 * run.h - carry a plan out on the GPUs of this machine, with its shares and clocks. Jobs are
 * processes; time and energy are measured (docs/running.md).
 *
 * One thread runs the plan and owns the GPUs meanwhile; the meter has a thread of its own. Each act
 * is written to the journal before it is done. If heshare dies, the guard (src/launch) ends its
 * jobs and restores the GPUs. The plan can be resumed; a job that is done never runs again.
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
#include "heshare/store.h"

/** Progress of a run. */
struct hes_run_progress {
	size_t jobs, done, failed, early, running;
	int64_t now_us;  /* since its start */
	int64_t left_us; /* by the plan, scaled by the run times so far; 0: not known */
};

/** Callbacks during the run. Each may be NULL. */
struct hes_run_listener {
	void *ctx;
	/** A message for the user: something failed or cannot be done. */
	void (*message)(void *ctx, const char *sentence);
	/** An act, as it is in the journal; in a rehearsal at the planned time. @gpu, @job: NULL if
	 * it has none */
	void (*act)(void *ctx, int64_t at_us, const char *gpu, const char *job, const char *what);
	void (*progress)(void *ctx, const struct hes_run_progress *p);
};

/** A run as its planner sees it. */
struct hes_run_now {
	int64_t now_us;          /* of the run */
	struct hes_jobs *jobs;   /* all, those that were added at the end; a copy */
	const uint32_t *waiting; /* indices of those that can be placed again */
	size_t n_waiting;
	const struct hes_running *running; /* by GPU; ends and parts left as they are seen */
	size_t n_running;
	const bool *usable; /* one a GPU of the fleet: whether jobs may start there */
};

/**
 * Plan the waiting jobs of a run again. Another thread calls it while jobs run, one call at a time.
 * @param out  of the fleet, with indices into the jobs; those that it leaves out stay where they
 * are
 * @return 0; or a negative errno: the run goes on as it was planned
 */
typedef int hes_run_replan_fn(void *ctx, const struct hes_run_now *now, struct hes_plan *out,
			      struct hes_err *err);

#define HES_RUN_NO_GPU   (-1) /* in place of an index: not of this machine */
#define HES_RUN_GPU_LOST (-2) /* it is missing; its waiting jobs move */

/** What to run, and how. The caller owns everything; it must outlive the run. */
struct hes_run_request {
	const struct hes_plan *plan;
	const struct hes_fleet *fleet;
	const struct hes_jobs *jobs; /* each with its command, a line for a shell */
	const struct hes_devices *devices;
	const long *gpus; /* one a GPU of the fleet: index of a device; HES_RUN_NO_GPU;
			     HES_RUN_GPU_LOST */
	const struct hes_profiles *profiles; /* of the workloads; may be NULL; not read while replan
						runs, which may add to them */
	struct hes_store *store; /* for points of jobs that run alone, and samples; NULL: they
				    are not kept */
	const char *folder;      /* for the jobs' output; an absolute path that exists */
	const char *plan_next;   /* the plan's file until the run is in the journal; NULL: none */
	const char *plan_file;   /* and its name from then on */
	const char *mps_folder;  /* for pipes and logs of MPS; a short absolute path that exists */
	const char *const
		*guard; /* program and arguments that call hes_guard_serve; ends with NULL */
	const char *const *wrap; /* the same, followed by a command, for hes_launch_wrap() */
	const char *preload;     /* "LD_PRELOAD=..." with the library that counts launches; NULL:
				    they are not counted */
	const char *user; /* for jobs without a user of their own; NULL: the user of this process */
	bool allow_setuid; /* jobs may gain rights by setuid programs; else they have "no new
			      privileges" */
	unsigned retries;  /* how often a job that failed by its own fault is tried again */
	bool early_ok;     /* jobs that end early are accepted: resumed, they do not run again */
	bool open_ended; /* how much work a job has is not known: one that ends with 0 is done, and
			    so is one that is requested to end */
	int64_t for_us;  /* request each job to end after this time; 0: never */
	double timeout_factor; /* of the planned duration; 0: no limit */
	int64_t timeout_least_us;
	int64_t grace_us; /* from SIGTERM to SIGKILL */
	double stop_s;    /* hes_monotonic_s() at which the run stops by itself, as on SIGTERM; 0:
			     never */
	bool takes_stop_file; /* a file "stop" in the folder stops it, as SIGTERM does: for runners
				 on other machines */
	bool no_clocks, no_mps; /* do not use clock locks, MPS */
	double explore_pct; /* of the GPUs' time with jobs: what experiments may cost that learn of
			       clocks and co-runners; 0: none are made */
	bool takes_added;   /* only those can change the journal whose jobs this process starts
			     */
	hes_run_replan_fn *replan; /* called when jobs were added, differ from the plan or lost
				      their GPU, and at --resume; NULL: never */
	void *replan_ctx;
	bool waiting_stay; /* jobs stay where the plan has them, until jobs are added */
	struct hes_run_listener listener;
};

/** What jobs did while they ran together, all with progress. */
struct hes_run_together {
	uint32_t n;                    /* jobs; 0: there was no such time, or no reading */
	size_t job[HES_MAX_SHARING];   /* indices */
	double per_s[HES_MAX_SHARING]; /* iterations a second; NaN: it printed fewer than two
					  lines */
	double seconds, energy_j;      /* of the GPU */
};

/** What the runner knows of a job besides its row of the journal. A column of the report that the
 * journal does not have is a member here. */
struct hes_run_job_record {
	uint32_t attempts;
	uint64_t planned_mj; /* attributed in the same way as measured energy */
	uint64_t iterations; /* of the last attempt that ended in this session, by its progress
				lines; 0: none seen */
	double clock_mhz, clock_s; /* mean clock of its GPU while that attempt ran, over clock_s;
				      0 s: not read */
	uint32_t floor_windows, floor_kept; /* of a job with a floor, in this session: windows of
					       10 s next to others, and those in which it kept it */
};

/** The result. Arrays are in the order of the fleet and of the jobs, without those of other nodes.
 */
struct hes_run_report {
	struct hes_run run;
	struct hes_run_gpu *gpus;
	size_t n_gpus;
	struct hes_run_job *jobs;
	bool by_node; /* files of a job are in the folder NODE of the run's folder, by the name of
			 its GPU */
	struct hes_run_job_record *records; /* one a job */
	struct hes_run_together together;   /* the most jobs in this session; of these the longest
					       time */
	size_t n_jobs, done, failed, early, waiting;
	size_t added;                              /* of the jobs: not in the plan */
	uint32_t known[HES_KNOWN_SOURCES];         /* as in the plan; added ones without a
						      planned time are unknown */
	size_t retried, co_failed, timeouts, lost; /* attempts; lost: the process of the run died */
	double lost_s; /* then at most so many seconds of joules are in none of the sums; 0: it did
			  not die */
	struct hes_totals planned; /* of all jobs here */
	/* Of the jobs that are done, and the same part of the plan. If not all are done, the busy
	 * energies are those attributed to jobs, and the part's fleet energy is 0: not known. */
	struct hes_totals measured, part;
	/* Of them those that have a planned time: part is theirs. The fleet's energy is that of all
	 * jobs. */
	struct hes_totals part_measured;
	size_t n_part;
	bool has_energy;          /* measured's energies, and what follows, are valid */
	uint64_t jobs_mj;         /* attributed to the attempts that did the jobs */
	uint64_t aborted_mj;      /* to all other attempts: failed, stopped, lost, timed out */
	uint64_t idle_mj;         /* of GPUs without a job */
	uint64_t unattributed_mj; /* jobs ran, but there were no readings to split by */
	uint64_t meter_mj;   /* the GPUs' counters over the run's sessions: the sum of all four */
	size_t sessions;     /* processes that carried the run out */
	uint64_t cap_mw;     /* power cap for the GPUs here; 0: none. What was drawn is in @run */
	size_t waited_power; /* jobs that waited for it, in this session */
	uint32_t clocks_refused;    /* GPUs whose clock could not be set */
	uint32_t clocks_missed;     /* GPUs that did not hold it */
	uint32_t clocks_untried;    /* GPUs on which a clock would have been tried, but cannot be
				       set */
	size_t without_progress;    /* jobs that showed neither progress nor launches for long:
			   nothing was tried with them */
	double longest_gap_s;       /* without a power reading, of any GPU */
	unsigned left_out;          /* enum hes_left_out: readings of any GPU, in this session */
	struct hes_samples samples; /* measured in this run */
	char **notes;               /* what was learnt in this session, a sentence each */
	size_t n_notes;
};

void hes_run_report_free(struct hes_run_report *r);

/**
 * The report of a run from its journal and plan, without its runner: what runners observed of
 * clocks and the power cap is missing.
 * @param c  the types of its GPUs
 * @param plan, jobs  for planned energies
 * @return 0; errors of the journal; -ENOMEM
 */
int hes_run_report_load(struct hes_journal *j, const struct hes_run *run,
			const struct hes_catalogue *c, const struct hes_plan *plan,
			const struct hes_jobs *jobs, struct hes_run_report *out,
			struct hes_err *err);

/** A GPU of a run that goes on. */
struct hes_run_live_gpu {
	char gpu[HES_NAME_MAX];
	bool has_power, has_energy;
	double power_w;     /* now */
	double energy_j;    /* since the run began, idle energy included */
	uint32_t clock_mhz; /* 0: not known */
};

/** A job that runs. */
struct hes_run_live_job {
	char job[HES_NAME_MAX];
	double done; /* part of its iterations, 0..1; below 0: it has printed no progress, or how
			many it has is not known */
	uint64_t iterations; /* by its progress; 0: none */
	int64_t left_us;     /* by its progress, else by the plan; 0: not known */
	bool held;           /* it stands still */
};

/** What the runner knows of its run, as it writes it once a second (live.json in the run's folder).
 */
struct hes_run_live {
	int64_t at_us;           /* since 1970 UTC */
	int64_t now_us, left_us; /* time of the run; what it still takes, 0: not known */
	struct hes_run_live_gpu *gpus;
	size_t n_gpus;
	struct hes_run_live_job *jobs; /* that run */
	size_t n_jobs;
};

/**
 * Read the last state that the runner of a run wrote.
 * @param out  hes_run_live_free() it; written only on success
 * @return 0; -ENOENT there is none: the run has not begun, or is over; -EINVAL not such a file;
 * -errno
 */
int hes_run_live_load(const struct hes_run *run, struct hes_run_live *out, struct hes_err *err);
void hes_run_live_free(struct hes_run_live *l);

/** Why a shell started no command, by its exit status; NULL: it did, or may have. Such a job is not
 * tried again. */
const char *hes_run_why_no_command(int status);

/**
 * Report every act to the listener in order, at the planned times, and change nothing. Without
 * devices, GPUs have their names of the fleet.
 * @return 0; -ENOMEM
 */
int hes_run_rehearse(const struct hes_run_request *q, struct hes_err *err);

/**
 * Carry the plan out. SIGINT, SIGTERM and SIGHUP stop it in order, a second one at once: other
 * threads of the program must have them blocked.
 * @param journal  its calls wait for other writers at most as long as hes_store_open() said
 * @param run      id 0: a new run, else one to resume, as the journal has it; id and started_us are
 * set
 * @return 0 also if jobs failed, see @out; -EBUSY another process carries it out; -errno nothing
 * could be started
 */
int hes_run_carry_out(const struct hes_run_request *q, struct hes_journal *journal,
		      struct hes_run *run, struct hes_run_report *out, struct hes_err *err);

/**
 * Close the journal of a run whose runner and jobs have ended, on whatever machine, and will not be
 * resumed: open attempts are done if their status file says so, else lost; the run is stopped.
 * Harmless on a run that has ended.
 * @param run  as the journal has it; state and ended_us are set
 * @return 0; errors of the journal and of opening its folder
 */
int hes_run_settle(struct hes_journal *j, struct hes_run *run, struct hes_err *err);

/** Note this process as the one that carries the run out. @return 0; -errno of /proc */
int hes_run_note_runner(struct hes_run *run, struct hes_err *err);

#endif
