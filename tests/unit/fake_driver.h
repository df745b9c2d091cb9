/*
 * fake_driver.h - a CUDA driver for tests of the gate: one context, one GPU that runs launches in
 * order.
 *
 * The GPU's time is real, or stands still until a thread waits for an event (@still).
 */
#ifndef HES_TESTS_FAKE_DRIVER_H
#define HES_TESTS_FAKE_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

#define FAKE_CONTEXT ((void *)0x1000)
#define FAKE_FOREIGN \
	((void *)0x1f00) /* a stream of another context: no event can be recorded in it */
#define FAKE_STREAM(n) ((void *)(uintptr_t)(0x2000 + 0x40 * (n)))

extern const struct fair_driver fake_driver;

/** Start again. */
void fake_reset(bool still);
/** Run a kernel of @ns on the GPU. */
void fake_launch(void *stream, uint64_t ns);
/** Let a still GPU finish all work. */
void fake_finish(void);
/** @return GPU time of the unfinished work, ns */
uint64_t fake_pending_ns(void);

extern _Atomic bool fake_allowed;   /* launches are allowed now */
extern _Atomic unsigned fake_wrong; /* launches that were not allowed, and event records in a
				       capturing or the legacy stream during a capture */
extern _Atomic uint64_t fake_launches, fake_syncs;
extern _Atomic bool fake_captures;    /* stream 1 captures */
extern _Atomic uint64_t fake_most_ns; /* the most that was pending */

#endif
