/*
 * captures.h - the streams that capture a graph. Calls into them do no work and pass the gate.
 *
 * A count that is 0 in most programs keeps the driver's cuStreamIsCapturing() away from launches.
 * While it is not 0 that function answers, because other streams join a capture by events.
 */
#ifndef HES_INTERPOSE_CAPTURES_H
#define HES_INTERPOSE_CAPTURES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "driver.h"

extern _Atomic unsigned captures_count;

static inline bool captures_any(void)
{
	return atomic_load_explicit(&captures_count, memory_order_relaxed) != 0;
}

/** A stream has begun to capture. */
void captures_begin(void *stream);
/** A stream captures no more. Harmless where it did not. */
void captures_end(void *stream);
/** @return whether captures_begin() was called for @stream */
bool captures_has(const void *stream);
/** @return whether a call into @stream is captured, or fails because of a capture */
bool captures_hold(const struct fair_driver *d, void *stream);
void captures_after_fork(void);

#endif
