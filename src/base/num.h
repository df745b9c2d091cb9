/*
 * num.h - parse numbers from outside: whole text, range checked, with the name in the error. NaN
 * and infinity are refused.
 */
#ifndef HES_BASE_NUM_H
#define HES_BASE_NUM_H

#include <stdint.h>

#include "heshare/err.h"

/** @what names the value in the error ("arrival_s", "--seed"). Written only on success. */
int hes_parse_double(const char *what, const char *text, double min, double max, double *out,
		     struct hes_err *err);
int hes_parse_u64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out,
		  struct hes_err *err);
int hes_parse_u32(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *out,
		  struct hes_err *err);

/** A size as text, such as 4096, 100k, 50M, 2G or 1T, to bytes. @return as the others */
int hes_parse_size(const char *what, const char *text, uint64_t *out, struct hes_err *err);

/** A time as text, such as 500us, 200ms or 2s, to nanoseconds. @return as the others */
int hes_parse_time(const char *what, const char *text, uint64_t max_ns, uint64_t *out_ns,
		   struct hes_err *err);

/** Seconds as text to whole microseconds, in [0, 10^9 s]. */
int hes_parse_seconds(const char *what, const char *text, int64_t *out_us, struct hes_err *err);

#endif
