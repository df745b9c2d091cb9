/*
 * quickscorer.c - leaves of small trees as bit sets; see quickscorer.h.
 *
 * Leaves are numbered from the left, one bit each, the leftmost the lowest. A node that sends a row
 * to the right excludes all leaves below its left child, so the row reaches the lowest leaf that no
 * node excludes. Which nodes of a feature do so follows from the number of the feature's cuts below
 * the value. The table of a feature has the remaining leaves for each such number, and one more
 * entry for a missing value.
 */
#include "trees/quickscorer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAVES        8         /* of a tree at most: bits of a byte */
#define CUTS          4         /* compared at once */
#define MOST_BYTES    (1 << 19) /* of tables, so that they stay in the caches */
#define MOST_FEATURES 256
#define MOST_VECTORS  (QUICKSCORER_TREES / QUICKSCORER_ALIGN)

typedef float cuts_vector __attribute__((vector_size(16)));
typedef int32_t count_vector __attribute__((vector_size(16)));
typedef uint64_t leaf_vector __attribute__((vector_size(QUICKSCORER_ALIGN), may_alias));

struct scorer_feature {
	const cuts_vector *cuts; /* rising; INFINITY pads the last vector */
	const leaf_vector
		*left; /* n_vectors for 0, 1, ... cuts below the value; then for a missing one */
	uint32_t n_cuts;
	uint32_t n_quads;
};

struct scorer_output {
	double base, scale;
	uint32_t first, end; /* its trees */
};

struct quickscorer {
	size_t n_features, n_outputs, n_trees;
	size_t n_vectors; /* of a byte per tree */
	struct scorer_feature *features;
	uint8_t used[MOST_FEATURES]; /* features that some tree uses */
	size_t n_used;
	struct scorer_output *outputs;
	cuts_vector *cuts;
	leaf_vector *left;
	double (*values)[LEAVES]; /* [n_trees] */
};

/* An inner node, with the leaves below its left child. */
struct test {
	float cut;
	uint16_t feature;
	bool missing_left;
	uint8_t excludes;
	uint32_t tree;
};

/* By feature, then cut; the order of equal ones does not matter. */
static int by_cut(const void *a, const void *b)
{
	const struct test *x = a, *y = b;

	if (x->feature != y->feature)
		return x->feature < y->feature ? -1 : 1;
	return (x->cut > y->cut) - (x->cut < y->cut);
}

static bool scorer_fits(const struct ensemble *e)
{
	size_t inner = 0;

	for (size_t t = 0; t < e->n_trees; t++) {
		inner += e->trees[t].n_nodes / 2;
		if (e->trees[t].n_nodes > 2 * LEAVES - 1)
			return false;
	}
	return e->n_trees > 0 && e->n_trees <= QUICKSCORER_TREES &&
	       e->n_features <= MOST_FEATURES &&
	       (inner + 2 * e->n_features) * (e->n_trees + QUICKSCORER_ALIGN) <= MOST_BYTES;
}

/*
 * Number the leaves below a node from the left; collect its tests and leaf values.
 * @param leaf  number of the next leaf; advanced
 * @return the set of the node's leaves
 */
static uint8_t collect_tests(const struct ensemble *e, uint32_t tree, uint32_t at, uint32_t *leaf,
			     struct test **next, double *values)
{
	const struct ensemble_node *nodes = e->nodes + e->trees[tree].root, *node = &nodes[at];
	struct test *test;
	uint8_t right;

	if (!node->left) {
		values[*leaf] = (double)node->value;
		return (uint8_t)(1u << (*leaf)++);
	}
	test = (*next)++;
	*test = (struct test){ node->value, node->feature, node->missing_left, 0, tree };
	test->excludes = collect_tests(e, tree, node->left, leaf, next, values);
	right = collect_tests(e, tree, node->left + 1, leaf, next, values);
	return test->excludes | right;
}

/* The tables of a feature from its tests; on entry they exclude nothing. */
static void scorer_fill_feature(const struct quickscorer *s, struct scorer_feature *f,
				const struct test *tests, size_t n, float *cuts, uint8_t *left)
{
	const size_t row = s->n_vectors * QUICKSCORER_ALIGN;

	for (size_t i = 0; i < n; i++) {
		if (i == 0 || tests[i].cut > tests[i - 1].cut) {
			cuts[f->n_cuts++] = tests[i].cut;
			memcpy(left + f->n_cuts * row, left + (f->n_cuts - 1) * row, row);
		}
		left[f->n_cuts * row + tests[i].tree] &= (uint8_t)~tests[i].excludes;
	}
	for (size_t i = 0; i < n; i++)
		if (!tests[i].missing_left)
			left[(f->n_cuts + 1) * row + tests[i].tree] &= (uint8_t)~tests[i].excludes;
	f->n_quads = (f->n_cuts + CUTS - 1) / CUTS;
	for (size_t i = f->n_cuts; i < f->n_quads * CUTS; i++)
		cuts[i] = INFINITY;
}

