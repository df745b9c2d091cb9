/*
 * lightgbm_read.c - regressors of LightGBM's text models, versions 2 to 4;
 * see heshare/regressor.h. lightgbm_write.c writes such models.
 *
 * Only what predicts the same here is taken: numerical splits, leaves that
 * are numbers, objectives whose prediction is the sum or mean of leaves.
 * Thresholds are doubles there and floats here, which is the same for rows of
 * floats; leaves are rounded to floats, after the first tree's mean has gone
 * into the base.
 */
#include "trees/regressor.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "base/utf8.h"

#define MAX_BYTES    ((size_t)1 << 30)
#define MAX_VALUE    1e37 /* of a leaf; those are single precision */
#define CATEGORICAL  1    /* bits of a decision type */
#define DEFAULT_LEFT 2
#define MISSING_TYPE(d) ((d) >> 2)

enum missing_type { MISSING_NONE, MISSING_ZERO, MISSING_NAN };

/* One file: the line that was read last, and what it is read into. */
struct reader {
	const char *path;
	char       *next;  /* begin of the next line; NULL: none */
	char       *key;   /* the line up to "=", or all of it */
	char       *value; /* behind "="; "" where there is none */
	size_t      line;  /* number, from 1 */
	struct hes_regressor *r;
	struct ensemble      *e;
	size_t      nodes_room, trees_room;
	uint32_t    output;
	bool        average;
	double      shrinkage;
};

/* One tree, as its lines are read. Lists are pieces of the text, unread. */
struct tree_lines {
	uint32_t leaves;
	size_t   first_line;
	struct list {
		char  *text;
		size_t line;
	} split_feature, threshold, decision_type, left_child, right_child, leaf_value;
};

/* A tree, its lists read. */
struct split {
	double  threshold;
	int32_t feature, decision, left, right;
};

struct tree {
	struct split *splits;
	double       *leaves;
	uint32_t      n_leaves;
	size_t        line; /* of "Tree=" */
};

static int bad(const struct reader *in, size_t line, const char *what, struct hes_err *err)
{
	return hes_fail(err, -EINVAL, "%s:%zu: %s", in->path, line, what);
}

/* A number that would not parse: @err says why, this where. */
static int bad_number(const struct reader *in, size_t line, struct hes_err *err)
{
	hes_fail_in(err, "%s:%zu", in->path, line);
	if (err)
		err->code = -EINVAL;
	return -EINVAL;
}

static bool next_line(struct reader *in)
{
	char *end, *equals;

	if (!in->next)
		return false;
	in->line++;
	in->key = in->next;
	end = strchr(in->key, '\n');
	in->next = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	else
		end = in->key + strlen(in->key);
	if (end > in->key && end[-1] == '\r')
		end[-1] = '\0';
	equals = strchr(in->key, '=');
	in->value = equals ? equals + 1 : in->key + strlen(in->key);
	if (equals)
		*equals = '\0';
	return true;
}

static int number_of(const struct reader *in, uint32_t min, uint32_t max, uint32_t *out, struct hes_err *err)
{
	return hes_parse_u32(in->key, in->value, min, max, out, err) ? bad_number(in, in->line, err) : 0;
}

/* Objectives whose prediction is what the trees say. */
static bool is_identity(const char *objective)
{
	static const char *const names[] = { "regression", "regression_l1", "huber", "fair", "quantile", "mape", "custom" };
	size_t n = strcspn(objective, " ");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == n && !strncmp(objective, names[i], n))
			return !strstr(objective + n, "sqrt");
	return false;
}

static int take_names(struct reader *in, struct hes_err *err)
{
	struct hes_regressor *r = in->r;
	bool first = !r->feature_names;
	size_t n = 0;

	if (!r->about.n_features)
		return bad(in, in->line, "feature_names before max_feature_idx", err);
	if (first)
		r->feature_names = calloc(r->about.n_features, sizeof(*r->feature_names));
	if (!r->feature_names)
		return hes_fail(err, -ENOMEM, "%s: out of memory", in->path);
	for (char *save, *name = strtok_r(in->value, " ", &save); name; name = strtok_r(NULL, " ", &save), n++) {
		if (n == r->about.n_features || strlen(name) >= HES_REGRESSOR_NAME_MAX || !hes_is_utf8(name))
			return hes_fail(err, -EINVAL, "%s:%zu: feature name %zu, \"%.64s\": there are %zu features, of at most %d "
					"bytes of UTF-8", in->path, in->line, n + 1, name, r->about.n_features,
					HES_REGRESSOR_NAME_MAX - 1);
		if (first)
			strcpy(r->feature_names[n], name);
		else if (strcmp(r->feature_names[n], name))
			return hes_fail(err, -EINVAL, "%s:%zu: feature %zu is \"%.64s\", in the first file \"%s\"; all outputs need the "
					"same features", in->path, in->line, n + 1, name, r->feature_names[n]);
	}
	if (n != r->about.n_features)
		return hes_fail(err, -EINVAL, "%s:%zu: %zu feature names for %zu features", in->path, in->line, n,
				r->about.n_features);
	return 0;
}

