/*
 * watch.h - inside of src/gpu: adding to what a watch has seen.
 */
#ifndef HES_GPU_WATCH_H
#define HES_GPU_WATCH_H

#include "heshare/activity.h"

/** A mean over some seconds; what is no number, is negative or lasts no time is left out. */
void hes_activity_add(struct hes_activity_sums *sums, enum hes_act act, double value, double seconds);

#endif
