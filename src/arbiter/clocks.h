/*
 * clocks.h - the SM clock of a GPU: ordered from its driver, answered later, set back.
 *
 * A lock is remembered until the driver has confirmed the unlock. Its states, and what follows an
 * event:
 *
 *            order    answered                 expire
 *   AT REST  ORDERED
 *   ORDERED           AT REST, with the clock  LATE
 *                     that is set, or unknown
 *   LATE              AT REST, clock unknown
 *
 * Without permission to set clocks, the first attempt fails and no clock is set after it.
 */
#ifndef HES_ARBITER_CLOCKS_H
#define HES_ARBITER_CLOCKS_H

#include "arbiter/arbiter_config.h"

/** Read its members; clocks.c alone changes them. At first its members are 0, but out, gpu and may.
 */
struct gpu_clock {
	const struct arbiter_out *out;
	size_t gpu;
	bool ready;       /* the GPU's thread is at work */
	bool may;         /* clocks may be set, as far as is known */
	bool gone, fails; /* fails: the last one could not be set, and that was said */
	uint32_t mhz, wanted;
	uint64_t changes, serial;
	uint64_t tag, deadline_ns; /* tag: ORDERED; 0: not */
	uint64_t late_tag;         /* LATE; 0: not */
};

enum clock_end {
	CLOCK_SET,
	CLOCK_FAILED,  /* it may be tried again after a while */
	CLOCK_REFUSED, /* no more clocks are set on the GPU */
};

void clock_ready(struct gpu_clock *c);
/** The driver does not answer any more. */
void clock_gone(struct gpu_clock *c);
/** @return whether the GPU has this clock, or can have none */
bool clock_is(const struct gpu_clock *c, uint32_t mhz);
/** @return false: the driver has too much to do; the clock has failed */
bool clock_order(struct gpu_clock *c, uint32_t mhz, uint64_t now);
/** The driver answered. @return whether this ends an order, and how, in @end */
bool clock_answered(struct gpu_clock *c, uint64_t tag, int rc, const char *why,
		    enum clock_end *end);
/** Give up on a driver that has not answered in time. @return whether this was CLOCK_REFUSED */
bool clock_expire(struct gpu_clock *c, uint64_t now);
/** Let the driver choose again where a clock is locked and no tenant requests one. */
void clock_rest(struct gpu_clock *c, bool requested, uint64_t now);

#endif
