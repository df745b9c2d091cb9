/*
 * setting.h - what was set where a point was measured, as a text and as a number: the type, the clock and
 * the jobs with their shares, in an order that does not depend on who joined first.
 */
#ifndef HES_PROFILE_SETTING_H
#define HES_PROFILE_SETTING_H

#include "heshare/profiler.h"

#define SETTING_JOB_MAX (HES_NAME_MAX + 24)                  /* "NAME/BATCH@SHARE" */
#define SETTING_MAX     (HES_MAX_SHARING * SETTING_JOB_MAX)  /* of them with commas between them */

void setting_job(char out[SETTING_JOB_MAX], const char *workload, uint32_t batch_size, uint32_t sm_pct);
/** Sort @n jobs and join them by commas. */
void setting_join(char (*jobs)[SETTING_JOB_MAX], size_t n, char out[SETTING_MAX]);
/** All jobs of a row's point, itself among them. */
void setting_text(const struct hes_point *p, char out[SETTING_MAX]);
/** Take one job out of a list. @return false: the list ends, or is none */
bool setting_next(const char **at, char workload[HES_NAME_MAX], uint32_t *batch_size, uint32_t *sm_pct);
/** Never 0. */
uint64_t setting_number(const char *type, uint32_t clock_mhz, const char *text);

#endif
