/*
 * regressor_file.c - regressors as files; see docs/formats/model.md.
 *
 * Nothing of a file is believed: after the checksum, every count, name,
 * number and node is checked, so that no file can make a walk leave its
 * tree or run in circles, nor ask for more memory than its own size warrants.
 */
#include "trees/regressor_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOUN         "regressor"
#define VERSION      1
#define JOINT        2 /* version of files of joint trees: those of others are read by older programs too */
#define JOINT_TREES  0x80u /* in the kind */
#define NODE_BYTES   10
#define MISSING_LEFT 0x8000u /* in a node's feature */
#define HUGE_NUMBER  1e100   /* sums and products of anything below stay finite */

_Static_assert(HES_REGRESSOR_MAX_FEATURES < MISSING_LEFT, "a feature's index leaves room for a flag");

static void put_options(struct block *b, const struct hes_regressor_options *o)
{
	block_put_u64(b, o->kind | (o->joint ? JOINT_TREES : 0), 1);
	block_put_u64(b, o->criterion, 1);
	block_put_u64(b, o->trees, 4);
	block_put_u64(b, o->seed, 8);
	block_put_u64(b, o->features_per_split, 4);
	block_put_u64(b, o->min_leaf, 4);
	block_put_u64(b, o->max_depth, 4);
	block_put_u64(b, o->max_leaves, 4);
	block_put_f64(b, o->learning_rate);
	block_put_f64(b, o->row_fraction);
	block_put_f64(b, o->column_fraction);
	block_put_f64(b, o->stop_fraction);
	block_put_u64(b, o->patience, 4);
}

static void put_output(struct block *b, const struct regressor_output *o)
{
	block_put_text(b, o->name);
	block_put_text(b, o->unit);
	block_put_u64(b, o->errors.rows, 8);
	block_put_f64(b, o->errors.mae);
	block_put_f64(b, o->errors.r2);
	block_put_f64(b, o->errors.abs_error_pct);
	block_put_f64(b, o->errors.rel_error_pct);
}

static void put_about(struct block *b, const struct hes_regressor *r)
{
	put_options(b, &r->about.options);
	block_put_u64(b, r->about.rows, 8);
	block_put_u64(b, r->about.rows_crc, 4);
	block_put_u64(b, r->about.n_features, 4);
	for (size_t i = 0; i < r->about.n_features; i++)
		block_put_text(b, r->feature_names[i]);
	block_put_u64(b, r->about.n_outputs, 4);
	for (size_t i = 0; i < r->about.n_outputs; i++)
		put_output(b, &r->outputs[i]);
}

static void put_node(struct block *b, const struct ensemble_node *node)
{
	uint32_t feature = node->left ? node->feature | (node->missing_left ? MISSING_LEFT : 0) : 0;

	block_put_f32(b, node->value);
	block_put_u64(b, node->left, 4);
	block_put_u64(b, feature, 2);
}

static void put_trees(struct block *b, const struct ensemble *e)
{
	for (size_t o = 0; o < e->n_outputs; o++) {
		block_put_f64(b, e->base[o]);
		block_put_f64(b, e->scale[o]);
	}
	block_put_u64(b, e->n_trees, 4);
	for (size_t t = 0; t < e->n_trees; t++) {
		block_put_u64(b, e->trees[t].output, 1);
		block_put_u64(b, e->trees[t].n_nodes, 4);
	}
	for (size_t i = 0; i < e->n_nodes; i++)
		put_node(b, &e->nodes[i]);
	for (size_t i = 0; e->joint && i < e->n_nodes; i++)
		for (size_t o = 0; !e->nodes[i].left && o < e->n_outputs; o++)
			block_put_f32(b, e->joint[i * e->n_outputs + o]);
}

static void put_line(struct block *b, const struct hes_regressor *r)
{
	size_t n = r->about.n_features;

	for (size_t i = 0; i < n; i++)
		block_put_f64(b, r->means[i]);
	for (size_t i = 0; i < (n + 1) * r->about.n_outputs; i++)
		block_put_f64(b, r->weights[i]);
}

void regressor_put(struct block *b, const struct hes_regressor *r)
{
	put_about(b, r);
	if (r->about.options.kind == HES_REGRESSOR_LINEAR)
		put_line(b, r);
	else
		put_trees(b, &r->ensemble);
}

static double get_number(struct block_reader *in, double min, double max)
{
	double x = block_get_f64(in);

	in->bad |= !(x >= min && x <= max);
	return x;
}

