/* fuzz_workloads.c - any bytes are workloads of a user or an error with a sentence. */
#include "fuzz_loader.h"
#include "heshare/model.h"

static int load(const char *path, struct hes_err *err)
{
	struct hes_model *model;
	int rc = hes_model_load(NULL, &model, err);

	if (!rc)
		rc = hes_model_add_file(model, path, err);
	hes_model_free(model);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, ".yaml", load);
}
