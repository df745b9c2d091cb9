/*
 * walk_layout.c - lay trees out for walking; see walk_layout.h.
 */
#include "trees/walk_layout.h"

#include <stdlib.h>
#include <string.h>

#include "trees/walk.h"
#include "trees/walk_key.h"
#include "trees/quickscorer.h"
#include "trees/walk_wide.h"

/* What laying out works with; @column is indexed by feature and by where missing values go, @alone by feature. */
struct plan {
	const struct ensemble *e;
	uint32_t (*column)[2];
	uint32_t  *alone;
	uint32_t  *place;   /* of each node of a tree */
	uint32_t  *stack;
};

void walker_destroy(struct walker *w)
{
	if (!w)
		return;
	ensemble_finish(&w->plain);
	wide_destroy(w->wide);
	sieve_destroy(w->sieve);
	free(w->outputs);
	free(w->columns);
	free(w->features);
	free(w->trees);
	free(w->nodes);
	free(w->leaves);
	free(w);
}

static void *copy_of(const void *v, size_t n, size_t size)
{
	void *copy = malloc(n * size);

	if (copy)
		memcpy(copy, v, n * size);
	return copy;
}

/* @return whether memory sufficed */
static bool keep_plain(struct walker *w, const struct ensemble *e)
{
	w->plain = *e;
	w->plain.base = copy_of(e->base, e->n_outputs, sizeof(*e->base));
	w->plain.scale = copy_of(e->scale, e->n_outputs, sizeof(*e->scale));
	w->plain.trees = copy_of(e->trees, e->n_trees, sizeof(*e->trees));
	w->plain.nodes = copy_of(e->nodes, e->n_nodes, sizeof(*e->nodes));
	w->plain.joint = e->joint ? copy_of(e->joint, e->n_nodes * e->n_outputs, sizeof(*e->joint)) : NULL;
	return w->plain.base && w->plain.scale && w->plain.trees && w->plain.nodes && (!e->joint || w->plain.joint);
}

/* A column for each feature and direction of missing values that some node asks. */
static void number_columns(struct plan *p, struct walker *w)
{
	for (size_t i = 0; i < p->e->n_nodes; i++) {
		const struct ensemble_node *node = &p->e->nodes[i];

		if (node->left)
			p->column[node->feature][node->missing_left] = 1;
	}
	w->n_columns = w->n_alone = 1;
	for (uint32_t f = 0; f < p->e->n_features; f++) {
		if (p->column[f][0] || p->column[f][1]) {
			p->alone[f] = (uint32_t)w->n_alone;
			w->features[w->n_alone++] = f;
		}
		for (int left = 0; left < 2; left++)
			if (p->column[f][left]) {
				p->column[f][left] = (uint32_t)w->n_columns;
				w->columns[w->n_columns++] = (struct walker_column){
					.missing = left ? 0 : UINT64_MAX, .feature = f };
			}
	}
}

static uint32_t biggest_tree(const struct ensemble *e)
{
	uint32_t n = 0;

	for (size_t t = 0; t < e->n_trees; t++)
		n = e->trees[t].n_nodes > n ? e->trees[t].n_nodes : n;
	return n;
}

/* Two columns where bytes suffice, else a byte, quickest to cut out. @return whether indices fit in the rest */
static bool share_bits(struct walker *w, uint32_t biggest)
{
	w->child_shift = 8;
	while (w->n_columns > (size_t)1 << w->child_shift)
		w->child_shift++;
	if (w->child_shift == 8 && biggest < (uint32_t)1 << (32 - WALK_TWO_COLUMNS))
		w->child_shift = WALK_TWO_COLUMNS;
	return biggest < (uint32_t)1 << (32 - w->child_shift);
}

/* @param depth  room for each node's */
static uint32_t depth_of(const struct ensemble_node *nodes, uint32_t n, uint32_t *depth)
{
	uint32_t deepest = 0;

	depth[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		deepest = depth[i] > deepest ? depth[i] : deepest;
		if (nodes[i].left)
			depth[nodes[i].left] = depth[nodes[i].left + 1] = depth[i] + 1;
	}
	return deepest;
}

/*
 * Place pairs of siblings depth first, and with a pair its children's pairs
 * where the cache line has room: a line then serves two levels more often
 * than one. The root has no sibling; its place stays empty.
 * @return places taken
 */
static uint32_t place_nodes(const struct ensemble_node *nodes, uint32_t n, struct plan *p)
{
	uint32_t next = 2, depth = 0;

	memset(p->place, 0, n * sizeof(*p->place));
	p->stack[depth++] = 0;
	while (depth) {
		uint32_t left = nodes[p->stack[--depth]].left;

		if (!left)
			continue;
		for (int i = -1; i < 2; i++) {
			uint32_t pair = i < 0 ? left : nodes[left + (uint32_t)i].left;

			if (!pair || p->place[pair] || (i >= 0 && next % WALK_LINE_NODES == 0))
				continue;
			p->place[pair] = next;
			p->place[pair + 1] = next + 1;
			next += 2;
		}
		p->stack[depth++] = left + 1;
		p->stack[depth++] = left;
	}
	return next;
}

