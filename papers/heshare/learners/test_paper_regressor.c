/* test_paper_regressor.c - what lines, forests and single trees learn. */
#include <math.h>

#include "paper_regressor.h"
#include "rows_to_learn.h"
#include "unit_test.h"

static struct paper_regressor fit_paper(const struct set *s, const struct paper_setting *setting)
{
	struct paper_regressor r;
	struct hes_err err;

	if (paper_regressor_fit(&s->rows, setting, &r, &err))
		fail_msg("%s", err.msg);
	return r;
}

/* Mean absolute error of the first output. */
static double paper_mae(const struct paper_regressor *r, const struct set *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->rows.n; i++) {
		float row[FEATURES];
		double out[2];

		row_of(s, i, row);
		paper_regressor_predict(r, row, out);
		sum += fabs(out[0] - s->y[i]);
	}
	return sum / (double)s->rows.n;
}

/* y = 3 - 2 x0 + 0.5 x1, x3 = x0 + x1: the sum of what the two say of x0 is -2, of x1 is 0.5. */
TEST(a_line_is_found_next_to_columns_that_are_sums_of_others)
{
	struct set *s = noise(200, 1000, 0, 16);
	const struct paper_setting line = { .learner = PAPER_LINEAR };
	struct paper_regressor r;
	size_t n = s->rows.n;

	for (size_t i = 0; i < n; i++) {
		s->x[2 * n + i] = 5;
		s->x[3 * n + i] = s->x[i] + s->x[n + i];
		s->y[i] = 3 - 2 * (double)s->x[i] + 0.5 * (double)s->x[n + i];
		s->y[n + i] = 1e6 + 1e-3 * (double)s->x[i];
	}
	r = fit_paper(s, &line);
	assert_true(paper_mae(&r, s) < 1e-10);
	assert_true(fabs(r.weights[0] + r.weights[3] + 2) < 1e-12);
	assert_true(fabs(r.weights[1] + r.weights[3] - 0.5) < 1e-12);
	assert_true(r.weights[2] == 0);
	assert_true(fabs(r.weights[FEATURES + 1] + r.weights[FEATURES + 4] - 1e-3) < 1e-12);
	paper_regressor_free(&r);
	free(s);
}

/* Columns far from 0 and nearly alike, where plain normal equations keep no digit. */
TEST(a_line_is_found_again_in_nearly_collinear_columns)
{
	struct set *s = noise(300, 1000, 0, 17);
	const struct paper_setting line = { .learner = PAPER_LINEAR };
	struct paper_regressor r;
	size_t n = s->rows.n;

	for (size_t i = 0; i < n; i++) {
		s->x[n + i] = 512 * s->x[i] + (float)(i % 7);
		s->x[2 * n + i] += 1000000;
		s->y[i] = (double)s->x[i] * 512 - (double)s->x[n + i] + (double)s->x[2 * n + i];
	}
	r = fit_paper(s, &line);
	assert_true(fabs(r.weights[0] / 512 - 1) < 1e-6);
	assert_true(fabs(r.weights[1] + 1) < 1e-6);
	assert_true(fabs(r.weights[2] - 1) < 1e-9);
	paper_regressor_free(&r);
	free(s);
}

TEST(a_missing_value_counts_as_the_columns_mean_in_a_line)
{
	struct set *s = set_create(4, 1);
	const struct paper_setting line = { .learner = PAPER_LINEAR };
	struct paper_regressor r;
	float row[FEATURES] = { NAN, 0, 0, 0 };
	double out;

	memcpy(s->x, (float[]){ 1, 3, NAN, 5 }, 4 * sizeof(float));
	memcpy(s->y, (double[]){ 10, 30, 30, 50 }, 4 * sizeof(double));
	r = fit_paper(s, &line);
	paper_regressor_predict(&r, row, &out);
	assert_true(fabs(out - 30) < 1e-12);
	assert_true(fabs(r.weights[0] - 10) < 1e-12);
	paper_regressor_free(&r);
	free(s);
}

TEST(a_missing_value_in_an_otherwise_complete_column_follows_the_majority)
{
	struct set *s = set_create(5, 1);
	const struct paper_setting tree = { .learner = PAPER_TREE };
	struct paper_regressor r;
	float row[FEATURES] = { NAN, 0, 0, 0 };
	double out;

	memcpy(s->x, (float[]){ 1, 2, 3, 4, 5 }, 5 * sizeof(float));
	memcpy(s->y, (double[]){ 7, 7, 7, 1, 1 }, 5 * sizeof(double));
	r = fit_paper(s, &tree);
	paper_regressor_predict(&r, row, &out);
	assert_true(out == 7);
	paper_regressor_free(&r);
	free(s);
}

/* The values stand for every compiler and machine, and any number of threads. */
TEST(a_forest_and_a_tree_learn_the_same_everywhere)
{
	static const struct {
		enum paper_learner learner;
		uint64_t hash;
	} golden[] = { { PAPER_FOREST, 0xf4c139fb477f2a2du }, { PAPER_TREE, 0xb4110a80dd5ba3f7u } };
	struct set *s = noise(400, 50, 0.1, 11);

	for (size_t i = 0; i < 2; i++)
		for (uint32_t threads = 1; threads <= 3; threads += 2) {
			struct paper_setting setting = {
				.learner = golden[i].learner,
				.o = { .trees = 12, .seed = 7, .threads = threads }
			};
			struct paper_regressor r;

			setting.features_per_split = golden[i].learner == PAPER_FOREST ? 3 : 0;
			r = fit_paper(s, &setting);
			assert_true(hash_of(&r.trees) == golden[i].hash);
			paper_regressor_free(&r);
		}
	free(s);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
