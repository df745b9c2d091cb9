/*
 * fake_driver.h - a CUDA driver for tests of the gate: one context, one GPU that works in the order of launches.
 *
 * The GPU's time is real, or stands still until somebody waits for an event (@still).
 */
#ifndef HES_TESTS_FAKE_DRIVER_H
#define HES_TESTS_FAKE_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

#define FAKE_CONTEXT ((void *)0x1000)
#define FAKE_FOREIGN ((void *)0x1f00) /* a stream of another context: no event can be recorded in it */
#define FAKE_STREAM(n) ((void *)(uintptr_t)(0x2000 + 0x40 * (n)))

extern const struct fair_driver fake_driver;

/** Start again. */
void fake_reset(bool still);
/** A kernel of @ns on the GPU. The calls of a program end here, behind the gate. */
void fake_launch(void *stream, uint64_t ns);
/** Let a still GPU do all work. */
void fake_finish(void);
/** @return GPU time of the work that is not done, ns */
uint64_t fake_pending_ns(void);

extern _Atomic bool     fake_allowed;    /* launches are right at this time */
extern _Atomic unsigned fake_wrong;      /* launches that were not, and records during a capture in its stream or the legacy one */
extern _Atomic uint64_t fake_launches, fake_syncs;
extern _Atomic bool     fake_captures;   /* stream 1 captures */
extern _Atomic uint64_t fake_most_ns;    /* the most that was ever pending */

#endif
