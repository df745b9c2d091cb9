/* test_walk.c - the walker says what the plain walk says, bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trees/walk.h"
#include "trees/walk_key.h"
#include "trees/walk_wide.h"
#include "random_ensemble.h"

#define PIECE (WIDE_FEWEST - 1)

/* One by one, all together, and so few at a time that they go by nodes, against one node at a time. */
static void check_rows(const struct ensemble *e, const struct walker *w, const float *rows, size_t n)
{
	double *want = malloc(n * e->n_outputs * sizeof(*want)), *got = malloc(n * e->n_outputs * sizeof(*got));

	assert_true(want && got);
	for (size_t i = 0; i < n; i++) {
		ensemble_predict(e, rows + i * e->n_features, want + i * e->n_outputs);
		walker_predict(w, rows + i * e->n_features, got + i * e->n_outputs);
	}
	assert_memory_equal(got, want, n * e->n_outputs * sizeof(*want));
	memset(got, 0, n * e->n_outputs * sizeof(*got));
	walker_predict_rows(w, rows, n, got);
	assert_memory_equal(got, want, n * e->n_outputs * sizeof(*want));
	memset(got, 0, n * e->n_outputs * sizeof(*got));
	for (size_t i = 0; i < n; i += PIECE)
		walker_predict_rows(w, rows + i * e->n_features, n - i < PIECE ? n - i : PIECE, got + i * e->n_outputs);
	assert_memory_equal(got, want, n * e->n_outputs * sizeof(*want));
	free(want);
	free(got);
}

/* Rows with missing values, rows without, and rows of which only the last misses one. */
static void check(const struct ensemble *e, size_t n, struct hes_rng *rng)
{
	float *rows = rows_draw(n, e->n_features, rng);
	struct walker *w = walker_create(e);

	assert_non_null(w);
	check_rows(e, w, rows, n);
	for (size_t i = 0; i < n * e->n_features; i++)
		if (isnan(rows[i]))
			rows[i] = (float)(i % 7);
	check_rows(e, w, rows, n);
	rows[n * e->n_features - 1] = NAN;
	check_rows(e, w, rows, n);
	walker_destroy(w);
	free(rows);
}

static void check_spec(struct ensemble_spec s, size_t rows, uint64_t seed)
{
	struct hes_rng rng;
	struct ensemble e;

	hes_rng_seed(&rng, seed);
	e = ensemble_draw(&s, &rng);
	check(&e, rows, &rng);
	ensemble_finish(&e);
}

static void trees_of_every_size_are_walked_as_plainly(void **state)
{
	(void)state;
	for (uint32_t nodes = 1; nodes < 60; nodes += 2)
		for (int shape = SHAPE_ANY; shape <= SHAPE_CHAIN; shape++)
			check_spec((struct ensemble_spec){ (enum shape)shape, 5, 1, 7, nodes, false }, 40, nodes);
}

static void any_number_of_trees_goes_abreast(void **state)
{
	(void)state;
	for (size_t trees = 1; trees <= 33; trees++)
		check_spec((struct ensemble_spec){ SHAPE_ANY, 8, 1, trees, 31, false }, 30, trees);
}

static void any_number_of_rows_goes_abreast(void **state)
{
	(void)state;
	for (size_t rows = 1; rows <= 40; rows++)
		check_spec((struct ensemble_spec){ SHAPE_ANY, 8, 2, 5, 63, false }, rows, rows);
	check_spec((struct ensemble_spec){ SHAPE_ANY, 8, 2, 5, 63, false }, 1000, 1);
	check_spec((struct ensemble_spec){ SHAPE_ANY, 8, 2, 5, 63, false }, 3001, 1);
}

static void many_outputs_keep_to_their_trees(void **state)
{
	(void)state;
	check_spec((struct ensemble_spec){ SHAPE_ANY, 8, HES_REGRESSOR_MAX_OUTPUTS, 11, 63, false }, 50, 2);
}

