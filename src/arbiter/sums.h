/*
 * sums.h - what a tenant has used: in all, in the last intervals, and what of it the store lacks.
 */
#ifndef HES_ARBITER_SUMS_H
#define HES_ARBITER_SUMS_H

#include "arbiter/arbiter_config.h"

#define RECENT 10 /* intervals of "recent" sums */

/** Sums of an interval; of another one than @epoch they are 0. */
struct recent {
	uint64_t epoch, time_ns;
	double energy_j;
	bool wanted;
};

struct sums {
	uint64_t interval_ns;
	uint64_t time_ns;
	double energy_j;
	uint64_t kept_ns; /* of time_ns and energy_j, what the store has */
	double kept_j;
	struct recent recent[RECENT];
};

/** The tenant has work now. */
void sums_want(struct sums *s, uint64_t now);
void sums_add_time(struct sums *s, uint64_t ns, uint64_t now);
/** @param joules  below 0: too much was added before */
void sums_add_energy(struct sums *s, double joules, uint64_t now);
/** Sums of the last intervals. */
struct recent sums_recent(const struct sums *s, uint64_t now);
/** What the store does not have. @return whether there is anything */
bool sums_not_kept(const struct sums *s, double *seconds, double *joules);
void sums_kept(struct sums *s);

#endif
