/*
 * gpm.h - GPM of one GPU: NVML's performance counters on Hopper and newer.
 */
#ifndef HES_GPU_GPM_H
#define HES_GPU_GPM_H

#include <stdbool.h>

#include "gpu/nvml.h"
#include "heshare/activity.h"

/** Two samples, used in turn. */
struct hes_gpm {
	void *samples[2];
	int last;      /* index of the last sample; -1: none yet */
	double last_s; /* its time */
};

/** Whether driver and GPU support GPM. */
bool hes_gpm_supported(const struct hes_devices *d, size_t i);

/** Take the first sample. @return whether it worked; if not there is nothing to end */
bool hes_gpm_begin(const struct hes_devices *d, size_t i, struct hes_gpm *g, double now_s);
void hes_gpm_end(const struct hes_devices *d, struct hes_gpm *g);

/** Take a sample and add the activity since the last one. If that fails the next sample covers the
 * whole time. */
void hes_gpm_look(const struct hes_devices *d, size_t i, struct hes_gpm *g, double now_s,
		  struct hes_activity_sums *sums);

#endif
