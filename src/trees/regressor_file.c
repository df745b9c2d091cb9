/*
 * regressor_file.c - regressors in model files; see docs/formats/model.md.
 *
 * Every count, name, number and node is checked, although the checksum was right. So no file can
 * make an evaluation leave its tree or run in circles, or allocate more memory than its own size
 * justifies.
 */
#include "trees/regressor_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NODE_BYTES   10
#define MISSING_LEFT 0x8000u /* in a node's feature */
#define HUGE_NUMBER  1e100   /* sums and products of anything smaller stay finite */
#define PATIENCE     20      /* of boosting; the format has the field, nothing reads it */

/* Kinds in a file. */
enum { FILE_EXTRA_TREES = 1, FILE_BOOSTING = 2, FILE_KINDS = 5 };

/* Kinds that only older versions fitted. */
static const char *const former_kinds[FILE_KINDS] = {
	[0] = "a random forest",
	[3] = "a single tree",
	[4] = "a straight line",
};

_Static_assert(HES_REGRESSOR_MAX_FEATURES < MISSING_LEFT,
	       "a feature's index leaves room for a flag");

static void put_options(struct model_writer *b, const struct hes_regressor_options *o)
{
	model_put_u64(b, o->kind == HES_REGRESSOR_BOOSTING ? FILE_BOOSTING : FILE_EXTRA_TREES, 1);
	model_put_u64(b, 0, 1); /* squared error */
	model_put_u64(b, o->trees, 4);
	model_put_u64(b, o->seed, 8);
	model_put_u64(b, o->features_per_split, 4);
	model_put_u64(b, o->min_leaf, 4);
	model_put_u64(b, o->max_depth, 4);
	model_put_u64(b, o->max_leaves, 4);
	model_put_f64(b, o->learning_rate);
	model_put_f64(b, o->row_fraction);
	model_put_f64(b, o->column_fraction);
	model_put_f64(b, 0); /* rows to stop on */
	model_put_u64(b, o->kind == HES_REGRESSOR_BOOSTING ? PATIENCE : 0, 4);
}

static void put_output(struct model_writer *b, const struct regressor_output *o)
{
	model_put_text(b, o->name);
	model_put_text(b, o->unit);
	model_put_u64(b, o->errors.rows, 8);
	model_put_f64(b, o->errors.mae);
	model_put_f64(b, o->errors.r2);
	model_put_f64(b, o->errors.abs_error_pct);
	model_put_f64(b, o->errors.rel_error_pct);
}

static void put_about(struct model_writer *b, const struct hes_regressor *r)
{
	put_options(b, &r->about.options);
	model_put_u64(b, r->about.rows, 8);
	model_put_u64(b, 0, 4); /* checksum of the rows */
	model_put_u64(b, r->about.n_features, 4);
	for (size_t i = 0; i < r->about.n_features; i++)
		model_put_text(b, r->feature_names[i]);
	model_put_u64(b, r->about.n_outputs, 4);
	for (size_t i = 0; i < r->about.n_outputs; i++)
		put_output(b, &r->outputs[i]);
}

static void put_node(struct model_writer *b, const struct ensemble_node *node)
{
	uint32_t feature = node->left ? node->feature | (node->missing_left ? MISSING_LEFT : 0) : 0;

	model_put_f32(b, node->value);
	model_put_u64(b, node->left, 4);
	model_put_u64(b, feature, 2);
}

static void put_trees(struct model_writer *b, const struct ensemble *e)
{
	for (size_t o = 0; o < e->n_outputs; o++) {
		model_put_f64(b, e->base[o]);
		model_put_f64(b, e->scale[o]);
	}
	model_put_u64(b, e->n_trees, 4);
	for (size_t t = 0; t < e->n_trees; t++) {
		model_put_u64(b, e->trees[t].output, 1);
		model_put_u64(b, e->trees[t].n_nodes, 4);
	}
	for (size_t i = 0; i < e->n_nodes; i++)
		put_node(b, &e->nodes[i]);
}

