/*
 * test_paper_learners.c - what the paper's learners learn from and choose, what they cost, and what
 * is said of the paper's statements.
 */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "paper_method.h"
#include "unit_test.h"

#define ROWS     120
#define FEATURES 3
#define TREES    30

struct sample {
	float x[FEATURES * ROWS];
	double y[ROWS];
};

/* @y of three features from 0 to 1. */
static struct training_rows make(struct sample *s, double (*y)(float a, float b, float c))
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 7);
	for (size_t i = 0; i < FEATURES * ROWS; i++)
		s->x[i] = (float)hes_rng_unit(&rng);
	for (size_t i = 0; i < ROWS; i++)
		s->y[i] = y(s->x[i], s->x[ROWS + i], s->x[2 * ROWS + i]);
	return (struct training_rows){
		.x = s->x, .y = s->y, .n = ROWS, .n_features = FEATURES, .n_outputs = 1
	};
}

static double line(float a, float b, float c)
{
	return 10 + 3 * (double)a - 2 * (double)b + 0.5 * (double)c;
}

static double steps(float a, float b, float c)
{
	return 10 + (a > 0.5F ? 5 : 0) + (b > 0.3F ? 2 : 0) + (c > 0.8F ? 1 : 0);
}

static void fit(enum learner learner, const struct training_rows *rows, struct learnt *out)
{
	struct hes_err err;

	if (learner_fit(learner, rows, 1, TREES, out, &err))
		fail_msg("%s", err.msg);
}

static enum paper_learner chosen(const struct learnt *l, size_t i)
{
	return l->of[i].setting.learner;
}

TEST(automl_takes_the_straight_line_for_a_straight_line)
{
	const float row[] = { 0.9F, 0.1F, 0.5F };
	struct sample s;
	const struct training_rows rows = make(&s, line);
	struct learnt l;

	fit(LEARNER_AUTO, &rows, &l);
	assert_int_equal(l.n, 1);
	assert_int_equal(chosen(&l, 0), PAPER_LINEAR);
	assert_true(fabs(learnt_predict(&l, row) - 12.75) < 1e-3);
	learnt_free(&l);
}

TEST(automl_takes_trees_for_steps_and_no_extra_trees)
{
	const float row[] = { 0.9F, 0.1F, 0.5F };
	struct sample s;
	const struct training_rows rows = make(&s, steps);
	struct learnt l;

	fit(LEARNER_AUTO, &rows, &l);
	for (size_t i = 0; i < l.n; i++)
		assert_true(chosen(&l, i) != PAPER_LINEAR && chosen(&l, i) != PAPER_EXTRA_TREES);
	assert_true(fabs(learnt_predict(&l, row) - 15) < 0.5);
	learnt_free(&l);
}

TEST(a_search_keeps_to_its_fits_and_repeats)
{
	const float row[] = { 0.4F, 0.6F, 0.7F };
	struct sample s;
	const struct training_rows rows = make(&s, steps);
	struct learnt a, b;

	fit(LEARNER_EXTRA_TREES, &rows, &a);
	assert_true(a.fits == 1 && a.n == 1);
	learnt_free(&a);
	fit(LEARNER_FOREST, &rows, &a);
	assert_true(a.fits == 9 * 5 + 1 && a.n == 1);
	assert_int_equal(chosen(&a, 0), PAPER_FOREST);
	learnt_free(&a);
	fit(LEARNER_AUTO, &rows, &a);
	fit(LEARNER_AUTO, &rows, &b);
	assert_true(a.fits <= LEARNERS_BUDGET && a.fits > LEARNERS_BUDGET - 10);
	assert_true(a.n == b.n && a.fits == b.fits);
	assert_true(learnt_predict(&a, row) == learnt_predict(&b, row));
	learnt_free(&a);
	learnt_free(&b);
}

/* Han et al. have nine metrics: none is missing, stands still or repeats another. */
TEST(the_papers_nine_features_are_nine)
{
	const char *root = getenv("HES_SOURCE_ROOT");
	float row[PAPER_RATE], first[PAPER_RATE];
	bool moves[PAPER_RATE] = { false }, differs[PAPER_RATE][PAPER_RATE] = { { false } };
	struct testbed t;
	struct hes_err err;
	char path[4096];

	if (!root)
		skip();
	snprintf(path, sizeof(path), "%s/papers/partition/workloads.yaml", root);
	if (testbed_open(path, 0.017, 1, &t, &err))
		fail_msg("%s", err.msg);
	paper_features(&t, &t.pairs.v[0], first);
	for (size_t i = 0; i < t.pairs.n; i++) {
		paper_features(&t, &t.pairs.v[i], row);
		for (size_t k = 0; k < PAPER_RATE; k++) {
			assert_true(isfinite(row[k]));
			moves[k] |= row[k] != first[k];
			for (size_t j = 0; j < k; j++)
				differs[k][j] |= fabsf(row[k] * first[j] - row[j] * first[k]) >
						 1e-3F * fabsf(row[j] * first[k]);
		}
	}
	for (size_t k = 0; k < PAPER_RATE; k++) {
		assert_true(moves[k]);
		for (size_t j = 0; j < k; j++)
			assert_true(differs[k][j]);
	}
	testbed_close(&t);
}

TEST(statements_of_the_paper_are_within_ten_points_at_least_or_missed)
{
	struct study s = { .n_claims = 0 };

	study_claim(&s, "Figure 3", "gain, %", 35, 44.9, 1);
	study_claim(&s, "Figure 3", "gain, %", 35, 45.1, 1);
	study_claim(&s, "Figure 3", "gain, %", 35, 24.9, 1);
	study_claim(&s, "Figure 1", "error, %", 35, 24.9, -1);
	study_claim(&s, "Figure 4", "oracle, %", 55, 75, 0);
	study_claim_text(&s, AN_INPUT, "Table 1", "%d pairs", 121);
	assert_int_equal(s.n_claims, 6);
	assert_int_equal(s.claims[0].verdict, WITHIN_POINTS);
	assert_int_equal(s.claims[1].verdict, AT_LEAST);
	assert_int_equal(s.claims[2].verdict, MISSED);
	assert_int_equal(s.claims[3].verdict, AT_LEAST);
	assert_int_equal(s.claims[4].verdict, MISSED);
	assert_int_equal(s.claims[5].verdict, AN_INPUT);
	assert_string_equal(s.claims[5].what, "121 pairs");
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
