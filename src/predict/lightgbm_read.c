/*
 * lightgbm_read.c - regressors from LightGBM's text models; writing them is lightgbm.c.
 *
 * A model is lines KEY=VALUES; those of a tree follow its "Tree=N". Nothing is
 * believed: children must make a tree, features must be there. What this
 * cannot stand for (categories, zero as missing, linear leaves, outputs that
 * are transformed) is refused by name. A threshold is rounded down to float:
 * a float is at most the one exactly if it is at most the other.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "predict/lightgbm.h"
#include "predict/regressor.h"

#define MAX_BYTES  ((size_t)1 << 30)
#define MAX_LEAVES (1u << 22)

/* A model's text, line by line. */
struct text {
	const char     *path;
	char           *next;  /* NULL at the end */
	size_t          line;  /* of the one read last */
	struct hes_err *err;
};

/* The lines of a tree; values point into the text. */
struct tree_lines {
	char  *leaves, *features, *thresholds, *decisions, *left, *right, *values, *cats, *linear;
	size_t line; /* of its Tree= */
};

/* What grows while files are read. */
struct made {
	struct hes_regressor *r;
	size_t trees_room, nodes_room;
	bool   average;
};

static int complain(const struct text *t, size_t line, const char *what)
{
	return hes_fail(t->err, -EINVAL, "%s:%zu: %s", t->path, line, what);
}

/* The next line, without its end; NULL at the end of the text. */
static char *next_line(struct text *t)
{
	char *line = t->next, *end = line ? strchr(line, '\n') : NULL;

	if (!line)
		return NULL;
	t->line++;
	t->next = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	line[strcspn(line, "\r")] = '\0';
	return line;
}

/* The value of a line "KEY=VALUE", or NULL. */
static char *value_of(char *line, const char *key)
{
	size_t n = strlen(key);

	return strncmp(line, key, n) == 0 && line[n] == '=' ? line + n + 1 : NULL;
}

/* Cut the next word off a list. NULL at its end. */
static char *word(char **list)
{
	char *w;

	do {
		w = strsep(list, " ");
	} while (w && !*w);
	return w;
}

/* A whole number within bounds. */
static bool whole(const char *text, int64_t min, int64_t max, int64_t *out)
{
	char *end;
	long long x;

	errno = 0;
	x = strtoll(text, &end, 10);
	if (errno || *end || end == text || x < min || x > max)
		return false;
	*out = x;
	return true;
}

static bool integers(char *list, int64_t *out, size_t n, int64_t min, int64_t max)
{
	char *rest = list, *w;

	for (size_t i = 0; i < n; i++) {
		w = word(&rest);
		if (!w || !whole(w, min, max, &out[i]))
			return false;
	}
	return !word(&rest);
}

static bool reals(char *list, double *out, size_t n)
{
	char *rest = list, *w;

	for (size_t i = 0; i < n; i++) {
		char *end;

		w = word(&rest);
		if (!w)
			return false;
		out[i] = strtod(w, &end);
		if (*end || end == w || isnan(out[i]))
			return false;
	}
	return !word(&rest);
}

/* The largest float that is not above. */
static float float_below(double x)
{
	float f = x > (double)HUGE_VALF ? HUGE_VALF : (float)x;

	return (double)f > x ? nextafterf(f, -HUGE_VALF) : f;
}

/* Numbers of a tree's lines. */
struct parsed {
	size_t   leaves;
	int64_t *feature, *decision, *left, *right;
	double  *threshold, *value;
};

static void parsed_finish(struct parsed *p)
{
	free(p->feature);
	free(p->decision);
	free(p->left);
	free(p->right);
	free(p->threshold);
	free(p->value);
}

static int parsed_init(struct parsed *p, size_t leaves)
{
	*p = (struct parsed){
		.leaves = leaves,
		.feature = calloc(leaves, sizeof(*p->feature)), .decision = calloc(leaves, sizeof(*p->decision)),
		.left = calloc(leaves, sizeof(*p->left)), .right = calloc(leaves, sizeof(*p->right)),
		.threshold = calloc(leaves, sizeof(*p->threshold)), .value = calloc(leaves, sizeof(*p->value)),
	};
	if (p->feature && p->decision && p->left && p->right && p->threshold && p->value)
		return 0;
	parsed_finish(p);
	return -ENOMEM;
}

