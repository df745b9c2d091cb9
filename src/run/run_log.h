/*
 * run_log.h - what a run writes into the journal and reports to its listener.
 *
 * Every act is in the journal before it is done. While the journal cannot be written the run is
 * paused: nothing starts.
 */
#ifndef HES_RUN_RUN_LOG_H
#define HES_RUN_RUN_LOG_H

#include "heshare/run.h"
#include "launch/job_files.h"
#include "run/run_clock.h"

#define RUN_RETRY_US   1000000
#define RUN_BLOCKED_US 600000000 /* after so long without a job that runs, the run gives up */
#define RUN_STOP_US    5000000   /* the same once it is stopped */

struct run_log {
	const struct hes_run_listener *listener;
	struct hes_journal *journal;
	struct hes_run *run;
	const struct run_clock *clock;
	const struct hes_job_folder *folder; /* of the jobs' files */
	int64_t retry_us; /* when to try again what could not be done; RUN_NEVER_US: nothing waits
			   */
	bool paused;      /* until retry_us */
	bool pause_reported;
	int64_t blocked_us;    /* since when something cannot be done while no job runs;
				  RUN_NEVER_US: all can */
	char why[HES_ERR_MAX]; /* the last that could not be done */
};

/** Report a sentence to the listener. */
void run_tell(const struct run_log *l, const char *fmt, ...) HES_PRINTF(2, 3);
/** Write an act into the journal and report it. @gpu, @job: names; NULL where there is none */
int run_act(struct run_log *l, const char *gpu, const char *job, struct hes_err *err,
	    const char *fmt, ...) HES_PRINTF(5, 6);
/** Something could not be done for now: try again in a second. */
void run_retry(struct run_log *l, const struct hes_err *err);
/** The journal could not be written: pause the run, try again in a second. */
void run_pause(struct run_log *l, const struct hes_err *err);
/** The journal was written: the pause is over. */
void run_go_on(struct run_log *l);
/**
 * Count the time in which something cannot be done and no job runs.
 * @param runs  jobs run
 * @return 0; -ETIME it is too long: the run gives up
 */
int run_blocked(struct run_log *l, bool runs, bool stopping, struct hes_err *err);

#endif
