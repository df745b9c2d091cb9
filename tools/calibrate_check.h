/*
 * calibrate_check.h - the table of `heshare-calibrate --check`: the model's errors against
 * measurements, a row for each series.
 */
#ifndef TOOLS_CALIBRATE_CHECK_H
#define TOOLS_CALIBRATE_CHECK_H

#include "measured/check.h"

/** Print the table to standard output, as text or as one JSON document.
 * @return 0; 1 when a target is not met or the document cannot be written */
int calibrate_check_print(const struct hes_check *c, const struct hes_observations *obs, bool json);

#endif
