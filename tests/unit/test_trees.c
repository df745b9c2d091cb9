/* test_trees.c - what trees learn: best splits by definition, known functions, determinism.
 * test_fit.c has the rest. */
#include <float.h>
#include <math.h>

#include "rows_to_learn.h"
#include "unit_test.h"

/* Sum of squares from the mean, by definition. */
static double loss(const double *y, size_t n)
{
	double centre = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		centre += y[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		sum += (y[i] - centre) * (y[i] - centre);
	return sum;
}

/* Loss of both sides of a cut; INFINITY if one has fewer rows than @min_leaf. */
static double loss_of_cut(const struct set *s, size_t feature, float cut, bool missing_left,
			  size_t min_leaf)
{
	double side[2][MOST];
	size_t n[2] = { 0 };

	for (size_t i = 0; i < s->rows.n; i++) {
		float v = s->x[feature * s->rows.n + i];
		int left = isnan(v) ? missing_left : v <= cut;

		side[left][n[left]++] = s->y[i];
	}
	if (n[0] < min_leaf || n[1] < min_leaf)
		return INFINITY;
	return loss(side[0], n[0]) + loss(side[1], n[1]);
}

/* Of all cuts of all features, rows without the feature left and right. */
static double least_loss(const struct set *s, size_t min_leaf)
{
	double least = INFINITY;

	for (size_t f = 0; f < FEATURES; f++)
		for (size_t i = 0; i <= s->rows.n; i++)
			for (int missing_left = 0; missing_left < 2; missing_left++) {
				float cut = i < s->rows.n ? s->x[f * s->rows.n + i] : FLT_MAX;

				if (!isnan(cut))
					least = fmin(least, loss_of_cut(s, f, cut, missing_left,
									min_leaf));
			}
	return least;
}

static void check_first_split(uint64_t seed, enum hes_regressor_kind kind, double slack)
{
	struct hes_regressor_options o = { .kind = kind,
					   .max_depth = 1,
					   .threads = 1,
					   .min_leaf = 1 + (uint32_t)(seed % 5),
					   .trees = 1 };
	struct set *s = noise(60, 12, seed % 3 ? 0.2 : 0, seed);
	struct hes_regressor *r;
	const struct ensemble_node *root;
	double have, least = least_loss(s, o.min_leaf);

	if (kind == HES_REGRESSOR_BOOSTING)
		o.row_fraction = 1;
	r = fit(s, &o);
	root = r->ensemble.nodes;
	assert_int_equal(r->ensemble.trees[0].n_nodes, 3);
	have = loss_of_cut(s, root->feature, root->value, root->missing_left, o.min_leaf);
	assert_true(have <= least * (1 + slack) + 1e-6);
	hes_regressor_free(r);
	free(s);
}

/* The ridge in boosting's leaves may prefer another of two close cuts. */
TEST(a_boosted_trees_first_split_is_the_best_of_all)
{
	for (uint64_t seed = 1; seed <= 40; seed++)
		check_first_split(seed, HES_REGRESSOR_BOOSTING, 0.01);
}

TEST(every_kind_learns_a_function)
{
	static const struct {
		enum hes_regressor_kind kind;
		double most; /* error on rows that were not learnt from; guessing the mean gives
				about 17 */
	} rows[] = {
		{ HES_REGRESSOR_EXTRA_TREES, 1.5 },
		{ HES_REGRESSOR_BOOSTING, 2.5 },
	};
	struct set *learn = known_set(1000, 1), *ask = known_set(500, 2);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hes_regressor_options o = { .kind = rows[i].kind, .trees = 60, .seed = 5 };
		struct hes_regressor *r = fit(learn, &o);
		double error = mae(r, ask);

		if (!(error < rows[i].most))
			fail_msg("kind %d: error %g", (int)o.kind, error);
		hes_regressor_free(r);
	}
	free(learn);
	free(ask);
}

