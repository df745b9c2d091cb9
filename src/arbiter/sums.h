/*
 * sums.h - what a tenant has used: in all, in the last intervals, and what of it the store lacks.
 */
#ifndef HES_ARBITER_SUMS_H
#define HES_ARBITER_SUMS_H

#include "arbiter/arbiter_config.h"

#define RECENT 10 /* intervals of "recent" sums */

struct used {
	uint64_t ns;
	double joules;
	/* Divided by the tenant's part of the weights at that time: what fairness compares. */
	double fair_ns, fair_j;
};

/** Sums of an interval; of another one than @epoch they are 0. */
struct recent {
	uint64_t epoch;
	struct used used;
	bool wanted;
};

struct sums {
	uint64_t interval_ns;
	struct used all, kept; /* kept: of all, what the store has */
	struct recent recent[RECENT];
};

/** The tenant has work now. */
void sums_want(struct sums *s, uint64_t now);
/** It has used the GPU. @param joules  below 0: too much was added before. @param part  of the
 * weights that it has now */
void sums_add(struct sums *s, uint64_t ns, double joules, double part, uint64_t now);
/** Sums of the last intervals. */
struct recent sums_recent(const struct sums *s, uint64_t now);
/** What the store does not have. @return whether there is anything */
bool sums_not_kept(const struct sums *s, double *seconds, double *joules);
void sums_kept(struct sums *s);

#endif
