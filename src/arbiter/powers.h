/*
 * powers.h - the power of a tenant: what the store knows of it, what was measured, what is assumed.
 *
 * A tenant that the store does not know is measured in its first turns. The values are summed until
 * their standard error is small, or until they cover the profiling time. Then it has a profile, and
 * later values go into a running average. From its first value on, a tenant's power is known.
 */
#ifndef HES_ARBITER_POWERS_H
#define HES_ARBITER_POWERS_H

#include "arbiter/arbiter_config.h"

/** What is known of a tenant's power at its clock. */
struct profile {
	enum { PROFILE_REQUESTED, PROFILE_NONE, PROFILE_KNOWN } state;
	uint32_t n;             /* values so far */
	double seconds, joules; /* of them */
	double joules_watts;    /* sum of joules times watts, for their variance */
	double kept_w;          /* as the store has it */
};

/** Read its members; powers.c alone changes them. */
struct power {
	double queued_w; /* that slices follow: smaller changes of the mean are left out */
	double mean_w;   /* where it is known */
	bool known;
	struct profile profile;
};

/** Nothing is known, until the store answers if it was @requested. */
void power_forget(struct power *p, bool requested);
/** Assume a power, as long as none is known. @return whether slices change */
bool power_assume(struct power *p, double watts);
/** The store answered. @param watts  0: it has none. @return whether slices change */
bool power_found(struct power *p, double watts);
/** W, as well as is known. */
double power_watts(const struct power *p);
/** @return whether its turns are to be measured until there is a profile */
bool power_is_missing(const struct power *p);

struct power_news {
	bool changed; /* slices */
	bool profiled;
	double cv, seconds; /* of the profile */
};

/** A value of @ns was measured. @param profile_ns  the profiling time; 0: there are no profiles */
struct power_news power_measured(struct power *p, double watts, uint64_t ns, uint64_t profile_ns);
/** @return whether the store should have it */
bool power_not_kept(const struct power *p);
void power_kept(struct power *p);

#endif