TEST(each_output_has_trees_of_its_own)
{
	struct set *s = known_set(400, 3);

	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++) {
		struct hes_regressor_options o = { .kind = (enum hes_regressor_kind)kind,
						   .trees = 40 };
		struct hes_regressor *r = fit(s, &o);
		double off = 0;

		for (size_t i = 0; i < s->rows.n; i++) {
			float row[FEATURES];
			double out[2];

			row_of(s, i, row);
			hes_regressor_predict(r, row, out);
			off += fabs(out[1] + 2 * out[0]) / (double)s->rows.n;
		}
		assert_true(off < 4);
		hes_regressor_free(r);
	}
	free(s);
}

/* The target is 50 where the first feature is missing, else 10 or 90 by its size: neither side of a
 * cut by itself tells the missing. */
TEST(that_a_value_is_missing_is_learnt)
{
	struct set *s = noise(900, 20, 0.3, 9);

	for (size_t i = 0; i < s->rows.n; i++)
		s->y[i] = isnan(s->x[i]) ? 50 : s->x[i] < 10 ? 10 : 90;
	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++) {
		struct hes_regressor_options o = { .kind = (enum hes_regressor_kind)kind,
						   .trees = 80 };
		struct hes_regressor *r = fit(s, &o);

		if (!(mae(r, s) < 1))
			fail_msg("kind %d: error %g", kind, mae(r, s));
		hes_regressor_free(r);
	}
	free(s);
}

TEST(features_that_are_missing_everywhere_or_never_vary_are_legal)
{
	struct set *s = known_set(100, 4);

	for (size_t i = 0; i < s->rows.n; i++) {
		s->x[2 * s->rows.n + i] = NAN;
		s->x[3 * s->rows.n + i] = 7;
	}
	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++) {
		struct hes_regressor_options o = { .kind = (enum hes_regressor_kind)kind };
		struct hes_regressor *r = fit(s, &o);

		assert_true(isfinite(mae(r, s)));
		for (size_t i = 0; i < r->ensemble.n_nodes; i++)
			assert_true(!r->ensemble.nodes[i].left || r->ensemble.nodes[i].feature < 2);
		hes_regressor_free(r);
	}
	free(s);
}

TEST(constant_targets_come_back_as_they_are)
{
	struct set *s = noise(50, 10, 0.1, 6);

	for (size_t i = 0; i < s->rows.n; i++) {
		s->y[i] = 0.1;
		s->y[s->rows.n + i] = -3;
	}
	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++) {
		struct hes_regressor_options o = { .kind = (enum hes_regressor_kind)kind };
		struct hes_regressor *r = fit(s, &o);
		float row[FEATURES] = { 1, NAN, 3, 4 };
		double out[2];

		hes_regressor_predict(r, row, out);
		assert_true(fabs(out[0] - 0.1) < 1e-7);
		assert_true(fabs(out[1] + 3) < 1e-7);
		hes_regressor_free(r);
	}
	free(s);
}

/* With one tree a row is often its own nearest row; nothing is left over. */
TEST(extra_trees_repeat_what_they_learnt)
{
	struct set *s = noise(300, 1000000, 0, 8);
	struct hes_regressor_options o = { .kind = HES_REGRESSOR_EXTRA_TREES };
	struct hes_regressor *r;

	r = fit(s, &o);
	assert_true(mae(r, s) < 1e-12);
	hes_regressor_free(r);
	free(s);
}

static uint64_t hash_with(const struct set *s, int kind, uint32_t threads, uint64_t seed)
{
	struct hes_regressor_options o = {
		.kind = (enum hes_regressor_kind)kind,
		.trees = 12,
		.seed = seed,
		.threads = threads,
	};
	struct hes_regressor *r;
	uint64_t h;

	if (kind == HES_REGRESSOR_EXTRA_TREES)
		o.features_per_split = 3;
	r = fit(s, &o);
	h = hash_of(r);
	hes_regressor_free(r);
	return h;
}

