/* fuzz_number_table.c - any bytes are a table of numbers or an error with a sentence. */
#include <math.h>

#include "number_table.h"
#include "fuzz_loader.h"

static int load(const char *path, struct hes_err *err)
{
	struct hes_table t;
	int rc = hes_table_load(path, NULL, &t, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < t.n_rows * t.n_columns; i++)
		if (isinf((float)t.v[i]))
			abort();
	for (size_t i = 0; i < t.n_columns; i++)
		if (hes_table_find(&t, t.names[i]) != (int)i)
			abort();
	hes_table_free(&t);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, ".csv", load);
}
