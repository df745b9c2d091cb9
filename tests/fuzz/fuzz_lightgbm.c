/* fuzz_lightgbm.c - any text is a LightGBM model that can be asked and written again, or an error with a sentence. */
#include "fuzz_regressor.h"

static int load(const char *path, struct hes_err *err)
{
	struct hes_regressor *r;
	int rc = hes_regressor_import_lightgbm(&path, 1, &r, err);

	if (rc)
		return rc;
	if (hes_regressor_export_lightgbm("/dev/null", r, 0, NULL))
		abort();
	fuzz_ask(r);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, ".txt", load);
}
