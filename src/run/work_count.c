/*
 * work_count.c - the work that a task has done; see work_count.h.
 */
#include "run/work_count.h"

#include <math.h>
#include <unistd.h>

#include "run/run_files.h"

struct run_count run_count_of(const struct run_task *t, int64_t now)
{
	uint64_t n;

	if (t->progress.known)
		return (struct run_count){ RUN_COUNT_PROGRESS, t->progress.iterations,
					   t->moved_us };
	if (run_launches_read(t->launches_fd, &n) && n)
		return (struct run_count){ RUN_COUNT_LAUNCHES, n, task_ran_us(t, now) };
	return (struct run_count){ RUN_COUNT_NONE, 0, task_ran_us(t, now) };
}

void run_launches_close(struct run_task *t)
{
	if (t->launches_fd >= 0)
		close(t->launches_fd);
	t->launches_fd = -1;
}

double run_count_rate(const struct run_count *from, const struct run_count *to)
{
	if (to->source == RUN_COUNT_NONE || from->source != to->source || to->n < from->n ||
	    to->ran_us <= from->ran_us)
		return NAN;
	return (double)(to->n - from->n) / ((double)(to->ran_us - from->ran_us) * 1e-6);
}
