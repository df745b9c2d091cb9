/*
 * fair_series.c - shares over time of a replay; see fair_series.h.
 */
#include "fair_series.h"

#include <stdlib.h>
#include <string.h>

/* @return NULL: @v is as it was */
static double *numbers_grow(double **v, size_t n)
{
	double *grown = reallocarray(*v, n, sizeof(**v));

	if (grown)
		*v = grown;
	return grown;
}

static bool series_grow(struct fair_series *s)
{
	size_t room = s->room ? 2 * s->room : 64;

	if (!s->last)
		s->last = calloc(s->n, sizeof(*s->last));
	if (!s->last || !numbers_grow(&s->at_s, room) ||
	    !numbers_grow(&s->time_share, room * s->n) ||
	    !numbers_grow(&s->energy_share, room * s->n))
		return false;
	s->room = room;
	return true;
}

void fair_series_sample(uint64_t at_ns, const struct fair_replay_usage *usage, size_t n, void *ctx)
{
	struct fair_series *s = ctx;
	double from_s = s->n_samples ? s->at_s[s->n_samples - 1] : 0, at_s = (double)at_ns / 1e9,
	       energy = 0;

	if (s->failed || (s->n_samples == s->room && !series_grow(s))) {
		s->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		energy += usage[i].energy_j - s->last[i].energy_j;
	for (size_t i = 0; i < n; i++) {
		size_t at = s->n_samples * n + i;

		s->time_share[at] =
			(double)(usage[i].time_ns - s->last[i].time_ns) / 1e9 / (at_s - from_s);
		s->energy_share[at] =
			energy > 0 ? (usage[i].energy_j - s->last[i].energy_j) / energy : 0;
	}
	s->at_s[s->n_samples++] = at_s;
	memcpy(s->last, usage, n * sizeof(*usage));
}

void fair_series_free(struct fair_series *s)
{
	free(s->at_s);
	free(s->time_share);
	free(s->energy_share);
	free(s->last);
	*s = (struct fair_series){ .n = s->n };
}
