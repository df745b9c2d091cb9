/* random_ensemble.c - see random_ensemble.h. */
#include "random_ensemble.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Few values, so that rows meet thresholds often; 0 of both signs and infinite ones among them. */
static float draw_value(struct hes_rng *rng)
{
	float v = ((float)hes_rng_below(rng, 33) - 16) / 4;

	if (hes_rng_below(rng, 32) == 0)
		return hes_rng_below(rng, 2) ? INFINITY : -INFINITY;
	return v == 0 && hes_rng_below(rng, 2) ? -0.0f : v;
}

static size_t draw_leaf(enum shape shape, size_t n_leaves, struct hes_rng *rng)
{
	if (shape == SHAPE_ANY)
		return (size_t)hes_rng_below(rng, n_leaves);
	return shape == SHAPE_FULL ? 0 : n_leaves - 1;
}

static void draw_tree(const struct ensemble_spec *s, struct ensemble_node *nodes,
		      struct hes_rng *rng)
{
	uint32_t *leaves = malloc((s->nodes + 1) * sizeof(*leaves)), n = 1;
	size_t first = 0, end = 1;

	assert_non_null(leaves);
	leaves[0] = 0;
	while (n + 2 <= s->nodes) {
		size_t pick = first + draw_leaf(s->shape, end - first, rng);
		struct ensemble_node *node = &nodes[leaves[pick]];

		*node = (struct ensemble_node){ draw_value(rng), n,
						(uint16_t)hes_rng_below(rng, s->features),
						hes_rng_below(rng, 2) };
		leaves[pick] = leaves[first];
		if (s->shape == SHAPE_CHAIN)
			leaves[pick] = n;
		else
			leaves[first++] = 0;
		if (s->shape != SHAPE_CHAIN)
			leaves[end++] = n;
		leaves[end++] = n + 1;
		n += 2;
	}
	for (size_t i = first; i < end; i++)
		nodes[leaves[i]] =
			(struct ensemble_node){ .value = (float)(hes_rng_unit(rng) * 200 - 100) };
	free(leaves);
}

struct ensemble ensemble_draw(const struct ensemble_spec *s, struct hes_rng *rng)
{
	struct ensemble e = { .n_features = s->features, .n_outputs = s->outputs };

	e.n_trees = s->outputs * s->trees;
	e.n_nodes = e.n_trees * s->nodes;
	e.base = malloc(s->outputs * sizeof(*e.base));
	e.scale = malloc(s->outputs * sizeof(*e.scale));
	e.trees = malloc(e.n_trees * sizeof(*e.trees));
	e.nodes = calloc(e.n_nodes, sizeof(*e.nodes));
	assert_true(e.base && e.scale && e.trees && e.nodes);
	for (size_t o = 0; o < s->outputs; o++) {
		e.base[o] = hes_rng_unit(rng);
		e.scale[o] = 1 / (double)s->trees;
	}
	for (size_t t = 0; t < e.n_trees; t++) {
		e.trees[t] =
			(struct ensemble_tree){ t * s->nodes, s->nodes, (uint32_t)(t / s->trees) };
		draw_tree(s, e.nodes + e.trees[t].root, rng);
	}
	return e;
}

float *rows_draw(size_t n, size_t features, struct hes_rng *rng)
{
	float *rows = malloc(n * features * sizeof(*rows));

	assert_non_null(rows);
	for (size_t i = 0; i < n * features; i++) {
		float v = draw_value(rng);
		uint64_t kind = hes_rng_below(rng, 16);

		rows[i] = kind == 0   ? NAN
			  : kind == 1 ? nextafterf(v, INFINITY)
			  : kind == 2 ? nextafterf(v, -INFINITY)
			  : kind == 3 ? (hes_rng_below(rng, 2) ? INFINITY : -INFINITY)
				      : v;
	}
	return rows;
}

struct hes_regressor *regressor_draw(const struct ensemble_spec *s, struct hes_rng *rng)
{
	struct hes_regressor *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->ensemble = ensemble_draw(s, rng);
	r->about.options = (struct hes_regressor_options){
		.kind = HES_REGRESSOR_EXTRA_TREES,
		.trees = (uint32_t)s->trees,
		.seed = 0x123456789abcdef0,
		.features_per_split = 3,
		.min_leaf = 2,
		.max_depth = 7,
	};
	r->about.rows = 750;
	r->about.n_features = s->features;
	r->about.n_outputs = s->outputs;
	r->feature_names = calloc(s->features, sizeof(*r->feature_names));
	r->outputs = calloc(s->outputs, sizeof(*r->outputs));
	assert_true(r->feature_names && r->outputs);
	for (size_t f = 0; f < s->features; f++)
		snprintf(r->feature_names[f], sizeof(r->feature_names[f]), "f%zu", f);
	for (size_t o = 0; o < s->outputs; o++)
		snprintf(r->outputs[o].name, sizeof(r->outputs[o].name), "out%zu", o);
	regressor_ready(r);
	return r;
}