static int parse_tree(const struct text *t, const struct tree_lines *l, size_t n_features, struct parsed *p)
{
	size_t inner = p->leaves - 1;
	int64_t last = (int64_t)n_features - 1, leaf = -(int64_t)p->leaves;

	if (!l->values || !reals(l->values, p->value, p->leaves))
		return complain(t, l->line, "this tree's leaf_value does not hold a number a leaf");
	if (inner && (!l->features || !integers(l->features, p->feature, inner, 0, last)))
		return complain(t, l->line, "this tree's split_feature does not name a feature of the model a split");
	if (inner && (!l->thresholds || !reals(l->thresholds, p->threshold, inner)))
		return complain(t, l->line, "this tree's threshold does not hold a number a split");
	if (inner && (!l->decisions || !integers(l->decisions, p->decision, inner, 0, 15)))
		return complain(t, l->line, "this tree's decision_type does not hold 0 to 15 a split");
	if (inner && (!l->left || !integers(l->left, p->left, inner, leaf, (int64_t)inner - 1) ||
		      !l->right || !integers(l->right, p->right, inner, leaf, (int64_t)inner - 1)))
		return complain(t, l->line, "this tree's left_child and right_child do not name a split or a leaf a split");
	for (size_t i = 0; i < inner; i++) {
		if (p->decision[i] & LIGHTGBM_CATEGORICAL)
			return complain(t, l->line, "this tree splits by categories; only numeric splits can be taken");
		if ((p->decision[i] & LIGHTGBM_MISSING) == LIGHTGBM_MISSING_ZERO)
			return complain(t, l->line, "this tree takes 0 for missing; train with zero_as_missing=false");
	}
	return 0;
}

static struct ensemble_node inner_node(const struct parsed *p, size_t i, uint32_t left)
{
	bool nan = (p->decision[i] & LIGHTGBM_MISSING) == LIGHTGBM_MISSING_NAN;

	/* Where nothing counts as missing, LightGBM puts 0 in its place. */
	return (struct ensemble_node){
		.value = float_below(p->threshold[i]),
		.left = left,
		.feature = (uint16_t)p->feature[i],
		.missing_left = nan ? (p->decision[i] & LIGHTGBM_DEFAULT_LEFT) != 0 : 0 <= p->threshold[i],
	};
}

/*
 * Into our order, breadth first: at[] holds LightGBM's number of each of our
 * nodes. A split or leaf that two name, or none, is found by counting.
 */
static bool lay_out(const struct parsed *p, struct ensemble_node *out, int64_t *at)
{
	size_t n = 1, total = 2 * p->leaves - 1;

	at[0] = p->leaves > 1 ? 0 : -1;
	for (size_t i = 0; i < n; i++) {
		if (at[i] < 0) {
			out[i] = (struct ensemble_node){ .value = (float)p->value[-1 - at[i]] };
			if (!isfinite(out[i].value))
				return false;
			continue;
		}
		if (n + 2 > total)
			return false;
		out[i] = inner_node(p, (size_t)at[i], (uint32_t)n);
		at[n++] = p->left[at[i]];
		at[n++] = p->right[at[i]];
	}
	return n == total;
}

