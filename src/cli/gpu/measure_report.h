/*
 * measure_report.h - the report of `heshare measure`, as text or JSON.
 */
#ifndef HES_CLI_GPU_MEASURE_REPORT_H
#define HES_CLI_GPU_MEASURE_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "heshare/measure.h"

/** A GPU's measurement with who it is. */
struct measured_gpu {
	size_t index;
	struct hes_device_info info;
	struct hes_measured m;
};

void measure_text(FILE *f, const struct measured_gpu *b, size_t n, double seconds);
json_t *measure_json(const struct measured_gpu *b, size_t n, double seconds, double period_s,
		     int status);

/** @return an array of what was left out; owned by the caller */
json_t *measure_left_out_json(unsigned left_out);

#endif
