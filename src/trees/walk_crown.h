/*
 * walk_crown.h - how walk_wide.c keeps trees: made by walk_crown.c.
 *
 * A value stands for itself only by how many of its feature's cuts lie below
 * it: its rank, 16 bits. A row goes left where its rank is at most that of
 * the node's cut.
 *
 * A tree is parted in two. Its crown, the nodes with more than TWIG_LEAVES
 * leaves below them, is asked for many rows at once: every node of it for
 * every row, children before their parent, each choosing between what its
 * children chose, and what comes out is the number of a twig. Deep and
 * narrow trees are no worse for that than others. A twig, what hangs below
 * the crown, is asked for one row at once: all its tests side by side, then
 * all its leaves whether the tests agree with the way to them. Neither has a
 * branch that depends on rows.
 *
 * Small trees are all crown, and what comes out is the number of a leaf.
 */
#ifndef HES_TREES_WALK_CROWN_H
#define HES_TREES_WALK_CROWN_H

#include "trees/ensemble.h"

#define TWIG_LEAVES  16 /* lanes of 16 bits in a vector */
#define TWIG_TESTS   14 /* of twigs that lie together; a row says by two bits more in which of them it is */
#define TWIGS        4  /* that lie together */
#define SMALL_LEAVES 40 /* of a tree that is all crown */
#define GROUP        8  /* columns that a shuffle of bytes reaches */
#define MAX_GROUPS   6
#define MAX_SLOTS    16
#define MAX_VALUES   4     /* of a joint tree's leaf */
#define MAX_CUTS     65534 /* of a feature */
#define MAX_PARTS    2048  /* of its range */
#define CUTS_AT_ONCE 32    /* compared with a key side by side */
#define MAX_CROWN    1000  /* nodes: of a tree, and so what needs no more than MAX_SLOTS */
#define MEAN_NODES   2200  /* of trees whose crowns are worth measuring */
#define MEAN_CROWN   160    /* nodes: where trees have more, nodes one by one are as quick, and laid out sooner */

/* Where a node's two choices come from: ends of the crown by their number, the accumulator or a slot. */
enum crown_kind {
	CROWN_ENDS,       /* both are ends */
	CROWN_ENDS_KEEP,  /* the same, once the accumulator has been kept in the slot */
	CROWN_END,        /* left an end, right the accumulator */
	CROWN_SLOT,       /* left the slot, right the accumulator */
};

/* Nodes are few of kinds, lest the processor foretell the next one's wrongly: one with left and right the other way
 * round asks the complements of ranks, which stand behind the columns. */
struct crown_node {
	int16_t  beyond;   /* rank of the cut and 1: left where this exceeds the row's */
	uint8_t  kind, slot;
	uint16_t column;
	uint16_t left, right; /* ends */
};

/*
 * Twigs are small: as many as find room lie together. Of such: for each group of columns a shuffle that fetches the
 * tests' keys (of 32 bytes), then these. Rounded up to lines of the cache.
 */
struct twig_tail {
	int16_t  cut[TWIG_LEAVES];  /* of each test: rank of the cut */
	uint16_t asked[TWIG_LEAVES]; /* of each leaf: the tests on its way, a bit each, and in which twig it is */
	uint16_t right[TWIG_LEAVES]; /* which of them say right; some that is not asked: no such leaf */
	float    value[];            /* of each leaf, n_values */
};

struct crown_tree {
	size_t   first;    /* of crown nodes */
	uint32_t n_nodes;
	uint32_t output;
	size_t   ends;     /* where its twigs begin, in bytes; of a small tree, its leaves */
	uint32_t n_twigs;  /* as they lie together */
	bool     small;
};

/* What a feature that trees ask about is cut by. */
struct crown_column {
	uint32_t        feature;
	uint32_t        n_cuts;
	const int32_t  *cuts;    /* as signed keys, rising, and CUTS_AT_ONCE that exceed all */
	uint32_t        shift;   /* parts of the range from the first to the last cut are 1 << shift wide */
	uint32_t        n_parts;
	const uint16_t *starts;  /* of each part, from where on to look for a key in it, */
	uint32_t        n_among; /* among so many cuts */
};

struct wide {
	size_t               n_features, n_outputs, n_trees;
	double              *base, *scale;
	struct crown_column *columns;
	size_t               n_columns, n_groups;
	int32_t             *cuts;
	uint16_t            *starts;
	struct crown_tree   *trees;     /* by output */
	struct crown_node   *nodes;
	uint8_t             *twigs;
	float               *leaves;    /* of small trees, n_values each */
	size_t               n_values;  /* 1; of joint trees n_outputs, and all trees are the first output's */
};

/* Bytes of twigs that lie together; the tail lies behind the shuffles. */
static inline __attribute__((always_inline)) size_t twig_size(size_t n_groups, size_t n_values)
{
	return (n_groups * 32 + sizeof(struct twig_tail) + TWIG_LEAVES * n_values * sizeof(float) + 63) / 64 * 64;
}

/** A key (walk_key.h) as a signed number of the same order, for vectors compare no others. */
static inline int32_t crown_signed(uint32_t key)
{
	return (int32_t)(key ^ 0x80000000u);
}

/** Ranks as signed numbers. */
static inline int16_t crown_rank(uint32_t rank)
{
	return (int16_t)((int32_t)rank - 32768);
}

#endif
