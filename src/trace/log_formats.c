/*
 * log_formats.c - the table of log formats; formats.c reads logs through it. To add one: a parse
 * function and a row.
 *
 * Parse functions return 1 a row, 0 a row to skip, or a negative errno; col[] holds the places of
 * the row's columns.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/num.h"
#include "heshare/trace.h"
#include "trace/dates.h"

#define MAX_GPUS 100000

static int take_gpus(const struct hes_csv *c, int col, struct hes_trace_row *out,
		     struct hes_err *err)
{
	uint32_t gpus;
	int rc = hes_csv_u32(c, col, 0, MAX_GPUS, &gpus, err);

	if (rc)
		return rc;
	out->gpu_milli = gpus * 1000;
	return gpus > 0 && out->runtime_us > 0;
}

/* Hu et al., SC 2021: reduced to arrival, run time and GPUs. */
static int parse_helios(const struct hes_csv *c, const int *col, struct hes_trace_row *out,
			struct hes_err *err)
{
	int rc = hes_csv_seconds(c, col[1], &out->arrival_us, err);

	if (!rc)
		rc = hes_csv_seconds(c, col[2], &out->runtime_us, err);
	return rc ? rc : take_gpus(c, col[3], out, err);
}

/* Jeon et al., ATC 2019, in the reduced form of scheduler papers. */
static int parse_philly(const struct hes_csv *c, const int *col, struct hes_trace_row *out,
			struct hes_err *err)
{
	int rc;

	if (!date_parse(hes_csv_text(c, col[0]), &out->arrival_us))
		return hes_csv_fail(c, err, -EINVAL,
				    "timestamp: \"%.64s\" is not a time like " DATE_EXAMPLE,
				    hes_csv_text(c, col[0]));
	rc = hes_csv_seconds(c, col[1], &out->runtime_us, err);
	return rc ? rc : take_gpus(c, col[2], out, err);
}

/* Pods of the "openb" cluster (Weng et al., ATC 2023). Skipped: without a GPU, or never scheduled.
 */
static int parse_alibaba(const struct hes_csv *c, const int *col, struct hes_trace_row *out,
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

/* MISO's models that are in HeShare's Table IV; embeddings and graph networks have no counterpart
 * there. */
static const struct {
	const char *model, *workload;
} miso_models[] = {
	{ "bert", "bert-large" },
	{ "mobilenet", "mobilenetv2" },
	{ "resnet", "resnet50" },
	{ "transformer", "transformer" },
};

/* Li et al., SoCC 2022. "resnet_train128" is model and batch size. */
static int parse_miso(const struct hes_csv *c, const int *col, struct hes_trace_row *out,
		      struct hes_err *err)
{
	const char *text = hes_csv_text(c, col[1]), *train = strstr(text, "_train");
	struct hes_err why;
	int rc;

	if (!train || hes_parse_u32("batch size", train + strlen("_train"), 1, HES_MAX_BATCH_SIZE,
				    &out->batch_size, &why))
		return hes_csv_fail(c, err, -EINVAL,
				    "model_trainBATCH: \"%.64s\" is not a model and batch size "
				    "like resnet_train128",
				    text);
	for (size_t i = 0; i < sizeof(miso_models) / sizeof(miso_models[0]); i++)
		if (strlen(miso_models[i].model) == (size_t)(train - text) &&
		    strncmp(miso_models[i].model, text, (size_t)(train - text)) == 0)
			snprintf(out->workload, sizeof(out->workload), "%s",
				 miso_models[i].workload);
	rc = hes_csv_seconds(c, col[2], &out->runtime_us, err);
	out->gpu_milli = 1000;
	return rc ? rc : out->runtime_us > 0;
}

#define COLUMNS(...)              \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static const struct hes_trace_format formats[] = {
	{ .name = "helios",
	  .parse = parse_helios,
	  .columns = COLUMNS("job_id", "arrival_s", "service_s", "gpus"),
	  .summary = "SenseTime Helios: one row a GPU job, seconds from the first submission" },
	{ .name = "philly",
	  .parse = parse_philly,
	  .columns = COLUMNS("timestamp", "duration", "num_gpus"),
	  .summary = "Microsoft Philly: one row a job, date and time of submission" },
	{ .name = "alibaba",
	  .parse = parse_alibaba,
	  .columns = COLUMNS("name", "num_gpu", "gpu_milli", "creation_time", "deletion_time",
			     "scheduled_time"),
	  .summary = "Alibaba 2023 openb pods: whole GPUs or thousandths of one" },
	{ .name = "miso",
	  .parse = parse_miso,
	  .no_arrivals = true,
	  .columns = COLUMNS("job", "model_trainBATCH", "runtime_s"),
	  .summary = "MISO's 100 jobs: model, batch size and run time, no arrivals" },
};

const struct hes_trace_format *const hes_trace_formats[] = { &formats[0], &formats[1], &formats[2],
							     &formats[3], NULL };