/* Where crowns end and twigs begin; one twig, some together, several rows of them. */
static void trees_of_any_crown_are_walked_as_plainly(void **state)
{
	(void)state;
	for (uint32_t nodes = 1; nodes < 180; nodes += 6)
		for (int shape = SHAPE_ANY; shape <= SHAPE_CHAIN; shape++)
			check_spec((struct ensemble_spec){ (enum shape)shape, 9, 2, 4, nodes, false }, 130, nodes);
	check_spec((struct ensemble_spec){ SHAPE_FULL, 18, 1, 2, 1023, false }, 300, 6);
	check_spec((struct ensemble_spec){ SHAPE_ANY, 18, 1, 2, 1201, false }, 300, 7);
}

/* As many as vectors take, and one more. */
static void any_number_of_features_is_ranked(void **state)
{
	(void)state;
	for (size_t features = 1; features <= 50; features += features < 47 ? 5 : 1)
		check_spec((struct ensemble_spec){ SHAPE_ANY, features, 1, 3, 701, false }, 150, features);
}

/* Cuts as dense as floats can be beside one far away: a part of the range holds nearly all of them. */
static void cuts_that_crowd_are_told_apart(void **state)
{
	struct hes_rng rng;
	struct ensemble e;
	struct walker *w;
	float rows[400];

	(void)state;
	hes_rng_seed(&rng, 5);
	for (uint32_t trees = 1; trees <= 9; trees++) {
		float at = 1;

		e = ensemble_draw(&(struct ensemble_spec){ SHAPE_ANY, 1, 1, trees, 121, false }, &rng);
		for (size_t i = 0; i < e.n_nodes; i++)
			if (e.nodes[i].left)
				e.nodes[i].value = at = i % 50 == 7 ? -3e38f : i % 50 == 8 ? 3e38f : nextafterf(at, 2);
		at = nextafterf(1, 0);
		for (size_t i = 0; i < 400; i++)
			rows[i] = i % 40 == 3 ? -4 : i % 40 == 4 ? 3e38f : (at = nextafterf(at, 2));
		w = walker_create(&e);
		assert_non_null(w);
		check_rows(&e, w, rows, 400);
		walker_destroy(w);
		ensemble_finish(&e);
	}
}

/* By vectors and by nodes, with two outputs and with more than vectors take, where nodes do not fit, one tree and many. */
static void joint_trees_are_walked_as_plainly(void **state)
{
	(void)state;
	for (size_t outputs = 1; outputs <= 7; outputs++)
		for (int shape = SHAPE_ANY; shape <= SHAPE_CHAIN; shape++)
			for (uint32_t nodes = 1; nodes < 180; nodes += 44)
				check_spec((struct ensemble_spec){ (enum shape)shape, 9, outputs, 13, nodes, true }, 150, nodes);
	check_spec((struct ensemble_spec){ SHAPE_ANY, 18, 2, 3, 1201, true }, 3001, 8);
	check_spec((struct ensemble_spec){ SHAPE_ANY, 18, 3, 3, 1201, true }, 3001, 8);
	check_spec((struct ensemble_spec){ SHAPE_ANY, 60, 2, 3, 1201, true }, 1500, 9);
	check_spec((struct ensemble_spec){ SHAPE_ANY, 8, HES_REGRESSOR_MAX_OUTPUTS, 3, 63, true }, 1500, 10);
	for (size_t features = 1; features <= 200; features += 66)
		check_spec((struct ensemble_spec){ SHAPE_CHAIN, features, 2, 3, 1023, true }, 70, features);
	check_spec((struct ensemble_spec){ SHAPE_FULL, 300, 2, 1, 65537, true }, 70, 11);
	check_spec((struct ensemble_spec){ SHAPE_FULL, 18, 2, 1, 65537, true }, 70, 11);
	check_spec((struct ensemble_spec){ SHAPE_ANY, 1000, 2, 1, (1 << 21) + 1, true }, 20, 12);
}

