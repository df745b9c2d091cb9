/*
 * gpu_thread.h - a thread for each GPU, for all calls that may block: its driver, the guard of its
 * clock, the store.
 *
 * The server leaves orders and takes reports. The server never waits for the thread; the thread
 * waits only while reports are not taken. At the end of the server, also when it is killed, the
 * guard resets the clock.
 */
#ifndef HES_ARBITER_GPU_THREAD_H
#define HES_ARBITER_GPU_THREAD_H

#include "arbiter/arbiter.h"
#include "heshare/device.h"

struct gpu_thread;

struct gpu_thread_config {
	const struct hes_devices *devices;
	size_t index; /* among the machine's GPUs */
	struct hes_device_info info;
	const char *store;        /* NULL: none */
	const char *const *guard; /* program of the guard; ends with NULL */
	const char *folder;       /* of the guard's list */
	int wake;                 /* eventfd: written to when there is a report */
};

/**
 * Claim the GPU until gpu_thread_stop(), and start its thread. Strings of @c must outlive it.
 * @return 0; -EBUSY another program has the GPU; -EACCES, -EIO no guard; -ENOMEM, -EAGAIN
 */
int gpu_thread_start(const struct gpu_thread_config *c, struct gpu_thread **out,
		     struct hes_err *err);
/** @return false: there are too many orders already */
bool gpu_thread_order(struct gpu_thread *t, const struct arbiter_order *o);
/** @return whether there was a report */
bool gpu_thread_take(struct gpu_thread *t, struct arbiter_report *out);
/** @return since when the thread has been at one order, monotonic ns; 0: it is not, or still starts
 */
uint64_t gpu_thread_busy_since(struct gpu_thread *t);
/**
 * Do what was ordered, set the clock back, and end. A thread that hangs in the driver is left
 * behind after a while.
 * @return 0; -ETIMEDOUT it hangs; -EIO the clock could not be set back
 */
int gpu_thread_stop(struct gpu_thread *t, struct hes_err *err);

#endif
