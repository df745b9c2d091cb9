/* test_fit.c - lines, options, what is refused; test_trees.c is about trees. */
#include <math.h>

#include "rows_to_learn.h"
#include "unit_test.h"

/* y = 3 - 2 x0 + 0.5 x1, x3 = x0 + x1: the sum of what the two say of x0 is -2, of x1 is 0.5. */
TEST(a_line_is_found_next_to_columns_that_are_sums_of_others)
{
	struct set *s = noise(200, 1000, 0, 16);
	struct hes_regressor_options o = { .kind = HES_REGRESSOR_LINEAR };
	struct hes_regressor *r;
	size_t n = s->rows.n;

	for (size_t i = 0; i < n; i++) {
		s->x[2 * n + i] = 5;
		s->x[3 * n + i] = s->x[i] + s->x[n + i];
		s->y[i] = 3 - 2 * (double)s->x[i] + 0.5 * (double)s->x[n + i];
		s->y[n + i] = 1e6 + 1e-3 * (double)s->x[i];
	}
	r = fit(s, &o);
	assert_true(mae(r, s) < 1e-10);
	assert_true(fabs(r->weights[0] + r->weights[3] + 2) < 1e-12);
	assert_true(fabs(r->weights[1] + r->weights[3] - 0.5) < 1e-12);
	assert_true(r->weights[2] == 0);
	assert_true(fabs(r->weights[FEATURES + 1] + r->weights[FEATURES + 4] - 1e-3) < 1e-12);
	hes_regressor_free(r);
	free(s);
}

/* Columns far from 0 and nearly alike, where plain normal equations keep no digit. */
TEST(a_line_is_found_again_in_nearly_collinear_columns)
{
	struct set *s = noise(300, 1000, 0, 17);
	struct hes_regressor_options o = { .kind = HES_REGRESSOR_LINEAR };
	struct hes_regressor *r;
	size_t n = s->rows.n;

	for (size_t i = 0; i < n; i++) {
		s->x[n + i] = 512 * s->x[i] + (float)(i % 7);
		s->x[2 * n + i] += 1000000;
		s->y[i] = (double)s->x[i] * 512 - (double)s->x[n + i] + (double)s->x[2 * n + i];
	}
	r = fit(s, &o);
	assert_true(fabs(r->weights[0] / 512 - 1) < 1e-6);
	assert_true(fabs(r->weights[1] + 1) < 1e-6);
	assert_true(fabs(r->weights[2] - 1) < 1e-9);
	hes_regressor_free(r);
	free(s);
}

TEST(a_missing_value_counts_as_the_columns_mean_in_a_line)
{
	struct set *s = set_create(4, 1);
	struct hes_regressor_options o = { .kind = HES_REGRESSOR_LINEAR };
	struct hes_regressor *r;
	float row[FEATURES] = { NAN, 0, 0, 0 };
	double out;

	memcpy(s->x, (float[]){ 1, 3, NAN, 5 }, 4 * sizeof(float));
	memcpy(s->y, (double[]){ 10, 30, 30, 50 }, 4 * sizeof(double));
	r = fit(s, &o);
	hes_regressor_predict(r, row, &out);
	assert_true(fabs(out - 30) < 1e-12);
	assert_true(fabs(r->weights[0] - 10) < 1e-12);
	hes_regressor_free(r);
	free(s);
}

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
	o = (struct hes_regressor_options){ .kind = HES_REGRESSOR_TREE, .trees = 50 };
	r = fit(s, &o);
	assert_int_equal(hes_regressor_about(r)->options.trees, 1);
	assert_int_equal(hes_regressor_about(r)->n_trees, 2);
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
		{ { .criterion = (enum hes_criterion)2 }, "criterion 2" },
		{ { .trees = 10001 }, "10001 trees" },
		{ { .features_per_split = 5 }, "there are 4" },
		{ { .threads = 5000 }, "5000 threads" },
		{ { .learning_rate = 0.1 }, "a random forest takes no learning rate" },
		{ { .kind = HES_REGRESSOR_BOOSTING, .learning_rate = 1.5 }, "learning rate 1.5" },
		{ { .kind = HES_REGRESSOR_BOOSTING, .row_fraction = -1 }, "fraction of rows -1" },
		{ { .kind = HES_REGRESSOR_BOOSTING, .column_fraction = NAN },
		  "fraction of columns" },
		{ { .kind = HES_REGRESSOR_BOOSTING, .max_leaves = 1 }, "1 leaves" },
		{ { .kind = HES_REGRESSOR_LINEAR, .criterion = HES_CRITERION_ABSOLUTE },
		  "squared error" },
		{ { .criterion = HES_CRITERION_ABSOLUTE },
		  "a random forest minimises squared error" },
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

	for (int kind = 0; kind <= HES_REGRESSOR_LINEAR; kind++) {
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
