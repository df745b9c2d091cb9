/* fuzz_jobs.c - any bytes are a jobs file in CSV or an error with a sentence. */
#include "fuzz_loader.h"
#include "heshare/job.h"

static int load(const char *path, struct hes_err *err)
{
	struct hes_jobs jobs;
	int rc = hes_jobs_load(path, &jobs, err);

	if (!rc)
		hes_jobs_free(&jobs);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, ".csv", load);
}
