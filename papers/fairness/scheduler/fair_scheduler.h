/*
 * fair_scheduler.h - run the work of tenants of this process in turns, fair in time and in energy.
 *Work is submitted to streams, as in CUDA.
 *
 * It is the scheduling library of Energy-Time Fairness (Liang et al., SEC '23, section 5). Each
 *tenant has streams. Work is submitted to a stream and runs in the order it came (FIFO). Streams of
 *a tenant take turns, one item each. Only one tenant runs at a time. The run queue
 *(heshare/fair_queue.h) says which tenant is next and for how long. Its turn ends when its slice is
 *over or it has no more work; items that run then are completed first. The tenant is charged the
 *measured time (Eq. 16). An item is never interrupted. A long item makes a long turn; later turns
 *of the tenant then start later.
 *
 *	struct hes_fair_cpu cpu = { .workers = 1 };
 *	struct hes_fair_scheduler_config c = {
 *		.queue = { hes_fair_policy_find("etf", NULL), 0.7, 200, 1000000 },     // 200 quanta
 *of 1 ms .executor = &hes_fair_cpu_executor, .executor_config = &cpu,
 *	};
 *	hes_fair_scheduler_create(&c, &s, &err);
 *	hes_fair_scheduler_add(s, &(struct hes_fair_member){ .name = "resnet", .weight = 1, .power_w
 *= 180 }, &tenant, &err); hes_fair_stream_create(s, tenant, &stream, &err);
 *	hes_fair_stream_submit(stream, &(struct hes_fair_work){ .run = infer, .arg = request },
 *&err); hes_fair_stream_sync(stream, &err); hes_fair_scheduler_destroy(s);
 *
 * Threads: any thread may call any function at any time, with the exceptions below. Functions of
 *work (run, done) may submit, but must not wait for the scheduler: no sync, remove or destroy from
 *them. Do not use a handle that another thread destroys, or a handle of a tenant that is being
 *removed.
 *
 * All functions return 0 or a negative errno with a sentence; outputs are written only on success.
 */
#ifndef PAPERS_FAIR_SCHEDULER_H
#define PAPERS_FAIR_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "fair_executor.h"
#include "heshare/fair_queue.h"

#define HES_FAIR_MAX_MEMBER_NAME 64 /* bytes, with the NUL */

struct hes_fair_scheduler;
struct hes_fair_stream;

struct hes_fair_scheduler_config {
	struct hes_fair_queue_config queue; /* policy, phi, interval and quantum */
	const struct hes_fair_executor *executor;
	const void *executor_config; /* struct hes_fair_cpu or hes_fair_cuda; NULL: all members 0.
					Copied */
	uint64_t window_ns; /* length of the work that may be queued on the GPU; a switch waits for
			       it; 0: 2 ms */
	/*
	 * Optional: set the SM clock, in MHz (0: as the driver chooses). Called between turns,
	 * while the GPU is idle, if the next tenant's clock differs from the last one. A failure is
	 * counted, and the turn runs without the clock.
	 */
	int (*set_clock)(void *ctx, uint32_t mhz);
	/*
	 * Optional: read an energy meter, in joules. Called before and after each turn; the
	 * difference is the tenant's energy. NaN, or a difference below 0: that turn's energy is
	 * power times time. Only for meters that are quicker than a slice: NVIDIA's sensors refresh
	 * every 20 to 100 ms.
	 */
	double (*meter_j)(void *ctx);
	void *ctx;   /* of both functions */
	bool manual; /* no thread: the caller runs turns by hes_fair_scheduler_turn() */
};

/**
 * Create a scheduler without tenants and start its thread. The executor is opened in the calling
 * thread.
 * @return 0; -EINVAL a number out of range; -ENOMEM; -EAGAIN no thread; -ENODEV and -EIO of the
 * executor
 */
int hes_fair_scheduler_create(const struct hes_fair_scheduler_config *c,
			      struct hes_fair_scheduler **out, struct hes_err *err);

/**
 * Wait for items that run, cancel those that wait (done gets -ECANCELED), and remove all tenants. A
 * sync in another thread returns -ECANCELED first.
 * @param s may be NULL
 */
void hes_fair_scheduler_destroy(struct hes_fair_scheduler *s);

/** A tenant. */
struct hes_fair_member {
	const char *name;   /* copied; 1..HES_FAIR_MAX_MEMBER_NAME - 1 bytes */
	double weight;      /* HES_FAIR_MIN_NUMBER..HES_FAIR_MAX_NUMBER, as in heshare/fair.h */
	double power_w;     /* measured mean power while it runs, W, for the policy and for energy
			       without a meter; same range */
	uint32_t clock_mhz; /* for set_clock; 0: as the driver chooses */
};