static int take_feature_count(struct reader *in, struct hes_err *err)
{
	uint32_t last;
	int rc = number_of(in, 0, HES_REGRESSOR_MAX_FEATURES - 1, &last, err);

	if (rc)
		return rc;
	if (in->r->about.n_features && in->r->about.n_features != last + 1)
		return hes_fail(err, -EINVAL, "%s:%zu: %u features, the first file has %zu; all outputs need the same features",
				in->path, in->line, last + 1, in->r->about.n_features);
	in->r->about.n_features = last + 1;
	return 0;
}

/* What a line of the header must say; lines of other names do not matter. */
static int take_header(struct reader *in, unsigned *seen, struct hes_err *err)
{
	if (!strcmp(in->key, "version")) {
		*seen |= 1;
		return in->value[0] == 'v' && in->value[1] >= '2' && in->value[1] <= '4' && !in->value[2] ? 0 :
			hes_fail(err, -EINVAL, "%s:%zu: version \"%.16s\"; v2, v3 and v4 are read", in->path, in->line, in->value);
	}
	if (!strcmp(in->key, "num_class") || !strcmp(in->key, "num_tree_per_iteration")) {
		return !strcmp(in->value, "1") ? 0 :
			hes_fail(err, -EINVAL, "%s:%zu: %s=%.16s: several classes cannot be imported, only regression", in->path,
				 in->line, in->key, in->value);
	}
	if (!strcmp(in->key, "objective"))
		return is_identity(in->value) ? 0 :
			hes_fail(err, -EINVAL, "%s:%zu: objective \"%.40s\" transforms what the trees say; regression, "
				 "regression_l1, huber, fair, quantile and mape can be imported", in->path, in->line, in->value);
	if (!strcmp(in->key, "average_output"))
		in->average = true;
	if (!strcmp(in->key, "max_feature_idx"))
		return take_feature_count(in, err);
	if (!strcmp(in->key, "feature_names")) {
		*seen |= 2;
		return take_names(in, err);
	}
	return 0;
}

/* Up to and including the first "Tree=". */
static int read_header(struct reader *in, struct hes_err *err)
{
	unsigned seen = 0;

	if (!next_line(in) || strcmp(in->key, "tree"))
		return hes_fail(err, -EINVAL, "%s: not a LightGBM text model: its first line is not \"tree\"", in->path);
	while (next_line(in)) {
		int rc;

		if (!strcmp(in->key, "Tree") || !strcmp(in->key, "end of trees"))
			return seen == 3 ? 0 : bad(in, in->line, "trees before version and feature_names", err);
		rc = take_header(in, &seen, err);
		if (rc)
			return rc;
	}
	return bad(in, in->line, "cut off: the file ends before its trees", err);
}

static int take_list(const struct reader *in, struct list *out, struct hes_err *err)
{
	if (out->text)
		return hes_fail(err, -EINVAL, "%s:%zu: %s a second time in one tree", in->path, in->line, in->key);
	*out = (struct list){ in->value, in->line };
	return 0;
}

