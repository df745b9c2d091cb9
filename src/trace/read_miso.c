/*
 * read_miso.c - the 100 jobs of MISO (Li et al., SoCC 2022): training model,
 * batch size and run time; arrivals are not part of it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/num.h"
#include "trace/source.h"

static const char *const columns[] = { "job", "model_trainBATCH", "runtime_s", NULL };

/* MISO's models that HeShare's Table IV has; embeddings and graph nets have no counterpart there. */
static const struct {
	const char *model, *workload;
} models[] = {
	{ "bert", "bert-large" },
	{ "mobilenet", "mobilenetv2" },
	{ "resnet", "resnet50" },
	{ "transformer", "transformer" },
};

/* "resnet_train128" is model and batch size. */
static int parse_model(const struct hes_csv *c, int col, struct hes_trace_row *out, struct hes_err *err)
{
	const char *text = hes_csv_text(c, col), *train = strstr(text, "_train");
	struct hes_err why;

	if (!train || hes_parse_u32("batch size", train + strlen("_train"), 1, HES_MAX_BATCH_SIZE,
				    &out->batch_size, &why))
		return hes_csv_fail(c, err, -EINVAL,
				    "model_trainBATCH: \"%.64s\" is not a model and batch size like resnet_train128",
				    text);
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strlen(models[i].model) == (size_t)(train - text) &&
		    strncmp(models[i].model, text, (size_t)(train - text)) == 0)
			snprintf(out->workload, sizeof(out->workload), "%s", models[i].workload);
	return 0;
}

static int parse(const struct hes_csv *c, const int *col, struct hes_trace_row *out,
		 struct hes_err *err)
{
	int rc = parse_model(c, col[1], out, err);

	if (!rc)
		rc = hes_csv_seconds(c, col[2], &out->runtime_us, err);
	if (rc)
		return rc;
	out->gpu_milli = 1000;
	return out->runtime_us > 0;
}

const struct hes_trace_format hes_trace_miso = {
	.name = "miso",
	.summary = "MISO's 100 jobs: model, batch size and run time, no arrivals",
	.columns = columns,
	.parse = parse,
};