/* The values stand for every compiler and machine. */
TEST(a_regressor_is_the_same_with_1_2_and_5_threads_and_any_compiler)
{
	static const uint64_t golden[] = {
		[HES_REGRESSOR_BOOSTING] = 0x113b68070f3a4988u,
		[HES_REGRESSOR_EXTRA_TREES] = 0x8d98b77e95e4fd41u,
	};
	struct set *s = noise(400, 50, 0.1, 11);

	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++) {
		uint64_t one = hash_with(s, kind, 1, 7);

		if (one != golden[kind])
			fail_msg("kind %d: 0x%llx", kind, (unsigned long long)one);
		assert_true(hash_with(s, kind, 2, 7) == one);
		assert_true(hash_with(s, kind, 5, 7) == one);
		assert_true(hash_with(s, kind, 1, 8) != one);
	}
	free(s);
}

static void check_tree(const struct ensemble *e, const struct ensemble_tree *t, uint32_t min_leaf,
		       const struct set *s)
{
	const struct ensemble_node *nodes = e->nodes + t->root;
	uint32_t *rows = calloc(t->n_nodes, sizeof(*rows)), parents = 0;

	for (uint32_t i = 0; i < t->n_nodes; i++) {
		assert_true(isfinite(nodes[i].value));
		if (!nodes[i].left)
			continue;
		parents++;
		assert_true(nodes[i].left > i && nodes[i].left + 1 < t->n_nodes);
		assert_true(nodes[i].feature < e->n_features);
	}
	assert_int_equal(t->n_nodes, 2 * parents + 1);
	for (size_t r = 0; r < s->rows.n; r++) {
		uint32_t at = 0;

		while (nodes[at].left) {
			float v = s->x[nodes[at].feature * s->rows.n + r];

			at = nodes[at].left +
			     !(isnan(v) ? nodes[at].missing_left : v <= nodes[at].value);
		}
		rows[at]++;
	}
	for (uint32_t i = 0; i < t->n_nodes; i++)
		assert_true(nodes[i].left || rows[i] >= min_leaf);
	free(rows);
}

TEST(children_follow_their_parents_and_leaves_hold_enough_rows)
{
	struct set *s = noise(500, 40, 0.15, 12);

	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++)
		for (uint32_t min_leaf = 1; min_leaf <= 8; min_leaf += 7) {
			struct hes_regressor_options o = { .kind = (enum hes_regressor_kind)kind,
							   .trees = 9,
							   .min_leaf = min_leaf };
			struct hes_regressor *r;
			const struct ensemble *e;

			if (kind == HES_REGRESSOR_BOOSTING)
				o.row_fraction = 1;
			r = fit(s, &o);
			e = &r->ensemble;
			for (size_t t = 0; t < e->n_trees; t++) {
				assert_int_equal(e->trees[t].root,
						 t ? e->trees[t - 1].root + e->trees[t - 1].n_nodes
						   : 0);
				assert_true(!t || e->trees[t].output >= e->trees[t - 1].output);
				check_tree(e, &e->trees[t], min_leaf, s);
			}
			hes_regressor_free(r);
		}
	free(s);
}

static uint32_t depth_of(const struct ensemble_node *nodes, uint32_t at)
{
	uint32_t left, right;

	if (!nodes[at].left)
		return 0;
	left = depth_of(nodes, nodes[at].left);
	right = depth_of(nodes, nodes[at].left + 1);
	return 1 + (left > right ? left : right);
}

TEST(depth_and_leaves_keep_to_their_limits)
{
	struct set *s = noise(500, 40, 0.15, 13);

	for (int kind = 0; kind <= HES_REGRESSOR_EXTRA_TREES; kind++) {
		struct hes_regressor_options o = { .kind = (enum hes_regressor_kind)kind,
						   .trees = 5,
						   .max_depth = 4,
						   .max_leaves =
							   kind == HES_REGRESSOR_BOOSTING ? 6 : 0 };
		struct hes_regressor *r = fit(s, &o);

		for (size_t t = 0; t < r->ensemble.n_trees; t++) {
			assert_true(depth_of(r->ensemble.nodes + r->ensemble.trees[t].root, 0) <=
				    4);
			if (kind == HES_REGRESSOR_BOOSTING)
				assert_int_equal(r->ensemble.trees[t].n_nodes, 11);
		}
		hes_regressor_free(r);
	}
	free(s);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
