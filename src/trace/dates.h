/*
 * dates.h - dates with a time of day in logs.
 */
#ifndef HES_TRACE_DATES_H
#define HES_TRACE_DATES_H

#include <stdbool.h>
#include <stdint.h>

#define DATE_EXAMPLE "2017-10-09 07:01:55"

enum date {
	DATE_READ,
	DATE_UNZONED,    /* read, and the text has no zone */
	DATE_OTHER,      /* the text is no date */
	DATE_IMPOSSIBLE, /* there is no such date or time, or it is before 1970 */
};

/**
 * Read "2017-10-09 07:01:55", also with / and T, without the seconds or the time of day, with a
 * fraction of a second, and with Z, UTC or +01:00 at the end. A leap second is the second after it.
 * @param local   a time without a zone is in the zone of the process (TZ); else in UTC
 * @param out_us  since 1970; written only when it is read
 */
enum date date_parse(const char *text, bool local, int64_t *out_us);

#endif
