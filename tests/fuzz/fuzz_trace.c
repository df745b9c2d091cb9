/* fuzz_trace.c - any bytes are a cluster's log, of a known format or with own columns, or an error
 * with a sentence. */
#include <errno.h>

#include "fuzz_loader.h"
#include "heshare/trace.h"

static int load(const char *path, struct hes_err *err)
{
	struct hes_trace_row row;
	struct hes_trace *trace;
	int rc = hes_trace_open(path, NULL, &trace, err);

	if (rc == -ENOENT)
		rc = hes_trace_open_columns(
			path,
			"id=i,arrival=a,start=s,end=e:ms,gpus=g:milli,workload=w,batch_size=b",
			&trace, err);
	if (rc)
		return rc;
	while ((rc = hes_trace_next(trace, &row, err)) == 1)
		if ((row.runtime_us <= 0 && !row.iterations) || row.gpu_milli == 0)
			abort();
	hes_trace_close(trace);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, ".csv", load);
}
