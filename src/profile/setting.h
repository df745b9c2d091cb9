/*
 * setting.h - what was set where a point was measured, as a text and as a number: the type, the clock and
 * the jobs with their shares, in an order that does not depend on who joined first.
 */
#ifndef HES_PROFILE_SETTING_H
#define HES_PROFILE_SETTING_H

#include "core/beside.h"
#include "heshare/profiler.h"

#define SETTING_MAX (HES_MAX_SHARING * HES_BESIDE_JOB_MAX) /* a text of all jobs of a board */

/** All jobs of a row's point, itself among them. */
void setting_text(const struct hes_point *p, char out[SETTING_MAX]);
/** Never 0. */
uint64_t setting_number(const char *type, uint32_t clock_mhz, const char *text);

#endif