void regressor_put(struct model_writer *b, const struct hes_regressor *r)
{
	put_about(b, r);
	put_trees(b, &r->ensemble);
}

static void get_options(struct model_reader *in, struct hes_regressor_options *o)
{
	uint64_t kind = model_get_u64(in, 1), absolute = model_get_u64(in, 1);

	in->bad |= (kind != FILE_BOOSTING && kind != FILE_EXTRA_TREES) || absolute > 1;
	o->kind = kind == FILE_BOOSTING ? HES_REGRESSOR_BOOSTING : HES_REGRESSOR_EXTRA_TREES;
	o->trees = model_get_u32(in);
	o->seed = model_get_u64(in, 8);
	o->features_per_split = model_get_u32(in);
	o->min_leaf = model_get_u32(in);
	o->max_depth = model_get_u32(in);
	o->max_leaves = model_get_u32(in);
	o->learning_rate = model_get_within(in, 0, HUGE_NUMBER);
	o->row_fraction = model_get_within(in, 0, 1);
	o->column_fraction = model_get_within(in, 0, 1);
	model_get_within(in, 0, 1);
	model_get_u32(in);
}

static void get_output(struct model_reader *in, struct regressor_output *o)
{
	model_get_text(in, o->name, sizeof(o->name));
	model_get_text(in, o->unit, sizeof(o->unit));
	in->bad |= !o->name[0];
	o->errors.rows = model_get_u64(in, 8);
	o->errors.mae = model_get_within(in, 0, HUGE_NUMBER);
	o->errors.r2 = model_get_within(in, -HUGE_NUMBER, 1);
	o->errors.abs_error_pct = model_get_within(in, -HUGE_NUMBER, HUGE_NUMBER);
	o->errors.rel_error_pct = model_get_within(in, -HUGE_NUMBER, HUGE_NUMBER);
}

/* @return whether memory sufficed */
static bool get_about(struct model_reader *in, struct hes_regressor *r)
{
	struct hes_regressor_info *a = &r->about;

	get_options(in, &a->options);
	a->rows = model_get_u64(in, 8);
	model_get_u32(in);
	a->n_features = model_get_u32(in);
	in->bad |= a->n_features < 1 || a->n_features > HES_REGRESSOR_MAX_FEATURES;
	if (in->bad)
		return true;
	r->feature_names = calloc(a->n_features, sizeof(*r->feature_names));
	for (size_t i = 0; r->feature_names && i < a->n_features; i++) {
		model_get_text(in, r->feature_names[i], sizeof(r->feature_names[i]));
		in->bad |= !r->feature_names[i][0];
	}
	a->n_outputs = model_get_u32(in);
	in->bad |= a->n_outputs < 1 || a->n_outputs > HES_REGRESSOR_MAX_OUTPUTS;
	if (in->bad)
		return true;
	r->outputs = calloc(a->n_outputs, sizeof(*r->outputs));
	for (size_t i = 0; r->outputs && i < a->n_outputs; i++)
		get_output(in, &r->outputs[i]);
	return r->feature_names && r->outputs;
}

/* Trees are ordered by output. */
static void get_tree_heads(struct model_reader *in, struct ensemble *e)
{
	size_t trees_of[HES_REGRESSOR_MAX_OUTPUTS] = { 0 };
	uint32_t last = 0;

	for (size_t t = 0; t < e->n_trees && !in->bad; t++) {
		struct ensemble_tree *tree = &e->trees[t];

		tree->output = (uint32_t)model_get_u64(in, 1);
		tree->n_nodes = model_get_u32(in);
		tree->root = e->n_nodes;
		e->n_nodes += tree->n_nodes;
		in->bad |= tree->output < last || tree->output >= e->n_outputs || tree->n_nodes < 1;
		if (in->bad)
			return;
		last = tree->output;
		in->bad |= ++trees_of[last] > HES_REGRESSOR_MAX_TREES;
	}
	in->bad |= e->n_nodes > in->n / NODE_BYTES;
}

