/*
 * lightgbm.c - regressors out to LightGBM's text models, one output a file; coming
 * in is lightgbm_read.c.
 *
 * Such a model is the sum of its trees' leaves: averages go out with their
 * scale in the leaves, and the base of an output in the first tree's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "predict/lightgbm.h"
#include "predict/regressor.h"

/* A tree of ours in LightGBM's order: inner nodes and leaves are counted apart, -1 - leaf stands for a leaf. */
struct numbered {
	const struct ensemble_node *nodes;
	uint32_t                    n;
	int32_t                    *of;    /* of each node */
	uint32_t                    leaves;
};

static int number(const struct ensemble *e, const struct ensemble_tree *t, struct numbered *out)
{
	struct numbered k = { .nodes = e->nodes + t->root, .n = t->n_nodes, .of = malloc(t->n_nodes * sizeof(*k.of)) };
	int32_t inner = 0;

	if (!k.of)
		return -ENOMEM;
	for (uint32_t i = 0; i < k.n; i++)
		k.of[i] = k.nodes[i].left ? inner++ : -1 - (int32_t)k.leaves++;
	*out = k;
	return 0;
}

enum column { SPLIT_FEATURE, THRESHOLD, DECISION_TYPE, LEFT_CHILD, RIGHT_CHILD };

static void put_cell(FILE *f, const struct numbered *k, const struct ensemble_node *node, enum column c)
{
	switch (c) {
	case SPLIT_FEATURE:
		fprintf(f, "%u", node->feature);
		break;
	case THRESHOLD:
		fprintf(f, "%.17g", (double)node->value);
		break;
	case DECISION_TYPE:
		fprintf(f, "%d", LIGHTGBM_MISSING_NAN | (node->missing_left ? LIGHTGBM_DEFAULT_LEFT : 0));
		break;
	case LEFT_CHILD:
		fprintf(f, "%" PRId32, k->of[node->left]);
		break;
	case RIGHT_CHILD:
		fprintf(f, "%" PRId32, k->of[node->left + 1]);
		break;
	}
}

static void put_column(FILE *f, const struct numbered *k, const char *name, enum column c)
{
	bool first = true;

	fprintf(f, "%s=", name);
	for (uint32_t i = 0; i < k->n; i++) {
		if (!k->nodes[i].left)
			continue;
		fputs(first ? "" : " ", f);
		put_cell(f, k, &k->nodes[i], c);
		first = false;
	}
	fputc('\n', f);
}

static void put_leaves(FILE *f, const struct numbered *k, double scale, double base)
{
	bool first = true;

	fputs("leaf_value=", f);
	for (uint32_t i = 0; i < k->n; i++) {
		if (k->nodes[i].left)
			continue;
		fprintf(f, "%s%.17g", first ? "" : " ", scale * (double)k->nodes[i].value + base);
		first = false;
	}
	fputc('\n', f);
}

static void put_tree(FILE *f, size_t index, const struct numbered *k, double scale, double base)
{
	fprintf(f, "Tree=%zu\nnum_leaves=%u\nnum_cat=0\n", index, k->leaves);
	if (k->leaves > 1) {
		put_column(f, k, "split_feature", SPLIT_FEATURE);
		put_column(f, k, "threshold", THRESHOLD);
		put_column(f, k, "decision_type", DECISION_TYPE);
		put_column(f, k, "left_child", LEFT_CHILD);
		put_column(f, k, "right_child", RIGHT_CHILD);
	}
	put_leaves(f, k, scale, base);
	fputs("is_linear=0\nshrinkage=1\n\n\n", f);
}

/* The trees of an output, into a stream. @return 0 or -ENOMEM */
static int put_trees(FILE *f, const struct ensemble *e, size_t output, size_t *sizes)
{
	size_t index = 0;

	for (size_t t = 0; t < e->n_trees; t++) {
		struct numbered k;
		long before = ftell(f);

		if (e->trees[t].output != output)
			continue;
		if (number(e, &e->trees[t], &k))
			return -ENOMEM;
		put_tree(f, index, &k, e->scale[output], index ? 0 : e->base[output]);
		free(k.of);
		sizes[index++] = (size_t)(ftell(f) - before);
	}
	return 0;
}

/* LightGBM's own names hold no blanks. */
static void put_names(FILE *f, const struct hes_regressor *r)
{
	fputs("feature_names=", f);
	for (size_t i = 0; i < r->about.n_features; i++) {
		fputs(i ? " " : "", f);
		for (const char *c = r->feature_names[i]; *c; c++)
			fputc(*c == ' ' || *c == '\t' ? '_' : *c, f);
	}
	fputs("\nfeature_infos=", f);
	for (size_t i = 0; i < r->about.n_features; i++)
		fprintf(f, "%s[-inf:inf]", i ? " " : "");
	fputc('\n', f);
}

static void put_model(FILE *f, const struct hes_regressor *r, const char *trees, const size_t *sizes, size_t n)
{
	fputs("tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n", f);
	fprintf(f, "max_feature_idx=%zu\nobjective=regression\n", r->about.n_features - 1);
	put_names(f, r);
	fputs("tree_sizes=", f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s%zu", i ? " " : "", sizes[i]);
	fprintf(f, "\n\n%send of trees\n\nparameters:\nend of parameters\n\npandas_categorical:null\n", trees);
}

static size_t trees_of(const struct ensemble *e, size_t output)
{
	size_t n = 0;

	for (size_t t = 0; t < e->n_trees; t++)
		n += e->trees[t].output == output;
	return n;
}

int hes_regressor_export_lightgbm(const char *path, const struct hes_regressor *r, size_t output, struct hes_err *err)
{
	size_t n = output < r->about.n_outputs ? trees_of(&r->ensemble, output) : 0, len;
	struct hes_file out;
	size_t *sizes;
	char *trees = NULL;
	FILE *f;
	int rc;

	if (!n)
		return hes_fail(err, -ENOTSUP, "%s: no trees to write: LightGBM's models are trees, this one is %s", path,
				r->weights ? "linear" : "without them");
	sizes = calloc(n, sizeof(*sizes));
	f = sizes ? open_memstream(&trees, &len) : NULL;
	rc = f ? put_trees(f, &r->ensemble, output, sizes) : -ENOMEM;
	if (f && fclose(f))
		rc = -ENOMEM;
	if (rc)
		rc = hes_fail(err, rc, "%s: out of memory", path);
	else
		rc = hes_file_create(&out, path, err);
	if (!rc) {
		put_model(out.f, r, trees, sizes, n);
		rc = hes_file_commit(&out, err);
	}
	free(trees);
	free(sizes);
	return rc;
}