static void vectors_leave_no_row_out_nor_any_missing_value(void **state)
{
	struct ensemble_spec s = { SHAPE_ANY, 6, 2, 3, 301, false };
	struct hes_rng rng;
	struct ensemble e;
	struct wide *w;
	float *rows;
	double *want, *got;

	(void)state;
	hes_rng_seed(&rng, 3);
	e = ensemble_draw(&s, &rng);
	assert_int_equal(wide_create(&e, &w), 0);
	if (!w) {
		ensemble_finish(&e);
		skip();
	}
	rows = calloc(wide_room(w) * 6, sizeof(*rows));
	want = calloc(wide_room(w) * 2, sizeof(*want));
	got = calloc(wide_room(w) * 2, sizeof(*got));
	for (size_t i = 0; i < wide_room(w) * 6; i++)
		rows[i] = (float)(i * 7919 % 101) / 20 - 2;
	for (size_t i = 0; i < wide_room(w); i++)
		ensemble_predict(&e, rows + i * 6, want + i * 2);
	assert_true(wide_predict(w, rows, wide_room(w), got));
	assert_memory_equal(got, want, wide_room(w) * 2 * sizeof(*want));
	memset(got, 0, wide_room(w) * 2 * sizeof(*got));
	rows[wide_room(w) * 6 - 1] = NAN;
	assert_false(wide_predict(w, rows, wide_room(w), got));
	for (size_t i = 0; i < wide_room(w) * 2; i++)
		assert_true(got[i] == 0);
	wide_destroy(w);
	ensemble_finish(&e);
	free(rows);
	free(want);
	free(got);
}

static void a_chain_of_depth_1000_is_walked_to_its_end(void **state)
{
	(void)state;
	check_spec((struct ensemble_spec){ SHAPE_CHAIN, 3, 1, 3, 2001, false }, 200, 3);
}

/* Smaller ones leave a node room for two columns. */
static void trees_of_more_than_65535_nodes_are_walked(void **state)
{
	(void)state;
	check_spec((struct ensemble_spec){ SHAPE_FULL, 18, 1, 2, 65535, false }, 200, 4);
	check_spec((struct ensemble_spec){ SHAPE_FULL, 18, 1, 2, 65537, false }, 200, 4);
	check_spec((struct ensemble_spec){ SHAPE_ANY, 18, 1, 2, 300001, false }, 200, 4);
	check_spec((struct ensemble_spec){ SHAPE_FULL, 18, 1, 2, 131071, false }, 200, 5);
}

/* Trees are walked to their depth, or looked at now and then: both, and where one becomes the other. */
static void trees_of_any_depth_are_walked_to_their_ends(void **state)
{
	(void)state;
	for (uint32_t depth = 0; depth < 40; depth++)
		check_spec((struct ensemble_spec){ SHAPE_CHAIN, 4, 1, 3, 2 * depth + 1, false }, 100, depth);
}

