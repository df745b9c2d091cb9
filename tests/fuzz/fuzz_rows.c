/*
 * fuzz_rows.c - any bytes are rows of a kind, or an error with a sentence. meson.build gives the
 * kind as ROWS (jobs, profiles, samples) and the format as SUFFIX.
 */
#include "fuzz_loader.h"
#include "heshare/job.h"
#include "heshare/profile.h"

#define JOIN(a, b, c) a##b##c
#define NAME(a, b, c) JOIN(a, b, c)

static int load(const char *path, struct hes_err *err)
{
	struct NAME(hes_, ROWS, ) rows;
	int rc = NAME(hes_, ROWS, _load)(path, &rows, err);

	if (!rc)
		NAME(hes_, ROWS, _free)(&rows);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, SUFFIX, load);
}
