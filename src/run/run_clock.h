/*
 * run_clock.h - the time of a run, in microseconds since its first jobs started, over all processes
 * that carry it out.
 */
#ifndef HES_RUN_RUN_CLOCK_H
#define HES_RUN_RUN_CLOCK_H

#include <stdint.h>

#include "heshare/journal.h"
#include "launch/job_files.h"

#define RUN_NEVER_US INT64_MAX

struct run_clock {
	double mono_s; /* the monotonic clock when the run was at offset_us */
	int64_t offset_us;
	int64_t woken_us; /* when the last event came, by run_clock_wake() */
	int64_t boot_us;  /* since the machine's start, when the run was at 0; RUN_NEVER_US: not
			     known */
};

static inline int64_t run_sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t run_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t run_now_us(const struct run_clock *c);
/** An event has come. @return the time */
int64_t run_clock_wake(struct run_clock *c);

/** The first jobs of a new run start now: its time is 0. Keeps the moment in @folder for those who
 * resume the run. */
void run_clock_begin(struct run_clock *c, const struct hes_job_folder *folder, const char *boot);
/** Read the moment that run_clock_begin() kept, if the machine, with start @boot, has not
 * restarted. */
void run_clock_load(struct run_clock *c, const struct hes_job_folder *folder, const char *boot);
/** Time of the run at a moment by both clocks; @boot_us 0: not known. */
int64_t run_clock_at(const struct run_clock *c, const struct hes_run *run, int64_t wall_us,
		     int64_t boot_us);
/** Go on at the present time, or at @last_us where the clock was set back. @return whether it was
 */
bool run_clock_resume(struct run_clock *c, const struct hes_run *run, int64_t last_us);

#endif
