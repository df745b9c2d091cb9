/*
 * session.h - inside of src/profile: the state of one GPU, and the state that all GPUs share.
 */
#ifndef HES_PROFILE_SESSION_H
#define HES_PROFILE_SESSION_H

#include <pthread.h>

#include "base/hash_map.h"
#include "heshare/measure.h"
#include "heshare/profiler.h"
#include "profile/lane.h"

#define SESSION_WINDOWS 64 /* most windows of a point */

/** The sequences of one type of GPUs, and the next one to run. */
struct work {
	const struct hes_sequences *sequences;
	size_t next;
};

/** Shared by all GPUs. @lock guards what changes. */
struct profiling {
	const struct hes_profiler *p;
	pthread_mutex_t lock;
	pthread_mutex_t guard_lock;
	struct hes_guard *guard;
	struct hes_meter *meter;  /* of all GPUs; has its own lock */
	struct hes_hash_set seen; /* settings that are measured, or failed */
	struct work *work;        /* one a type */
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
	struct lane lanes[HES_MAX_SHARING];
	size_t n;            /* lanes that run */
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
/** Report progress, with a note or NULL. */
void profiling_report(struct profiling *all, const char *note);

/** Count points to measure, and known points; the lock is held, or no threads run yet. @return 0;
 * -ENOMEM */
int profiling_count(struct profiling *all, size_t *there);

/** The setting of a sequence's stage at a clock; the order of the jobs does not matter. */
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
/**
 * Wait until @until_s, and until every job has @marks marks.
 * @return 0; 1 stopped; -ETIME a job makes no progress; -ECHILD it failed
 */
int session_wait(struct session *s, double until_s, uint64_t marks, struct hes_err *err);

#endif
