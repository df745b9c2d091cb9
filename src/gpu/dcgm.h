/*
 * dcgm.h - the profiling fields of GPUs from DCGM, if DCGM is installed.
 */
#ifndef HES_GPU_DCGM_H
#define HES_GPU_DCGM_H

#include <stdbool.h>

#include "heshare/activity.h"

struct hes_dcgm;

/** Whether the library can be loaded; DCGM is not started. */
bool hes_dcgm_installed(void);

/** Connect to the host engine of this machine, else start an engine in this process. @return NULL:
 * both failed */
struct hes_dcgm *hes_dcgm_open(void);
void hes_dcgm_close(struct hes_dcgm *c);

/** Watch the GPU @uuid and add to @sums, which must outlive @c. @return whether its counters can be
 * read */
bool hes_dcgm_watch(struct hes_dcgm *c, const char *uuid, struct hes_activity_sums *sums);

/** Read the counters and add the new values. */
void hes_dcgm_look(struct hes_dcgm *c);

#endif
