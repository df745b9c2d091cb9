/* test_grow_joint.c - joint trees: best splits by definition, outputs of very different size, determinism. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rows_to_learn.h"

#define JOINT_OUTPUTS 3

/* Rows with outputs of very different sizes. */
struct joint_set {
	struct set     *s;
	double          y[JOINT_OUTPUTS * MOST];
	double          variance[JOINT_OUTPUTS];
	struct hes_rows rows;
};

static struct joint_set *joint_noise(size_t n, double missing, uint64_t seed)
{
	static const double size[JOINT_OUTPUTS] = { 1, 1e5, 1e-5 };
	struct joint_set *j = calloc(1, sizeof(*j));

	assert_non_null(j);
	j->s = noise(n, 12, missing, seed);
	for (size_t o = 0; o < JOINT_OUTPUTS; o++) {
		double mean = 0;

		for (size_t i = 0; i < n; i++) {
			j->y[o * n + i] = size[o] * j->s->y[(i * (o + 1) + o) % (2 * n)];
			mean += j->y[o * n + i] / (double)n;
		}
		for (size_t i = 0; i < n; i++)
			j->variance[o] += (j->y[o * n + i] - mean) * (j->y[o * n + i] - mean) / (double)n;
	}
	j->rows = j->s->rows;
	j->rows.y = j->y;
	j->rows.n_outputs = JOINT_OUTPUTS;
	return j;
}

static struct hes_regressor *fit_jointly(const struct joint_set *j, struct hes_regressor_options o)
{
	struct set *s = set_create(j->rows.n, JOINT_OUTPUTS);
	struct hes_regressor *r;

	o.joint = true;
	s->rows = j->rows;
	r = fit(s, &o);
	free(s);
	return r;
}

/* A node's rows, and some of them in turn. */
struct rows_of_node {
	size_t v[MOST], n;
};

static struct rows_of_node side_of(const struct joint_set *j, const struct rows_of_node *rows, size_t feature, float cut,
				   bool missing_left, bool left)
{
	struct rows_of_node side = { .n = 0 };

	for (size_t i = 0; i < rows->n; i++) {
		float v = j->rows.x[feature * j->rows.n + rows->v[i]];

		if ((isnan(v) ? missing_left : v <= cut) == left)
			side.v[side.n++] = rows->v[i];
	}
	return side;
}

static double mean_of(const struct joint_set *j, const struct rows_of_node *rows, size_t output)
{
	double mean = 0;

	for (size_t i = 0; i < rows->n; i++)
		mean += j->y[output * j->rows.n + rows->v[i]] / (double)rows->n;
	return mean;
}

/* Squares from the mean, each output's over its variance. */
static double joint_loss(const struct joint_set *j, const struct rows_of_node *rows)
{
	double sum = 0;

	for (size_t o = 0; o < JOINT_OUTPUTS; o++) {
		double mean = mean_of(j, rows, o);

		for (size_t i = 0; i < rows->n; i++) {
			double off = j->y[o * j->rows.n + rows->v[i]] - mean;

			sum += off * off / j->variance[o];
		}
	}
	return sum;
}

static double joint_loss_of_cut(const struct joint_set *j, const struct rows_of_node *rows, size_t feature, float cut,
				bool missing_left, size_t min_leaf)
{
	struct rows_of_node left = side_of(j, rows, feature, cut, missing_left, true);
	struct rows_of_node right = side_of(j, rows, feature, cut, missing_left, false);

	return left.n < min_leaf || right.n < min_leaf ? INFINITY : joint_loss(j, &left) + joint_loss(j, &right);
}

static double least_joint_loss(const struct joint_set *j, const struct rows_of_node *rows, size_t min_leaf)
{
	double least = INFINITY;

	for (size_t f = 0; f < FEATURES; f++)
		for (size_t i = 0; i <= rows->n; i++)
			for (int missing_left = 0; missing_left < 2; missing_left++) {
				float cut = i < rows->n ? j->rows.x[f * j->rows.n + rows->v[i]] : FLT_MAX;

				if (!isnan(cut))
					least = fmin(least, joint_loss_of_cut(j, rows, f, cut, missing_left, min_leaf));
			}
	return least;
}

/* Each cut the best there is (@best), each leaf the means of its rows. @return leaves */
static size_t check_joint_node(const struct joint_set *j, const struct ensemble *e, const struct ensemble_tree *tree,
			       uint32_t at, const struct rows_of_node *rows, size_t min_leaf, bool best)
{
	const struct ensemble_node *node = &e->nodes[tree->root + at];
	struct rows_of_node left, right;

	assert_true(rows->n >= min_leaf);
	for (size_t o = 0; !node->left && o < JOINT_OUTPUTS; o++) {
		double mean = mean_of(j, rows, o);

		assert_true(fabs((double)ensemble_leaf(e, tree, at)[o] - mean) <= 1e-6 * fabs(mean));
	}
	if (!node->left)
		return 1;
	if (best)
		assert_true(joint_loss_of_cut(j, rows, node->feature, node->value, node->missing_left, min_leaf) <=
			    least_joint_loss(j, rows, min_leaf) * (1 + 1e-9) + 1e-9);
	left = side_of(j, rows, node->feature, node->value, node->missing_left, true);
	right = side_of(j, rows, node->feature, node->value, node->missing_left, false);
	return check_joint_node(j, e, tree, node->left, &left, min_leaf, best) +
	       check_joint_node(j, e, tree, node->left + 1, &right, min_leaf, best);
}

