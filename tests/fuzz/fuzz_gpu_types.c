/* fuzz_gpu_types.c - any bytes are a catalogue or an error with a sentence. */
#include <stdlib.h>

#include "fuzz_file.h"
#include "heshare/gpu_type.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hes_err err = { 0 };
	struct hes_catalogue c;

	if (hes_catalogue_load(fuzz_file(data, len, ".yaml"), &c, &err)) {
		if (!err.msg[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < c.n; i++) {
		const struct hes_gpu_type *g = &c.types[i];

		if (!g->n_clocks || g->n_clocks > HES_MAX_CLOCKS ||
		    !hes_gpu_type_has_clock(g, g->clocks_mhz[g->n_clocks - 1]))
			abort();
	}
	hes_catalogue_free(&c);
	return 0;
}
