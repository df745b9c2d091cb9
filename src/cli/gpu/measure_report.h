/*
 * measure_report.h - the report of `heshare measure`, also with --runs: as text, JSON or CSV.
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
	bool resumed; /* SIGCONT came: time in which heshare was stopped may be part of the figures
		       */
	int status;   /* exit status of the command */
	struct measured_gpu *gpus; /* those of the series, in one order */
};

void measure_text(FILE *f, const struct measured_run *r, size_t n);
json_t *measure_json(const struct measured_run *r, size_t n, double period_s);

/** @return an array of what was left out; owned by the caller */
json_t *measure_left_out_json(unsigned left_out);

/** Runs of one command on the same GPUs. */
struct measured_series {
	struct measured_run *runs;
	size_t n_runs, n_gpus;
	uint64_t requested, warmup;
	double period_s; /* between two samples */
};

void series_text(FILE *f, const struct measured_series *s);
json_t *series_json(const struct measured_series *s, int status);
/** A row for each run and GPU; also of a series of one. Missing values are empty. */
void series_csv(FILE *f, const struct measured_series *s);

#endif
