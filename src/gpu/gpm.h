/*
 * gpm.h - GPM of one GPU: NVML's counters on Hopper and newer.
 */
#ifndef HES_GPU_GPM_H
#define HES_GPU_GPM_H

#include <stdbool.h>

#include "gpu/nvml.h"
#include "heshare/activity.h"

/** Two samples, taken in turn. */
struct hes_gpm {
	void   *samples[2];
	int     last;        /* the one taken last; -1: none yet */
	double  last_s;      /* when */
};

/** Whether driver and GPU have it. */
bool hes_gpm_supported(const struct hes_devices *d, size_t i);

/** Take a first sample. @return whether that went; if not there is nothing to end */
bool hes_gpm_begin(const struct hes_devices *d, size_t i, struct hes_gpm *g, double now_s);
void hes_gpm_end(const struct hes_devices *d, struct hes_gpm *g);

/** Add what happened since the last sample; without a sample now, the next one reaches back further. */
void hes_gpm_look(const struct hes_devices *d, size_t i, struct hes_gpm *g, double now_s, struct hes_activity_sums *sums);

#endif
