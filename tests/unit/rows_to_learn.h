/*
 * rows_to_learn.h - rows that tests learn from, noise and a known function, and a hash of what was
 * learnt.
 */
#ifndef HES_TESTS_ROWS_TO_LEARN_H
#define HES_TESTS_ROWS_TO_LEARN_H

#include "trees/boosting.h"

#define FEATURES 4
#define MOST     1200

/* Rows and room for them. */
struct set {
	float x[FEATURES * MOST];
	double y[2 * MOST];
	struct training_rows rows;
};

/** No row is filled in; free() it. */
struct set *set_create(size_t n, size_t n_outputs);
/** @values distinct values a feature, a part of them missing; targets are drawn too. */
struct set *noise(size_t n, uint64_t values, double missing, uint64_t seed);
/** Two outputs that are functions of the features, the second -2 times the first. */
struct set *known_set(size_t n, uint64_t seed);
void row_of(const struct set *s, size_t i, float *row);

/** A test fails where this does. */
struct ensemble fit(const struct set *s, const struct boosting_options *o);
/** Mean absolute error of the first output on the rows of a set. */
double mae(const struct ensemble *e, const struct set *s);

static inline uint64_t hash_bytes(uint64_t h, const void *v, size_t n)
{
	const unsigned char *b = v;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3u;
	return h;
}

/* Of all that was learnt. */
static inline uint64_t hash_of(const struct ensemble *e)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < e->n_nodes; i++) {
		const struct ensemble_node *n = &e->nodes[i];
		unsigned char missing = n->missing_left;

		h = hash_bytes(h, &n->value, sizeof(n->value));
		h = hash_bytes(h, &n->left, sizeof(n->left));
		h = hash_bytes(h, &n->feature, sizeof(n->feature));
		h = hash_bytes(h, &missing, 1);
	}
	return hash_bytes(h, e->base, e->n_outputs * sizeof(*e->base));
}

#endif
