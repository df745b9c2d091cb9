/*
 * lightgbm_write.c - an output as LightGBM's text model, version 4; see
 * heshare/regressor.h. lightgbm_read.c reads such models.
 *
 * What LightGBM does not need to predict is left out: gains, counts and
 * weights, which regressors do not keep.
 */
#include "trees/regressor.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define DEFAULT_LEFT 2 /* bits of a decision type */
#define MISSING_NAN  8

/* The trees of one output, and what becomes of their leaves. */
struct model {
	const struct hes_regressor *r;
	const struct ensemble_tree *trees;
	size_t n_trees;
	bool   average;     /* LightGBM divides the sum of leaves by the number of trees */
	double base, scale; /* of the output */
	size_t value;       /* which of a leaf's is the output's */
	double rate;        /* at which it was learnt: told, not used */
};

/* The text of all trees, and how long that of each is. */
struct text {
	char   *body;
	size_t *sizes, n;
};

/* Index of each node among its tree's inner nodes, or of a leaf among its leaves as ~index, in the order of nodes. */
static void number_nodes(const struct ensemble_node *nodes, uint32_t n, int64_t *number)
{
	int64_t inner = 0, leaf = 0;

	for (uint32_t i = 0; i < n; i++)
		number[i] = nodes[i].left ? inner++ : ~leaf++;
}

static int decision_of(const struct ensemble_node *node)
{
	return MISSING_NAN | (node->missing_left ? DEFAULT_LEFT : 0);
}

/* The base goes where LightGBM's own goes: into the first tree of a sum, into every tree of a mean. */
static double leaf_of(const struct model *m, size_t t, float value)
{
	if (m->average)
		return m->base + m->scale * (double)m->n_trees * value;
	return (t ? 0 : m->base) + m->scale * value;
}

enum line { SPLIT_FEATURE, THRESHOLD, DECISION_TYPE, LEFT_CHILD, RIGHT_CHILD, N_LINES };

static void write_inner(FILE *f, enum line line, const struct ensemble_node *node, const int64_t *number)
{
	switch (line) {
	case SPLIT_FEATURE:
		fprintf(f, "%u", node->feature);
		break;
	case THRESHOLD:
		fprintf(f, "%.17g", (double)node->value);
		break;
	case DECISION_TYPE:
		fprintf(f, "%d", decision_of(node));
		break;
	case LEFT_CHILD:
		fprintf(f, "%" PRId64, number[node->left]);
		break;
	default:
		fprintf(f, "%" PRId64, number[node->left + 1]);
	}
}

static void write_tree(FILE *f, const struct model *m, size_t t, int64_t *number)
{
	static const char *const keys[] = { "split_feature", "threshold", "decision_type", "left_child", "right_child" };
	const struct ensemble *e = &m->r->ensemble;
	const struct ensemble_node *nodes = e->nodes + m->trees[t].root;
	uint32_t n = m->trees[t].n_nodes;
	const char *space = "";

	number_nodes(nodes, n, number);
	fprintf(f, "Tree=%zu\nnum_leaves=%" PRIu32 "\nnum_cat=0\n", t, n / 2 + 1);
	for (enum line line = SPLIT_FEATURE; n > 1 && line < N_LINES; line++, space = "") {
		fprintf(f, "%s=", keys[line]);
		for (uint32_t i = 0; i < n; i++)
			if (nodes[i].left) {
				fputs(space, f);
				write_inner(f, line, &nodes[i], number);
				space = " ";
			}
		fputc('\n', f);
	}
	fputs("leaf_value=", f);
	for (uint32_t i = 0; i < n; i++)
		if (!nodes[i].left) {
			fprintf(f, "%s%.17g", space, leaf_of(m, t, ensemble_leaf(e, &m->trees[t], i)[m->value]));
			space = " ";
		}
	fprintf(f, "\nis_linear=0\nshrinkage=%.17g\n\n\n", m->rate);
}

