/*
 * run_gpu.h - the jobs and GPUs of a run: the data that its parts share.
 *
 * A task is a job of the plan on this machine. Each sub-struct has one owner: the file named with
 * it changes it, the others read it.
 */
#ifndef HES_RUN_RUN_GPU_H
#define HES_RUN_RUN_GPU_H

#include "heshare/attribute.h"
#include "heshare/fleet.h"
#include "heshare/measure.h"
#include "heshare/mps.h"
#include "heshare/run.h"
#include "launch/contexts.h"
#include "launch/guard.h"
#include "launch/progress.h"
#include "run/admit.h"
#include "run/run_clock.h"
#include "run/failure_rules.h"

enum run_task_state {
	TASK_WAITING,
	TASK_RUNNING,
	TASK_ENDED,  /* no verdict yet */
	TASK_JUDGED, /* not in the journal yet */
	TASK_DONE,
	TASK_FAILED, /* given up */
	TASK_EARLY,  /* ended early: not tried again */
};

enum run_ending {
	ENDING_OWN,     /* by itself */
	ENDING_TIMEOUT, /* we ended it */
	ENDING_STOP,
	ENDING_OVER,   /* we ended it: its time, of the request, is over */
	ENDING_MEMORY, /* we ended it: all its processes together used more than its limit */
	ENDING_LEFT,   /* by itself; processes that it left are being killed */
};

struct run_gpu;
struct run_observed;

struct run_task {
	/* From the plan. */
	const struct hes_job *job;
	const char *command;
	struct run_gpu *gpu;
	struct run_place *place; /* in the GPU's queue */
	int64_t planned_start_us, planned_end_us;
	uint64_t planned_mj;
	int64_t limit_us;            /* of an attempt; RUN_NEVER_US: none */
	int64_t expected_end_us;     /* of a running job, when it was last planned around */
	double activity;             /* to split joules by */
	int64_t start_up_us;         /* by its profile; 0: none, or unknown */
	bool unknown;                /* nothing is known of it: it runs alone, without a limit */
	struct hes_run_added *added; /* not from the plan: owns job and command */
	bool unplaced;               /* it was added without a place, and is not planned yet */

	/* plan_again.c, while it places jobs again. */
	size_t index; /* among the tasks */
	const struct run_gpu *before;
	bool was_alone;

	/* The attempt that runs, or ran last. */
	enum run_task_state state;
	struct hes_attempt attempt;
	bool alone; /* it began with its GPU to itself, as the next one may have to */
	double energy_j;
	bool energy_missing;
	struct hes_child child;
	struct hes_progress progress;
	unsigned mps_daemon;  /* that it was started with: 1 is the GPU's first; 0: none */
	int64_t progress_us;  /* when progress was last read; 0: never in this attempt */
	int64_t begun_us;     /* when it was read first; 0 as above */
	double begun_part;    /* of its work, done by then */
	uint64_t output_from; /* bytes of output of earlier attempts */
	int64_t deadline_us, kill_us;
	int64_t stuck_us; /* when a killed job counts as stuck; RUN_NEVER_US: it is not killed */
	bool stuck;       /* killed and still there: its GPU is set aside until it ends */
	enum run_ending ending;
	struct hes_child_end end;
	int64_t ended_us;
	int64_t late_us; /* from its end until this program saw it */
	enum hes_verdict verdict;
	/* gpu_memory.c: what it has on its GPU, all its processes together. */
	uint32_t limit_mib;              /* of memory, behind MPS; 0: none */
	uint32_t most_mib, contexts;     /* most that were seen */
	enum run_lack lack;              /* what it did not get, when it failed */
	char seen[HES_JOURNAL_SEEN_MAX]; /* why it ended early, or lacked something; "": neither */

	struct run_observed *observed; /* solo_point.c: alone on its GPU; NULL: nothing was seen */

	const char *excuse; /* of HES_VERDICT_CO_FAILED: what failed, "its MPS server ended" */
	size_t outside;     /* contexts that may do its work, seen at its end (outside.c) */
	bool waits_outside; /* it had to wait for outside.c; reported */
	bool held;          /* it had to wait for the power cap; reported */
	bool over;          /* with the verdict: not tried again */
	bool decided;       /* over is known and reported */

