/* test_lightgbm.c - LightGBM's text models: read, written, refused. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "random_ensemble.h"

static char path[] = "/tmp/hes-lightgbm-XXXXXX";

/* Two trees. The first: a <= 0.5 ? (b <= 2 ? 10 : 20) : 30, a missing goes left, b missing right. */
static const char model[] =
	"tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\n"
	"objective=regression\nfeature_names=a b\nfeature_infos=[0:1] [0:3]\ntree_sizes=1 1\n\n"
	"Tree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=0 1\nsplit_gain=3 2\nthreshold=0.5 2\ndecision_type=10 8\n"
	"left_child=1 -1\nright_child=-3 -2\nleaf_value=10 20 30\nleaf_weight=1 1 1\nleaf_count=1 1 1\n"
	"internal_value=0 0\ninternal_weight=0 0\ninternal_count=3 2\nis_linear=0\nshrinkage=0.1\n\n\n"
	"Tree=1\nnum_leaves=1\nnum_cat=0\nleaf_value=0.25\nis_linear=0\nshrinkage=0.1\n\n\n"
	"end of trees\n\nfeature_importances:\na=1\nb=1\n\nparameters:\n[boosting: gbdt]\nend of parameters\n";

static void write_text(const char *text, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
}

/* The model with one piece in place of another. */
static void write_with(const char *old, const char *new)
{
	const char *at = strstr(model, old);
	char text[sizeof(model) + 1000];

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - model), model, new, at + strlen(old));
	write_text(text, strlen(text));
}

static struct hes_regressor *import(size_t files)
{
	const char *paths[2] = { path, path };
	struct hes_regressor *r = NULL;
	struct hes_err err = { 0 };

	if (hes_regressor_import_lightgbm(paths, files, &r, &err))
		fail_msg("%s", err.msg);
	return r;
}

static double ask(const struct hes_regressor *r, float a, float b)
{
	double out[2];

	hes_regressor_predict(r, (float[]){ a, b }, out);
	return out[0];
}

static void refused(const char *words)
{
	const char *paths[] = { path };
	struct hes_regressor *r = NULL;
	struct hes_err err = { 0 };

	assert_int_equal(hes_regressor_import_lightgbm(paths, 1, &r, &err), -EINVAL);
	assert_null(r);
	assert_non_null(strstr(err.msg, path));
	if (!strstr(err.msg, words))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, words);
}

static void a_model_says_what_its_trees_say(void **state)
{
	struct hes_regressor *r;

	(void)state;
	write_text(model, strlen(model));
	r = import(1);
	assert_string_equal(hes_regressor_feature_name(r, 1), "b");
	assert_string_equal(hes_regressor_output_name(r, 0), "y0");
	assert_int_equal(hes_regressor_about(r)->options.kind, HES_REGRESSOR_BOOSTING);
	assert_true(hes_regressor_about(r)->options.learning_rate == 0.1);
	assert_int_equal(hes_regressor_about(r)->n_trees, 2);
	assert_true(ask(r, 0.5f, 2) == 10.25);
	assert_true(ask(r, -1, 2.5f) == 20.25);
	assert_true(ask(r, 0.6f, 0) == 30.25);
	assert_true(ask(r, NAN, 0) == 10.25);
	assert_true(ask(r, 0, NAN) == 20.25);
	hes_regressor_free(r);
}

/* Between them the meaning of a tree's lines has not changed. */
static void models_of_versions_2_and_3_are_read_as_well(void **state)
{
	(void)state;
	for (int version = 2; version < 4; version++) {
		char line[16];
		struct hes_regressor *r;

		snprintf(line, sizeof(line), "version=v%d", version);
		write_with("version=v4", line);
		r = import(1);
		assert_true(ask(r, 0.6f, 0) == 30.25);
		hes_regressor_free(r);
	}
}

static void without_a_missing_type_missing_counts_as_0(void **state)
{
	struct hes_regressor *r;

	(void)state;
	write_with("decision_type=10 8", "decision_type=0 2");
	r = import(1);
	assert_true(ask(r, NAN, 0) == 10.25);
	hes_regressor_free(r);
	write_with("threshold=0.5 2\ndecision_type=10 8", "threshold=-0.5 2\ndecision_type=2 2");
	r = import(1);
	assert_true(ask(r, NAN, 0) == 30.25);
	hes_regressor_free(r);
}

