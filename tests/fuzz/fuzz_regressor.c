/*
 * fuzz_regressor.c - any block is a regressor that can be asked, or an error with a sentence.
 */
#include "fuzz_body.h"
#include "fuzz_regressor.h"

static int load(const char *path, struct hes_err *err)
{
	struct hes_regressor *r;
	int rc = hes_regressor_load(path, &r, err);

	if (!rc)
		fuzz_ask(r);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_body(data, len, "heshare regressor 2\n", load);
}
