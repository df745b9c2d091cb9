/*
 * session.h - inside of src/profile: the state of one GPU with its processes, and the state that
 * all GPUs share.
 */
#ifndef HES_PROFILE_SESSION_H
#define HES_PROFILE_SESSION_H

#include <pthread.h>

#include "base/hash_map.h"
#include "core/co_run_text.h"
#include "heshare/measure.h"
#include "heshare/profiler.h"
#include "launch/contexts.h"
#include "profile/lane.h"

#define SESSION_POOL  (HES_PROFILER_AHEAD + HES_MAX_SHARING)
#define SESSION_QUEUE 16 /* sequences that a GPU has taken */
#define SESSION_AHEAD 64 /* sequences for which a process is kept */

/** The sequences of one type of GPUs. */
struct work {
	const struct hes_sequences *sequences;
	bool *taken; /* by a GPU */
	size_t next; /* all before it are taken */
	size_t gpus;
};

/** What is known of a job. */
struct job_facts {
	uint32_t memory_mib; /* device memory of one process; 0: unknown */
	bool works;          /* it has made progress */
	bool fails_ahead; /* it failed, or its co-runners, or cannot be stopped: it starts when it
			     is its turn */
};

/** Shared by all GPUs. @lock guards what changes. */
struct profiling {
	const struct hes_profiler *p;
	pthread_mutex_t lock;
	pthread_mutex_t guard_lock;
	struct hes_guard *guard;
	struct hes_meter *meter;    /* of all GPUs; has its own lock */
	struct hes_window *whole;   /* since its start */
	struct hes_measured *spent; /* in it, by each GPU until its latest point, or its end */
	struct hes_hash_set seen;   /* settings that are measured, or failed */
	struct work *work;          /* one a type */
	struct job_facts *facts;    /* one a job */
	struct hes_profile_progress progress;
	struct hes_profiled_result result;
	double start_s;
	bool clocks; /* clocks can be locked, as far as is known */
	int rc;      /* of p->keep */
	struct hes_err err;
};

struct session {
	struct profiling *all;
	struct work *work;
	size_t gpu; /* index among the GPUs of the machine */
	size_t at;  /* index among the GPUs that are profiled */
	char uuid[80];
	const struct hes_gpu_type *type;
	struct hes_mps mps;
	bool has_mps;
	struct lane_host host;
	struct lane pool[SESSION_POOL];
	struct lane *lanes[HES_MAX_SHARING]; /* those that are measured */
	size_t n;
	const struct hes_sequence *queue[SESSION_QUEUE]; /* taken, still to run */
	size_t n_queue;
	const struct hes_profiled *failing; /* its last starts alone failed with this status */
	int failing_status;
	unsigned failures;
	bool alone;     /* nothing but what is measured runs or is kept */
	double quiet_s; /* nothing is measured before */
	struct hes_contexts contexts;
	double contexts_s;   /* when they were last looked at */
	uint32_t locked_mhz; /* 0: not */
	bool missed;         /* it did not hold a lock; reported */
	unsigned left_out;   /* of its readings; reported */
	double looked_s;     /* when the lanes were last looked at */
	double late_s;       /* in this window: longest time without a look that was due */
	bool late;           /* a window was left out for that; reported */
	uint64_t idle_bytes; /* device memory before any job */
	bool idle_known;
	pthread_t thread;
};

bool profiling_stopped(struct profiling *all);
/** Give rows to p->keep, with what all GPUs took so far; @p may be empty. The lock is held.
 * @return 0, or what p->keep returned now or before */
int profiling_keep(struct profiling *all, size_t at, const struct hes_points *p);
/** Report progress, with a note or NULL. */
void profiling_report(struct profiling *all, const char *note);

/** Count points to measure, and known points; the lock is held, or no threads run yet. @return 0;
 * -ENOMEM */
int profiling_count(struct profiling *all, size_t *there);

/** The clock to lock for a clock of a grid or of a point; 0: none, that one is the default. */
uint32_t setting_lock(const struct hes_gpu_type *type, uint32_t clock_mhz);
/** The setting of a sequence's stage at a clock, GPU type and co-run set, as a number that is not
 * 0; the order of the jobs does not matter. */
uint64_t setting_of(const struct profiling *all, const struct hes_gpu_type *type,
		    const struct hes_sequence *t, struct hes_stage stage, uint32_t clock_mhz);
/** The setting of a row of points of a type. */
uint64_t setting_of_point(const struct hes_gpu_type *type, const struct hes_point *p);
/** Run sequences until none is left or the profiler is stopped; then undo all changes. */
void session_run(struct session *s);

/** Measure the running jobs at the present clock. @return 0, with one row for each job, and whether
 * their standard errors are small enough; 1 stopped; -errno */
int session_measure(struct session *s, uint32_t clock_mhz, struct hes_point *rows, bool *sure,
		    struct hes_err *err);
/** Wait until no process starts ahead any more. @return as session_wait() */
int session_await_starts(struct session *s, struct hes_err *err);
/**
 * Wait until @until_s, and until every job has @marks marks.
 * @return 0; 1 stopped; -ETIME a job makes no progress; -ECHILD it failed
 */
int session_wait(struct session *s, double until_s, uint64_t marks, struct hes_err *err);
/** Wait until a window's time is over and every job has made progress in it. @return the same */
int session_pass_window(struct session *s, struct hes_err *err);
/** A look was due every half second: note how much later it came. */
void session_note_look(struct session *s, double now_s);

/** What @t costs until it can be measured: 0 all its processes wait for their turn. */
unsigned pool_cost(struct session *s, const struct hes_sequence *t);
/** Start the processes that @t lacks ahead, and with them those of sequences of the queue, if
 * memory is known and fits. @return 0; -EBUSY a process cannot be ended */
int pool_prepare(struct session *s, const struct hes_sequence *t, struct hes_err *err);
/** The @at-th job of @t joins those that are measured: it goes on, or starts. @return 0; errors of
 * lane_start() and of its start ahead; -EBUSY as above */
int pool_join(struct session *s, const struct hes_sequence *t, uint32_t at, struct hes_err *err);
/** The first of those that are measured leaves: it is stopped if a later sequence needs it and
 * ended else. @return 0; -EBUSY as above */
int pool_leave_first(struct session *s, struct hes_err *err);
/** End all. @return 0; -EBUSY as above */
int pool_end(struct session *s, struct hes_err *err);
/** Look at those that start ahead, and stop them at their first progress. */
void pool_look(struct session *s);
/** How many start ahead; how many wait, these among them. */
size_t pool_starting(const struct session *s);
size_t pool_waiting(const struct session *s);
/** Whether a process has not used the GPU yet. */
bool pool_awaits_use(const struct session *s);
/** Device memory of a process; NaN: NVML does not tell. */
double pool_memory_mib(struct session *s, const struct lane *l);

#endif
