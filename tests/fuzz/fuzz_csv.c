/* fuzz_csv.c - any bytes are a CSV file or an error with a sentence. */
#include <stdlib.h>

#include "base/csv.h"
#include "fuzz_file.h"

static void read_fields(struct hes_csv *c, struct hes_err *err)
{
	double d;
	uint32_t u;

	for (size_t i = 0; i < hes_csv_columns(c); i++) {
		if (hes_csv_find(c, hes_csv_column_name(c, i)) < 0)
			abort();
		hes_csv_double(c, (int)i, -1e9, 1e9, &d, err);
		hes_csv_u32(c, (int)i, 0, 1000000, &u, err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hes_err err = { 0 };
	struct hes_csv *c;
	int rc = hes_csv_open(fuzz_file(data, len, ".csv"), &c, &err);

	if (rc) {
		if (!err.msg[0])
			abort();
		return 0;
	}
	while ((rc = hes_csv_next(c, &err)) == 1)
		read_fields(c, &err);
	if (rc < 0 && !err.msg[0])
		abort();
	hes_csv_close(c);
	return 0;
}
