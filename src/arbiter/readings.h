/*
 * readings.h - joules of leases by the GPU's energy counter, where they are long enough for its
 * sensor.
 *
 * Until a reading comes, energy is the tenant's power times its time. A reading replaces what was
 * estimated since the last one. Readings are requested and come later. A tag names the lease and
 * which of its ends a reading is for.
 */
#ifndef HES_ARBITER_READINGS_H
#define HES_ARBITER_READINGS_H

#include "arbiter/arbiter_config.h"

#define ENDS 8 /* readings at the end of leases that may be on their way */

/** A lease whose energy is read. */
struct metered {
	uint64_t lease; /* 0: none */
	uint32_t tenant;
	uint64_t came; /* tells the tenant from a later one in its place */
	bool begun;    /* counter_j is there */
	bool whole;    /* no part of the lease was measured before */
	double counter_j;
	uint64_t counter_ns;
	double estimate_j; /* added to the tenant's energy since counter_ns */
};

/** Of a GPU. Read its members; readings.c alone changes them. */
struct readings {
	const struct arbiter_out *out;
	size_t gpu;
	uint64_t refresh_ns; /* of the counter; 0: there is none, or it is not known yet */
	uint64_t part_ns;    /* a long lease is measured in parts */
	bool gone, counted;
	double first_j, last_j; /* where counted */
	struct metered now;     /* of the lease that runs */
	uint64_t next_ns;       /* when to request the next part; ARBITER_NEVER */
	struct metered tails[ENDS];
	size_t next_tail;
};

/** What a reading says of a lease. */
struct reading {
	uint32_t tenant;
	uint64_t came;
	double more_j; /* than was estimated */
	bool has_power;
	double watts;
	uint64_t ns; /* that the power is a mean of */
	bool first_part;
};

void readings_create(struct readings *r, const struct arbiter_out *out, size_t gpu);
void readings_ready(struct readings *r, uint64_t refresh_ns);
/** The driver does not answer any more. */
void readings_gone(struct readings *r);
/** Read the counter for STATUS. */
void readings_request(const struct readings *r);

/** A lease begins. @param slice_ns  0: it has no end */
void readings_begin(struct readings *r, uint64_t lease, uint32_t tenant, uint64_t came,
		    uint64_t slice_ns, uint64_t now);
/** It is time to read the counter for the next part. */
void readings_part(struct readings *r, uint64_t now);
/** Energy was added to the tenant of the lease that runs. */
void readings_estimate(struct readings *r, double joules);
/** The lease ends. @return whether its end is measured */
bool readings_end(struct readings *r, uint64_t held_ns);
/** @return whether a reading with this tag is one of the lease that runs */
bool readings_are_of_now(const struct readings *r, uint64_t tag);
/** A reading came, and all energy until @now is estimated. @return whether it is one of a lease */
bool readings_take(struct readings *r, uint64_t tag, double joules, uint64_t at_ns,
		   struct reading *out);

#endif
