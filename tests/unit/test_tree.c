/* test_tree.c - trees and forests: exact splits, recovery, determinism. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predict/forest.h"

#define ROWS     60
#define FEATURES 4

/* A small set with ties in every feature. */
struct set {
	float            x[FEATURES * 2000];
	double           y[2000];
	uint16_t         count[2000];
	size_t           n;
	struct tree_data d;
};

static void fill(struct set *s, size_t n, uint64_t seed)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, seed);
	s->n = n;
	for (size_t i = 0; i < n; i++) {
		for (size_t f = 0; f < FEATURES; f++)
			s->x[f * n + i] = (float)hes_rng_below(&rng, 25);
		s->y[i] = (double)hes_rng_below(&rng, 1000) / 8;
		s->count[i] = (uint16_t)hes_rng_below(&rng, 3);
	}
	s->count[0] = 1;
	assert_int_equal(tree_data_init(&s->d, s->x, n, FEATURES), 0);
}

static double walk(const struct tree_node *t, const float *row)
{
	uint32_t at = 0;

	while (t[at].child != at)
		at = t[at].child + (uint32_t)(row[t[at].feature] > t[at].threshold);
	return (double)t[at].threshold;
}

struct weighed {
	double y, w;
};

static int by_y(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	return (x->y > y->y) - (x->y < y->y);
}

/* Loss of a group by definition: squared from the mean, or absolute from the median. */
static double loss(struct weighed *v, size_t n, enum hes_criterion criterion)
{
	double w = 0, sum = 0, centre, out = 0, below = 0;

	qsort(v, n, sizeof(*v), by_y);
	for (size_t i = 0; i < n; i++) {
		w += v[i].w;
		sum += v[i].w * v[i].y;
	}
	centre = sum / w;
	for (size_t i = 0; criterion == HES_CRITERION_ABSOLUTE && i < n; i++) {
		below += v[i].w;
		if (below >= w / 2) {
			centre = v[i].y;
			break;
		}
	}
	for (size_t i = 0; i < n; i++)
		out += v[i].w * (criterion == HES_CRITERION_ABSOLUTE ? fabs(v[i].y - centre)
								     : (v[i].y - centre) * (v[i].y - centre));
	return out;
}

static double loss_of_cut(const struct set *s, size_t feature, float cut, enum hes_criterion criterion,
			  size_t *n_left, size_t *n_right)
{
	static struct weighed left[ROWS], right[ROWS];

	*n_left = *n_right = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct weighed v = { s->y[i], s->count[i] };

		if (!s->count[i])
			continue;
		if (s->x[feature * s->n + i] > cut)
			right[(*n_right)++] = v;
		else
			left[(*n_left)++] = v;
	}
	return *n_left && *n_right ? loss(left, *n_left, criterion) + loss(right, *n_right, criterion) : INFINITY;
}

static double best_loss(const struct set *s, enum hes_criterion criterion, size_t min_leaf)
{
	double best = INFINITY;

	for (size_t f = 0; f < FEATURES; f++)
		for (float cut = 0.5f; cut < 25; cut += 1) {
			size_t l, r;
			double at = loss_of_cut(s, f, cut, criterion, &l, &r);

			if (l >= min_leaf && r >= min_leaf && at < best)
				best = at;
		}
	return best;
}

static void the_first_split_is_the_best_of_all_by_both_criteria(void **state)
{
	static struct set s;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		enum hes_criterion criterion = seed & 1 ? HES_CRITERION_SQUARED : HES_CRITERION_ABSOLUTE;
		struct tree_options o = { criterion, FEATURES, 1 + (uint32_t)(seed % 5), 1 };
		struct tree_work *w;
		struct hes_rng rng;
		size_t l, r;
		const struct tree_node *t;

		fill(&s, ROWS, seed);
		w = tree_work_create(&s.d);
		hes_rng_seed(&rng, seed);
		assert_int_equal(tree_grow(&s.d, s.y, s.count, &o, &rng, w), 3);
		t = tree_work_nodes(w);
		assert_true(fabs(loss_of_cut(&s, t[0].feature, t[0].threshold, criterion, &l, &r) -
				 best_loss(&s, criterion, o.min_leaf)) < 1e-6);
		assert_true(l >= o.min_leaf && r >= o.min_leaf);
		tree_work_destroy(w);
		tree_data_finish(&s.d);
	}
}

static double steps(const float *row)
{
	return (row[0] > 7 ? 4 : 1) + (row[1] > 12 ? 32 : 0) + (row[0] > 7 && row[2] > 3 ? 8 : 0);
}

