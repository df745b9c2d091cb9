/*
 * read_alibaba.c - pods of Alibaba's 2023 GPU cluster ("openb"; Weng et al., ATC 2023).
 *
 * A pod requests whole GPUs, or for thousandths of one. Pods without a GPU and
 * pods that were never scheduled are passed over.
 */
#include "base/csv.h"
#include "trace/source.h"

#define MAX_GPUS 100000

static const char *const columns[] = {
	"name", "num_gpu", "gpu_milli", "creation_time", "deletion_time", "scheduled_time", NULL
};

static int parse(const struct hes_csv *c, const int *col, struct hes_trace_row *out,
		 struct hes_err *err)
{
	int64_t deleted = 0, scheduled = 0;
	uint32_t gpus, milli = 0;
	int rc = hes_csv_u32(c, col[1], 0, MAX_GPUS, &gpus, err);

	if (!rc && (gpus == 0 || !hes_csv_text(c, col[5])[0] || !hes_csv_text(c, col[4])[0]))
		return 0;
	if (!rc)
		rc = hes_csv_u32(c, col[2], 1, 1000, &milli, err);
	if (!rc)
		rc = hes_csv_seconds(c, col[3], &out->arrival_us, err);
	if (!rc)
		rc = hes_csv_seconds(c, col[4], &deleted, err);
	if (!rc)
		rc = hes_csv_seconds(c, col[5], &scheduled, err);
	if (rc)
		return rc;
	out->gpu_milli = gpus * milli;
	out->runtime_us = deleted - scheduled;
	return out->runtime_us > 0;
}

const struct hes_trace_format hes_trace_alibaba = {
	.name = "alibaba",
	.summary = "Alibaba 2023 openb pods: whole GPUs or thousandths of one",
	.columns = columns,
	.parse = parse,
};