/* @return whether memory sufficed */
static bool scorer_allocate(struct quickscorer *s, const struct ensemble *e, size_t n_tests)
{
	const size_t entries = n_tests + 2 * e->n_features;

	s->n_features = e->n_features;
	s->n_outputs = e->n_outputs;
	s->n_trees = e->n_trees;
	s->n_vectors = (e->n_trees + QUICKSCORER_ALIGN - 1) / QUICKSCORER_ALIGN;
	s->features = calloc(e->n_features, sizeof(*s->features));
	s->outputs = calloc(e->n_outputs, sizeof(*s->outputs));
	s->values = calloc(e->n_trees, sizeof(*s->values));
	s->cuts = aligned_alloc(sizeof(*s->cuts),
				(n_tests / CUTS + e->n_features + 1) * sizeof(*s->cuts));
	s->left = aligned_alloc(sizeof(*s->left), entries * s->n_vectors * sizeof(*s->left));
	if (!s->features || !s->outputs || !s->values || !s->cuts || !s->left)
		return false;
	memset(s->left, 0xff, entries * s->n_vectors * sizeof(*s->left));
	return true;
}

static void scorer_fill(struct quickscorer *s, const struct test *tests, size_t n)
{
	cuts_vector *cuts = s->cuts;
	leaf_vector *left = s->left;

	for (size_t f = 0, i = 0; f < s->n_features; f++) {
		struct scorer_feature *own = &s->features[f];
		size_t first = i;

		while (i < n && tests[i].feature == f)
			i++;
		if (i > first)
			s->used[s->n_used++] = (uint8_t)f;
		*own = (struct scorer_feature){ .cuts = cuts, .left = left };
		scorer_fill_feature(s, own, tests + first, i - first, (float *)cuts,
				    (uint8_t *)left);
		cuts += own->n_quads;
		left += (own->n_cuts + 2) * s->n_vectors;
	}
}

/* Trees stand by output. */
static void scorer_set_outputs(struct quickscorer *s, const struct ensemble *e)
{
	for (size_t o = 0, t = 0; o < e->n_outputs; o++) {
		s->outputs[o] =
			(struct scorer_output){ e->base[o], e->scale[o], (uint32_t)t, (uint32_t)t };
		while (t < e->n_trees && e->trees[t].output == o)
			t++;
		s->outputs[o].end = (uint32_t)t;
	}
}

int quickscorer_create(const struct ensemble *e, struct quickscorer **out)
{
	struct test *tests, *next;
	struct quickscorer *s;

	*out = NULL;
	if (!scorer_fits(e))
		return 0;
	s = calloc(1, sizeof(*s));
	tests = next = calloc(e->n_nodes + 1, sizeof(*tests));
	if (!s || !tests || !scorer_allocate(s, e, e->n_nodes)) {
		free(tests);
		quickscorer_destroy(s);
		return -ENOMEM;
	}
	for (uint32_t t = 0, leaf = 0; t < e->n_trees; t++, leaf = 0)
		collect_tests(e, t, 0, &leaf, &next, s->values[t]);
	qsort(tests, (size_t)(next - tests), sizeof(*tests), by_cut);
	scorer_fill(s, tests, (size_t)(next - tests));
	scorer_set_outputs(s, e);
	free(tests);
	*out = s;
	return 0;
}

void quickscorer_destroy(struct quickscorer *s)
{
	if (!s)
		return;
	free(s->features);
	free(s->outputs);
	free(s->values);
	free(s->cuts);
	free(s->left);
	free(s);
}

void quickscorer_start(const struct quickscorer *s, struct leaf_sets *out)
{
	memset(out->of, 0xff, s->n_vectors * QUICKSCORER_ALIGN);
}

/* Leaves that a value of a feature does not exclude. */
static inline __attribute__((always_inline)) const leaf_vector *leaves_after(
	const struct scorer_feature *f, float x, size_t n_vectors)
{
	const cuts_vector value = { x, x, x, x };
	count_vector below = { 0 };
	size_t n;

	for (uint32_t i = 0; i < f->n_quads; i++)
		below -= f->cuts[i] < value;
	below += __builtin_shufflevector(below, below, 2, 3, 0, 1);
	n = (uint32_t)below[0] + (uint32_t)below[1];
	if (x != x)
		n = f->n_cuts + 1;
	return f->left + n * n_vectors;
}

void quickscorer_exclude(const struct quickscorer *s, const uint8_t *features, size_t n,
			 const float *row, const struct leaf_sets *from, struct leaf_sets *out)
{
	const size_t n_vectors = s->n_vectors;
	leaf_vector left[MOST_VECTORS];

	memcpy(left, from->of, n_vectors * sizeof(*left));
	for (size_t i = 0; i < n; i++) {
		const leaf_vector *by =
			leaves_after(&s->features[features[i]], row[features[i]], n_vectors);

		for (size_t v = 0; v < n_vectors; v++)
			left[v] &= by[v];
	}
	memcpy(out->of, left, n_vectors * sizeof(*left));
}

void quickscorer_predict(const struct quickscorer *s, const float *row, double *out)
{
	struct leaf_sets left;

	quickscorer_start(s, &left);
	quickscorer_exclude(s, s->used, s->n_used, row, &left, &left);
	quickscorer_sum(s, &left, out);
}

void quickscorer_sum(const struct quickscorer *s, const struct leaf_sets *left, double *out)
{
	for (size_t o = 0; o < s->n_outputs; o++) {
		const struct scorer_output *own = &s->outputs[o];
		double sum = 0;

		for (size_t t = own->first; t < own->end; t++)
			sum += s->values[t][(uint32_t)__builtin_ctz(left->of[t])];
		out[o] = own->base + own->scale * sum;
	}
}
