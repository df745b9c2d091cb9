/*
 * run_state.h - a run in progress: its jobs, GPUs and counts.
 *
 * run.c makes it and takes it apart. loop.c waits for events, start_jobs.c starts jobs, children.c
 * ends and reaps them, added.c takes jobs that are added, live.c publishes the state, verdict.c
 * finds out why jobs failed, lost_gpus.c moves jobs of GPUs that are lost, result.c writes results,
 * resume.c takes over what an earlier process did.
 */
#ifndef HES_RUN_RUN_STATE_H
#define HES_RUN_RUN_STATE_H

#include "run/power_cap.h"
#include "run/settings.h"

struct run_counts {
	size_t done, failed, early, running;
	size_t stuck;               /* of those that run: killed and do not end */
	double planned_us, took_us; /* sums over the jobs that are done */
};

/* loop.c */
struct run_events {
	int epoll, signals;
	unsigned stopping; /* signals that came */
	int64_t look_us;   /* when to read progress */
	int64_t woken_us;  /* when the last event came */
};

#define RUN_WHY_MAX 120

/* plan_again.c */
struct run_replanning {
	bool due;
	char why[RUN_WHY_MAX];
	int64_t not_before_us, idle_not_before_us; /* the latter while a GPU has nothing to do */
	bool failed;                               /* the last time; reported */
	struct run_planning *planning;             /* a plan that is being made */
	bool made;                                 /* it is made, and not taken yet */
};

struct runner {
	const struct hes_run_request *q;
	struct hes_job_folder folder; /* of the jobs' files */
	struct run_clock clock;
	struct run_log log;
	struct run_meter meter;
	struct run_settings settings;
	struct run_cap cap;
	struct run_gpu *gpus;
	size_t n_gpus;
	struct run_task *
		*tasks; /* of the plan, then those that were added, in the order of the journal */
	size_t n_tasks;
	struct run_task **ended; /* not in the journal yet */
	size_t n_ended;
	int64_t added;          /* id of the last added job among the tasks */
	bool added_unconfirmed; /* the journal does not say so yet */
	struct run_counts counts;
	struct run_replanning replanning;
	const char *unmatched; /* pattern of progress lines that was last said to match none */
	/* run_samples.c */
	struct hes_samples samples; /* measured in this session */
	size_t samples_kept;        /* of these, in the store */
	int64_t samples_us;         /* when to look for samples */
	int64_t origin; /* of points and samples of this session in the store; 0: none yet */
	struct run_events events;
	struct hes_undone repaired; /* what an earlier process had left */
	bool begun;                 /* the first jobs were started */
	bool start_reported;
};

#endif
