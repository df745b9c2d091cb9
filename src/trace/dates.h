/*
 * dates.h - dates with a time of day in logs.
 */
#ifndef HES_TRACE_DATES_H
#define HES_TRACE_DATES_H

#include <stdbool.h>
#include <stdint.h>

#define DATE_EXAMPLE "2017-10-09 07:01:55"

/**
 * Read "2017-10-09 07:01:55", also with T in place of the space, a fraction of a second, and Z or
 * +01:00 at the end. Without a zone it is UTC: only differences matter.
 * @param out_us  since 1970; written only on success
 * @return false: not such a time, or before 1970
 */
bool date_parse(const char *text, int64_t *out_us);

#endif
