/*
 * quickscorer.c - sets of leaves; see quickscorer.h.
 *
 * Leaves are numbered from the left, a bit each, the leftmost the lowest. A
 * node that sends a row to the right rules out all leaves below its left
 * child; a row comes to the lowest leaf that no node rules out. Which nodes of
 * a feature send a value to the right follows from how many of its cuts lie
 * below the value: so there is a table of what is left for each such number,
 * and one entry for a missing value.
 */
#include "trees/quickscorer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAVES     8       /* of a tree at most: bits of a byte */
#define CUTS       4       /* compared at once */
#define MOST_BYTES (1 << 19) /* of tables: what is larger would leave the caches */
#define MOST_FEATURES 256
#define MOST_VECTORS (SIEVE_TREES / SIEVE_BYTE)

typedef float cuts_vector __attribute__((vector_size(16)));
typedef int32_t count_vector __attribute__((vector_size(16)));
typedef uint64_t left_vector __attribute__((vector_size(SIEVE_BYTE), may_alias));

struct sieve_feature {
	const cuts_vector *cuts;  /* rising; INFINITY fills the last up, which is below nothing */
	const left_vector *left;  /* n_vectors for 0, 1, ... cuts below a value; then for a missing one */
	uint32_t           n_cuts;
	uint32_t           n_quads;
};

struct sieve_output {
	double   base, scale;
	uint32_t first, end; /* its trees */
};

struct sieve {
	size_t                n_features, n_outputs, n_trees;
	size_t                n_vectors; /* that a byte a tree takes */
	struct sieve_feature *features;
	uint8_t               asked[MOST_FEATURES]; /* those that some tree asks for */
	size_t                n_asked;
	struct sieve_output  *outputs;
	cuts_vector          *cuts;
	left_vector          *left;
	double              (*values)[LEAVES]; /* [n_trees] */
};

/* A node, with the leaves below its left child. */
struct test {
	float    cut;
	uint16_t feature;
	bool     missing_left;
	uint8_t  rules_out;
	uint32_t tree;
};

/* By feature, then cut; the order of equal ones makes no difference. */
static int by_cut(const void *a, const void *b)
{
	const struct test *x = a, *y = b;

	if (x->feature != y->feature)
		return x->feature < y->feature ? -1 : 1;
	return (x->cut > y->cut) - (x->cut < y->cut);
}

static bool fits(const struct ensemble *e)
{
	size_t inner = 0;

	for (size_t t = 0; t < e->n_trees; t++) {
		inner += e->trees[t].n_nodes / 2;
		if (e->trees[t].n_nodes > 2 * LEAVES - 1)
			return false;
	}
	return !e->joint && e->n_trees > 0 && e->n_trees <= SIEVE_TREES && e->n_features <= MOST_FEATURES &&
	       (inner + 2 * e->n_features) * (e->n_trees + SIEVE_BYTE) <= MOST_BYTES;
}

/*
 * Number the leaves below a node from the left, note its tests and their values.
 * @param leaf  the next one's number; moved on
 * @return the node's leaves
 */
static uint8_t take_node(const struct ensemble *e, uint32_t tree, uint32_t at, uint32_t *leaf, struct test **next,
			 double *values)
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
	test->rules_out = take_node(e, tree, node->left, leaf, next, values);
	right = take_node(e, tree, node->left + 1, leaf, next, values);
	return test->rules_out | right;
}

