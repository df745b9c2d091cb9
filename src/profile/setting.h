/*
 * setting.h - the setting of a point as a number: GPU type, clock and co-run set. The order in
 * which jobs joined does not matter.
 */
#ifndef HES_PROFILE_SETTING_H
#define HES_PROFILE_SETTING_H

#include "core/co_run_text.h"
#include "heshare/profiler.h"

/** Never 0. */
uint64_t setting_number(const char *type, uint32_t clock_mhz, const char *text);

#endif
