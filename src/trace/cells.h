/*
 * cells.h - what the cells of a log say, in the spellings that schedulers and tables have. Pure but
 * for the process's time zone.
 */
#ifndef HES_TRACE_CELLS_H
#define HES_TRACE_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "heshare/err.h"

#define CELL_MAX_TIME_US 1e16 /* the year 2286 */

/**
 * Whether a cell holds no value: it is empty, or "NaN", "<null>", "Unknown" and the like in any
 * case, or a number or a date that stands for "never", such as -1 and 2^63-1.
 */
bool cell_is_missing(const char *text);

/** A finite number of at least 0. @param comma  5594,5 is a number */
int cell_number(const char *text, bool comma, double max, double *out, struct hes_err *err);

/**
 * A moment: a date, or a number of units of @unit_us.
 * @param local  a date without a zone is in the zone of the process; else in UTC
 * @return 0; 1 it is a date without a zone; negative errno
 */
int cell_moment(const char *text, bool comma, double unit_us, bool local, int64_t *out_us,
		struct hes_err *err);

/** A length of time: [DAYS-]HH:MM:SS, MM:SS, DAYS-HH[:MM], numbers with units ("1h30m"), or a
 * number of units of @unit_us. */
int cell_duration(const char *text, bool comma, double unit_us, int64_t *out_us,
		  struct hes_err *err);

/** GPUs: a number, or the part of Slurm's TRES or GRES, or of PBS's resources, that is about them
 * ("gres/gpu=2,mem=4G", "gpu:a100:2", "select=2:ngpus=1"). "50%" is 50, whose unit is the caller's.
 */
int cell_gpus(const char *text, bool comma, double *out, struct hes_err *err);

#endif
