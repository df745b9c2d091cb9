/*
 * attribute.c - attribute a GPU's joules to the jobs that shared it; see heshare/attribute.h.
 */
#include "heshare/attribute.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

double hes_activity_w(const struct hes_gpu_type *g, const struct hes_profile *solo, uint32_t sm_pct,
		      uint32_t clock_mhz)
{
	struct hes_load load = { 0 };

	hes_load_add(&load, g, solo, sm_pct, clock_mhz);
	return load.solo_power_mw * 1e-3;
}

/* The next moment after @t at which a job starts or ends; @end if none does. */
static double next_change(const struct hes_sharer *jobs, size_t n, double t, double end)
{
	double next = end;

	for (size_t i = 0; i < n; i++) {
		if (jobs[i].start_s > t)
			next = fmin(next, jobs[i].start_s);
		if (jobs[i].end_s > t)
			next = fmin(next, jobs[i].end_s);
	}
	return next;
}

static double shares_at(const struct hes_sharer *jobs, size_t n, double t)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += jobs[i].start_s <= t && t < jobs[i].end_s ? jobs[i].sm_pct : 0;
	return sum;
}

int hes_attribute(double energy_j, double idle_w, double seconds, struct hes_sharer *jobs, size_t n,
		  double *nobody_j, struct hes_err *err)
{
	double nobody_s = 0, activity = 0, idle_j, rest_j;

	for (size_t i = 0; i < n; i++) {
		if (!(jobs[i].start_s >= 0 && jobs[i].start_s <= jobs[i].end_s &&
		      jobs[i].end_s <= seconds) ||
		    !jobs[i].sm_pct || !(jobs[i].activity >= 0))
			return hes_fail(err, -EINVAL,
					"job %zu from %g to %g s with %u %% of the SMs and "
					"activity %g; it must lie "
					"in 0 to %g s, with a share and no negative activity",
					i, jobs[i].start_s, jobs[i].end_s, jobs[i].sm_pct,
					jobs[i].activity, seconds);
		activity += jobs[i].activity * (jobs[i].end_s - jobs[i].start_s);
	}
	/* If the GPU drew less than idle power, the idle power was given too high. */
	idle_j = fmin(idle_w * seconds, energy_j);
	rest_j = energy_j - idle_j;
	for (size_t i = 0; i < n; i++)
		jobs[i].energy_j = activity > 0
					   ? rest_j * jobs[i].activity *
						     (jobs[i].end_s - jobs[i].start_s) / activity
					   : 0;
	for (double t = 0, next; t < seconds; t = next) {
		double all = shares_at(jobs, n, t);

		next = next_change(jobs, n, t, seconds);
		if (all == 0)
			nobody_s += next - t;
		for (size_t i = 0; i < n && all > 0; i++)
			if (jobs[i].start_s <= t && t < jobs[i].end_s)
				jobs[i].energy_j +=
					idle_j * (next - t) / seconds * jobs[i].sm_pct / all;
	}
	*nobody_j = idle_j * (seconds > 0 ? nobody_s / seconds : 0) + (activity > 0 ? 0 : rest_j);
	return 0;
}

int hes_attribute_known(double energy_j, double idle_w, double seconds, struct hes_sharer *jobs,
			size_t n)
{
	double nobody_j = 0;
	bool known = true, work = false;

	for (size_t i = 0; i < n; i++) {
		known &= jobs[i].activity > 0;
		work |= !jobs[i].starting;
	}
	for (size_t i = 0; i < n; i++)
		if (work && jobs[i].starting)
			jobs[i].activity = 0;
		else if (!known)
			jobs[i].activity = jobs[i].sm_pct;
	return hes_attribute(energy_j, idle_w, seconds, jobs, n, &nobody_j, NULL);
}
