/* fuzz_profiles.c - any bytes are profiles or an error with a sentence. */
#include "fuzz_loader.h"
#include "heshare/profile.h"

static int load(const char *path, struct hes_err *err)
{
	struct hes_profiles profiles;
	int rc = hes_profiles_load(path, &profiles, err);

	if (!rc)
		hes_profiles_free(&profiles);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, ".csv", load);
}
