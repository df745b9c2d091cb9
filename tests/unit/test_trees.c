/* test_trees.c - what boosted trees learn: best splits by definition, known functions, determinism;
 * and their files: what is saved is loaded, what is forged is refused. */
#include <errno.h>
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

static const struct boosting_options standard = { .trees = 60,
						  .seed = 5,
						  .min_leaf = 5,
						  .max_leaves = 8,
						  .learning_rate = 0.15,
						  .row_fraction = 1 };

/* The ridge in the leaves may prefer another of two close cuts. */
TEST(a_trees_first_split_is_the_best_of_all)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct boosting_options o = standard;
		struct set *s = noise(60, 12, seed % 3 ? 0.2 : 0, seed);
		const struct ensemble_node *root;
		struct ensemble e;

		o.trees = 1;
		o.max_leaves = 2;
		o.min_leaf = 1 + (uint32_t)(seed % 5);
		e = fit(s, &o);
		root = e.nodes;
		assert_int_equal(e.trees[0].n_nodes, 3);
		assert_true(loss_of_cut(s, root->feature, root->value, root->missing_left,
					o.min_leaf) <= least_loss(s, o.min_leaf) * 1.01 + 1e-6);
		ensemble_finish(&e);
		free(s);
	}
}

/* Guessing the mean gives an error of about 17. */
TEST(a_function_is_learnt_by_each_output)
{
	struct set *learn = known_set(1000, 1), *ask = known_set(500, 2);
	struct ensemble e = fit(learn, &standard);
	double off = 0;

	assert_true(mae(&e, ask) < 2.5);
	for (size_t i = 0; i < ask->rows.n; i++) {
		float row[FEATURES];
		double out[2];

		row_of(ask, i, row);
		ensemble_predict(&e, row, out);
		off += fabs(out[1] + 2 * out[0]) / (double)ask->rows.n;
	}
	assert_true(off < 4);
	ensemble_finish(&e);
	free(learn);
	free(ask);
}

/* The target is 50 where the first feature is missing, else 10 or 90 by its size: neither side of a
 * cut by itself tells the missing. */
TEST(that_a_value_is_missing_is_learnt)
{
	struct set *s = noise(900, 20, 0.3, 9);
	struct ensemble e;

	for (size_t i = 0; i < s->rows.n; i++)
		s->y[i] = isnan(s->x[i]) ? 50 : s->x[i] < 10 ? 10 : 90;
	e = fit(s, &standard);
	assert_true(mae(&e, s) < 1);
	ensemble_finish(&e);
	free(s);
}

TEST(features_that_are_missing_everywhere_or_never_vary_are_legal)
{
	struct set *s = known_set(100, 4);
	struct ensemble e;

	for (size_t i = 0; i < s->rows.n; i++) {
		s->x[2 * s->rows.n + i] = NAN;
		s->x[3 * s->rows.n + i] = 7;
	}
	e = fit(s, &standard);
	assert_true(isfinite(mae(&e, s)));
	for (size_t i = 0; i < e.n_nodes; i++)
		assert_true(!e.nodes[i].left || e.nodes[i].feature < 2);
	ensemble_finish(&e);
	free(s);
}

TEST(constant_targets_come_back_as_they_are_and_two_rows_are_enough)
{
	struct set *s = noise(50, 10, 0.1, 6);
	float row[FEATURES] = { 1, NAN, 3, 4 };
	struct ensemble e;
	double out[2];

	for (size_t i = 0; i < s->rows.n; i++) {
		s->y[i] = 0.1;
		s->y[s->rows.n + i] = -3;
	}
	e = fit(s, &standard);
	ensemble_predict(&e, row, out);
	assert_true(fabs(out[0] - 0.1) < 1e-7);
	assert_true(fabs(out[1] + 3) < 1e-7);
	ensemble_finish(&e);
	free(s);
	s = noise(2, 100, 0, 21);
	e = fit(s, &standard);
	assert_true(isfinite(mae(&e, s)));
	ensemble_finish(&e);
	free(s);
}

static uint64_t hash_with(const struct set *s, uint32_t threads, uint64_t seed)
{
	struct boosting_options o = standard;
	struct ensemble e;
	uint64_t h;

	o.trees = 12;
	o.seed = seed;
	o.threads = threads;
	o.row_fraction = 0.7;
	e = fit(s, &o);
	h = hash_of(&e);
	ensemble_finish(&e);
	return h;
}

