/*
 * watch.h - inside of src/gpu: add to the sums of a watch.
 */
#ifndef HES_GPU_WATCH_H
#define HES_GPU_WATCH_H

#include "heshare/activity.h"

/** Add a mean over some seconds; ignored if it is NaN or negative, or without time. */
void hes_activity_add(struct hes_activity_sums *sums, enum hes_act act, double value,
		      double seconds);

#endif