/* Keys of a row from 1 to 2001: every stride of a block, 8 bits for a column and more, no block at all. */
static void any_number_of_features_is_asked(void **state)
{
	static const size_t features[] = { 1, 2, 11, 12, 19, 20, 21, 35, 36, 37, 64, 127, 128, 200, 300, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		check_spec((struct ensemble_spec){ SHAPE_ANY, features[i], 2, 13, 1023, false }, 70, i);
}

/* 2001 columns take 11 bits; 21 are left, for fewer nodes than this tree has. */
static void what_does_not_fit_64_bits_is_walked_plainly(void **state)
{
	(void)state;
	check_spec((struct ensemble_spec){ SHAPE_ANY, 1000, 1, 1, (1 << 21) + 1, false }, 20, 6);
}

static void missing_values_go_the_learnt_way(void **state)
{
	struct ensemble_node nodes[] = { { 1, 1, 0, true }, { 2, 3, 1, false }, { .value = 30 }, { .value = 10 },
					 { .value = 20 } };
	struct ensemble_tree tree = { 0, 5, 0 };
	double base = 0, scale = 1, out;
	struct ensemble e = { 2, 1, &base, &scale, &tree, 1, nodes, 5, NULL };
	struct walker *w = walker_create(&e);

	(void)state;
	walker_predict(w, (float[]){ NAN, NAN }, &out);
	assert_true(out == 20);
	walker_predict(w, (float[]){ 5, NAN }, &out);
	assert_true(out == 30);
	walker_predict(w, (float[]){ 1, 2 }, &out);
	assert_true(out == 10);
	walker_predict(w, (float[]){ NAN, -INFINITY }, &out);
	assert_true(out == 10);
	walker_destroy(w);
}

static void an_output_without_trees_is_its_base(void **state)
{
	struct ensemble_node leaf = { 2, 0, 0, false };
	struct ensemble_tree tree = { 0, 1, 1 };
	double base[] = { 5, 6, 7 }, scale[] = { 1, 1, 1 }, out[3];
	struct ensemble e = { 1, 3, base, scale, &tree, 1, &leaf, 1, NULL };
	struct walker *w = walker_create(&e);

	(void)state;
	walker_predict(w, (float[]){ 0 }, out);
	assert_true(out[0] == 5 && out[1] == 8 && out[2] == 7);
	walker_destroy(w);
}

static void keys_order_as_floats_do(void **state)
{
	static const float rising[] = { -INFINITY, -3.4e38f, -1, -1e-45f, 0, 1e-45f, 1.17549435e-38f, 1, 3.4e38f, INFINITY };

	(void)state;
	assert_int_equal(walk_key(-0.0f), walk_key(0.0f));
	assert_true(walk_key(-INFINITY) > 0 && walk_key(INFINITY) < UINT32_MAX);
	for (size_t i = 1; i < sizeof(rising) / sizeof(rising[0]); i++)
		assert_true(walk_key(rising[i - 1]) < walk_key(rising[i]));
}

static void any_number_of_threads_says_the_same(void **state)
{
	struct ensemble_spec s = { SHAPE_ANY, 6, 2, 9, 127, false };
	struct hes_rng rng;
	struct hes_regressor *r;
	float *rows;
	double *one, *other;

	(void)state;
	hes_rng_seed(&rng, 7);
	r = regressor_draw(&s, &rng);
	rows = rows_draw(5000, s.features, &rng);
	one = malloc(10000 * sizeof(*one));
	other = malloc(10000 * sizeof(*other));
	for (size_t i = 0; i < 5000; i++)
		hes_regressor_predict(r, rows + i * s.features, one + 2 * i);
	for (uint32_t threads = 0; threads < 5; threads++) {
		memset(other, 0, 10000 * sizeof(*other));
		hes_regressor_predict_rows(r, rows, 5000, other, threads);
		assert_memory_equal(other, one, 10000 * sizeof(*one));
	}
	hes_regressor_predict_rows(r, rows, 0, other, 0);
	free(rows);
	free(one);
	free(other);
	hes_regressor_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_of_every_size_are_walked_as_plainly),
		cmocka_unit_test(any_number_of_trees_goes_abreast),
		cmocka_unit_test(any_number_of_rows_goes_abreast),
		cmocka_unit_test(trees_of_any_crown_are_walked_as_plainly),
		cmocka_unit_test(any_number_of_features_is_ranked),
		cmocka_unit_test(cuts_that_crowd_are_told_apart),
		cmocka_unit_test(joint_trees_are_walked_as_plainly),
		cmocka_unit_test(vectors_leave_no_row_out_nor_any_missing_value),
		cmocka_unit_test(many_outputs_keep_to_their_trees),
		cmocka_unit_test(a_chain_of_depth_1000_is_walked_to_its_end),
		cmocka_unit_test(trees_of_any_depth_are_walked_to_their_ends),
		cmocka_unit_test(trees_of_more_than_65535_nodes_are_walked),
		cmocka_unit_test(any_number_of_features_is_asked),
		cmocka_unit_test(what_does_not_fit_64_bits_is_walked_plainly),
		cmocka_unit_test(missing_values_go_the_learnt_way),
		cmocka_unit_test(an_output_without_trees_is_its_base),
		cmocka_unit_test(keys_order_as_floats_do),
		cmocka_unit_test(any_number_of_threads_says_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
