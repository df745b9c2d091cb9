/*
 * tree_scratch.h - memory that exact_tree.c and random_tree.c both grow a
 * tree in: its nodes, those still to be split, orders of rows.
 */
#ifndef HES_TREES_TREE_SCRATCH_H
#define HES_TREES_TREE_SCRATCH_H

#include "trees/grow.h"
#include "trees/sorted_rows.h"

struct scratch {
	struct ensemble_node *nodes;
	float                *values;    /* joint: of each node, n_outputs */
	uint32_t              n_nodes;
	size_t                n_outputs; /* of a tree */
	struct pending       *stack;
	size_t                n_stack;
	uint32_t             *features;  /* in the order they were drawn */
	uint32_t             *spare;     /* room for a row each */
	uint32_t             *by_target; /* a node's rows by rising target; absolute error only, as what follows */
	uint8_t              *left;      /* of each row: does it go left? */
	struct grow_target   *targets;   /* spare */
};

/** @param n_outputs  of a tree. @return 0 or -ENOMEM; scratch_finish() in any case */
int  scratch_init(struct scratch *s, size_t n_rows, size_t n_features, size_t n_outputs);
void scratch_finish(struct scratch *s);

/** A tree of a root alone, nothing to be split, features in their order. */
void scratch_begin(struct scratch *s, size_t n_features);
/** Copy the tree. @return 0 or -ENOMEM */
int  scratch_take(const struct scratch *s, struct grown *out);

/** What a node says of one of its tree's outputs, were it a leaf. */
static inline void scratch_put_value(struct scratch *s, uint32_t node, size_t output, double value)
{
	if (s->values)
		s->values[node * s->n_outputs + output] = (float)value;
	else
		s->nodes[node].value = (float)value;
}

#endif