static void a_forests_leaves_are_averaged(void **state)
{
	struct hes_regressor *r;

	(void)state;
	write_with("objective=regression", "objective=regression\naverage_output");
	r = import(1);
	assert_int_equal(hes_regressor_about(r)->options.kind, HES_REGRESSOR_FOREST);
	assert_true(ask(r, 0, 0) == (10 + 0.25) / 2);
	hes_regressor_free(r);
}

static void a_file_an_output(void **state)
{
	double out[2];
	struct hes_regressor *r;

	(void)state;
	write_text(model, strlen(model));
	r = import(2);
	assert_int_equal(hes_regressor_about(r)->n_outputs, 2);
	hes_regressor_predict(r, (float[]){ 1, 1 }, out);
	assert_true(out[0] == 30.25 && out[1] == 30.25);
	hes_regressor_free(r);
}

/* Thresholds between two floats, at a float, beyond all floats: a row of floats goes as LightGBM sends it. */
static void thresholds_of_doubles_part_floats_exactly(void **state)
{
	static const struct { const char *text; double value; } cases[] = {
		{ "0.1", 0.1 }, { "0.10000000149011612", 0.10000000149011612 }, { "-0.1", -0.1 }, { "1e-60", 1e-60 },
		{ "-1e-60", -1e-60 }, { "16777217", 16777217 }, { "1e300", 1e300 }, { "-1e300", -1e300 }, { "inf", INFINITY },
		{ "-inf", -INFINITY }, { "0", 0 }, { "-0", -0.0 }, { "3.4028234663852886e+38", FLT_MAX },
	};
	static const float rows[] = { 0.1f, -0.1f, 0, -0.0f, 1e-45f, -1e-45f, 16777216, 16777218, FLT_MAX, -FLT_MAX,
				      INFINITY, -INFINITY };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[64];
		struct hes_regressor *r;

		snprintf(line, sizeof(line), "threshold=%s 2", cases[i].text);
		write_with("threshold=0.5 2", line);
		r = import(1);
		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
			for (int step = -1; step < 2; step++) {
				float x = step ? nextafterf(rows[k], step < 0 ? -INFINITY : INFINITY) : rows[k];

				assert_true(ask(r, x, 0) == ((double)x <= cases[i].value ? 10.25 : 30.25));
			}
		hes_regressor_free(r);
	}
}

static void line_ends_may_be_those_of_windows(void **state)
{
	char text[2 * sizeof(model)];
	size_t n = 0;
	struct hes_regressor *r;

	(void)state;
	for (const char *c = model; *c; c++) {
		if (*c == '\n')
			text[n++] = '\r';
		text[n++] = *c;
	}
	write_text(text, n);
	r = import(1);
	assert_true(ask(r, 0, 0) == 10.25);
	hes_regressor_free(r);
}

