/*
 * point_windows.h - the windows of a point, and which of them count. Pure.
 */
#ifndef HES_PROFILE_POINT_WINDOWS_H
#define HES_PROFILE_POINT_WINDOWS_H

#include "heshare/measure.h"
#include "heshare/profiler.h"

#define SERIES_WINDOWS 128 /* at most; half of them at most overlap a start */

struct series_window {
	double iterations[HES_MAX_SHARING], job_s[HES_MAX_SHARING]; /* of each job */
	struct hes_measured gpu;
	double temperature_c; /* at its end; NaN: unknown */
	bool start;           /* it overlaps the start of a process */
};

struct series {
	size_t jobs;
	size_t n;
	uint32_t late; /* windows that do not count */
	struct series_window v[SERIES_WINDOWS];
};

/** The values from window @from on, microseconds of an iteration of @job, or watts where @job is
 * the number of jobs. @return how many */
size_t series_values(const struct series *w, size_t job, size_t from, double out[SERIES_WINDOWS]);

/** Add a window. Of too many that overlap starts the oldest is dropped. */
void series_add(struct series *w, const struct series_window *v);

/**
 * Compare the windows that overlap a start with the others, once there are @least others, which are
 * two or more. All are dropped if the others have standard errors below @error already. Else a
 * window is dropped if a job's time or power differs by more than the variation of the others
 * explains, and all are dropped if a mean of the rest differs by more than the standard errors
 * explain, or by more than @error. Those that stay are marked no more.
 */
void series_compare(struct series *w, size_t least, double error);

/**
 * Windows at the beginning are warm-up as far as the rest has a smaller standard error without them
 * (the marginal standard error rule: White, 1997). At least half of the windows count, and @least.
 * @param se  written: the largest standard error of the jobs' times and of power; NaN: unknown
 * @return the first window that counts
 */
size_t series_from(const struct series *w, size_t least, double *se);

/** Whether the point is complete: no window waits for its comparison, and the standard error @se is
 * small enough or there are @most windows. */
bool series_done(const struct series *w, const struct hes_profile_timing *m, double se);

#endif
