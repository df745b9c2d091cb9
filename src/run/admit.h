/*
 * admit.h - choose the jobs of a GPU that may start now, from what runs there. No clock, process or
 * GPU is needed.
 *
 * With a barrier (together is 0) the jobs of a batch run together, and the next batch waits until
 * all have ended. In an open queue a job starts, in order, when its share and memory are free and
 * fewer than `together` jobs run; a job that waits holds up those behind it. Jobs behind one that
 * waits to run alone are backfilled: they start before it where they win more time by that than it
 * loses. What is left of them lets in no others, so that one starts at last. A job that is tried
 * again waits at its old place.
 */
#ifndef HES_RUN_ADMIT_H
#define HES_RUN_ADMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum run_place_state {
	RUN_WAITING,
	RUN_STARTED,
	RUN_HELD, /* it keeps memory and share, and has no say in the clock */
	RUN_OVER, /* done or given up */
};

/** The clock of jobs for which nothing is locked. It is above every clock: planners offer no lock
 * above what a GPU holds by itself. */
#define RUN_UNLOCKED UINT32_MAX

/** A job in a GPU's queue. */
struct run_place {
	void *task;     /* the caller's */
	uint32_t batch; /* ascending */
	uint32_t sm_pct;
	uint32_t clock_mhz;    /* to lock; RUN_UNLOCKED: none */
	uint32_t expected_mhz; /* that the plan counts with where none is locked; 0: not known */
	uint32_t memory_mib;
	uint32_t user; /* whose it is: an MPS daemon serves one user at a time; all the same without
			  MPS */
	bool alone;    /* it is tried again alone */
	bool invited;  /* it starts next to what runs all the same (job_set.c) */
	bool prompt;   /* it has a deadline: none is backfilled before it */
	bool backfilled;  /* set by run_admit_next() */
	int64_t takes_us; /* as planned */
	enum run_place_state state;
};

struct run_queue {
	struct run_place *v;
	size_t n;
	size_t over;         /* all before are over; kept by run_admit_next, as is the next */
	size_t reach;        /* none from here on was ever started */
	uint32_t shares_pct; /* of an open queue: most that the shares of running jobs sum to */
	uint32_t together;   /* 0: a barrier between batches */
	uint32_t memory_mib; /* of the GPU */
	int64_t left_us;     /* the longest of those that run and were not backfilled; 0: unknown */
};

/** @return index of the place to start next, if at all; -1: none may start now */
long run_admit_next(struct run_queue *q);

/**
 * Whether a job has its GPU to itself, all of it: in a batch or queue of its own, or because it is
 * tried again so.
 */
bool run_admit_alone(const struct run_queue *q, const struct run_place *p);

/** The clock for what runs now: the highest that any of it has, which may be RUN_UNLOCKED; 0:
 * nothing runs. */
uint32_t run_admit_clock(const struct run_queue *q);

/** From now on one job of the queue runs at a time. */
void run_admit_one_by_one(struct run_queue *q);

size_t run_admit_running(const struct run_queue *q);

/** Whether everything is over. */
bool run_admit_over(struct run_queue *q);

#endif
