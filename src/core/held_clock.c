/*
 * held_clock.c - the clock that GPUs hold without a lock, from profiles; see profile.h.
 *
 * A data sheet's boost clock and a driver's highest clock are no such clock: GeForce GPUs run above
 * the one and below the other.
 */
#include <string.h>

#include "heshare/profile.h"

#define DIFFERS   0.02 /* of the row's default: a smaller difference is noise */
#define POWERLESS 0.8  /* of the power limit: a GPU that draws less is not held down by it */
#define AT_WORK   0.9  /* of the time: an idle GPU lowers its clock by itself */
#define IDLE      1.2  /* of idle power, which a GPU at work exceeds */

/* Profiles have the mean clock, idle time included. */
static bool profile_is_of_work(const struct hes_profile *p, const struct hes_gpu_type *g)
{
	return p->busy > 0 ? p->busy >= AT_WORK : p->power_mw >= IDLE * g->idle_power_mw;
}

static uint32_t held_clock_of(const struct hes_profiles *p, const struct hes_gpu_type *g,
			      uint32_t row_mhz)
{
	uint32_t most = 0;
	bool free = false;

	for (size_t i = 0; i < p->n; i++) {
		if (!p->v[i].clock_mhz || strcmp(p->v[i].gpu_type, g->name))
			continue;
		most = p->v[i].clock_mhz > most ? p->v[i].clock_mhz : most;
		free |= p->v[i].power_mw < POWERLESS * g->power_limit_mw &&
			profile_is_of_work(&p->v[i], g);
	}
	return most > (1 + DIFFERS) * row_mhz || (free && most < (1 - DIFFERS) * row_mhz) ? most
											  : row_mhz;
}

static void held_clock_set(struct hes_gpu_type *g, uint32_t row_mhz, uint32_t held_mhz)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_clocks && n + 1 < HES_MAX_CLOCKS; i++)
		if (g->clocks_mhz[i] < held_mhz && g->clocks_mhz[i] != row_mhz)
			g->clocks_mhz[n++] = g->clocks_mhz[i];
	g->clocks_mhz[n++] = held_mhz;
	g->n_clocks = n;
	g->clock_row_mhz = row_mhz;
	g->clock_default_mhz = held_mhz;
}

void hes_profiles_hold(const struct hes_profiles *p, struct hes_gpu_type *types, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct hes_gpu_type *g = &types[i];
		const uint32_t row_mhz = g->clock_row_mhz ? g->clock_row_mhz : g->clock_default_mhz;
		const uint32_t held_mhz = held_clock_of(p, g, row_mhz);

		if (held_mhz != row_mhz)
			held_clock_set(g, row_mhz, held_mhz);
	}
}
