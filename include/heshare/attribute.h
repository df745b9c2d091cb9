/*
 * attribute.h - attribute a GPU's joules to the jobs that shared it. Plans and measurements use
 * this one rule.
 *
 * Pure functions without state. Sensors measure the whole GPU, and predictions are of the whole
 * GPU: the parts are estimates that sum to it.
 */
#ifndef HESHARE_ATTRIBUTE_H
#define HESHARE_ATTRIBUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/profile.h"

/** A job on a shared GPU. */
struct hes_sharer {
	double start_s, end_s;
	uint32_t sm_pct; /* 1..100 */
	double activity; /* its power above idle, in any unit: predicted watts */
	bool starting;   /* in its start-up, which puts no load on the GPU */
	double energy_j; /* result: attributed */
};

/** The activity of a job: watts above idle that its profile gives for it alone, at a share and
 * clock. */
double hes_activity_w(const struct hes_gpu_type *g, const struct hes_profile *solo, uint32_t sm_pct,
		      uint32_t clock_mhz);

/**
 * Attribute a GPU's joules over [0, @seconds] to the jobs on it. Idle power is split at each moment
 * by SM share among the jobs that run; the rest is split by activity times time. Idle power while
 * no job runs goes to @nobody_j. All parts sum to @energy_j.
 * @return 0; -EINVAL a job lies outside of the time, has no share or a negative activity
 */
int hes_attribute(double energy_j, double idle_w, double seconds, struct hes_sharer *jobs, size_t n,
		  double *nobody_j, struct hes_err *err);

/** The same where an activity may not be known, which is 0: then all split the rest by their
 * shares. Jobs in their start-up have no part of the rest while others work. @return 0; -EINVAL */
int hes_attribute_known(double energy_j, double idle_w, double seconds, struct hes_sharer *jobs,
			size_t n);

#endif
