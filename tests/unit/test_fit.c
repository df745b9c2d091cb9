/* test_fit.c - options, what is refused; test_trees.c is about trees. */
#include <math.h>

#include "rows_to_learn.h"
#include "unit_test.h"

TEST(options_say_what_was_used)
{
	struct set *s = known_set(300, 18);
	struct hes_regressor_options o = { .kind = HES_REGRESSOR_BOOSTING,
					   .seed = 3,
					   .threads = 2 };
	struct hes_regressor *r = fit(s, &o);
	const struct hes_regressor_info *a = hes_regressor_about(r);

	assert_int_equal(a->options.trees, 100);
	assert_int_equal(a->options.max_leaves, 8);
	assert_int_equal(a->options.min_leaf, 5);
	assert_int_equal(a->options.features_per_split, FEATURES);
	assert_int_equal(a->options.seed, 3);
	assert_int_equal(a->options.threads, 0);
	assert_true(a->options.learning_rate > 0 && a->options.row_fraction > 0 &&
		    a->options.column_fraction > 0);
	assert_int_equal(a->rows, 300);
	assert_int_equal(a->n_trees, 200);
	assert_int_equal(a->n_nodes, 200 * 15);
	assert_string_equal(r->feature_names[2], "x2");
	assert_string_equal(r->outputs[1].name, "y1");
	hes_regressor_free(r);
	free(s);
}

static void refuse(const struct hes_rows *rows, const struct hes_regressor_options *o,
		   const char *reason)
{
	struct hes_regressor *r = NULL;
	struct hes_err err = { 0 };

	assert_int_equal(hes_regressor_fit(rows, o, &r, &err), -EINVAL);
	assert_null(r);
	if (!strstr(err.msg, reason))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, reason);
}

TEST(options_out_of_range_are_refused_with_a_reason)
{
	struct set *s = known_set(50, 19);
	const struct {
		struct hes_regressor_options o;
		const char *reason;
	} bad[] = {
		{ { .kind = (enum hes_regressor_kind)9 }, "kind 9" },
		{ { .trees = 10001 }, "10001 trees" },
		{ { .features_per_split = 5 }, "there are 4" },
		{ { .threads = 5000 }, "5000 threads" },
		{ { .kind = HES_REGRESSOR_EXTRA_TREES, .learning_rate = 0.1 },
		  "extra trees takes no learning rate" },
		{ { .kind = HES_REGRESSOR_BOOSTING, .learning_rate = 1.5 }, "learning rate 1.5" },
		{ { .kind = HES_REGRESSOR_BOOSTING, .row_fraction = -1 }, "fraction of rows -1" },
		{ { .kind = HES_REGRESSOR_BOOSTING, .column_fraction = NAN },
		  "fraction of columns" },
		{ { .kind = HES_REGRESSOR_BOOSTING, .max_leaves = 1 }, "1 leaves" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(&s->rows, &bad[i].o, bad[i].reason);
	free(s);
}

TEST(rows_that_cannot_be_learnt_from_are_refused_with_a_reason)
{
	static const char *const empty[] = { "a", "", "c", "d" };
	struct set *s = known_set(50, 20);
	struct hes_regressor_options o = { 0 };
	struct hes_rows rows = s->rows;

	rows.n = 1;
	refuse(&rows, &o, "1 rows");
	rows = s->rows;
	rows.n_features = 1001;
	refuse(&rows, &o, "1001 features");
	rows = s->rows;
	rows.n_outputs = 17;
	refuse(&rows, &o, "17 outputs");
	rows = s->rows;
	rows.feature_names = empty;
	refuse(&rows, &o, "feature 2");
	s->x[50 + 6] = INFINITY;
	refuse(&s->rows, &o, "row 7: feature 2 is infinite");
	s->x[50 + 6] = 0;
	s->y[50 + 3] = NAN;
	refuse(&s->rows, &o, "row 4: output 2 is");
	free(s);
}

/* Two rows once are all there is; each kind must make something of them. */
TEST(two_rows_are_enough)
{
	struct set *s = noise(2, 100, 0, 21);

	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++) {
		struct hes_regressor_options o = { .kind = (enum hes_regressor_kind)kind };
		struct hes_regressor *r;

		r = fit(s, &o);
		assert_true(isfinite(mae(r, s)));
		hes_regressor_free(r);
	}
	free(s);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
