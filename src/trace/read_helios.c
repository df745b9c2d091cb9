/*
 * read_helios.c - GPU jobs of SenseTime's Helios clusters (Hu et al., SC 2021),
 * reduced to arrival, run time and GPUs.
 */
#include "base/csv.h"
#include "trace/source.h"

#define MAX_GPUS 100000

static const char *const columns[] = { "job_id", "arrival_s", "service_s", "gpus", NULL };

static int parse(const struct hes_csv *c, const int *col, struct hes_trace_row *out,
		 struct hes_err *err)
{
	uint32_t gpus;
	int rc = hes_csv_seconds(c, col[1], &out->arrival_us, err);

	if (!rc)
		rc = hes_csv_seconds(c, col[2], &out->runtime_us, err);
	if (!rc)
		rc = hes_csv_u32(c, col[3], 0, MAX_GPUS, &gpus, err);
	if (rc)
		return rc;
	out->gpu_milli = gpus * 1000;
	return gpus > 0 && out->runtime_us > 0;
}

const struct hes_trace_format hes_trace_helios = {
	.name = "helios",
	.summary = "SenseTime Helios: one row a GPU job, seconds from the first submission",
	.columns = columns,
	.parse = parse,
};
