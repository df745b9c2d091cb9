/* fuzz_fleet.c - any bytes are a fleet file or an error with a sentence. */
#include <stdlib.h>

#include "fuzz_file.h"
#include "heshare/fleet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct hes_catalogue catalogue;
	struct hes_err err = { 0 };
	struct hes_fleet fleet;

	if (!catalogue.n && hes_catalogue_load(NULL, &catalogue, NULL))
		abort();
	if (hes_fleet_parse("fleet.yaml", (const char *)data, len, &catalogue, &fleet, &err)) {
		if (!err.msg[0])
			abort();
		return 0;
	}
	if (fleet.n == 0 || fleet.n > HES_MAX_GPUS ||
	    hes_fleet_find(&fleet, fleet.gpus[0].name) != 0)
		abort();
	hes_fleet_free(&fleet);
	return 0;
}
