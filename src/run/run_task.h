/*
 * run_task.h - the tasks of a run and the states that they go through. A task is a job, of the plan
 * or added later, on this machine.
 *
 * The state of a task is private to run_task.c: other files read it by task_state() and change it
 * by the transitions below, each of which also changes the counts and the task's place in its
 * queue. A cell of the table below is the state that follows; an empty one is refused, and the task
 * stays as it is.
 *
 * A held task is released before it is requested to end, and when its processes have ended.
 *
 * To add a state, such as one of a task that waits for the rest of its gang: a row here and in enum
 * task_state; its transitions in run_task.c; what admit.h is to see in place_state(), so that the
 * queue passes it over; what the journal has of it, if it outlives the runner. A task that ends
 * early for a reason of the runner's is a verdict (verdict.c), no state.
 */
#ifndef HES_RUN_RUN_TASK_H
#define HES_RUN_RUN_TASK_H

#include "heshare/run.h"
#include "launch/launch.h"
#include "launch/progress.h"
#include "learn/learn.h"
#include "run/admit.h"
#include "run/failure_rules.h"
#include "run/run_clock.h"

/* clang-format off */
/*
 *          go                end     judge   settle  restore
 *  WAITING FORKED                    JUDGED          DONE, EARLY
 *  FORKED  WAITING, RUNNING          JUDGED
 *  RUNNING HELD, STUCK       ENDED
 *  HELD    RUNNING
 *  STUCK                     ENDED
 *  ENDED                             JUDGED
 *  JUDGED                                    (*)
 *
 *  (*) WAITING, DONE, FAILED, EARLY
 */
/* clang-format on */
enum task_state {
	TASK_WAITING, /* in its GPU's queue */
	TASK_FORKED,  /* its process is made and paused: nothing of the job runs */
	TASK_RUNNING,
	TASK_HELD,   /* its processes stand still; it keeps its memory (hold.h) */
	TASK_STUCK,  /* killed and still there: its GPU is set aside until it ends */
	TASK_ENDED,  /* no verdict yet */
	TASK_JUDGED, /* its verdict is not in the journal yet */
	TASK_DONE,
	TASK_FAILED, /* given up */
	TASK_EARLY,  /* ended early: not tried again */
};

enum run_ending {
	ENDING_OWN,     /* by itself */
	ENDING_TIMEOUT, /* we ended it */
	ENDING_STOP,
	ENDING_OVER,   /* we ended it: its time, of the request, is over */
	ENDING_MEMORY, /* we ended it: all its processes together used more than its limit */
	ENDING_LEFT,   /* by itself; processes that it left are being killed */
};

struct run_gpu;
struct run_observed;

#define RUN_HOLD_WHY 120

/* What a task drew above idle while it had its GPU to itself, after its start. */
struct run_alone_power {
	double joules, seconds;
	uint32_t sm_pct; /* its share then */
};

/* The holds of an attempt. */
struct run_hold {
	int64_t wanted_us;      /* when that was requested; 0: it was not, or is done */
	int64_t look_us;        /* when to look for a good moment */
	int64_t since_us;       /* valid while it is held */
	int64_t before_us;      /* how long, in holds that are over */
	bool suspected;         /* a co-runner seemed to stall in the last one */
	bool refused;           /* it may not be held, or cannot be */
	char why[RUN_HOLD_WHY]; /* a clause */
};

/* job_clock.c */
struct run_job_clock {
	bool on;                        /* its clock is looked for; planned_mhz is valid */
	bool settled, reported;         /* it is found; and reported */
	bool without_progress;          /* it was alone for long and showed no progress */
	uint32_t planned_mhz;           /* of its place before */
	uint32_t trying_mhz;            /* of the experiment that goes on; 0: none */
	int64_t from_us;                /* windows count from here on */
	struct learn_clocks of_attempt; /* of a job without progress lines or iterations: what it
				    counts compares only with the same attempt */
};