/**
 * Register a tenant.
 * @param tenant its index; that of a removed tenant is used again
 * @return 0; -EINVAL a number or the name out of range; -ENOSPC too many tenants; -ENOMEM;
 * -ECANCELED the scheduler ends
 */
int hes_fair_scheduler_add(struct hes_fair_scheduler *s, const struct hes_fair_member *m,
			   uint32_t *tenant, struct hes_err *err);

/** Change weight, power and clock; the name stays. They count from the next turn. @return 0;
 * -ENOENT; -EINVAL */
int hes_fair_scheduler_change(struct hes_fair_scheduler *s, uint32_t tenant,
			      const struct hes_fair_member *m, struct hes_err *err);

/** Change phi, from the next turn on. @return 0; -EINVAL outside 0..1 */
int hes_fair_scheduler_set_phi(struct hes_fair_scheduler *s, double phi, struct hes_err *err);

/**
 * Unregister a tenant: wait for its items that run, cancel those that wait, destroy its streams.
 * @return 0; -ENOENT no such tenant
 */
int hes_fair_scheduler_remove(struct hes_fair_scheduler *s, uint32_t tenant, struct hes_err *err);

/** Create a stream. Its tenant owns it. @return 0; -ENOENT no such tenant; -ENOMEM; -ECANCELED the
 * scheduler ends */
int hes_fair_stream_create(struct hes_fair_scheduler *s, uint32_t tenant,
			   struct hes_fair_stream **out, struct hes_err *err);

/** Destroy a stream. As in CUDA, it returns at once, and submitted items still run. @param stream
 * may be NULL */
void hes_fair_stream_destroy(struct hes_fair_stream *stream);

/**
 * Submit an item to the end of a stream. Returns at once; the item may have ended by then.
 * @param w copied; the objects that it points to must live until done() is called, or a sync that
 * covers the item returns
 * @return 0; -EINVAL the executor cannot run such work; -ENOMEM; -ECANCELED the scheduler ends
 */
int hes_fair_stream_submit(struct hes_fair_stream *stream, const struct hes_fair_work *w,
			   struct hes_err *err);

/**
 * Wait for the items that were submitted before the call to a stream, to all streams of a tenant,
 * or to all streams. An item that fails does not stop its stream. A stream keeps its first error
 * until a sync that covers the stream reports it. A manual scheduler runs turns in the calling
 * thread.
 * @return 0; -ENOENT no such tenant; -ECANCELED the scheduler ends; else the error of the first
 * item that failed
 */
int hes_fair_stream_sync(struct hes_fair_stream *stream, struct hes_err *err);
int hes_fair_tenant_sync(struct hes_fair_scheduler *s, uint32_t tenant, struct hes_err *err);
int hes_fair_scheduler_sync(struct hes_fair_scheduler *s, struct hes_err *err);

/** What a tenant has used and how long its items took, since it was added. */
struct hes_fair_statistics {
	char name[HES_FAIR_MAX_MEMBER_NAME];
	double weight, power_w;
	uint32_t clock_mhz;
	uint64_t slice_ns; /* as of its last turn; 0: it had none */
	uint64_t time_ns;  /* charged: the sum of its turns */
	double energy_j;   /* by the meter, or power times time */
	uint64_t turns;
	uint64_t items;         /* that have ended; without cancelled ones */
	uint64_t failed;        /* of items */
	uint64_t waiting;       /* not ended yet */
	double latency_mean_ns; /* from submit to end; NaN without items, as the next two */
	double latency_p50_ns;  /* within 4 % */
	double latency_p99_ns;
	double latency_max_ns;
};

/** @return 0; -ENOENT no such tenant */
int hes_fair_scheduler_statistics(struct hes_fair_scheduler *s, uint32_t tenant,
				  struct hes_fair_statistics *out, struct hes_err *err);

/** Counts of the whole scheduler since it was created. */
struct hes_fair_totals {
	uint64_t turns;
	uint64_t switches; /* turns of another tenant than the turn before */
	uint64_t clock_changes;
	uint64_t clock_failures; /* set_clock failed */
};

void hes_fair_scheduler_totals(struct hes_fair_scheduler *s, struct hes_fair_totals *out);

/**
 * Run one turn in the calling thread, of a manual scheduler. One thread at a time.
 * @return 1 a turn has run; 0 no tenant has work; -EINVAL the scheduler has a thread
 */
int hes_fair_scheduler_turn(struct hes_fair_scheduler *s, struct hes_err *err);

#endif
