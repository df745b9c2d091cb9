/* fuzz_samples.c - any bytes are samples or an error with a sentence. */
#include "fuzz_loader.h"
#include "heshare/profile.h"

static int load(const char *path, struct hes_err *err)
{
	struct hes_samples samples;
	int rc = hes_samples_load(path, &samples, err);

	if (!rc)
		hes_samples_free(&samples);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, ".csv", load);
}
