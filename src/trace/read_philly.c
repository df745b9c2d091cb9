/*
 * read_philly.c - jobs of Microsoft's Philly cluster (Jeon et al., ATC 2019), in
 * the reduced form that scheduler papers pass around.
 */
#include <errno.h>
#include <time.h>

#include "base/csv.h"
#include "trace/source.h"

#define MAX_GPUS 100000

static const char *const columns[] = { "timestamp", "duration", "num_gpus", NULL };

/* "2017-10-09 07:01:55"; the zone is taken as UTC, for only differences matter. */
static int parse_timestamp(const struct hes_csv *c, int col, int64_t *out_us, struct hes_err *err)
{
	const char *text = hes_csv_text(c, col), *end;
	struct tm tm = { 0 };

	end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
	if (!end || *end || tm.tm_year < 70 || tm.tm_year > 8000)
		return hes_csv_fail(c, err, -EINVAL, "timestamp: \"%.64s\" is not a time like 2017-10-09 07:01:55",
				    text);
	*out_us = (int64_t)timegm(&tm) * 1000000;
	return 0;
}

static int parse(const struct hes_csv *c, const int *col, struct hes_trace_row *out,
		 struct hes_err *err)
{
	uint32_t gpus;
	int rc = parse_timestamp(c, col[0], &out->arrival_us, err);

	if (!rc)
		rc = hes_csv_seconds(c, col[1], &out->runtime_us, err);
	if (!rc)
		rc = hes_csv_u32(c, col[2], 0, MAX_GPUS, &gpus, err);
	if (rc)
		return rc;
	out->gpu_milli = gpus * 1000;
	return gpus > 0 && out->runtime_us > 0;
}

const struct hes_trace_format hes_trace_philly = {
	.name = "philly",
	.summary = "Microsoft Philly: one row a job, date and time of submission",
	.columns = columns,
	.parse = parse,
};
