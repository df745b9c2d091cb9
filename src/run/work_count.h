/*
 * work_count.h - how much work a task has done, as far as it can be seen: by its progress lines,
 * else by the launches that its processes made.
 *
 * Counts of one source are compared only with counts of the same task. They have no meaning between
 * jobs.
 */
#ifndef HES_RUN_WORK_COUNT_H
#define HES_RUN_WORK_COUNT_H

#include "run/run_task.h"

enum run_count_source {
	RUN_COUNT_NONE,     /* nothing is seen: the job is known by whole runs alone */
	RUN_COUNT_PROGRESS, /* iterations, by its lines */
	RUN_COUNT_LAUNCHES, /* launches of kernels and graphs, by the preload library */
};

struct run_count {
	enum run_count_source source;
	uint64_t n;     /* since the attempt began; 0 without a source */
	int64_t ran_us; /* task_ran_us() when @n was reached */
};

/** Call run_look() (account.h) before it, to have the lines so far. */
struct run_count run_count_of(const struct run_task *t, int64_t now);

/** Forget the launches of an attempt. */
void run_launches_close(struct run_task *t);

/** Work a second from @from to @to. @return NaN: other sources, no time between them, or nothing is
 * seen */
double run_count_rate(const struct run_count *from, const struct run_count *to);

#endif
