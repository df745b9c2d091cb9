/* fuzz_matrix.c - any bytes are a table of numbers or an error with a sentence; of a small one the
 * exact front is found. */
#include <stdlib.h>

#include "fuzz_file.h"
#include "exact.h"
#include "instance.h"

#define MOST_CELLS 200

static void solve(const struct hes_matrix *m)
{
	const struct hes_exact_options o = { .weights = 20 };
	struct hes_instance in;
	struct hes_exact_front f;
	struct hes_err err = { 0 };

	if (hes_instance_init(&in, m, m, NULL, &err)) {
		if (!err.msg[0])
			abort();
		return;
	}
	if (hes_exact_run(&in.a, &o, &f) == 0) {
		if (f.front.n == 0)
			abort();
		free(f.front.v);
		free(f.halfplanes);
	}
	hes_instance_finish(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hes_err err = { 0 };
	struct hes_matrix m;

	if (hes_matrix_read(fuzz_file(data, len, ".csv"), 0, 1e10, &m, &err)) {
		if (!err.msg[0])
			abort();
		return 0;
	}
	if (m.rows * m.columns <= MOST_CELLS)
		solve(&m);
	hes_matrix_free(&m);
	return 0;
}
