/*
 * walk_layout.h - how a walker keeps its trees: made by walk_layout.c, read by walk.c.
 *
 * A node is 64 bits: 32 bits of threshold, then the index of its left child
 * within the tree, then, in the lowest @column_bits, its column. A row is
 * turned into columns of 64-bit keys first, ordered as its values are, with
 * the lower 32 bits clear; then
 *   next = child + (node < keys[column])
 * is the whole step: one comparison of integers, no branch, no case for
 * missing values, for these have columns of their own.
 *
 * A leaf is its own child and asks column 0, which is below everything;
 * where others keep a threshold it keeps the bits of its value. So walking
 * past a leaf changes nothing, and trees or rows can be walked abreast.
 */
#ifndef HES_PREDICT_WALK_LAYOUT_H
#define HES_PREDICT_WALK_LAYOUT_H

#include "predict/ensemble.h"

#define WALK_LINE_NODES 8 /* of a cache line */

/* Where a column's key comes from. Column 0 comes from nowhere and is always 0. */
struct walker_column {
	uint64_t missing; /* key of a missing value: 0 goes left everywhere, UINT64_MAX right */
	uint32_t feature;
};

struct walker_output {
	double base, scale;
	size_t first, end; /* its trees */
};

struct walker {
	size_t                n_features, n_outputs;
	struct walker_output *outputs;
	struct walker_column *columns;
	size_t                n_columns; /* column 0 among them */
	unsigned              column_bits;
	const uint64_t      **trees;     /* root of each */
	size_t                n_trees;
	uint64_t             *nodes;     /* roots begin cache lines */
	struct ensemble       plain;     /* walked instead where nodes do not fit 64 bits; no trees otherwise */
};

#endif