static void a_tree_on_all_rows_repeats_a_noise_free_step_function(void **state)
{
	static struct set s;

	(void)state;
	for (int criterion = 0; criterion < 2; criterion++) {
		struct tree_options o = { (enum hes_criterion)criterion, FEATURES, 1, 0 };
		struct tree_work *w;
		struct hes_rng rng;

		fill(&s, 2000, 3);
		for (size_t i = 0; i < s.n; i++) {
			float row[FEATURES] = { s.x[i], s.x[s.n + i], s.x[2 * s.n + i], s.x[3 * s.n + i] };

			s.y[i] = steps(row);
			s.count[i] = 1;
		}
		w = tree_work_create(&s.d);
		hes_rng_seed(&rng, 1);
		/* Six leaves: the function takes six values. */
		assert_int_equal(tree_grow(&s.d, s.y, s.count, &o, &rng, w), 11);
		for (float a = 0; a < 25; a++)
			for (float b = 0; b < 25; b++) {
				float row[FEATURES + 1] = { a, b, b, a, -INFINITY };

				assert_true(walk(tree_work_nodes(w), row) == steps(row));
			}
		tree_work_destroy(w);
		tree_data_finish(&s.d);
	}
}

static void a_constant_target_needs_one_leaf(void **state)
{
	static struct set s;
	struct tree_options o = { HES_CRITERION_SQUARED, FEATURES, 1, 0 };
	struct tree_work *w;
	struct hes_rng rng;

	(void)state;
	fill(&s, ROWS, 5);
	for (size_t i = 0; i < s.n; i++)
		s.y[i] = 0.1;
	w = tree_work_create(&s.d);
	hes_rng_seed(&rng, 1);
	assert_int_equal(tree_grow(&s.d, s.y, s.count, &o, &rng, w), 1);
	assert_true(tree_work_nodes(w)[0].threshold == 0.1f);
	tree_work_destroy(w);
	tree_data_finish(&s.d);
}

/* Twice the size once wrapped, and the search for a split left the rows. */
static void leaves_of_half_of_all_numbers_allow_no_split(void **state)
{
	static struct set s;
	struct tree_options o = { HES_CRITERION_SQUARED, FEATURES, UINT32_MAX / 2 + 1, 0 };
	struct tree_work *w;
	struct hes_rng rng;

	(void)state;
	fill(&s, ROWS, 5);
	w = tree_work_create(&s.d);
	hes_rng_seed(&rng, 1);
	assert_int_equal(tree_grow(&s.d, s.y, s.count, &o, &rng, w), 1);
	tree_work_destroy(w);
	tree_data_finish(&s.d);
}

static uint64_t hash_of(const struct forest *f)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < f->n_nodes; i++) {
		uint32_t bits;

		memcpy(&bits, &f->nodes[i].threshold, sizeof(bits));
		h = (h ^ bits) * 0x100000001b3u;
		h = (h ^ f->nodes[i].child) * 0x100000001b3u;
		h = (h ^ f->nodes[i].feature) * 0x100000001b3u;
	}
	return h;
}

static uint64_t hash_with(const struct set *s, uint32_t threads, enum hes_criterion criterion, uint64_t seed)
{
	struct forest_options o = { { criterion, 2, 1, 0 }, 12, threads, seed };
	struct forest f;
	uint64_t h;

	assert_int_equal(forest_fit(&s->d, s->y, &o, &f), 0);
	h = hash_of(&f);
	forest_finish(&f);
	return h;
}

/* The values stand for every compiler and machine. */
static void a_forest_is_the_same_with_1_2_and_4_threads_and_any_compiler(void **state)
{
	static const uint64_t golden[] = { 0x48b5389526781303u, 0x1469319b6ed38420u };
	static struct set s;

	(void)state;
	fill(&s, 400, 11);
	for (int c = 0; c < 2; c++) {
		assert_true(hash_with(&s, 1, (enum hes_criterion)c, 7) == golden[c]);
		assert_true(hash_with(&s, 2, (enum hes_criterion)c, 7) == golden[c]);
		assert_true(hash_with(&s, 4, (enum hes_criterion)c, 7) == golden[c]);
		assert_true(hash_with(&s, 1, (enum hes_criterion)c, 8) != golden[c]);
	}
	tree_data_finish(&s.d);
}

static void trees_walked_abreast_agree_with_trees_walked_alone(void **state)
{
	static struct set s;

	(void)state;
	fill(&s, 300, 2);
	for (uint32_t trees = 1; trees <= 17; trees += 4) {
		struct forest_options o = { { HES_CRITERION_SQUARED, 3, 2, 0 }, trees, 1, 1 };
		struct forest f;

		assert_int_equal(forest_fit(&s.d, s.y, &o, &f), 0);
		for (float a = 0; a < 25; a++) {
			float row[FEATURES + 1] = { a, 24 - a, 3, a / 2, -INFINITY };
			double sum = 0;

			for (size_t t = 0; t < f.n_trees; t++)
				sum += walk(f.nodes + f.roots[t], row);
			assert_true(forest_predict(&f, row) == sum / trees);
		}
		forest_finish(&f);
	}
	tree_data_finish(&s.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_split_is_the_best_of_all_by_both_criteria),
		cmocka_unit_test(a_tree_on_all_rows_repeats_a_noise_free_step_function),
		cmocka_unit_test(a_constant_target_needs_one_leaf),
		cmocka_unit_test(leaves_of_half_of_all_numbers_allow_no_split),
		cmocka_unit_test(a_forest_is_the_same_with_1_2_and_4_threads_and_any_compiler),
		cmocka_unit_test(trees_walked_abreast_agree_with_trees_walked_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
