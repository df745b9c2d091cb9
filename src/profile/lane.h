/*
 * lane.h - a job that is kept running while it is measured, and how fast it is.
 *
 * A job that ends well is started again. It tells its progress by lines "heshare: N iterations" or
 * "heshare: N iterations in T s", N and T counted from its start, T by a clock of its own; or it tells
 * nothing, and the end of a run stands for the iterations that were given. One thread uses a lane.
 */
#ifndef HES_PROFILE_LANE_H
#define HES_PROFILE_LANE_H

#include <pthread.h>

#include "heshare/profiler.h"
#include "launch/guard.h"

#define LANE_LINE_MAX 256

/** What lanes of one GPU share. */
struct lane_host {
	struct hes_guard     *guard;
	pthread_mutex_t      *guard_lock;  /* one thread at a time uses a guard */
	const struct hes_mps *mps;         /* NULL: none, no shares */
	char                  uuid[80];
};

/** A moment at which it is known how far the job is. */
struct lane_mark {
	double   at_s;         /* our clock */
	double   own_s;        /* the job's; NaN: it does not say */
	uint64_t iterations;   /* of this run; of all runs where the runs are counted */
	unsigned run;
};

struct lane {
	const struct lane_host    *host;
	const struct hes_profiled *job;
	uint32_t                   sm_pct;
	struct hes_child           child;
	int                        fd;         /* what it prints; -1: none */
	size_t                     used;
	char                       line[LANE_LINE_MAX];
	char                       said[LANE_LINE_MAX]; /* the last line that is no progress */
	unsigned                   runs;
	uint64_t                   marks;      /* all there were */
	struct lane_mark           last;
	double                     moved_s;    /* when it last made progress, or started */
	/* The window: what came between marks since then. */
	double                     since_s;
	double                     iterations, seconds;
	unsigned                   gaps;
};

/** Start the job. @l: host, job and sm_pct are set. @return 0; -errno, and it is no lane */
int  lane_start(struct lane *l, double now_s, struct hes_err *err);
/** Take in what it printed, and start it again if it ended. @return 0; -ECHILD it failed; why it could not be started again */
int  lane_look(struct lane *l, double now_s, struct hes_err *err);
/** Count from this moment on: nothing before it belongs to a window. */
void lane_settle(struct lane *l, double now_s);
/** A new window. What is between the last mark before it and its first belongs to it. */
void lane_window(struct lane *l);
/**
 * End the jobs of a GPU: those of MPS stop their work before they are killed. Harmless on lanes that are none.
 * @return 0; -EBUSY one cannot be killed: it stays with the guard, and the GPU is not to be used
 */
int  lanes_end(struct lane *l, size_t n, struct hes_err *err);

#endif