static void check_joint_tree(uint64_t seed, enum hes_regressor_kind kind)
{
	struct hes_regressor_options o = { .kind = kind, .trees = 1, .min_leaf = 1 + (uint32_t)(seed % 3), .seed = seed };
	struct joint_set *j = joint_noise(40, seed % 2 ? 0.2 : 0, seed);
	struct hes_regressor *r = fit_jointly(j, o);
	struct rows_of_node all = { .n = j->rows.n };
	const struct ensemble *e = &r->ensemble;
	size_t n_leaves;

	for (size_t i = 0; i < all.n; i++)
		all.v[i] = i;
	assert_int_equal(e->n_trees, 1);
	n_leaves = check_joint_node(j, e, &e->trees[0], 0, &all, o.min_leaf, kind == HES_REGRESSOR_TREE);
	assert_int_equal(e->trees[0].n_nodes, 2 * n_leaves - 1);
	assert_true(n_leaves > 8);
	hes_regressor_free(r);
	free(j->s);
	free(j);
}

/* Outputs are 1e10 apart in size, and each counts. */
static void every_split_of_a_joint_tree_is_the_best_of_all(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		check_joint_tree(seed, HES_REGRESSOR_TREE);
}

static void leaves_of_joint_extra_trees_are_the_means_of_their_rows(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		check_joint_tree(seed, HES_REGRESSOR_EXTRA_TREES);
}

static void joint_forests_learn_functions(void **state)
{
	struct set *learn = known_set(1000, 1), *ask = known_set(500, 2);

	(void)state;
	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++) {
		struct hes_regressor_options o = { .kind = (enum hes_regressor_kind)kind, .trees = 60, .joint = true };
		struct hes_regressor *r = fit(learn, &o);
		const struct hes_regressor_info *about = hes_regressor_about(r);

		assert_true(about->options.joint);
		assert_int_equal(about->n_trees, 60);
		assert_true(mae(r, ask) < 1.5);
		for (size_t i = 0; i < ask->rows.n; i++) {
			float row[FEATURES];
			double out[2];

			row_of(ask, i, row);
			hes_regressor_predict(r, row, out);
			assert_true(fabs(out[1] + 2 * out[0]) < 1e-4); /* leaves are single precision */
		}
		hes_regressor_free(r);
	}
	free(learn);
	free(ask);
}

static void joint_trees_of_one_output_are_those_that_are_not_joint(void **state)
{
	struct set *s = known_set(300, 3);

	(void)state;
	s->rows.n_outputs = 1;
	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++) {
		struct hes_regressor_options o = { .kind = (enum hes_regressor_kind)kind, .trees = 3 };
		struct hes_regressor *apart = fit(s, &o), *joint;

		o.joint = true;
		joint = fit(s, &o);
		assert_false(hes_regressor_about(joint)->options.joint);
		assert_int_equal(joint->ensemble.n_nodes, apart->ensemble.n_nodes);
		assert_true(hash_of(joint) == hash_of(apart));
		hes_regressor_free(apart);
		hes_regressor_free(joint);
	}
	free(s);
}

/* The values stand for every compiler and machine. */
static void joint_trees_are_the_same_with_1_2_and_5_threads_and_any_compiler(void **state)
{
	static const uint64_t golden[HES_REGRESSOR_TREE + 1] = { 0xfc7823139b9b6332u, 0x5bd1d9d97aed9b7eu, 0, 0xfc75a1af2a5d20u };
	struct joint_set *j = joint_noise(400, 0.1, 11);

	(void)state;
	for (int kind = 0; kind <= HES_REGRESSOR_TREE; kind++)
		for (uint32_t threads = 1; golden[kind] && threads <= 5; threads += threads == 1 ? 1 : 3) {
			struct hes_regressor *r = fit_jointly(j, (struct hes_regressor_options){
				.kind = (enum hes_regressor_kind)kind, .trees = 12, .seed = 7, .threads = threads });
			uint64_t h = hash_of(r);

			if (h != golden[kind])
				fail_msg("kind %d: 0x%llx", kind, (unsigned long long)h);
			hes_regressor_free(r);
		}
	free(j->s);
	free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split_of_a_joint_tree_is_the_best_of_all),
		cmocka_unit_test(leaves_of_joint_extra_trees_are_the_means_of_their_rows),
		cmocka_unit_test(joint_forests_learn_functions),
		cmocka_unit_test(joint_trees_of_one_output_are_those_that_are_not_joint),
		cmocka_unit_test(joint_trees_are_the_same_with_1_2_and_5_threads_and_any_compiler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