static void get_node(struct model_reader *in, struct ensemble_node *node)
{
	uint32_t feature;

	node->value = model_get_f32(in);
	node->left = model_get_u32(in);
	feature = (uint32_t)model_get_u64(in, 2);
	node->feature = (uint16_t)(feature & ~MISSING_LEFT);
	node->missing_left = feature & MISSING_LEFT;
}

/*
 * Children come after their parent, and no node has two parents: every path ends, and a visit of
 * all nodes by their parents reaches each once.
 * @param parented  room for a byte per node of this tree
 */
static bool tree_is_sound(const struct ensemble *e, const struct ensemble_tree *tree,
			  unsigned char *parented)
{
	const struct ensemble_node *nodes = e->nodes + tree->root;
	size_t n_parented = 1;

	memset(parented, 0, tree->n_nodes);
	for (size_t i = 0; i < tree->n_nodes; i++) {
		size_t left = nodes[i].left;

		if (left ? isnan(nodes[i].value) : !isfinite(nodes[i].value))
			return false;
		if (!left)
			continue;
		if (left <= i || left + 1 >= tree->n_nodes || nodes[i].feature >= e->n_features ||
		    parented[left] || parented[left + 1])
			return false;
		parented[left] = parented[left + 1] = 1;
		n_parented += 2;
	}
	return n_parented == tree->n_nodes;
}

/* @return whether memory sufficed */
static bool get_nodes(struct model_reader *in, struct ensemble *e)
{
	unsigned char *parented = malloc(e->n_nodes);

	e->nodes = malloc(e->n_nodes * sizeof(*e->nodes));
	for (size_t i = 0; parented && e->nodes && i < e->n_nodes; i++)
		get_node(in, &e->nodes[i]);
	for (size_t t = 0; parented && e->nodes && t < e->n_trees && !in->bad; t++)
		in->bad = !tree_is_sound(e, &e->trees[t], parented);
	free(parented);
	return parented && e->nodes;
}

/* @return whether memory sufficed */
static bool get_trees(struct model_reader *in, struct ensemble *e)
{
	e->base = calloc(e->n_outputs, sizeof(*e->base));
	e->scale = calloc(e->n_outputs, sizeof(*e->scale));
	if (!e->base || !e->scale)
		return false;
	for (size_t o = 0; o < e->n_outputs; o++) {
		e->base[o] = model_get_within(in, -HUGE_NUMBER, HUGE_NUMBER);
		e->scale[o] = model_get_within(in, -HUGE_NUMBER, HUGE_NUMBER);
	}
	e->n_trees = model_get_u32(in);
	in->bad |= e->n_trees > in->n / (5 + NODE_BYTES);
	if (in->bad)
		return true;
	e->trees = calloc(e->n_trees, sizeof(*e->trees));
	if (!e->trees)
		return false;
	get_tree_heads(in, e);
	return in->bad || get_nodes(in, e);
}

/* @return whether memory sufficed */
static bool get_body(struct model_reader *in, struct hes_regressor *r)
{
	if (!get_about(in, r))
		return false;
	if (in->bad)
		return true;
	r->ensemble.n_features = r->about.n_features;
	r->ensemble.n_outputs = r->about.n_outputs;
	return get_trees(in, &r->ensemble);
}

int regressor_get(struct model_reader *in, struct hes_regressor **out, struct hes_err *err)
{
	const char *former = in->n && *in->v < FILE_KINDS ? former_kinds[*in->v] : NULL;
	struct hes_regressor *r;
	int rc = 0;

	if (former)
		return hes_fail(err, -ENOTSUP,
				"%s: learned by %s, which this version does not have; train it "
				"again with heshare train",
				in->path, former);
	r = calloc(1, sizeof(*r));
	if (!r || !get_body(in, r))
		rc = -ENOMEM;
	else if (in->bad)
		rc = -EINVAL;
	if (!rc) {
		regressor_ready(r);
		*out = r;
		return 0;
	}
	hes_regressor_free(r);
	if (rc == -EINVAL)
		return hes_fail(err, rc, "%s: not a sound model, though its checksum is right",
				in->path);
	return hes_fail(err, rc, "%s: out of memory", in->path);
}