static void get_options(struct block_reader *in, struct hes_regressor_options *o)
{
	uint64_t kind = block_get_u64(in, 1), criterion = block_get_u64(in, 1);

	o->joint = kind & JOINT_TREES;
	kind &= ~(uint64_t)JOINT_TREES;
	in->bad |= kind > HES_REGRESSOR_LINEAR || criterion > HES_CRITERION_ABSOLUTE ||
		   (o->joint && (kind == HES_REGRESSOR_BOOSTING || kind == HES_REGRESSOR_LINEAR));
	o->kind = (enum hes_regressor_kind)kind;
	o->criterion = (enum hes_criterion)criterion;
	o->trees = block_get_u32(in);
	o->seed = block_get_u64(in, 8);
	o->features_per_split = block_get_u32(in);
	o->min_leaf = block_get_u32(in);
	o->max_depth = block_get_u32(in);
	o->max_leaves = block_get_u32(in);
	o->learning_rate = get_number(in, 0, HUGE_NUMBER);
	o->row_fraction = get_number(in, 0, 1);
	o->column_fraction = get_number(in, 0, 1);
	o->stop_fraction = get_number(in, 0, 1);
	o->patience = block_get_u32(in);
}

static void get_output(struct block_reader *in, struct regressor_output *o)
{
	block_get_text(in, o->name, sizeof(o->name));
	block_get_text(in, o->unit, sizeof(o->unit));
	in->bad |= !o->name[0];
	o->errors.rows = block_get_u64(in, 8);
	o->errors.mae = get_number(in, 0, HUGE_NUMBER);
	o->errors.r2 = get_number(in, -HUGE_NUMBER, 1);
	o->errors.abs_error_pct = get_number(in, -HUGE_NUMBER, HUGE_NUMBER);
	o->errors.rel_error_pct = get_number(in, -HUGE_NUMBER, HUGE_NUMBER);
}

/* @return whether memory sufficed */
static bool get_about(struct block_reader *in, struct hes_regressor *r)
{
	struct hes_regressor_info *a = &r->about;

	get_options(in, &a->options);
	a->rows = block_get_u64(in, 8);
	a->rows_crc = block_get_u32(in);
	a->n_features = block_get_u32(in);
	in->bad |= a->n_features < 1 || a->n_features > HES_REGRESSOR_MAX_FEATURES;
	if (in->bad)
		return true;
	r->feature_names = calloc(a->n_features, sizeof(*r->feature_names));
	for (size_t i = 0; r->feature_names && i < a->n_features; i++) {
		block_get_text(in, r->feature_names[i], sizeof(r->feature_names[i]));
		in->bad |= !r->feature_names[i][0];
	}
	a->n_outputs = block_get_u32(in);
	in->bad |= a->n_outputs < 1 || a->n_outputs > HES_REGRESSOR_MAX_OUTPUTS;
	if (in->bad)
		return true;
	r->outputs = calloc(a->n_outputs, sizeof(*r->outputs));
	for (size_t i = 0; r->outputs && i < a->n_outputs; i++)
		get_output(in, &r->outputs[i]);
	return r->feature_names && r->outputs;
}

/* Trees stand by output, joint ones as if of the first; their nodes stand tree after tree. */
static void get_tree_heads(struct block_reader *in, struct ensemble *e, bool joint)
{
	size_t trees_of[HES_REGRESSOR_MAX_OUTPUTS] = { 0 };
	uint32_t last = 0;

	for (size_t t = 0; t < e->n_trees && !in->bad; t++) {
		struct ensemble_tree *tree = &e->trees[t];

		tree->output = (uint32_t)block_get_u64(in, 1);
		tree->n_nodes = block_get_u32(in);
		tree->root = e->n_nodes;
		e->n_nodes += tree->n_nodes;
		in->bad |= tree->output < last || tree->output >= (joint ? 1 : e->n_outputs) || tree->n_nodes < 1;
		if (in->bad)
			return;
		last = tree->output;
		in->bad |= ++trees_of[last] > HES_REGRESSOR_MAX_TREES;
	}
	in->bad |= e->n_nodes > in->n / NODE_BYTES;
}

static void get_node(struct block_reader *in, struct ensemble_node *node)
{
	uint32_t feature;

	node->value = block_get_f32(in);
	node->left = block_get_u32(in);
	feature = (uint32_t)block_get_u64(in, 2);
	node->feature = (uint16_t)(feature & ~MISSING_LEFT);
	node->missing_left = feature & MISSING_LEFT;
}

/*
 * Children behind their parent, and nobody another's: every walk ends, and
 * whoever visits all nodes by their parents visits each once.
 * @param parented  room for a byte a node of this tree
 */
static bool tree_is_sound(const struct ensemble *e, const struct ensemble_tree *tree, unsigned char *parented)
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
static bool get_nodes(struct block_reader *in, struct ensemble *e)
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

