/*
 * matrix.h - a table of numbers from a file: CSV without a header, plain or .gz. Refuses NaN,
 * infinities and rows of different length. An empty field is NAN.
 */
#ifndef HES_BASE_MATRIX_H
#define HES_BASE_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

#define HES_MATRIX_MAX_ROW ((size_t)64 << 20) /* bytes of one row */
#define HES_MATRIX_MAX_CELLS \
	((size_t)1000000000) /* 8 GB: 100,000 jobs on 10,000 GPUs that all differ */
#define HES_MATRIX_MAX_BYTES ((uint64_t)16 << 30) /* of a file, unpacked */
#define HES_MATRIX_MAX_BLANK 100000               /* lines without anything */

struct hes_matrix {
	double *v;            /* [row * columns + column]; NAN where the field was empty */
	size_t rows, columns; /* at least 1 each */
};

/** Every number must be within min..max. @out is untouched on failure. */
int hes_matrix_read(const char *path, double min, double max, struct hes_matrix *out,
		    struct hes_err *err);
void hes_matrix_free(struct hes_matrix *m);

#endif