/* Tables of a feature from its tests; in them nothing is ruled out yet. */
static void fill_feature(const struct sieve *s, struct sieve_feature *f, const struct test *tests, size_t n, float *cuts,
			 uint8_t *left)
{
	const size_t row = s->n_vectors * SIEVE_BYTE;

	for (size_t i = 0; i < n; i++) {
		if (i == 0 || tests[i].cut > tests[i - 1].cut) {
			cuts[f->n_cuts++] = tests[i].cut;
			memcpy(left + f->n_cuts * row, left + (f->n_cuts - 1) * row, row);
		}
		left[f->n_cuts * row + tests[i].tree] &= (uint8_t)~tests[i].rules_out;
	}
	for (size_t i = 0; i < n; i++)
		if (!tests[i].missing_left)
			left[(f->n_cuts + 1) * row + tests[i].tree] &= (uint8_t)~tests[i].rules_out;
	f->n_quads = (f->n_cuts + CUTS - 1) / CUTS;
	for (size_t i = f->n_cuts; i < f->n_quads * CUTS; i++)
		cuts[i] = INFINITY;
}

/* @return whether memory sufficed */
static bool make_room(struct sieve *s, const struct ensemble *e, size_t n_tests)
{
	const size_t entries = n_tests + 2 * e->n_features;

	s->n_features = e->n_features;
	s->n_outputs = e->n_outputs;
	s->n_trees = e->n_trees;
	s->n_vectors = (e->n_trees + SIEVE_BYTE - 1) / SIEVE_BYTE;
	s->features = calloc(e->n_features, sizeof(*s->features));
	s->outputs = calloc(e->n_outputs, sizeof(*s->outputs));
	s->values = calloc(e->n_trees, sizeof(*s->values));
	s->cuts = aligned_alloc(sizeof(*s->cuts), (n_tests / CUTS + e->n_features + 1) * sizeof(*s->cuts));
	s->left = aligned_alloc(sizeof(*s->left), entries * s->n_vectors * sizeof(*s->left));
	if (!s->features || !s->outputs || !s->values || !s->cuts || !s->left)
		return false;
	memset(s->left, 0xff, entries * s->n_vectors * sizeof(*s->left));
	return true;
}

static void fill(struct sieve *s, const struct test *tests, size_t n)
{
	cuts_vector *cuts = s->cuts;
	left_vector *left = s->left;

	for (size_t f = 0, i = 0; f < s->n_features; f++) {
		struct sieve_feature *own = &s->features[f];
		size_t first = i;

		while (i < n && tests[i].feature == f)
			i++;
		if (i > first)
			s->asked[s->n_asked++] = (uint8_t)f;
		*own = (struct sieve_feature){ .cuts = cuts, .left = left };
		fill_feature(s, own, tests + first, i - first, (float *)cuts, (uint8_t *)left);
		cuts += own->n_quads;
		left += (own->n_cuts + 2) * s->n_vectors;
	}
}

/* Trees stand by output. */
static void note_outputs(struct sieve *s, const struct ensemble *e)
{
	for (size_t o = 0, t = 0; o < e->n_outputs; o++) {
		s->outputs[o] = (struct sieve_output){ e->base[o], e->scale[o], (uint32_t)t, (uint32_t)t };
		while (t < e->n_trees && e->trees[t].output == o)
			t++;
		s->outputs[o].end = (uint32_t)t;
	}
}

int sieve_create(const struct ensemble *e, struct sieve **out)
{
	struct test *tests, *next;
	struct sieve *s;

	*out = NULL;
	if (!fits(e))
		return 0;
	s = calloc(1, sizeof(*s));
	tests = next = calloc(e->n_nodes + 1, sizeof(*tests));
	if (!s || !tests || !make_room(s, e, e->n_nodes)) {
		free(tests);
		sieve_destroy(s);
		return -ENOMEM;
	}
	for (uint32_t t = 0, leaf = 0; t < e->n_trees; t++, leaf = 0)
		take_node(e, t, 0, &leaf, &next, s->values[t]);
	qsort(tests, (size_t)(next - tests), sizeof(*tests), by_cut);
	fill(s, tests, (size_t)(next - tests));
	note_outputs(s, e);
	free(tests);
	*out = s;
	return 0;
}

void sieve_destroy(struct sieve *s)
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

size_t sieve_bytes(const struct sieve *s)
{
	return s->n_vectors * SIEVE_BYTE;
}

