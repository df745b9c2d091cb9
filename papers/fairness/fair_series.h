/*
 * fair_series.h - shares over time of a replay: the part of time and energy of each tenant between
 * two samples.
 *
 * Zero a series, set n, and hand it to fair_replay() with fair_series_sample(). Free it with
 * fair_series_free().
 */
#ifndef PAPERS_FAIR_SERIES_H
#define PAPERS_FAIR_SERIES_H

#include <stddef.h>

#include "fair_replay.h"

struct fair_series {
	size_t n; /* tenants */
	size_t n_samples;
	double *at_s;         /* [n_samples]: where the window ends */
	double *time_share;   /* [n_samples * n]: part of the window that the tenant ran for */
	double *energy_share; /* the same of the window's energy; 0 where none was used */
	struct fair_replay_usage *last; /* [n] */
	size_t room;
	bool failed; /* out of memory: samples are missing */
};

/** A fair_replay_sample_fn; @ctx is the struct fair_series. */
void fair_series_sample(uint64_t at_ns, const struct fair_replay_usage *usage, size_t n, void *ctx);
void fair_series_free(struct fair_series *s);

#endif
