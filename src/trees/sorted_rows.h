/*
 * sorted_rows.h - every feature's rows by rising value; rows by rising target.
 */
#ifndef HES_TREES_SORTED_ROWS_H
#define HES_TREES_SORTED_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct grow_order {
	uint32_t *rows;      /* of each feature: by rising value, then by index; rows without it last */
	uint32_t *n_present; /* of each feature: rows that have it */
	size_t    n_rows, n_features;
};

/** @param x  column by column. @return 0 or -ENOMEM */
int  grow_order_init(struct grow_order *o, const float *x, size_t n_rows, size_t n_features);
void grow_order_finish(struct grow_order *o);

struct grow_keyed {
	uint32_t key;
	uint32_t row;
};

/** Sort n by rising key, stably. @param b  takes them sorted; @a is spare room then */
void grow_sort_keyed(struct grow_keyed *a, struct grow_keyed *b, size_t n);

struct grow_target {
	double   y;
	uint32_t row;
};

/** Sort @n rows by rising target, then by index. @param y  of each row. @param spare  room for n */
void grow_sort_by_target(uint32_t *rows, size_t n, const double *y, struct grow_target *spare);

#endif
