/*
 * bins.h - features cut to at most 256 bins each, for trees grown on
 * histograms.
 *
 * A feature with few distinct values has a bin a value; others have bins of
 * about as many rows each, and no value lies in two. Rows without a feature
 * have its last bin.
 */
#ifndef HES_TREES_BINS_H
#define HES_TREES_BINS_H

#include <stddef.h>
#include <stdint.h>

#define BINS_MAX 256 /* of a feature, with the one for missing values */

struct bins_feature {
	size_t   first;     /* its first bin among those of all features */
	uint32_t n;         /* bins of present values */
	uint32_t n_missing; /* 1: there is a bin for missing values, behind the others */
};

struct bins {
	size_t               n_rows, n_features;
	uint8_t             *codes;    /* row by row: bin of each feature */
	struct bins_feature *features;
	float               *cuts;     /* of each bin: it and those before it lie at or below */
	size_t               n;        /* bins of all features */
};

/** @param x  column by column. @return 0 or -ENOMEM */
int  bins_init(struct bins *b, const float *x, size_t n_rows, size_t n_features, uint32_t at_most);
void bins_finish(struct bins *b);

#endif