/* An output that is its base alone. */
static void write_constant(FILE *f, double value)
{
	fprintf(f, "Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=%.17g\nis_linear=0\nshrinkage=1\n\n\n", value);
}

/* @return whether memory sufficed; free body and sizes in any case */
static bool write_trees(const struct model *m, struct text *out)
{
	size_t length = 0, before = 0;
	uint32_t most = 1;
	int64_t *number;
	FILE *f = open_memstream(&out->body, &length);

	out->n = m->n_trees ? m->n_trees : 1;
	out->sizes = calloc(out->n, sizeof(*out->sizes));
	for (size_t t = 0; t < m->n_trees; t++)
		most = m->trees[t].n_nodes > most ? m->trees[t].n_nodes : most;
	number = malloc(most * sizeof(*number));
	for (size_t t = 0; f && out->sizes && number && t < out->n; t++) {
		if (m->n_trees)
			write_tree(f, m, t, number);
		else
			write_constant(f, m->base);
		fflush(f);
		out->sizes[t] = length - before;
		before = length;
	}
	free(number);
	return f && fclose(f) == 0 && out->sizes && number;
}

/* LightGBM parts names at spaces. */
static void write_name(FILE *f, const char *name)
{
	for (; *name; name++)
		fputc(isspace((unsigned char)*name) ? '_' : *name, f);
}

static void write_header(FILE *f, const struct model *m, const struct text *trees)
{
	size_t n = m->r->about.n_features;

	fprintf(f, "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=%zu\n"
		"objective=regression\n%sfeature_names=", n - 1, m->average ? "average_output\n" : "");
	for (size_t i = 0; i < n; i++) {
		fputs(i ? " " : "", f);
		write_name(f, m->r->feature_names[i]);
	}
	fputs("\nfeature_infos=", f);
	for (size_t i = 0; i < n; i++)
		fputs(i ? " none" : "none", f);
	fputs("\ntree_sizes=", f);
	for (size_t t = 0; t < trees->n; t++)
		fprintf(f, t ? " %zu" : "%zu", trees->sizes[t]);
	fputs("\n\n", f);
}

static struct model model_of(const struct hes_regressor *r, size_t output)
{
	const struct ensemble *e = &r->ensemble;
	enum hes_regressor_kind kind = r->about.options.kind;
	struct model m = { .r = r, .trees = e->trees, .base = e->base[output], .scale = e->scale[output] };
	size_t first = 0;

	m.value = e->joint ? output : 0;
	while (first < e->n_trees && e->trees[first].output < output - m.value)
		first++;
	while (first + m.n_trees < e->n_trees && e->trees[first + m.n_trees].output == output - m.value)
		m.n_trees++;
	m.trees += first;
	m.rate = kind == HES_REGRESSOR_BOOSTING ? r->about.options.learning_rate : 1;
	m.average = m.n_trees && (kind == HES_REGRESSOR_FOREST || kind == HES_REGRESSOR_EXTRA_TREES);
	return m;
}

int hes_regressor_export_lightgbm(const char *path, const struct hes_regressor *r, size_t output,
				  struct hes_err *err)
{
	struct text trees = { 0 };
	struct hes_file out;
	struct model m;
	int rc;

	if (r->about.options.kind == HES_REGRESSOR_LINEAR)
		return hes_fail(err, -ENOTSUP, "%s: a linear regressor has no trees to export", path);
	if (output >= r->about.n_outputs)
		return hes_fail(err, -EINVAL, "%s: output %zu: there are %zu", path, output, r->about.n_outputs);
	m = model_of(r, output);
	rc = write_trees(&m, &trees) ? hes_file_create(&out, path, err) : hes_fail(err, -ENOMEM, "%s: out of memory", path);
	if (!rc) {
		write_header(out.f, &m, &trees);
		fputs(trees.body, out.f);
		fputs("end of trees\n\nfeature_importances:\n\nparameters:\nend of parameters\n", out.f);
		rc = hes_file_commit(&out, err);
	}
	free(trees.body);
	free(trees.sizes);
	return rc;
}
