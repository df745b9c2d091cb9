/*
 * walk_layout.h - how a walker keeps its trees: made by walk_layout.c, read by walk.c.
 *
 * A node is 64 bits: 32 bits of threshold, then the index of its left child
 * within the tree, then, in the lowest @child_shift, its column. A row is
 * turned into columns of 64-bit keys first, ordered as its values are, with
 * the lower 32 bits clear; then
 *   next = child + (node < keys[column])
 * is the whole step: one comparison of integers, no branch, no case for
 * missing values, for these have columns of their own, one for nodes that
 * send them left and one for those that send them right.
 *
 * A row without missing values does not need both. So where they fit, nodes
 * name two columns of a byte each (@child_shift is WALK_TWO_COLUMNS): in the
 * lowest byte the one that stands for its feature alone, of @features, in
 * the next the one of @columns.
 *
 * A leaf is its own child and asks column 0, which is below everything;
 * where others keep a threshold it keeps the bits of its value, or of a
 * joint tree its number. So walking past a leaf changes nothing, and trees
 * or rows can be walked abreast.
 */
#ifndef HES_TREES_WALK_LAYOUT_H
#define HES_TREES_WALK_LAYOUT_H

#include "trees/ensemble.h"

struct wide;
struct sieve;

#define WALK_LINE_NODES  8  /* of a cache line */
#define WALK_TWO_COLUMNS 16 /* bits that two columns take */

/* Where a column's key comes from. Column 0 comes from nowhere and is always 0. */
struct walker_column {
	uint64_t missing; /* key of a missing value: 0 goes left everywhere, UINT64_MAX right */
	uint32_t feature;
};

struct walker_output {
	double base, scale;
	size_t first, end; /* its trees */
};

struct walker_tree {
	const uint64_t *nodes; /* the root first */
	const float    *leaves; /* of a joint tree: n_values each */
	uint32_t        lines; /* of the cache, that its nodes take */
	uint32_t        depth; /* steps that bring every row to its leaf */
};

struct walker {
	size_t                n_features, n_outputs;
	struct walker_output *outputs;
	struct walker_column *columns;
	size_t                n_columns;  /* column 0 among them */
	uint32_t             *features;   /* of each column that stands for a feature alone; of column 0: none */
	size_t                n_alone;    /* such columns, column 0 among them */
	unsigned              child_shift;
	struct walker_tree   *trees;
	size_t                n_trees;
	uint64_t             *nodes;     /* roots begin cache lines */
	size_t                n_values;  /* a leaf: 1; of joint trees n_outputs, and all trees are the first output's */
	float                *leaves;    /* of joint trees */
	struct wide          *wide;      /* asked for many rows; NULL: nodes are */
	struct sieve         *sieve;     /* asked for one row; NULL: nodes are */
	struct ensemble       plain;     /* walked instead where nodes do not fit 64 bits; no trees otherwise */
};

#endif
