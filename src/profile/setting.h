/*
 * setting.h - the setting of a point as a number: GPU type, clock and co-run set. The order in
 * which jobs joined does not matter.
 */
#ifndef HES_PROFILE_SETTING_H
#define HES_PROFILE_SETTING_H

#include "core/co_run_text.h"
#include "heshare/profiler.h"

/** The number of a setting. @param clock_mhz  0: nothing is locked. Never 0. */
uint64_t setting_number(const char *type, uint32_t clock_mhz, const char *text);

/** The clock to lock for a clock of a grid or of a point; 0: none, that one is the default. */
uint32_t setting_lock(const struct hes_gpu_type *type, uint32_t clock_mhz);

#endif
