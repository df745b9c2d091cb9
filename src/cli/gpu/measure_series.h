/*
 * measure_series.h - the report of `heshare measure --runs N`: means and deviations over runs, as
 * text, JSON or CSV.
 */
#ifndef HES_CLI_GPU_MEASURE_SERIES_H
#define HES_CLI_GPU_MEASURE_SERIES_H

#include <jansson.h>
#include <stdio.h>

#include "cli/gpu/measure_report.h"

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