/* job_floor.c: since when its speed counts */
struct run_floor {
	uint64_t from; /* iterations */
	double from_s; /* by its lines; NaN: they have no time */
	int64_t from_us, segment_us;
	int64_t given_up; /* the attempt that cannot be compared with its speed alone; 0: none */
	struct run_floor_window {
		uint64_t from; /* as above */
		double from_s;
		int64_t from_us, attempt; /* 0: none is open */
	} window;
};

struct run_task {
	/* From the plan. */
	const struct hes_job *job;
	const char *command;
	struct run_gpu *gpu;
	struct run_place *place; /* in the GPU's queue */
	int64_t planned_start_us, planned_end_us;
	int64_t limit_us;            /* of an attempt; RUN_NEVER_US: none */
	int64_t expected_end_us;     /* of a running job, when it was last planned around */
	double time_error;           /* its planned time may be off by this part; 0: not known */
	struct learn_share share;    /* what its share makes of it alone */
	bool surprised, replanned;   /* it was off by more; then what waited was planned again */
	bool set_changed;            /* this run let a co-runner in, or held one or the task */
	double activity;             /* to split joules by; 0: no profile says it */
	int64_t start_up_us;         /* by its profile; 0: none, or unknown */
	bool unknown;                /* nothing is known of it: it runs alone, without a limit */
	struct hes_run_added *added; /* not from the plan: owns job and command */
	bool unplaced;               /* it was added without a place, and is not planned yet */

	/* run_place.c, while it places jobs again. */
	size_t index; /* among the tasks */
	const struct run_gpu *before;
	bool was_alone;

	/* The attempt that runs, or ran last. */
	struct hes_attempt attempt;
	bool alone; /* it began with its GPU to itself, as the next one may have to */
	double energy_j;
	bool energy_missing;
	bool energy_split; /* in part by another measure than activities of profiles */
	struct hes_child child;
	struct hes_progress progress;
	int launches_fd;            /* file that counts its launches; -1: none */
	unsigned mps_daemon;        /* that it was started with: 1 is the GPU's first; 0: none */
	int64_t progress_us;        /* when progress was last read; 0: never in this attempt */
	int64_t begun_us, moved_us; /* first and last time of that, as task_ran_us(); 0 as above */
	double begun_part;          /* of its work, done by then */
	uint64_t output_from;       /* bytes of output of earlier attempts */
	int64_t deadline_us, kill_us;
	int64_t stuck_us; /* when a killed job counts as stuck; RUN_NEVER_US: it is not killed */
	enum run_ending ending;
	struct hes_child_end end;
	int64_t ended_us;
	int64_t late_us; /* from its end until this program saw it */

	/* hold.c: of the attempt. */
	struct run_hold hold;

	/* verdict.c */
	enum hes_verdict verdict;
	const char *cause; /* of HES_VERDICT_CO_FAILED: what failed, "its MPS server ended" */
	bool over;         /* with the verdict: not tried again */
	bool decided;      /* over is known and reported */

	/* gpu_memory.c: what it has on its GPU, all its processes together. */
	uint32_t limit_mib;              /* of memory, behind MPS; 0: none */
	uint32_t most_mib, contexts;     /* most that were seen */
	enum run_lack lack;              /* what it did not get, when it failed */
	char seen[HES_JOURNAL_SEEN_MAX]; /* why it ended early, or lacked something; "": neither */

	struct run_job_clock clock;
	struct run_floor floor;
	struct run_observed *observed; /* solo_point.c: alone on its GPU; NULL: nothing was seen */
	size_t outside;     /* contexts that may do its work, seen at its end (outside.c) */
	bool waits_outside; /* it had to wait for outside.c; reported */
	bool waited_power;  /* it had to wait for the power cap; reported */