/* @param says  of a leaf: its value, or number */
static uint64_t node_bits(const struct walker *w, const struct plan *p, const struct ensemble_node *node,
			  uint32_t place, uint32_t says)
{
	uint64_t column;

	if (!node->left)
		return (uint64_t)says << 32 | (uint64_t)place << w->child_shift;
	column = p->column[node->feature][node->missing_left];
	if (w->child_shift == WALK_TWO_COLUMNS)
		column = column << 8 | p->alone[node->feature];
	return (uint64_t)walk_key(node->value) << 32 | (uint64_t)p->place[node->left] << w->child_shift | column;
}

static size_t room_of(uint32_t n_nodes)
{
	return ((size_t)n_nodes + WALK_LINE_NODES) / WALK_LINE_NODES * WALK_LINE_NODES;
}

/* Bits of the nodes of a tree, and its leaves' values if it is a joint one. @return behind these */
static float *fill_tree(struct walker *w, const struct plan *p, const struct ensemble_tree *tree, uint64_t *at,
			float *leaves)
{
	const struct ensemble_node *nodes = p->e->nodes + tree->root;
	uint32_t n_leaves = 0;

	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		bool joint_leaf = p->e->joint && !nodes[i].left;

		at[p->place[i]] = node_bits(w, p, &nodes[i], p->place[i],
					    joint_leaf ? n_leaves : walk_float_bits(nodes[i].value));
		if (!joint_leaf)
			continue;
		memcpy(leaves, ensemble_leaf(p->e, tree, i), w->n_values * sizeof(*leaves));
		leaves += w->n_values;
		n_leaves++;
	}
	return leaves;
}

/* @return whether memory sufficed */
static bool lay_out(struct walker *w, struct plan *p)
{
	const struct ensemble *e = p->e;
	size_t room = 0;
	float *leaves;
	uint64_t *at;

	for (size_t t = 0; t < e->n_trees; t++)
		room += room_of(e->trees[t].n_nodes);
	w->nodes = aligned_alloc(WALK_LINE_NODES * sizeof(*w->nodes), (room ? room : WALK_LINE_NODES) * sizeof(*w->nodes));
	w->leaves = e->joint ? malloc(((e->n_nodes + e->n_trees) / 2 * w->n_values + 1) * sizeof(*w->leaves)) : NULL;
	if (!w->nodes || (e->joint && !w->leaves))
		return false;
	memset(w->nodes, 0, room * sizeof(*w->nodes));
	at = w->nodes;
	leaves = w->leaves;
	for (size_t t = 0; t < e->n_trees; t++) {
		const struct ensemble_node *nodes = e->nodes + e->trees[t].root;
		uint32_t n = e->trees[t].n_nodes;

		w->trees[t] = (struct walker_tree){ at, leaves, (uint32_t)(room_of(n) / WALK_LINE_NODES),
						    depth_of(nodes, n, p->stack) };
		w->outputs[e->trees[t].output].end = t + 1;
		place_nodes(nodes, n, p);
		leaves = fill_tree(w, p, &e->trees[t], at, leaves);
		at += room_of(n);
	}
	return true;
}

/* Trees stand by output; lay_out() noted where those of each end. */
static void note_outputs(struct walker *w, const struct ensemble *e)
{
	size_t first = 0;

	for (size_t o = 0; o < e->n_outputs; o++) {
		struct walker_output *output = &w->outputs[o];

		output->base = e->base[o];
		output->scale = e->scale[o];
		output->first = first;
		output->end = output->end ? output->end : first;
		first = output->end;
	}
}

/* @return whether memory sufficed */
static bool make(struct walker *w, struct plan *p)
{
	const struct ensemble *e = p->e;
	uint32_t biggest = biggest_tree(e);

	w->n_features = e->n_features;
	w->n_outputs = e->n_outputs;
	w->n_trees = e->n_trees;
	w->n_values = ensemble_values(e);
	w->outputs = calloc(e->n_outputs, sizeof(*w->outputs));
	w->columns = calloc(1 + 2 * e->n_features, sizeof(*w->columns));
	w->features = calloc(1 + e->n_features, sizeof(*w->features));
	w->trees = calloc(e->n_trees + 1, sizeof(*w->trees));
	p->column = calloc(e->n_features, sizeof(*p->column));
	p->alone = calloc(e->n_features, sizeof(*p->alone));
	p->place = calloc((size_t)biggest + 1, sizeof(*p->place));
	p->stack = calloc((size_t)biggest + 1, sizeof(*p->stack));
	if (!w->outputs || !w->columns || !w->features || !w->trees || !p->column || !p->alone || !p->place ||
	    !p->stack)
		return false;
	number_columns(p, w);
	if (!share_bits(w, biggest))
		return keep_plain(w, e);
	if (!lay_out(w, p))
		return false;
	note_outputs(w, e);
	return true;
}

struct walker *walker_create(const struct ensemble *e)
{
	struct walker *w = calloc(1, sizeof(*w));
	struct plan p = { .e = e };

	if (w && (!make(w, &p) || wide_create(e, &w->wide) || sieve_create(e, &w->sieve))) {
		walker_destroy(w);
		w = NULL;
	}
	free(p.column);
	free(p.alone);
	free(p.place);
	free(p.stack);
	return w;
}