/*
 * What joint trees' leaves add: inner nodes have no value in the file.
 * @return whether memory sufficed
 */
static bool get_leaves(struct block_reader *in, struct ensemble *e)
{
	size_t n_leaves = (e->n_nodes + e->n_trees) / 2;

	in->bad |= n_leaves > in->n / sizeof(*e->joint) / e->n_outputs;
	if (in->bad)
		return true;
	e->joint = calloc(e->n_nodes * e->n_outputs + 1, sizeof(*e->joint));
	for (size_t i = 0; e->joint && i < e->n_nodes; i++)
		for (size_t o = 0; !e->nodes[i].left && o < e->n_outputs; o++) {
			float value = block_get_f32(in);

			in->bad |= !isfinite(value);
			e->joint[i * e->n_outputs + o] = value;
		}
	return e->joint;
}

/* @return whether memory sufficed */
static bool get_trees(struct block_reader *in, struct ensemble *e, bool joint)
{
	e->base = calloc(e->n_outputs, sizeof(*e->base));
	e->scale = calloc(e->n_outputs, sizeof(*e->scale));
	if (!e->base || !e->scale)
		return false;
	for (size_t o = 0; o < e->n_outputs; o++) {
		e->base[o] = get_number(in, -HUGE_NUMBER, HUGE_NUMBER);
		e->scale[o] = get_number(in, -HUGE_NUMBER, HUGE_NUMBER);
	}
	e->n_trees = block_get_u32(in);
	in->bad |= e->n_trees > in->n / (5 + NODE_BYTES);
	if (in->bad)
		return true;
	e->trees = calloc(e->n_trees, sizeof(*e->trees));
	if (!e->trees)
		return false;
	get_tree_heads(in, e, joint);
	return in->bad || (get_nodes(in, e) && (in->bad || !joint || get_leaves(in, e)));
}

/* @return whether memory sufficed */
static bool get_line(struct block_reader *in, struct hes_regressor *r)
{
	size_t n = r->about.n_features, n_weights = (n + 1) * r->about.n_outputs;

	r->means = malloc(n * sizeof(*r->means));
	r->weights = malloc(n_weights * sizeof(*r->weights));
	if (!r->means || !r->weights)
		return false;
	for (size_t i = 0; i < n; i++)
		r->means[i] = get_number(in, -HUGE_NUMBER, HUGE_NUMBER);
	for (size_t i = 0; i < n_weights; i++)
		r->weights[i] = get_number(in, -HUGE_NUMBER, HUGE_NUMBER);
	return true;
}

/* @return whether memory sufficed */
static bool get_body(struct block_reader *in, struct hes_regressor *r)
{
	if (!get_about(in, r))
		return false;
	if (in->bad)
		return true;
	if (r->about.options.kind == HES_REGRESSOR_LINEAR)
		return get_line(in, r);
	r->ensemble.n_features = r->about.n_features;
	r->ensemble.n_outputs = r->about.n_outputs;
	return get_trees(in, &r->ensemble, r->about.options.joint);
}

int regressor_get(struct block_reader *in, struct hes_regressor **out, struct hes_err *err)
{
	struct hes_regressor *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r || !get_body(in, r))
		rc = -ENOMEM;
	else if (in->bad)
		rc = -EINVAL;
	else
		rc = regressor_ready(r);
	if (!rc) {
		*out = r;
		return 0;
	}
	hes_regressor_free(r);
	if (rc == -EINVAL)
		return hes_fail(err, rc, "%s: not a sound model, though its checksum is right", in->path);
	return hes_fail(err, rc, "%s: out of memory", in->path);
}

int hes_regressor_save(const char *path, const struct hes_regressor *r, struct hes_err *err)
{
	struct block b = { 0 };
	int rc;

	regressor_put(&b, r);
	rc = block_save(path, NOUN, r->about.options.joint ? JOINT : VERSION, &b, err);
	free(b.v);
	return rc;
}

int hes_regressor_load(const char *path, struct hes_regressor **out, struct hes_err *err)
{
	struct hes_regressor *r = NULL;
	struct block_reader in;
	char *bytes;
	int rc = block_load(path, NOUN, VERSION, JOINT, &bytes, &in, err);

	if (rc)
		return rc;
	rc = regressor_get(&in, &r, err);
	if (!rc && in.n) {
		hes_regressor_free(r);
		rc = hes_fail(err, -EINVAL, "%s: damaged: %zu bytes behind the model", path, in.n);
	}
	free(bytes);
	if (!rc)
		*out = r;
	return rc;
}