static int make_room(struct made *m, size_t nodes)
{
	struct ensemble *e = &m->r->ensemble;

	if (e->n_trees == m->trees_room) {
		size_t room = 2 * m->trees_room + 16;
		struct ensemble_tree *v = reallocarray(e->trees, room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		e->trees = v;
		m->trees_room = room;
	}
	if (e->n_nodes + nodes > m->nodes_room) {
		size_t room = 2 * (e->n_nodes + nodes);
		struct ensemble_node *v = reallocarray(e->nodes, room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		e->nodes = v;
		m->nodes_room = room;
	}
	return 0;
}

static int add_tree(const struct text *t, const struct tree_lines *l, uint32_t output, struct made *m)
{
	struct ensemble *e = &m->r->ensemble;
	struct parsed p;
	int64_t leaves, *at;
	int rc;

	if (!l->leaves || !whole(l->leaves, 1, MAX_LEAVES, &leaves))
		return complain(t, l->line, "this tree's num_leaves is not from 1 to 4194304");
	if (l->cats && strcmp(l->cats, "0"))
		return complain(t, l->line, "this tree splits by categories; only numeric splits can be taken");
	if (l->linear && strcmp(l->linear, "0"))
		return complain(t, l->line, "this tree has linear leaves; train with linear_tree=false");
	if ((size_t)leaves > strlen(l->values ? l->values : "") + 1)
		return complain(t, l->line, "this tree's leaf_value does not hold a number a leaf");
	at = calloc(2 * (size_t)leaves, sizeof(*at));
	rc = at ? parsed_init(&p, (size_t)leaves) : -ENOMEM;
	if (rc || make_room(m, 2 * (size_t)leaves - 1)) {
		if (!rc)
			parsed_finish(&p);
		free(at);
		return hes_fail(t->err, -ENOMEM, "%s: out of memory", t->path);
	}
	rc = parse_tree(t, l, m->r->about.n_features, &p);
	if (!rc && !lay_out(&p, e->nodes + e->n_nodes, at))
		rc = complain(t, l->line, "this tree's children do not make a tree of finite leaves");
	if (!rc) {
		e->trees[e->n_trees++] = (struct ensemble_tree){ e->n_nodes, (uint32_t)(2 * leaves - 1), output };
		e->n_nodes += 2 * (size_t)leaves - 1;
	}
	parsed_finish(&p);
	free(at);
	return rc;
}

static int take_names(const struct text *t, char *list, struct made *m)
{
	struct hes_regressor *r = m->r;
	char *rest = list, *w;
	bool first = !r->feature_names;
	size_t n = 0;

	if (first)
		r->feature_names = calloc(r->about.n_features, sizeof(*r->feature_names));
	if (!r->feature_names)
		return hes_fail(t->err, -ENOMEM, "%s: out of memory", t->path);
	for (; (w = word(&rest)); n++) {
		if (n == r->about.n_features || strlen(w) >= HES_REGRESSOR_NAME_MAX || !hes_is_utf8(w))
			return complain(t, t->line, "feature_names does not hold a name of at most 63 bytes a feature");
		if (first)
			strcpy(r->feature_names[n], w);
		else if (strcmp(r->feature_names[n], w))
			return complain(t, t->line, "the features are not those of the first file");
	}
	return n == r->about.n_features ? 0 : complain(t, t->line, "feature_names does not hold a name a feature");
}

/* Objectives whose answer is the sum of the leaves itself. */
static bool is_plain(const char *objective)
{
	static const char *const plain[] = { "regression", "regression_l1", "regression_l2", "huber", "fair", "quantile",
					     "mape" };
	size_t n = strcspn(objective, " ");

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strlen(plain[i]) == n && strncmp(plain[i], objective, n) == 0)
			return !strstr(objective, "sqrt");
	return false;
}

static int take_header(const struct text *t, char *line, struct made *m)
{
	int64_t last;
	char *v;

	if ((v = value_of(line, "num_class")) || (v = value_of(line, "num_tree_per_iteration")))
		return strcmp(v, "1") ? complain(t, t->line, "several classes; only regression can be taken") : 0;
	if ((v = value_of(line, "objective")))
		return is_plain(v) ? 0 : complain(t, t->line, "an objective that transforms its output, or is no regression");
	if ((v = value_of(line, "max_feature_idx"))) {
		if (!whole(v, 0, HES_REGRESSOR_MAX_FEATURES - 1, &last))
			return complain(t, t->line, "max_feature_idx is not from 0 to 999");
		if (m->r->about.n_features && m->r->about.n_features != (size_t)last + 1)
			return complain(t, t->line, "the features are not those of the first file");
		m->r->about.n_features = (size_t)last + 1;
	}
	if ((v = value_of(line, "feature_names")))
		return m->r->about.n_features ? take_names(t, v, m)
					      : complain(t, t->line, "feature_names before max_feature_idx");
	m->average |= strcmp(line, "average_output") == 0;
	return 0;
}

static void take_line(struct tree_lines *l, char *line)
{
	const struct {
		const char *key;
		char      **to;
	} keys[] = {
		{ "num_leaves", &l->leaves }, { "num_cat", &l->cats }, { "split_feature", &l->features },
		{ "threshold", &l->thresholds }, { "decision_type", &l->decisions }, { "left_child", &l->left },
		{ "right_child", &l->right }, { "leaf_value", &l->values }, { "is_linear", &l->linear },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *v = value_of(line, keys[i].key);

		if (v)
			*keys[i].to = v;
	}
}

static int take_trees(struct text *t, uint32_t output, struct made *m)
{
	struct tree_lines l = { .line = t->line };
	char *line;
	int rc = 0;

	while (!rc && (line = next_line(t)) && strcmp(line, "end of trees")) {
		if (!value_of(line, "Tree")) {
			take_line(&l, line);
			continue;
		}
		rc = add_tree(t, &l, output, m);
		l = (struct tree_lines){ .line = t->line };
	}
	if (!rc && !line)
		return complain(t, t->line, "the file ends before \"end of trees\"");
	return rc ? rc : add_tree(t, &l, output, m);
}

static int take_file(struct text *t, uint32_t output, struct made *m)
{
	struct ensemble *e = &m->r->ensemble;
	size_t before = e->n_trees;
	char *line = next_line(t);
	int rc = 0;

	m->average = false;
	if (!line || strcmp(line, "tree"))
		return hes_fail(t->err, -EINVAL, "%s: not a text model of LightGBM: its first line would be \"tree\"", t->path);
	while (!rc && (line = next_line(t)) && !value_of(line, "Tree"))
		rc = take_header(t, line, m);
	if (rc)
		return rc;
	if (!line || !m->r->feature_names)
		return complain(t, t->line, "no trees, or none of feature_names and max_feature_idx before them");
	rc = take_trees(t, output, m);
	if (rc)
		return rc;
	if (e->n_trees - before > HES_REGRESSOR_MAX_TREES)
		return complain(t, t->line, "more than 10000 trees");
	e->base[output] = 0;
	e->scale[output] = m->average ? 1 / (double)(e->n_trees - before) : 1;
	return 0;
}

/* An output is called after its file: DIR/PREFIX.NAME.txt gives NAME. */
static void name_output(const char *path, char name[HES_REGRESSOR_NAME_MAX])
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t n = strlen(base);

	if (n > 4 && strcmp(base + n - 4, ".txt") == 0)
		n -= 4;
	for (size_t i = n; i > 1; i--)
		if (base[i - 1] == '.' && i < n) {
			base += i;
			n -= i;
			break;
		}
	snprintf(name, HES_REGRESSOR_NAME_MAX, "%.*s", (int)(n < HES_REGRESSOR_NAME_MAX ? n : HES_REGRESSOR_NAME_MAX - 1), base);
	if (!hes_is_utf8(name))
		strcpy(name, "output");
}