static void what_cannot_be_imported_is_refused_with_its_line(void **state)
{
	static const struct { const char *old, *new, *words; } cases[] = {
		{ "tree\n", "forest\n", "its first line is not \"tree\"" },
		{ "version=v4", "version=v1", ":2: version \"v1\"; v2, v3 and v4 are read" },
		{ "version=v4", "version=v5", ":2: version \"v5\"" },
		{ "version=v4", "version=v", ":2: version \"v\"" },
		{ "version=v4", "version=v40", ":2: version \"v40\"" },
		{ "num_class=1", "num_class=3", ":3: num_class=3: several classes" },
		{ "num_tree_per_iteration=1", "num_tree_per_iteration=3", ":4: num_tree_per_iteration=3" },
		{ "objective=regression", "objective=poisson", ":7: objective \"poisson\" transforms" },
		{ "objective=regression", "objective=binary sigmoid:1", ":7: objective \"binary sigmoid:1\" transforms" },
		{ "objective=regression", "objective=regression sqrt", "transforms" },
		{ "objective=regression", "objective=regressions", "transforms" },
		{ "max_feature_idx=1", "max_feature_idx=2", ":8: 2 feature names for 3 features" },
		{ "max_feature_idx=1", "max_feature_idx=0", ":8: feature name 2, \"b\": there are 1 features" },
		{ "max_feature_idx=1", "max_feature_idx=1000", "outside 0 to 999" },
		{ "max_feature_idx=1\n", "", ":7: feature_names before max_feature_idx" },
		{ "feature_names=a b\n", "", "trees before version and feature_names" },
		{ "num_leaves=3", "num_leaves=0", "outside 1 to" },
		{ "num_leaves=3", "num_leaves=1000000000", "fewer values of leaf_value" },
		{ "num_leaves=3", "num_leaves=4", "fewer values of" },
		{ "num_leaves=3", "num_leaves=2", "is not a whole number from -2 to 0" },
		{ "num_leaves=3\n", "", ":12: this tree lacks num_leaves" },
		{ "num_cat=0", "num_cat=1", ":14: categorical splits" },
		{ "is_linear=0", "is_linear=1", "linear models in their leaves" },
		{ "decision_type=10 8", "decision_type=10 9", ":18: categorical splits" },
		{ "decision_type=10 8", "decision_type=6 8", ":18: splits that take 0 for a missing value" },
		{ "decision_type=10 8", "decision_type=12 8", ":18: decision type 12 is unknown" },
		{ "decision_type=10 8\n", "", "this tree lacks" },
		{ "threshold=0.5 2", "threshold=nan 2", ":17: threshold: \"nan\"" },
		{ "threshold=0.5 2", "threshold=x 2", ":17: threshold: \"x\" is not a number" },
		{ "threshold=0.5 2", "threshold=0.5 2 3", ":17: more values of threshold" },
		{ "threshold=0.5 2", "threshold=0.5", ":17: fewer values of threshold" },
		{ "threshold=0.5 2", "threshold=0.5 2\nthreshold=1 1", ":18: threshold a second time" },
		{ "split_feature=0 1", "split_feature=0 2", "is not a whole number from 0 to 1" },
		{ "split_feature=0 1", "split_feature=0 0.5", "is not a whole number" },
		{ "left_child=1 -1", "left_child=0 -1", "do not make a tree" },
		{ "left_child=1 -1", "left_child=-1 -1", "do not make a tree" },
		{ "left_child=1 -1", "left_child=1 -2", "do not make a tree" },
		{ "left_child=1 -1", "left_child=1 -4", "is not a whole number" },
		{ "leaf_value=10 20 30", "leaf_value=10 20", "fewer values of leaf_value" },
		{ "leaf_value=10 20 30", "leaf_value=10 20 30 40", "more values of leaf_value" },
		{ "leaf_value=10 20 30", "leaf_value=10 20 1e38", "outside" },
		{ "leaf_value=10 20 30", "leaf_value=10 20 nan", "nan" },
		{ "shrinkage=0.1", "shrinkage=x", "shrinkage" },
		{ "end of trees", "end of tree", "cut off" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_with(cases[i].old, cases[i].new);
		refused(cases[i].words);
	}
}

static void a_model_cut_anywhere_before_its_end_is_refused(void **state)
{
	size_t n = (size_t)(strstr(model, "end of trees") - model) + strlen("end of tree");

	(void)state;
	for (; n > 0; n--) {
		write_text(model, n);
		refused("");
	}
	write_text(model, sizeof(model));
	refused("byte 0");
}

static void outputs_of_different_features_are_refused(void **state)
{
	char other[] = "/tmp/hes-lightgbm2-XXXXXX";
	const char *paths[] = { other, path };
	struct hes_regressor *r = NULL;
	struct hes_err err = { 0 };
	int fd = mkstemp(other);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, model, strlen(model)), strlen(model));
	close(fd);
	write_with("feature_names=a b", "feature_names=a c");
	assert_int_equal(hes_regressor_import_lightgbm(paths, 2, &r, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "feature 2 is \"c\", in the first file \"b\""));
	assert_int_equal(hes_regressor_import_lightgbm(paths, 0, &r, &err), -EINVAL);
	unlink(other);
}

