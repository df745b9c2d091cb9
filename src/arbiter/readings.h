/*
 * readings.h - joules of leases, from the steps of the GPU's energy counter.
 *
 * A sensor refreshes slowly, and its power may be a mean of the last second. So what is measured of
 * a lease is a value: the joules between two steps of the counter within it. Steps are found by
 * reading the counter more often than it moves. Readings are requested and come later; their tag
 * is the lease. Outside of values, energy is the tenant's power times its time.
 */
#ifndef HES_ARBITER_READINGS_H
#define HES_ARBITER_READINGS_H

#include "arbiter/arbiter_config.h"

#define MEASURABLE 5 /* refreshes of the sensor that a value covers at most */

struct counter_step {
	double joules;
	uint64_t ns; /* 0: none yet */
};

/** Of a GPU. Read its members; readings.c alone changes them. At first they are 0, but out, gpu and
 * next_ns. */
struct readings {
	const struct arbiter_out *out;
	size_t gpu;
	uint64_t refresh_ns; /* of the counter; 0: there is none, or it is not known yet */
	bool gone, counted;
	double first_j, last_j; /* where counted */

	/* The lease that runs. */
	uint64_t lease; /* 0: none, or it is not measured */
	uint64_t granted_ns;
	uint64_t value_ns, every_ns; /* length of a value, and from one reading to the next */
	bool skips;                  /* no reading is needed until the end of a value is near */
	bool begun;                  /* before is there: the last step that came unseen */
	struct counter_step before, from, to;
	uint64_t next_ns;         /* when to read again; ARBITER_NEVER */
	uint64_t ignore_until_ns; /* readings of a time before are on their way, too late */
};

/** What was measured. */
struct reading {
	double watts;
	uint64_t ns;
};

void readings_ready(struct readings *r, uint64_t refresh_ns);
/** The driver does not answer any more. */
void readings_gone(struct readings *r);
/** Read the counter for STATUS. */
void readings_request(const struct readings *r);

/** @return the shortest lease that can be measured */
uint64_t readings_least_ns(const struct readings *r);
/** A lease begins. @param slice_ns  0: it has no end. @param closely  the power is not known yet:
 * steps are found more exactly */
void readings_begin(struct readings *r, uint64_t lease, uint64_t slice_ns, bool closely,
		    uint64_t now);
/** It is time to read the counter again. */
void readings_go_on(struct readings *r, uint64_t now);
/** The lease ends. @return whether it had another value */
bool readings_end(struct readings *r, struct reading *out);
/** A reading came. @return whether it completes a value of the lease that runs */
bool readings_take(struct readings *r, uint64_t tag, const struct arbiter_energy *e,
		   struct reading *out);

#endif
