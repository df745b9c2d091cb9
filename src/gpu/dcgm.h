/*
 * dcgm.h - DCGM's profiling fields of GPUs, where DCGM is installed.
 */
#ifndef HES_GPU_DCGM_H
#define HES_GPU_DCGM_H

#include <stdbool.h>

#include "heshare/activity.h"

struct hes_dcgm;

/** Whether the library is on this machine; it is not started. */
bool hes_dcgm_installed(void);

/** Connect to this machine's host engine, else start one within the process. @return NULL: neither went */
struct hes_dcgm *hes_dcgm_open(void);
void hes_dcgm_close(struct hes_dcgm *c);

/** Watch the GPU @uuid and add to @sums, which must outlive @c. @return whether its counters can be had */
bool hes_dcgm_watch(struct hes_dcgm *c, const char *uuid, struct hes_activity_sums *sums);

/** Let the engine read its counters, and add what came since the last look. */
void hes_dcgm_look(struct hes_dcgm *c);

#endif