/* What is written and read again says the same but for leaves rounded anew. */
static void exported_and_imported_again_it_says_the_same(void **state)
{
	static const enum hes_regressor_kind kinds[] = { HES_REGRESSOR_FOREST, HES_REGRESSOR_BOOSTING,
							 HES_REGRESSOR_FOREST /* joint */ };
	struct hes_rng rng;
	float *rows;

	(void)state;
	hes_rng_seed(&rng, 3);
	rows = rows_draw(200, 4, &rng);
	for (size_t k = 0; k < 3; k++)
		for (uint32_t nodes = 1; nodes < 80; nodes += 26) {
			struct ensemble_spec spec = { SHAPE_ANY, 4, 2, 5, nodes, k == 2 };
			struct hes_regressor *r = regressor_draw(&spec, &rng), *back;

			r->about.options.kind = kinds[k];
			strcpy(r->feature_names[0], "two words");
			assert_int_equal(hes_regressor_export_lightgbm(path, r, 1, NULL), 0);
			back = import(1);
			assert_string_equal(hes_regressor_feature_name(back, 0), "two_words");
			assert_int_equal(hes_regressor_about(back)->options.kind, kinds[k]);
			for (size_t i = 0; i < 200; i++) {
				double want[2], got;

				hes_regressor_predict(r, rows + 4 * i, want);
				hes_regressor_predict(back, rows + 4 * i, &got);
				assert_true(fabs(got - want[1]) < 1e-4);
			}
			hes_regressor_free(back);
			hes_regressor_free(r);
		}
	free(rows);
}

static void sizes_of_trees_are_those_of_their_text(void **state)
{
	struct hes_rng rng;
	struct hes_regressor *r;
	char text[1 << 14], *at, *sizes;
	FILE *f;

	(void)state;
	hes_rng_seed(&rng, 4);
	r = regressor_draw(&(struct ensemble_spec){ SHAPE_ANY, 4, 1, 6, 15, false }, &rng);
	assert_int_equal(hes_regressor_export_lightgbm(path, r, 0, NULL), 0);
	f = fopen(path, "rb");
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	sizes = strstr(text, "tree_sizes=") + strlen("tree_sizes=");
	at = strstr(text, "Tree=0");
	for (int t = 0; t < 6; t++) {
		char head[16];

		snprintf(head, sizeof(head), "Tree=%d\n", t);
		assert_memory_equal(at, head, strlen(head));
		at += strtoul(sizes, &sizes, 10);
	}
	assert_memory_equal(at, "end of trees", 12);
	hes_regressor_free(r);
}

static void a_straight_line_and_outputs_there_are_not_cannot_be_exported(void **state)
{
	struct hes_rng rng;
	struct hes_regressor *r;
	struct hes_err err;

	(void)state;
	hes_rng_seed(&rng, 5);
	r = regressor_draw(&(struct ensemble_spec){ SHAPE_ANY, 4, 1, 6, 15, false }, &rng);
	assert_int_equal(hes_regressor_export_lightgbm(path, r, 1, &err), -EINVAL);
	r->about.options.kind = HES_REGRESSOR_LINEAR;
	assert_int_equal(hes_regressor_export_lightgbm(path, r, 0, &err), -ENOTSUP);
	hes_regressor_free(r);
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_says_what_its_trees_say),
		cmocka_unit_test(models_of_versions_2_and_3_are_read_as_well),
		cmocka_unit_test(without_a_missing_type_missing_counts_as_0),
		cmocka_unit_test(a_forests_leaves_are_averaged),
		cmocka_unit_test(a_file_an_output),
		cmocka_unit_test(thresholds_of_doubles_part_floats_exactly),
		cmocka_unit_test(line_ends_may_be_those_of_windows),
		cmocka_unit_test(what_cannot_be_imported_is_refused_with_its_line),
		cmocka_unit_test(a_model_cut_anywhere_before_its_end_is_refused),
		cmocka_unit_test(outputs_of_different_features_are_refused),
		cmocka_unit_test(exported_and_imported_again_it_says_the_same),
		cmocka_unit_test(sizes_of_trees_are_those_of_their_text),
		cmocka_unit_test(a_straight_line_and_outputs_there_are_not_cannot_be_exported),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
