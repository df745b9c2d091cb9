/*
 * work_count.c - the work that a task has done; see work_count.h.
 */
#include "run/work_count.h"

#include <math.h>

struct run_count run_count_of(const struct run_task *t, int64_t now)
{
	if (t->progress.known)
		return (struct run_count){ RUN_COUNT_PROGRESS, t->progress.iterations,
					   t->moved_us };
	return (struct run_count){ RUN_COUNT_NONE, 0, task_ran_us(t, now) };
}

double run_count_rate(const struct run_count *from, const struct run_count *to)
{
	if (to->source == RUN_COUNT_NONE || from->source != to->source || to->n < from->n ||
	    to->ran_us <= from->ran_us)
		return NAN;
	return (double)(to->n - from->n) / ((double)(to->ran_us - from->ran_us) * 1e-6);
}
