/*
 * lane.h - a process of a job: started ahead, stopped until its turn, kept running while it is
 * measured; and its speed.
 *
 * A job that ends with success is started again. It prints progress lines "heshare: N iterations"
 * or "heshare: N iterations in T s"; N and T count from its start, T by its own clock. A job
 * without progress lines counts by the ends of its runs. One thread uses a lane.
 */
#ifndef HES_PROFILE_LANE_H
#define HES_PROFILE_LANE_H

#include <pthread.h>

#include "heshare/profiler.h"
#include "launch/guard.h"
#include "launch/progress.h"

#define LANE_LINE_MAX (HES_PROGRESS_LINE_MAX + 1)

/** What the lanes of one GPU share. */
struct lane_host {
	struct hes_guard *guard;
	pthread_mutex_t *guard_lock; /* one thread at a time uses a guard */
	const struct hes_mps *mps;   /* NULL: no MPS, so no shares */
	char uuid[80];
};

/** The progress of a job at one moment. */
struct lane_mark {
	double at_s;         /* on our clock */
	double own_s;        /* on the job's clock; NaN: not printed */
	uint64_t iterations; /* of this run; of all runs if runs are counted */
	unsigned run;
};

enum lane_state {
	LANE_NONE,    /* no process */
	LANE_AHEAD,   /* it starts while others are measured, or failed to */
	LANE_STOPPED, /* stopped, at a progress line when it was started ahead */
	LANE_ON,      /* it runs to be measured */
};

struct lane {
	enum lane_state state;
	const struct lane_host *host;
	const struct hes_profiled *job;
	uint32_t sm_pct;
	struct hes_child child;
	int fd; /* pipe with its output; -1: none */
	size_t used;
	char line[LANE_LINE_MAX];
	char last_line[LANE_LINE_MAX]; /* of its output, progress lines left out */
	unsigned runs;
	struct hes_count_pattern pattern;
	struct hes_progress_count count; /* of this run's lines */
	uint64_t bytes;                  /* of output so far */
	uint64_t lines; /* progress lines so far, also those that are not counted */
	uint64_t marks; /* number of marks so far */
	struct lane_mark last;
	double moved_s; /* when it last made progress, or started */
	/* Of its first run, NaN: not known: seconds from its start to its first use of the GPU, and
	 * to its first progress. */
	double begun_s, first_use_s, start_s;
	bool was_stopped; /* it was stopped, and went on */
	bool warm;        /* it has been measured */
	bool sought;      /* its first use of the GPU, also after its first progress */
	bool broken; /* its command cannot be run, or prints no progress: no other run will help
		      */
	int status;  /* of a first run that failed without progress, 128 + N for signal N; else 0 */
	int failed;  /* -errno of a start ahead, for the reason @why */
	struct hes_err why;
	/* The window: sums between its marks. */
	double since_s;
	double iterations, seconds;
	unsigned gaps;
};

/** Start the job. @l: host, job, sm_pct and state are set. @return 0; -errno, and nothing runs */
int lane_start(struct lane *l, double now_s, struct hes_err *err);
/**
 * Read its output, and start it again if it ended.
 * @return 0; -ECHILD it failed; -errno it could not be started again
 */
int lane_look(struct lane *l, double now_s, struct hes_err *err);
/**
 * Fail because of missing progress, with what helps to find out why: which line is expected, what
 * came, and what holds output back.
 * @param what  such as "has made no progress for 120 s"
 */
int lane_no_progress(const struct lane *l, int rc, const char *what, struct hes_err *err);
/** Stop it until its turn. What it has printed is read before. @return 0; as hes_child_stop(): it
 * is to be ended, because some of its processes may work on */
int lane_stop(struct lane *l, double now_s);
/** Let it go on. The time in which it was stopped belongs to no window. */
void lane_continue(struct lane *l, double now_s);
/** Count from now on: earlier marks belong to no window. */
void lane_settle(struct lane *l, double now_s);
/** Begin a window. The time between the last mark before it and its first mark belongs to it. */
void lane_window(struct lane *l);
/**
 * End @n jobs of a GPU. MPS clients stop their work before they are killed. Harmless on lanes
 * without a job.
 * @return 0; -EBUSY a job cannot be killed: its undo entry stays, and the GPU must not be used
 */
int lanes_end(struct lane *const *l, size_t n, struct hes_err *err);

#endif
