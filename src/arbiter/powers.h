/*
 * powers.h - the power of a tenant: what the store knows of it, what was measured, what is assumed.
 *
 * A tenant without a profile has, once, a profiling lease that is not charged. It is divided into
 * parts; where their powers differ too much it is repeated. A tenant that always releases early
 * gets no more profiling leases once it has held them for the profiling time.
 */
#ifndef HES_ARBITER_POWERS_H
#define HES_ARBITER_POWERS_H

#include "arbiter/arbiter_config.h"

/** What is known of a tenant's power at its clock. */
struct profile {
	enum { PROFILE_REQUESTED, PROFILE_NONE, PROFILE_KNOWN } state;
	bool begun, over; /* over: no more profiling leases */
	unsigned rounds;
	uint32_t parts;
	double sum_w, sum_w2;
	uint64_t measured_ns; /* of the parts */
	uint64_t held_ns;     /* in profiling leases of this round */
	double kept_w;        /* as the store has it */
};

/** Read its members; powers.c alone changes them. */
struct power {
	double queued_w; /* that slices follow: smaller changes of the mean are left out */
	double mean_w;   /* running average, where it is known */
	bool known;
	struct profile profile;
};

/** How long profiling leases and their parts are, on a GPU. */
struct profile_lengths {
	uint64_t profile_ns, part_ns;
};

/** Nothing is known, until the store answers if it was @requested. */
void power_forget(struct power *p, bool requested);
/** Assume a power, as long as none is known. @return whether slices change */
bool power_assume(struct power *p, double watts);
/** The store answered. @param watts  0: it has none. @return whether slices change */
bool power_found(struct power *p, double watts);
/** W, as well as is known. */
double power_watts(const struct power *p);

struct power_news {
	bool changed; /* slices */
	bool profiled;
	double cv, seconds; /* of the profile */
};

/** A part of a lease was measured. */
struct power_news power_measured(struct power *p, const struct profile_lengths *l, double watts,
				 uint64_t ns, bool first_part);
/** @return whether the store should have it: then it counts as kept */
bool power_keep(struct power *p);

/** @return whether it has no profile, and may get one by profiling leases */
bool profile_is_missing(const struct power *p);
/** @return how long the lease of a tenant that is profiled may be */
uint64_t profile_length(const struct power *p, const struct profile_lengths *l);
void profile_begin(struct power *p);
/** A profiling lease ends that began in round @rounds. */
struct power_news profile_end(struct power *p, const struct profile_lengths *l, unsigned rounds,
			      uint64_t held_ns);
/** A profiling lease was lost: there are no more. */
void profile_give_up(struct power *p);

#endif