/* The value stands for every compiler and machine. */
TEST(trees_are_the_same_with_1_2_and_5_threads_and_any_compiler)
{
	struct set *s = noise(400, 50, 0.1, 11);
	uint64_t one = hash_with(s, 1, 7);

	if (one != 0x113b68070f3a4988u)
		fail_msg("0x%llx", (unsigned long long)one);
	assert_true(hash_with(s, 2, 7) == one);
	assert_true(hash_with(s, 5, 7) == one);
	assert_true(hash_with(s, 1, 8) != one);
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
		assert_true(nodes[i].feature < FEATURES);
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

TEST(children_follow_their_parents_and_leaves_keep_to_their_limits)
{
	struct set *s = noise(500, 40, 0.15, 12);

	for (uint32_t min_leaf = 1; min_leaf <= 8; min_leaf += 7) {
		struct boosting_options o = standard;
		struct ensemble e;

		o.min_leaf = min_leaf;
		o.max_leaves = 6;
		e = fit(s, &o);
		for (size_t t = 0; t < e.n_trees; t++) {
			assert_int_equal(e.trees[t].root,
					 t ? e.trees[t - 1].root + e.trees[t - 1].n_nodes : 0);
			assert_int_equal(e.trees[t].n_nodes, 11);
			assert_int_equal(e.trees[t].output, t / o.trees);
			check_tree(&e, &e.trees[t], min_leaf, s);
		}
		ensemble_finish(&e);
	}
	free(s);
}

static struct model_io written(struct ensemble *e)
{
	struct model_io io = { .path = "memory" };

	ensemble_io(&io, e, e->n_outputs, FEATURES);
	assert_int_equal(io.rc, 0);
	return io;
}

/* @return the rc of reading; what was read answers with finite numbers, and is freed */
static int read_back(struct model_io io)
{
	struct ensemble e = { .n_outputs = 0 };
	double out[2];

	io.reads = true;
	ensemble_io(&io, &e, 2, FEATURES);
	if (!io.rc) {
		ensemble_predict(&e, (float[FEATURES]){ 1, NAN, -1, 9 }, out);
		assert_true(isfinite(out[0]) && isfinite(out[1]));
	}
	ensemble_finish(&e);
	return io.rc;
}

static struct ensemble small_ensemble(void)
{
	struct boosting_options o = standard;
	struct set *s = noise(60, 40, 0.15, 12);
	struct ensemble e;

	o.trees = 2;
	o.max_leaves = 4;
	e = fit(s, &o);
	free(s);
	return e;
}

TEST(trees_come_back_from_a_file)
{
	struct ensemble e = small_ensemble(), back = { .n_outputs = 0 };
	struct model_io io = written(&e), again;
	uint64_t hash = hash_of(&e);

	again = io;
	again.reads = true;
	ensemble_io(&again, &back, 2, FEATURES);
	assert_int_equal(again.rc, 0);
	assert_int_equal(again.at, io.n);
	assert_true(hash_of(&back) == hash);
	ensemble_finish(&back);
	free(io.v);
	e.n_trees = e.n_nodes = 0;
	io = written(&e);
	assert_int_equal(read_back(io), 0);
	free(io.v);
	ensemble_finish(&e);
}

/* A file with the right checksum is a model that answers, or it is refused. */
TEST(no_forged_byte_leads_an_evaluation_astray)
{
	static const unsigned char flips[] = { 0x01, 0x80, 0xff };
	struct ensemble e = small_ensemble();
	struct model_io io = written(&e), cut = io;
	size_t taken = 0;

	for (cut.n = 0; cut.n < io.n; cut.n++)
		assert_int_equal(read_back(cut), -EINVAL);
	for (size_t i = 0; i < io.n; i++)
		for (size_t k = 0; k < sizeof(flips); k++) {
			int rc;

			io.v[i] ^= flips[k];
			rc = read_back(io);
			assert_true(rc == 0 || rc == -EINVAL);
			taken += rc == 0;
			io.v[i] ^= flips[k];
		}
	assert_true(taken > 0);
	free(io.v);
	ensemble_finish(&e);
}

/* Ways to make trees unsound. */
static void unsound(struct ensemble *e, int way)
{
	struct ensemble_node *root = e->nodes, *last = &root[e->trees[0].n_nodes - 1];

	switch (way) {
	case 0:
		root[root[0].left].left = 1;
		root[root[0].left + 1].left = 1;
		break; /* a child before its parent */
	case 1:
		root[0].left = e->trees[0].n_nodes - 1;
		break; /* the right child outside */
	case 2:
		root[0].left = UINT32_MAX;
		break;
	case 3:
		root[0].feature = FEATURES;
		break;
	case 4:
		root[0].value = NAN;
		break;
	case 5:
		last->value = INFINITY;
		break; /* a leaf */
	case 6:
		e->trees[0].output = 1;
		break; /* trees out of order */
	case 7:
		e->trees[3].output = 2;
		break; /* of two outputs */
	case 10:
		e->base[0] = INFINITY;
		break;
	}
}

TEST(every_unsound_part_is_refused_though_the_checksum_is_right)
{
	for (int way = 0; way <= 10; way++) {
		struct ensemble e = small_ensemble();
		struct model_io io = { .path = "memory" };

		unsound(&e, way);
		ensemble_io(&io, &e, 2, FEATURES);
		/* The nodes of the first tree, behind two bases, a count and its output. */
		if (way == 8 || way == 9)
			memset(io.v + 16 + 4 + 4, way == 8 ? 0 : 0xff, 4);
		assert_int_equal(read_back(io), -EINVAL);
		free(io.v);
		ensemble_finish(&e);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