static int read_file(const char *path, uint32_t output, struct made *m, struct hes_err *err)
{
	struct text t = { .path = path, .err = err };
	char *bytes;
	size_t n;
	int rc = hes_file_slurp(path, MAX_BYTES, &bytes, &n, err);

	if (rc)
		return rc;
	t.next = bytes;
	if (memchr(bytes, '\0', n))
		rc = hes_fail(err, -EINVAL, "%s: not a text model of LightGBM: it holds a zero byte", path);
	if (!rc)
		rc = take_file(&t, output, m);
	free(bytes);
	if (!rc)
		name_output(path, m->r->outputs[output].name);
	return rc;
}

int hes_regressor_import_lightgbm(const char *const *paths, size_t n, struct hes_regressor **out, struct hes_err *err)
{
	struct made m = { .r = calloc(1, sizeof(*m.r)) };
	int rc = 0;

	if (n < 1 || n > HES_REGRESSOR_MAX_OUTPUTS) {
		free(m.r);
		return hes_fail(err, -EINVAL, "%zu files; a regressor has from 1 to %d outputs", n, HES_REGRESSOR_MAX_OUTPUTS);
	}
	if (m.r) {
		m.r->about.options.kind = HES_REGRESSOR_BOOSTING;
		m.r->about.n_outputs = m.r->ensemble.n_outputs = n;
		m.r->ensemble.base = calloc(n, sizeof(double));
		m.r->ensemble.scale = calloc(n, sizeof(double));
		m.r->outputs = calloc(n, sizeof(*m.r->outputs));
	}
	if (!m.r || !m.r->ensemble.base || !m.r->ensemble.scale || !m.r->outputs)
		rc = hes_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !rc; i++)
		rc = read_file(paths[i], (uint32_t)i, &m, err);
	if (!rc) {
		m.r->ensemble.n_features = m.r->about.n_features;
		if (regressor_ready(m.r))
			rc = hes_fail(err, -ENOMEM, "out of memory");
	}
	if (rc)
		hes_regressor_free(m.r);
	else
		*out = m.r;
	return rc;
}
