/*
 * sorted_rows.h - the rows of each feature by rising value.
 */
#ifndef PAPER_SORTED_ROWS_H
#define PAPER_SORTED_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct sorted_rows {
	uint32_t *rows; /* of each feature: by rising value, then by index; rows without it last */
	uint32_t *n_present; /* of each feature: rows that have it */
	size_t n, n_features;
};

/** @param x  column by column. @return 0 or -ENOMEM */
int sorted_rows_init(struct sorted_rows *s, const float *x, size_t n, size_t n_features);
void sorted_rows_finish(struct sorted_rows *s);

#endif