	/* All attempts. */
	unsigned tries;
	uint64_t iterations; /* of the last that ended in this session, by its progress lines; 0:
				none seen */
	uint64_t began;   /* start of the process of its first attempt, clock ticks since boot; 0:
			     none in this boot */
	unsigned charged; /* failures of its own in this life of the run */
	unsigned co_failures;   /* failures with others */
	unsigned killed_starts; /* killed before the command ran */
};

/* Progress of a job within a segment: iterations between two of its lines. */
struct run_rate {
	const struct run_task *task;
	bool seen;
	bool learnt;               /* there is a sample of it */
	int64_t first_us, last_us; /* when they were read */
	double first_s, last_s;    /* what they say; NaN: nothing */
	uint64_t first, last;
};

/* A stretch of time with the same jobs and clock on a GPU. */
struct run_segment {
	int64_t start_us, end_us;
	uint32_t clock_mhz; /* set; 0: none */
	bool settled;       /* all jobs make progress */
	uint32_t n;
	struct run_rate rates[HES_MAX_SHARING];
	bool has_energy;
	double energy_j;
	double seconds; /* of the meter */
};

/* account.c */
struct run_energy {
	size_t metered; /* index in the meter */
	struct hes_measured last;
	double busy_j, idle_j, busy_s;
	double meter_j; /* since this process began: busy and idle */
	bool missing;   /* no reading since last */
	bool lost_busy; /* jobs ran meanwhile */
	struct run_segment now;
	struct run_segment *segments;
	size_t n_segments;
};

/* settings.c */
struct run_lock {
	uint32_t mhz; /* locked; 0: not */
	bool refused;
	bool missed;       /* not held; reported */
	bool foreign;      /* the same, where this run has locked none */
	uint32_t low_mhz;  /* of the last look, without a lock and below the plan's clock */
	int64_t verify_us; /* when to read the clock back */
};

/* settings.c */
struct run_mps {
	bool wanted; /* the plan shares this GPU */
	bool on;
	bool refused;
	bool due;  /* to be started before the next job */
	bool late; /* wanted since jobs were added: starts when jobs that run without it have ended
		    */
	struct hes_mps daemon;
	char folder[HES_MPS_PATH_MAX];
	unsigned gone; /* daemons that ended or did not answer */
};

/* verdict.c: jobs that ran together when one of them failed, while the cause is not known. */
struct run_trial {
	bool open;
	int64_t from_us, until_us;
	struct run_task *v[HES_MAX_SHARING];
	uint32_t n;
};

struct run_gpu {
	const struct hes_gpu *planned; /* of the fleet */
	size_t device;
	struct hes_device_info info;
	struct run_queue queue;
	double planned_most_w;  /* with a power cap: highest sum of the activities that the plan has
				   at a time */
	struct hes_run_gpu row; /* what was planned, as the journal has it */
	struct hes_run_gpu before; /* what earlier lives of the run measured */
	struct run_task *running[HES_MAX_SHARING];
	uint32_t n_running;
	bool exclusive; /* it takes one process at a time, or one MPS server */
	struct run_lock lock;
	struct run_mps mps;
	struct run_trial trial;
	struct run_energy energy;
	struct hes_contexts contexts; /* gpu_memory.c: of the last look, since jobs last left */
	bool lost;                    /* cannot be used: its jobs move, or wait for --resume */
	bool unmoved_reported;        /* why its jobs do not move; lost_gpus.c */
	bool emptied;   /* it cannot be used, and its jobs were planned again; plan_again.c */
	bool absent;    /* lost from the start of this process, which has no device for it */
	unsigned stuck; /* jobs there that are killed and do not end; nothing starts there */
	bool closed;    /* all jobs are over, the GPU is restored */
};

/** As the journal has it: a job of which nothing is known has no planned time. */
static inline int64_t run_planned_end_us(const struct run_task *t)
{
	return t->unknown ? t->planned_start_us : t->planned_end_us;
}

static inline const char *run_gpu_name(const struct run_gpu *g)
{
	return g->planned->name;
}

#endif
