/*
 * measured_points.h - the tables of a folder that bench/gpu/measure wrote as points
 * (bench/gpu/measured.md).
 *
 * A network is a workload with its precision and style in its name, since each is another program.
 */
#ifndef HES_APP_MEASURED_POINTS_H
#define HES_APP_MEASURED_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "heshare/gpu_type.h"
#include "heshare/point.h"

/** Why a row is no point. */
enum measured_reason {
	MEASURED_UNSTEADY,
	MEASURED_NOT_MPS,   /* jobs take turns, or are threads of one process */
	MEASURED_NOT_KNOWN, /* another kind of program than inference */
	MEASURED_NO_READING,
	MEASURED_REASONS
};

extern const char *const measured_reason_texts[MEASURED_REASONS];

/** Whether @folder is one of a measured GPU: it has gpu.json. */
bool measured_is_there(const char *folder);

/**
 * Append the points of all tables in the folder.
 * @param left_out  count here the rows that are no points
 * @return how many rows there are; -EINVAL, -ERANGE with file, row, column and value; -EEXIST a
 * point twice in a table; -ENOENT a GPU type that the catalogue does not have; -ENOMEM
 */
int measured_points_load(const char *folder, const struct hes_catalogue *c, struct hes_points *to,
			 size_t left_out[MEASURED_REASONS], struct hes_err *err);

#endif
