/*
 * fair_executor.h - executors run the work of a fair scheduler (fair_scheduler.h): in CPU
 * threads, in CUDA streams, or in an executor that you write.
 */
#ifndef PAPERS_FAIR_EXECUTOR_H
#define PAPERS_FAIR_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "heshare/err.h"

/** A kernel launch, as the arguments of cuLaunchKernel(). */
struct hes_fair_kernel {
	void *function; /* CUfunction */
	unsigned grid[3], block[3];
	unsigned shared_bytes;
	void **params; /* as kernelParams; NULL: extra */
	void **extra;
};

/** An item of work. Exactly one of run and kernel is set. */
struct hes_fair_work {
	/*
	 * CPU: the item itself, in a worker; stream is NULL. CUDA: queues the item on stream, a
	 * CUstream whose context is current, and does not wait for it. The stream must wait for all
	 * work that the item starts on other streams, which the executor does not see.
	 * @return 0 or a negative errno
	 */
	int (*run)(void *arg, void *stream);
	const struct hes_fair_kernel *kernel; /* CUDA only */
	/*
	 * Optional: the item has ended (rc 0 or a negative errno) or was cancelled (-ECANCELED).
	 * Called once for each submitted item, in the order of the stream, by the scheduler's
	 * thread or by the thread that cancels. Must not block.
	 */
	void (*done)(void *arg, int rc);
	void *arg; /* of run and done */
};

/** How many items may be started and not ended. */
struct hes_fair_depth {
	unsigned least; /* with fewer, the executor is partly idle (workers); at least 1 */
	unsigned most;  /* least..HES_FAIR_MAX_DEPTH */
};

#define HES_FAIR_MAX_DEPTH 256

/** An item that has ended. */
struct hes_fair_ended {
	void *item;         /* as given to start */
	int rc;             /* 0 or a negative errno */
	struct hes_err err; /* where rc is not 0; msg may be "" */
};

/**
 * An executor. All functions are required unless marked optional. Only the thread that runs turns
 * calls them. Exceptions: open and close (called while no turn runs), now_ns and wake (any thread
 * at any time).
 */
struct hes_fair_executor {
	const char *name;
	bool runs_functions;   /* takes work with run */
	bool launches_kernels; /* takes work with kernel */
	bool keeps_order; /* items of a stream end in the order of their start: the next may start
			     before the last has ended */

	/* @param config executor_config of the scheduler; may be NULL. @return 0 or a negative
	 * errno */
	int (*open)(const void *config, void **self, struct hes_fair_depth *depth,
		    struct hes_err *err);
	void (*close)(void *self);

	/* A monotonic clock, ns. */
	uint64_t (*now_ns)(void *self);

	/* Optional, both or none: the executor's own data of a stream, made before its first item;
	 * else *stream is NULL. */
	int (*stream_open)(void *self, void **stream, struct hes_err *err);
	void (*stream_close)(void *self, void *stream);

	/* Optional: a turn begins; no item is started. An error fails the tenant's next item. */
	int (*begin)(void *self, struct hes_err *err);
	/* Start an item, or queue it. collect returns @item, unless start failed. */
	int (*start)(void *self, void *stream, const struct hes_fair_work *w, void *item,
		     struct hes_err *err);
	/* Wait until an item has ended, or wake was called since the last collect. @return how many
	 * ended, at most max */
	unsigned (*collect)(void *self, struct hes_fair_ended *out, unsigned max);
	/* Optional: let collect return. */
	void (*wake)(void *self);
	/*
	 * The turn ends; all items have ended. Called also if begin failed. @return the time that
	 * its items used, ns, from the start of the first one to the end of the last one
	 */
	uint64_t (*end)(void *self);
};

/** Configuration of hes_fair_cpu_executor. */
struct hes_fair_cpu {
	unsigned workers; /* threads, up to HES_FAIR_MAX_DEPTH; 0: 1. Items of different streams of
			     a tenant run in parallel */
};

/** Functions in a pool of worker threads, timed by the monotonic clock. */
extern const struct hes_fair_executor hes_fair_cpu_executor;

/** Configuration of hes_fair_cuda_executor. */
struct hes_fair_cuda {
	int device;     /* ordinal; used if context is NULL */
	void *context;  /* the caller's CUcontext, which must outlive the scheduler; NULL: the
			   primary context of the device */
	unsigned depth; /* launches that may be queued at most, up to HES_FAIR_MAX_DEPTH; 0: 64 */
};

/**
 * CUDA streams, through the driver that is found at run time (libcuda.so.1): a CUstream for each
 * stream of the scheduler, created without synchronising with the default stream. Time is measured
 * by events on the GPU. open: -ENODEV no driver or no such device; -EIO an error of the driver,
 * with its name.
 */
extern const struct hes_fair_executor hes_fair_cuda_executor;

#endif
