/*
 * known_points.c - profiles that were measured: the store's, and those of its points; see known.h.
 *
 * `heshare profile` derives profiles from its points and adds them to the store. Points of runs
 * have none there.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "app/known.h"
#include "heshare/profiler.h"

#define LOCKED_ERROR     0.1 /* least standard error of what follows from another clock */
#define POWER_OVER_CLOCK 2   /* dynamic power grows as the clock to this power: voltage, too */

/* Points of jobs alone on types that are known here, at the beginning. */
static void keep_solo(const struct hes_catalogue *c, struct hes_points *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].co_runners[0] && hes_gpu_type_find(c, p->v[i].gpu_type, NULL))
			p->v[n++] = p->v[i];
	p->n = n;
}

static bool is_unlocked(const struct hes_gpu_type *g, const struct hes_point *p)
{
	return !p->clock_mhz || hes_gpu_type_is_unlocked(g, p->clock_mhz);
}

static bool has_unlocked(const struct hes_points *p, const struct hes_gpu_type *g,
			 const struct hes_point *like)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].sm_pct == 100 && p->v[i].batch_size == like->batch_size &&
		    is_unlocked(g, &p->v[i]) && !strcmp(p->v[i].workload, like->workload) &&
		    !strcmp(p->v[i].gpu_type, like->gpu_type))
			return true;
	return false;
}

/* What the point would be without its lock: kernels that compute take as much less time as the
 * clock is higher. */
static void unlock(const struct hes_gpu_type *g, struct hes_point *p)
{
	const double faster = (double)g->clock_default_mhz / p->clock_mhz,
		     busy = isnan(p->busy) ? 1 : p->busy,
		     dram = isnan(p->dram_active) ? 0 : p->dram_active,
		     computing = busy * (1 - dram), idle_mw = g->idle_power_mw,
		     limit_mw = g->power_limit_mw ? g->power_limit_mw : UINT32_MAX;

	p->iteration_us *= 1 - computing + computing / faster;
	if (p->power_mw > idle_mw)
		p->power_mw =
			(uint32_t)fmin(limit_mw, idle_mw + (p->power_mw - idle_mw) *
								   pow(faster, POWER_OVER_CLOCK));
	p->time_se = fmax(isnan(p->time_se) ? 0 : p->time_se, LOCKED_ERROR);
	p->clock_mhz = 0;
	p->held_mhz = NAN;
}

/* A job that only ran at locked clocks is known, too. */
static void unlock_points(const struct hes_catalogue *c, struct hes_points *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct hes_gpu_type *g = hes_gpu_type_find(c, p->v[i].gpu_type, NULL);

		if (p->v[i].sm_pct == 100 && !is_unlocked(g, &p->v[i]) &&
		    !has_unlocked(p, g, &p->v[i]))
			unlock(g, &p->v[i]);
	}
}

static int derive_points(struct hes_store *s, const struct hes_catalogue *c,
			 struct hes_profiles *out, struct hes_err *err)
{
	const struct hes_store_query all = { .workload = NULL };
	struct hes_points points;
	struct hes_samples samples;
	int rc = hes_store_points(s, &all, &points, err);

	if (rc)
		return rc;
	keep_solo(c, &points);
	unlock_points(c, &points);
	rc = hes_points_derive(&points, c, out, &samples, err);
	hes_points_free(&points);
	if (!rc)
		hes_samples_free(&samples);
	return rc;
}

int app_known_measured(struct hes_store *s, const struct hes_catalogue *c,
		       const struct hes_gpu_type *const *types, size_t n_types,
		       struct hes_profiles *out, struct hes_err *err)
{
	const struct hes_store_query all = { .workload = NULL };
	struct hes_profiles stored = { 0 }, derived = { 0 };
	struct hes_catalogue here = { 0 };
	int rc = hes_catalogue_put(&here, c->types, c->n, err);

	for (size_t i = 0; i < n_types && !rc; i++)
		rc = hes_catalogue_put(&here, types[i], 1, err);
	if (!rc)
		rc = hes_store_profiles(s, &all, &stored, err);
	if (!rc)
		rc = derive_points(s, &here, &derived, err);
	if (!rc && hes_profiles_join(&derived, &stored, out))
		rc = hes_fail(err, -ENOMEM, "out of memory for profiles");
	hes_profiles_free(&stored);
	hes_profiles_free(&derived);
	hes_catalogue_free(&here);
	return rc;
}
