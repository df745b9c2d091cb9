/*
 * setting.h - what was set where a point was measured, as a text and as a number: the type, the clock and
 * the jobs with their shares, in an order that does not depend on who joined first.
 */
#ifndef HES_PROFILE_SETTING_H
#define HES_PROFILE_SETTING_H

#include "core/co_run_text.h"
#include "heshare/profiler.h"

/** Never 0. */
uint64_t setting_number(const char *type, uint32_t clock_mhz, const char *text);

#endif
