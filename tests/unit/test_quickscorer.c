/* test_quickscorer.c - QuickScorer predicts what the node-by-node evaluation predicts, bit for bit.
 */
#include <math.h>

#include "random_ensemble.h"
#include "unit_test.h"

#define ROWS 60

/* One row, with its features in two parts. */
static void predict_in_parts(const struct quickscorer *s, size_t n_features, const float *row,
			     double *out)
{
	struct leaf_sets first, both;
	uint8_t features[64];

	for (size_t f = 0; f < n_features; f++)
		features[f] = (uint8_t)f;
	quickscorer_start(s, &first);
	quickscorer_exclude(s, features, n_features / 2, row, &first, &first);
	quickscorer_exclude(s, features + n_features / 2, n_features - n_features / 2, row, &first,
			    &both);
	quickscorer_sum(s, &both, out);
}

static void check(struct ensemble_spec spec, uint64_t seed)
{
	double want[HES_REGRESSOR_MAX_OUTPUTS], got[HES_REGRESSOR_MAX_OUTPUTS];
	struct quickscorer *s;
	struct ensemble e;
	struct hes_rng rng;
	float *rows;

	hes_rng_seed(&rng, seed);
	e = ensemble_draw(&spec, &rng);
	rows = rows_draw(ROWS, spec.features, &rng);
	assert_int_equal(quickscorer_create(&e, &s), 0);
	assert_non_null(s);
	for (size_t i = 0; i < ROWS; i++) {
		const float *row = rows + i * spec.features;

		ensemble_predict(&e, row, want);
		quickscorer_predict(s, row, got);
		assert_memory_equal(got, want, spec.outputs * sizeof(*want));
		predict_in_parts(s, spec.features, row, got);
		assert_memory_equal(got, want, spec.outputs * sizeof(*want));
	}
	quickscorer_destroy(s);
	ensemble_finish(&e);
	free(rows);
}

TEST(trees_of_every_small_size_and_shape_agree)
{
	for (uint32_t nodes = 1; nodes <= 15; nodes += 2)
		for (int shape = SHAPE_ANY; shape <= SHAPE_CHAIN; shape++)
			check((struct ensemble_spec){ (enum shape)shape, 5, 1, 7, nodes }, nodes);
}

/* Every number of vectors, and numbers of trees that do not fill one. */
TEST(any_number_of_trees_and_outputs_agrees)
{
	for (size_t trees = 1; trees <= 128; trees += trees < 20 ? 1 : 27)
		check((struct ensemble_spec){ SHAPE_ANY, 8, 2, trees, 15 }, trees);
	for (size_t outputs = 1; outputs <= HES_REGRESSOR_MAX_OUTPUTS; outputs += 5)
		check((struct ensemble_spec){ SHAPE_ANY, 8, outputs, 3, 15 }, outputs);
	check((struct ensemble_spec){ SHAPE_ANY, 40, 2, 40, 15 }, 1);
}

TEST(large_or_many_trees_are_left_to_the_plain_evaluation)
{
	const struct ensemble_spec specs[] = {
		{ SHAPE_ANY, 5, 1, 3, 17 },
		{ SHAPE_ANY, 5, 1, QUICKSCORER_TREES + 1, 3 },
		{ SHAPE_ANY, 5, 1, 1, 201 },
	};

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		double want[1], got[1];
		struct hes_regressor *r;
		struct hes_rng rng;
		float *rows;

		hes_rng_seed(&rng, i);
		r = regressor_draw(&specs[i], &rng);
		rows = rows_draw(ROWS, specs[i].features, &rng);
		assert_null(r->scorer);
		for (size_t k = 0; k < ROWS; k++) {
			ensemble_predict(&r->ensemble, rows + k * 5, want);
			hes_regressor_predict(r, rows + k * 5, got);
			assert_memory_equal(got, want, sizeof(want));
		}
		hes_regressor_free(r);
		free(rows);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
