/*
 * session.h - inside of src/profile: one GPU while it is profiled, and what the GPUs share.
 */
#ifndef HES_PROFILE_SESSION_H
#define HES_PROFILE_SESSION_H

#include <pthread.h>

#include "heshare/measure.h"
#include "heshare/profiler.h"
#include "profile/lane.h"

#define SESSION_WINDOWS 64 /* of a point at most */

/** Settings that are measured, or are being: hashes, 0 is free. */
struct settings {
	uint64_t *v;
	size_t    n, room;
};

/** What is left to do for one type of GPUs. */
struct work {
	const struct hes_towers *towers;
	size_t                   next;
};

/** What all GPUs share; one thread at a time, by lock, but for what is constant. */
struct profiling {
	const struct hes_profiler  *p;
	pthread_mutex_t             lock;
	pthread_mutex_t             guard_lock;
	struct hes_guard           *guard;
	struct hes_meter           *meter;     /* of all GPUs that are profiled; has a lock of its own */
	struct settings             seen;
	struct work                *work;      /* one a type */
	struct hes_profiler_told    told;
	struct hes_profiled_result  result;
	double                      start_s;
	bool                        clocks;    /* may be locked, as far as is known */
	int                         rc;        /* of keep */
	struct hes_err              err;
};

struct session {
	struct profiling          *all;
	struct work               *work;
	size_t                     gpu;        /* its index among the machine's GPUs, ... */
	size_t                     at;         /* ... and among those that are profiled */
	char                       uuid[80];
	const struct hes_gpu_type *type;
	struct hes_mps             mps;
	bool                       has_mps;
	struct lane_host           host;
	struct lane                lanes[HES_MAX_SHARING];
	size_t                     n;          /* lanes that run */
	uint32_t                   locked_mhz; /* 0: not */
	uint64_t                   idle_bytes; /* device memory before any job */
	bool                       idle_known;
	pthread_t                  thread;
};

bool   profiling_stopped(struct profiling *all);
/** Tell a note, once said; NULL: only how far it is. */
void   profiling_tell(struct profiling *all, const char *note);

/** Count what is left to measure, and what is there; with the lock, or before there are threads. @return 0; -ENOMEM */
int    profiling_count(struct profiling *all, size_t *there);

/** The setting of a tower's jobs at a stage and a clock, whatever their order. */
uint64_t setting_of(const struct profiling *all, const struct hes_gpu_type *type, const struct hes_tower *t,
		    struct hes_stage stage, uint32_t clock_mhz);
/** That of a row. */
uint64_t setting_of_point(const struct hes_point *p);
/** @return 1 it is new, and in; 0 it was there; -ENOMEM */
int  settings_add(struct settings *s, uint64_t setting);
bool settings_has(const struct settings *s, uint64_t setting);

/** Work on towers until there are none or it is stopped. What it started and changed is undone. */
void session_run(struct session *s);

/** Measure the jobs that run at the clock that is set. @return 0 and one row a job; 1 stopped; -errno */
int  session_measure(struct session *s, uint32_t clock_mhz, struct hes_point *rows, bool *steady, struct hes_err *err);
/** Let jobs run until then, or all have made @marks marks. @return 0; 1 stopped; -ETIME a job makes no progress; -ECHILD it failed */
int  session_wait(struct session *s, double until_s, uint64_t marks, struct hes_err *err);

#endif