void sieve_fill(const struct sieve *s, struct sieve_left *out)
{
	memset(out->of, 0xff, s->n_vectors * SIEVE_BYTE);
}

/* What a value of a feature leaves. */
static inline __attribute__((always_inline)) const left_vector *left_by(const struct sieve_feature *f, float x, size_t n_vectors)
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

/* As many vectors as the compiler knows stay in its registers. */
static inline __attribute__((always_inline)) void pass_some(const struct sieve *s, const uint8_t *features, size_t n,
							    const float *row, const left_vector *from, left_vector *out,
							    const size_t n_vectors)
{
	left_vector left[MOST_VECTORS];

#pragma GCC unroll 8
	for (size_t v = 0; v < n_vectors; v++)
		left[v] = from[v];
	for (size_t i = 0; i < n; i++) {
		const left_vector *by = left_by(&s->features[features[i]], row[features[i]], n_vectors);

#pragma GCC unroll 8
		for (size_t v = 0; v < n_vectors; v++)
			left[v] &= by[v];
	}
#pragma GCC unroll 8
	for (size_t v = 0; v < n_vectors; v++)
		out[v] = left[v];
}

void sieve_pass(const struct sieve *s, const uint8_t *features, size_t n, const float *row, const struct sieve_left *from,
		struct sieve_left *out)
{
	const left_vector *all = (const void *)from->of;
	left_vector *to = (void *)out->of;

	switch (s->n_vectors) {
	case 1:
		pass_some(s, features, n, row, all, to, 1);
		break;
	case 2:
		pass_some(s, features, n, row, all, to, 2);
		break;
	case 3:
		pass_some(s, features, n, row, all, to, 3);
		break;
	case 4:
		pass_some(s, features, n, row, all, to, 4);
		break;
	case 5:
		pass_some(s, features, n, row, all, to, 5);
		break;
	case 6:
		pass_some(s, features, n, row, all, to, 6);
		break;
	default:
		pass_some(s, features, n, row, all, to, s->n_vectors);
	}
}

void sieve_predict(const struct sieve *s, const float *row, double *out)
{
	struct sieve_left left;

	sieve_fill(s, &left);
	sieve_pass(s, s->asked, s->n_asked, row, &left, &left);
	sieve_say(s, &left, out);
}

static inline __attribute__((always_inline)) double value_left(const struct sieve *s, const struct sieve_left *left, size_t tree)
{
	return s->values[tree][(uint32_t)__builtin_ctz(left->of[tree])];
}

/* Add up a tree of each of two outputs at a time: each sum waits for itself. Then the longer one's rest. */
static void add_two(const struct sieve *s, const struct sieve_left *left, const struct sieve_output *a,
		    const struct sieve_output *b, double out[2])
{
	const size_t n_a = a->end - a->first, n_b = b->end - b->first, both = n_a < n_b ? n_a : n_b;
	double x = 0, y = 0;

#pragma GCC unroll 4
	for (size_t i = 0; i < both; i++) {
		x += value_left(s, left, a->first + i);
		y += value_left(s, left, b->first + i);
	}
	for (size_t i = both; i < n_a; i++)
		x += value_left(s, left, a->first + i);
	for (size_t i = both; i < n_b; i++)
		y += value_left(s, left, b->first + i);
	out[0] = a->base + a->scale * x;
	out[1] = b->base + b->scale * y;
}

void sieve_say(const struct sieve *s, const struct sieve_left *left, double *out)
{
	size_t o = 0;

	for (; o + 1 < s->n_outputs; o += 2)
		add_two(s, left, &s->outputs[o], &s->outputs[o + 1], out + o);
	if (o < s->n_outputs) {
		const struct sieve_output none = { .first = 0, .end = 0 };
		double last[2];

		add_two(s, left, &s->outputs[o], &none, last);
		out[o] = last[0];
	}
}