static int take_tree_line(struct reader *in, struct tree_lines *t, struct hes_err *err)
{
	struct { const char *key; struct list *list; } lists[] = {
		{ "split_feature", &t->split_feature }, { "threshold", &t->threshold },
		{ "decision_type", &t->decision_type }, { "left_child", &t->left_child },
		{ "right_child", &t->right_child }, { "leaf_value", &t->leaf_value },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (!strcmp(in->key, lists[i].key))
			return take_list(in, lists[i].list, err);
	if (!strcmp(in->key, "num_leaves"))
		return number_of(in, 1, INT32_MAX / 2, &t->leaves, err);
	if (!strcmp(in->key, "num_cat") && strcmp(in->value, "0"))
		return bad(in, in->line, "categorical splits cannot be imported", err);
	if (!strcmp(in->key, "is_linear") && strcmp(in->value, "0"))
		return bad(in, in->line, "trees with linear models in their leaves cannot be imported", err);
	if (!strcmp(in->key, "shrinkage"))
		return hes_parse_double(in->key, in->value, 0, 1e6, &in->shrinkage, err) ? bad_number(in, in->line, err) : 0;
	return 0;
}

/* The next of a list's numbers, as text of its own. @return NULL: no more */
static char *list_next(struct list *list)
{
	char *word = list->text + strspn(list->text, " "), *end = word + strcspn(word, " ");

	if (word == end)
		return NULL;
	list->text = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static int list_ends(const struct reader *in, struct list *list, const char *key, struct hes_err *err)
{
	return list_next(list) ? hes_fail(err, -EINVAL, "%s:%zu: more values of %s than the tree has", in->path, list->line, key)
			       : 0;
}

static int list_double(const struct reader *in, struct list *list, const char *key, double max, double *out,
		       struct hes_err *err)
{
	char *word = list_next(list);

	if (!word)
		return hes_fail(err, -EINVAL, "%s:%zu: fewer values of %s than the tree has", in->path, list->line, key);
	return hes_parse_double(key, word, -max, max, out, err) ? bad_number(in, list->line, err) : 0;
}

/* What parts known values from missing ones has the threshold inf. */
static int list_threshold(const struct reader *in, struct list *list, double *out, struct hes_err *err)
{
	const char *word = list->text + strspn(list->text, " ");
	size_t n = strcspn(word, " ");

	if (n == 3 && !strncmp(word, "inf", n))
		*out = INFINITY;
	else if (n == 4 && !strncmp(word, "-inf", n))
		*out = -INFINITY;
	else
		return list_double(in, list, "threshold", DBL_MAX, out, err);
	list_next(list);
	return 0;
}

static int list_int(const struct reader *in, struct list *list, const char *key, int32_t min, int32_t max, int32_t *out,
		    struct hes_err *err)
{
	double v;
	int rc = list_double(in, list, key, INT32_MAX, &v, err);

	if (rc)
		return rc;
	if (v != floor(v) || v < min || v > max)
		return hes_fail(err, -EINVAL, "%s:%zu: %s: %g is not a whole number from %d to %d", in->path, list->line, key, v,
				min, max);
	*out = (int32_t)v;
	return 0;
}

/* The largest float that does not exceed t: x <= it if and only if x <= t, for floats x. */
static float float_below(double t)
{
	float f;

	if (t > (double)FLT_MAX)
		return isinf(t) ? INFINITY : FLT_MAX;
	if (t < -(double)FLT_MAX)
		return -INFINITY;
	f = (float)t;
	return (double)f <= t ? f : nextafterf(f, -INFINITY);
}

static int check_split(const struct reader *in, const struct tree_lines *t, const struct split *s, struct hes_err *err)
{
	if (s->decision & CATEGORICAL)
		return bad(in, t->decision_type.line, "categorical splits cannot be imported", err);
	if (MISSING_TYPE(s->decision) == MISSING_ZERO)
		return bad(in, t->decision_type.line, "splits that take 0 for a missing value cannot be imported; train with "
			   "zero_as_missing=false", err);
	if (MISSING_TYPE(s->decision) > MISSING_NAN)
		return hes_fail(err, -EINVAL, "%s:%zu: decision type %d is unknown", in->path, t->decision_type.line, s->decision);
	return 0;
}

static int read_split(const struct reader *in, struct tree_lines *t, struct split *s, struct hes_err *err)
{
	int32_t leaves = (int32_t)t->leaves;
	int rc = list_int(in, &t->split_feature, "split_feature", 0, (int32_t)in->r->about.n_features - 1, &s->feature, err);

	if (!rc)
		rc = list_threshold(in, &t->threshold, &s->threshold, err);
	if (!rc)
		rc = list_int(in, &t->decision_type, "decision_type", 0, 127, &s->decision, err);
	if (!rc)
		rc = list_int(in, &t->left_child, "left_child", -leaves, leaves - 2, &s->left, err);
	if (!rc)
		rc = list_int(in, &t->right_child, "right_child", -leaves, leaves - 2, &s->right, err);
	return rc ? rc : check_split(in, t, s, err);
}

static int read_lists(const struct reader *in, struct tree_lines *t, struct tree *out, struct hes_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i + 1 < t->leaves; i++)
		rc = read_split(in, t, &out->splits[i], err);
	for (uint32_t i = 0; !rc && i < t->leaves; i++)
		rc = list_double(in, &t->leaf_value, "leaf_value", MAX_VALUE, &out->leaves[i], err);
	if (!rc)
		rc = list_ends(in, &t->leaf_value, "leaf_value", err);
	if (!rc && t->leaves > 1)
		rc = list_ends(in, &t->threshold, "threshold", err);
	return rc;
}

/* @param out  free() its lists, on failure too */
static int read_tree(const struct reader *in, struct tree_lines *t, struct tree *out, struct hes_err *err)
{
	bool splits = t->split_feature.text && t->threshold.text && t->decision_type.text && t->left_child.text &&
		      t->right_child.text;

	if (!t->leaves || !t->leaf_value.text || (t->leaves > 1 && !splits))
		return bad(in, t->first_line, "this tree lacks num_leaves, split_feature, threshold, decision_type, left_child, "
			   "right_child or leaf_value", err);
	if (strlen(t->leaf_value.text) / 2 + 1 < t->leaves)
		return hes_fail(err, -EINVAL, "%s:%zu: fewer values of leaf_value than the tree has", in->path,
				t->leaf_value.line);
	*out = (struct tree){ calloc(t->leaves, sizeof(*out->splits)), calloc(t->leaves, sizeof(*out->leaves)), t->leaves,
			      t->first_line };
	if (!out->splits || !out->leaves)
		return hes_fail(err, -ENOMEM, "%s: out of memory", in->path);
	return read_lists(in, t, out, err);
}

/* @return whether memory sufficed */
static bool make_room(struct reader *in, size_t n_nodes)
{
	struct ensemble *e = in->e;

	if (e->n_nodes + n_nodes > in->nodes_room) {
		size_t room = 2 * (in->nodes_room + n_nodes);
		struct ensemble_node *v = realloc(e->nodes, room * sizeof(*v));

		if (!v)
			return false;
		e->nodes = v;
		in->nodes_room = room;
	}
	if (e->n_trees == in->trees_room) {
		size_t room = 2 * in->trees_room + 64;
		struct ensemble_tree *v = realloc(e->trees, room * sizeof(*v));

		if (!v)
			return false;
		e->trees = v;
		in->trees_room = room;
	}
	return true;
}

/* Leaves as they are kept: less @offset, which the base takes. */
static struct ensemble_node node_of(const struct tree *t, int32_t index, uint32_t left, double offset)
{
	const struct split *s = &t->splits[index < 0 ? 0 : index];

	if (index < 0)
		return (struct ensemble_node){ .value = (float)(t->leaves[~index] - offset) };
	return (struct ensemble_node){
		.value = float_below(s->threshold), .left = left, .feature = (uint16_t)s->feature,
		.missing_left = MISSING_TYPE(s->decision) == MISSING_NAN ? s->decision & DEFAULT_LEFT : 0 <= s->threshold,
	};
}

/*
 * Level by level from the root. A tree of n leaves has 2 n - 1 nodes: more are
 * not to be come by, unless something is reached twice; fewer, unless
 * something is never reached.
 */
static int join_tree(struct reader *in, const struct tree *t, double offset, struct hes_err *err)
{
	uint32_t n_nodes = 2 * t->n_leaves - 1, n = 1;
	struct ensemble *e = in->e;
	struct ensemble_node *nodes;
	int32_t *index = malloc(n_nodes * sizeof(*index));
	bool *met = calloc(2 * (size_t)t->n_leaves, sizeof(*met)), sound = true;

	if (!index || !met || !make_room(in, n_nodes)) {
		free(index);
		free(met);
		return hes_fail(err, -ENOMEM, "%s: out of memory", in->path);
	}
	nodes = e->nodes + e->n_nodes;
	index[0] = t->n_leaves == 1 ? -1 : 0;
	for (uint32_t i = 0; i < n && sound; i++) {
		size_t mark = index[i] < 0 ? t->n_leaves + (size_t)~index[i] : (size_t)index[i];

		sound = !met[mark] && (index[i] < 0 || n + 2 <= n_nodes);
		met[mark] = true;
		nodes[i] = node_of(t, index[i], n, offset);
		if (index[i] < 0 || !sound)
			continue;
		index[n++] = t->splits[index[i]].left;
		index[n++] = t->splits[index[i]].right;
	}
	free(index);
	free(met);
	if (!sound || n != n_nodes)
		return bad(in, t->line, "this tree's children do not make a tree: a node is reached twice or never", err);
	e->trees[e->n_trees++] = (struct ensemble_tree){ e->n_nodes, n_nodes, in->output };
	e->n_nodes += n_nodes;
	return 0;
}

static double mean_of(const double *v, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += v[i];
	return sum / n;
}

/* From behind "Tree=" to the next one, or to the end of trees. */
static int take_tree(struct reader *in, size_t nth, struct hes_err *err)
{
	struct tree_lines lines = { .first_line = in->line };
	struct tree t = { 0 };
	double *base = &in->e->base[in->output];
	int rc = nth < HES_REGRESSOR_MAX_TREES ? 0 : hes_fail(err, -EINVAL, "%s:%zu: more than %d trees", in->path, in->line,
							       HES_REGRESSOR_MAX_TREES);

	while (!rc && next_line(in) && strcmp(in->key, "Tree") && strcmp(in->key, "end of trees"))
		rc = take_tree_line(in, &lines, err);
	if (!rc && strcmp(in->key, "Tree") && strcmp(in->key, "end of trees"))
		rc = bad(in, in->line, "cut off: the file ends before \"end of trees\"", err);
	if (!rc)
		rc = read_tree(in, &lines, &t, err);
	if (!rc && !nth)
		*base = mean_of(t.leaves, t.n_leaves);
	if (!rc)
		rc = join_tree(in, &t, nth && !in->average ? 0 : *base, err);
	free(t.splits);
	free(t.leaves);
	return rc;
}

static int take_trees(struct reader *in, struct hes_err *err)
{
	size_t n = 0;

	while (strcmp(in->key, "end of trees")) {
		int rc = take_tree(in, n++, err);

		if (rc)
			return rc;
	}
	in->e->scale[in->output] = in->average ? 1 / (double)n : 1;
	return n ? 0 : bad(in, in->line, "no trees", err);
}

static int read_file(struct reader *in, struct hes_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = hes_file_slurp(in->path, MAX_BYTES, &text, &len, err);

	if (rc)
		return rc;
	in->next = text;
	in->line = 0;
	in->average = false;
	if (strlen(text) != len)
		rc = hes_fail(err, -EINVAL, "%s: not a LightGBM text model: it has a byte 0", in->path);
	if (!rc)
		rc = read_header(in, err);
	if (!rc)
		rc = take_trees(in, err);
	free(text);
	return rc;
}

static int read_files(const char *const *paths, size_t n, struct hes_regressor *r, struct hes_err *err)
{
	struct hes_regressor_options *o = &r->about.options;
	struct reader in = { .r = r, .e = &r->ensemble, .shrinkage = 1 };
	int rc = 0;

	if (n < 1 || n > HES_REGRESSOR_MAX_OUTPUTS)
		return hes_fail(err, -EINVAL, "%zu files; from 1 to %d can be imported together", n, HES_REGRESSOR_MAX_OUTPUTS);
	r->about.n_outputs = r->ensemble.n_outputs = n;
	r->outputs = calloc(n, sizeof(*r->outputs));
	r->ensemble.base = calloc(n, sizeof(*r->ensemble.base));
	r->ensemble.scale = calloc(n, sizeof(*r->ensemble.scale));
	if (!r->outputs || !r->ensemble.base || !r->ensemble.scale)
		return hes_fail(err, -ENOMEM, "out of memory for %zu outputs", n);
	for (uint32_t i = 0; !rc && i < n; i++) {
		in.path = paths[i];
		in.output = i;
		snprintf(r->outputs[i].name, sizeof(r->outputs[i].name), "y%u", i);
		rc = read_file(&in, err);
	}
	r->ensemble.n_features = r->about.n_features;
	*o = (struct hes_regressor_options){
		.kind = in.average ? HES_REGRESSOR_FOREST : HES_REGRESSOR_BOOSTING,
		.trees = (uint32_t)(r->ensemble.n_trees / n), .learning_rate = in.average ? 0 : in.shrinkage,
	};
	return rc;
}

int hes_regressor_import_lightgbm(const char *const *paths, size_t n, struct hes_regressor **out,
				  struct hes_err *err)
{
	struct hes_regressor *r = calloc(1, sizeof(*r));
	int rc = r ? read_files(paths, n, r, err) : hes_fail(err, -ENOMEM, "out of memory for a regressor");

	if (!rc && regressor_ready(r))
		rc = hes_fail(err, -ENOMEM, "%s: out of memory", paths[0]);
	if (rc)
		hes_regressor_free(r);
	else
		*out = r;
	return rc;
}
