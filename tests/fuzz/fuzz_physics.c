/* fuzz_physics.c - any bytes are parameters of the physics or an error with a sentence. */
#include "fuzz_loader.h"
#include "heshare/model.h"

static int load(const char *path, struct hes_err *err)
{
	struct hes_model *model;
	int rc = hes_model_load(path, &model, err);

	if (!rc)
		hes_model_free(model);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, ".yaml", load);
}
