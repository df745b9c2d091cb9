/*
 * bins.h - feature values sorted into at most 256 bins per feature, for trees that are fitted on
 * histograms.
 *
 * A feature with few distinct values has a bin per value. Other features have bins of about equally
 * many rows, and no value is in two bins. Rows without a feature are in its last bin.
 */
#ifndef HES_TREES_BINS_H
#define HES_TREES_BINS_H

#include <stddef.h>
#include <stdint.h>

#define BINS_MAX 256 /* of a feature, with the one for missing values */

struct bins_feature {
	size_t first;       /* its first bin among those of all features */
	uint32_t n;         /* bins of values that are present */
	uint32_t n_missing; /* 1: there is a bin for missing values, after the others */
};

struct bins {
	size_t n_rows, n_features;
	uint8_t *codes; /* row by row: the bin of each feature */
	struct bins_feature *features;
	float *cuts; /* of each bin: its values and those of the bins before it are <= this */
	size_t n;    /* bins of all features */
};

/** @param x  column by column. @return 0 or -ENOMEM */
int bins_init(struct bins *b, const float *x, size_t n_rows, size_t n_features, uint32_t at_most);
void bins_finish(struct bins *b);

#endif
