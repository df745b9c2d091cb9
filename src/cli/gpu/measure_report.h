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

/** One run of the command. */
struct measured_run {
	double seconds;
	double late_s; /* from its end until this was seen, because heshare was stopped: part of
			  the GPUs' figures; 0: seen at once */
	int status;    /* exit status of the command */
	struct measured_gpu *gpus; /* those of the series, in one order */
};

void measure_text(FILE *f, const struct measured_run *r, size_t n);
json_t *measure_json(const struct measured_run *r, size_t n, double period_s);
/** Say in which run the end was seen late, and what that means. @param run  its number; 0: there is
 * one */
void measure_late_text(FILE *f, const struct measured_run *r, size_t run);

/** @return an array of what was left out; owned by the caller */
json_t *measure_left_out_json(unsigned left_out);

#endif