	/* All attempts. */
	struct run_alone_power alone_power; /* account.c */
	struct hes_run_job_record record;
	bool stalls_others; /* co-runners stalled while it was held: its workload is not held again
			     */
	uint64_t began;     /* start of the process of its first attempt, clock ticks since boot; 0:
			       none in this boot */
	unsigned charged;   /* failures of its own in this life of the run */
	unsigned co_failures;   /* failures with others */
	unsigned killed_starts; /* killed before the command ran */
};

/** All tasks of a run. Read its members; run_task.c alone changes them. */
struct run_tasks {
	struct run_task **v; /* of the plan, then those that were added, in the order of the
				journal */
	size_t n, room;
	struct run_task **ended; /* ENDED and JUDGED ones, in the order of their ends */
	size_t n_ended;
	size_t done, failed, early, running; /* how many; running: HELD and STUCK ones, too */
	size_t stuck;
	double planned_us, took_us; /* sums over the tasks that are done */
};

/** Requests to stop the run: then no task starts any more. */
struct run_stop {
	unsigned signals; /* that came, or other requests */
};

/* --- tasks --- */

/** Room for @n more. @return 0; -ENOMEM */
int run_tasks_grow(struct run_tasks *ts, size_t n, struct hes_err *err);
/** A new task that waits, behind the others. @return NULL: no memory, or no room */
struct run_task *run_tasks_add(struct run_tasks *ts);
/** Free all, and what they own; processes must be gone. */
void run_tasks_free(struct run_tasks *ts);
/** Those that are neither done, failed nor ended early. */
size_t run_tasks_left(const struct run_tasks *ts);

/* --- states --- */

enum task_state task_state(const struct run_task *t);
/** RUNNING, HELD or STUCK: it has processes. */
bool task_runs(const struct run_task *t);

/* Transitions. @return whether the table has it; else nothing changes. */

/** To FORKED, its process is made; to WAITING, that is killed before it ran anything; to RUNNING,
 * it is let go, or goes on; to HELD, its processes stand still; to STUCK, it was killed long ago
 * and does not end. */
bool task_go(struct run_tasks *ts, struct run_task *t, enum task_state to);
/** Its processes have ended. */
bool task_end(struct run_tasks *ts, struct run_task *t);
/** It has a verdict. A task that cannot be started has one, too. */
bool task_judge(struct run_tasks *ts, struct run_task *t, enum hes_verdict verdict);
/** The verdict of a judged task is in the journal: it is over if task.over says so, else tried
 * again. It leaves the list of ended tasks with run_tasks_close_ranks(). */
bool task_settle(struct run_tasks *ts, struct run_task *t);
/** A run is resumed: the journal, or a status file, has the task as done, or else as ended early.
 */
bool task_restore(struct run_tasks *ts, struct run_task *t, bool done);

/** Remove settled tasks from the list of ended ones. */
void run_tasks_close_ranks(struct run_tasks *ts);

/* --- what follows from its data --- */

/** Waits for its start, and its process is not made. */
static inline bool task_waits(const struct run_task *t)
{
	return task_state(t) == TASK_WAITING;
}

static inline int64_t task_planned_us(const struct run_task *t)
{
	return t->planned_end_us - t->planned_start_us;
}

/** As the journal has it: a job of which nothing is known has no planned time. */
static inline int64_t task_journal_end_us(const struct run_task *t)
{
	return t->unknown ? t->planned_start_us : t->planned_end_us;
}

/** Watts above idle by which the joules of a task are split: by its profile, else as it drew alone,
 * times its share's part; 0: neither is known. */
double task_activity(const struct run_task *t);
/** How long its attempt has run at @at, without the time in which it was held. */
int64_t task_ran_us(const struct run_task *t, int64_t at);
/** The part of its work that a running job has done, by its progress; below 0: not known. */
double task_part_done(const struct run_task *t);
/** The time that is left to a running job, by its progress, else by the plan; below 0: it runs
 * longer than planned. */
int64_t task_left_us(const struct run_task *t, int64_t now);
/** Whether a running job has not begun to work, by its progress and its profile. */
bool task_is_starting(const struct run_task *t, int64_t now);

#endif
