/*
 * histogram_tree.c - best splits of binned features; see histogram_tree.h.
 *
 * A bin of a histogram holds the sum of its rows' gradients above COUNT_BITS bits of their number,
 * so that one addition counts and sums.
 */
#include "trees/histogram_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_BITS 24 /* BOOSTING_MAX_ROWS fits */
#define COUNT_MASK ((1 << COUNT_BITS) - 1)
#define SUM_BITS   38  /* that all rows' gradients together may take */
#define RIDGE      1.0 /* rows without gradient that each leaf is assumed to have besides its own */

struct node {
	struct ensemble_node node;
	uint32_t bin; /* inner: rows up to this bin of the feature go left */
};

struct split {
	double gain;
	uint32_t feature;
	uint32_t bin;
	uint32_t n_left;
	bool missing_left;
};

struct leaf {
	uint32_t node;
	uint32_t begin, end; /* of the tree's rows, which rise */
	int64_t *bins;       /* NULL: it will not be split */
	int64_t total;       /* of all rows, in the form of a bin */
	struct split split;
};

struct histogram_tree {
	const struct bins *b;
	const struct boosting_options *o;
	struct node *nodes;
	uint32_t n_nodes;
	struct leaf *leaves;
	size_t n_leaves;
	uint32_t *rows, *spare;
	int64_t *packed; /* of each row of the bins: what it adds to a bin */
	double *inverse; /* 1 / (number of rows + RIDGE) */
	int64_t **pool;  /* unused histograms */
	size_t n_pool;
};

struct histogram_tree *histogram_tree_create(const struct bins *b, const struct boosting_options *o,
					     size_t rows)
{
	struct histogram_tree *t = calloc(1, sizeof(*t));
	size_t leaves = o->max_leaves;

	if (!t)
		return NULL;
	*t = (struct histogram_tree){
		.b = b,
		.o = o,
		.nodes = malloc(2 * leaves * sizeof(*t->nodes)),
		.leaves = malloc(leaves * sizeof(*t->leaves)),
		.rows = malloc((rows + 1) * sizeof(*t->rows)),
		.spare = malloc((rows + 1) * sizeof(*t->spare)),
		.packed = malloc(b->n_rows * sizeof(*t->packed)),
		.inverse = malloc((rows + 1) * sizeof(*t->inverse)),
		.pool = calloc(leaves + 1, sizeof(*t->pool)),
	};
	if (!t->nodes || !t->leaves || !t->rows || !t->spare || !t->packed || !t->inverse ||
	    !t->pool) {
		histogram_tree_destroy(t);
		return NULL;
	}
	for (size_t i = 0; i <= rows; i++)
		t->inverse[i] = 1 / ((double)i + RIDGE);
	return t;
}

void histogram_tree_destroy(struct histogram_tree *t)
{
	if (!t)
		return;
	for (size_t i = 0; t->pool && i < t->n_pool; i++)
		free(t->pool[i]);
	free(t->nodes);
	free(t->leaves);
	free(t->rows);
	free(t->spare);
	free(t->packed);
	free(t->inverse);
	free(t->pool);
	free(t);
}

static int64_t *take_histogram(struct histogram_tree *t)
{
	return t->n_pool ? t->pool[--t->n_pool] : malloc(t->b->n * sizeof(**t->pool));
}

static void return_histogram(struct histogram_tree *t, struct leaf *leaf)
{
	if (leaf->bins)
		t->pool[t->n_pool++] = leaf->bins;
	leaf->bins = NULL;
}

static void fill_histogram(const struct histogram_tree *t, const struct leaf *leaf)
{
	const struct bins_feature *features = t->b->features;
	size_t n = t->b->n_features;
	int64_t *bins = leaf->bins;

	memset(bins, 0, t->b->n * sizeof(*bins));
	for (uint32_t i = leaf->begin; i < leaf->end; i++) {
		const uint8_t *codes = t->b->codes + t->rows[i] * n;
		int64_t packed = t->packed[t->rows[i]];

		for (size_t k = 0; k < n; k++)
			bins[features[k].first + codes[k]] += packed;
	}
}

static uint32_t count_of(int64_t bin)
{
	return (uint32_t)(bin & COUNT_MASK);
}

static double sum_of(int64_t bin)
{
	return (double)(bin >> COUNT_BITS);
}

/* What lies at or below a bin. */
struct cut {
	int64_t left;
	uint32_t bin;
};

/*
 * Cuts behind the bins 0..n - 1 that are not empty, when @left is on the left already. No branch:
 * empty bins are random.
 */
static uint32_t list_cuts(const int64_t *bins, uint32_t n, int64_t left, struct cut *cuts)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < n; i++) {
		left += bins[i];
		cuts[to] = (struct cut){ left, i };
		to += bins[i] != 0;
	}
	return to;
}

static void scan_bins(const struct histogram_tree *t, const struct leaf *leaf, uint32_t feature,
		      uint32_t n, int64_t left, bool missing_left, struct split *best)
{
	struct cut cuts[BINS_MAX];
	uint32_t rows = count_of(leaf->total), least = t->o->min_leaf, found = UINT32_MAX, i = 0;
	uint32_t end = list_cuts(leaf->bins + t->b->features[feature].first, n, left, cuts);
	const double *inverse = t->inverse;
	double most = best->gain;

	while (i < end && count_of(cuts[i].left) < least)
		i++;
	while (i < end && rows - count_of(cuts[end - 1].left) < least)
		end--;
	for (; i < end; i++) {
		uint32_t n_left = count_of(cuts[i].left);
		double sum = sum_of(cuts[i].left), rest = sum_of(leaf->total - cuts[i].left);
		double gain = sum * sum * inverse[n_left] + rest * rest * inverse[rows - n_left];

		if (gain > most) {
			most = gain;
			found = i;
		}
	}
	if (found != UINT32_MAX)
		*best = (struct split){ most, feature, cuts[found].bin, count_of(cuts[found].left),
					missing_left };
}

static void scan_feature(const struct histogram_tree *t, const struct leaf *leaf, uint32_t feature,
			 struct split *best)
{
	const struct bins_feature *f = &t->b->features[feature];
	int64_t missing = f->n_missing ? leaf->bins[f->first + f->n] : 0;

	if (!count_of(missing)) {
		struct split before = *best;

		if (f->n)
			scan_bins(t, leaf, feature, f->n - 1, 0, false, best);
		/* Where all rows have the feature, a row without it follows the majority. */
		if (best->gain > before.gain)
			best->missing_left = best->n_left > count_of(leaf->total) / 2;
		return;
	}
	scan_bins(t, leaf, feature, f->n, 0, false, best);
	if (f->n)
		scan_bins(t, leaf, feature, f->n - 1, missing, true, best);
}

/* Best split of a leaf; gain 0 where there is none. */
static void find_split(struct histogram_tree *t, struct leaf *leaf)
{
	uint32_t rows = count_of(leaf->total);
	double sum = sum_of(leaf->total), unsplit = sum * sum * t->inverse[rows];

	leaf->split = (struct split){ .gain = unsplit };
	for (uint32_t f = 0; f < t->b->n_features; f++)
		scan_feature(t, leaf, f, &leaf->split);
	leaf->split.gain -= unsplit;
}

static bool may_split(const struct histogram_tree *t, const struct leaf *leaf)
{
	return (leaf->end - leaf->begin) / 2 >= t->o->min_leaf && leaf->end - leaf->begin >= 2;
}

static bool goes_left(const struct histogram_tree *t, size_t row, const struct node *n)
{
	uint32_t code = t->b->codes[row * t->b->n_features + n->node.feature];
	const struct bins_feature *f = &t->b->features[n->node.feature];

	return code == f->n ? n->node.missing_left : code <= n->bin;
}

static uint32_t partition_rows(struct histogram_tree *t, const struct leaf *leaf,
			       const struct node *n)
{
	uint32_t to = leaf->begin, n_right = 0;

	for (uint32_t i = leaf->begin; i < leaf->end; i++) {
		uint32_t row = t->rows[i];
		bool left = goes_left(t, row, n);

		/* Two stores and no branch: the way of a row cannot be predicted. */
		t->rows[to] = row;
		t->spare[n_right] = row;
		to += left;
		n_right += !left;
	}
	memcpy(t->rows + to, t->spare, n_right * sizeof(*t->rows));
	return to;
}

static int64_t total_of(const struct histogram_tree *t, const struct leaf *leaf)
{
	int64_t total = 0;

	for (uint32_t i = leaf->begin; i < leaf->end; i++)
		total += t->packed[t->rows[i]];
	return total;
}

/* Histograms and splits of two new leaves. The smaller one is summed; the larger one is the parent
 * less the smaller. */
static int study_children(struct histogram_tree *t, struct leaf *a, struct leaf *b)
{
	struct leaf *small = a->end - a->begin <= b->end - b->begin ? a : b;
	struct leaf *large = small == a ? b : a;

	small->total = total_of(t, small);
	large->total -= small->total;
	if (!may_split(t, small) && !may_split(t, large)) {
		return_histogram(t, large);
		return 0;
	}
	small->bins = take_histogram(t);
	if (!small->bins)
		return -ENOMEM;
	fill_histogram(t, small);
	for (size_t i = 0; i < t->b->n; i++)
		large->bins[i] -= small->bins[i];
	for (int i = 0; i < 2; i++) {
		struct leaf *leaf = i ? large : small;

		if (may_split(t, leaf))
			find_split(t, leaf);
		if (!(leaf->split.gain > 0))
			return_histogram(t, leaf);
	}
	return 0;
}

static int split_leaf(struct histogram_tree *t, struct leaf *leaf)
{
	struct node *n = &t->nodes[leaf->node];
	const struct bins_feature *f = &t->b->features[leaf->split.feature];
	struct leaf left = *leaf, right = *leaf;

	n->bin = leaf->split.bin;
	n->node = (struct ensemble_node){
		.value = t->b->cuts[f->first + leaf->split.bin],
		.left = t->n_nodes,
		.feature = (uint16_t)leaf->split.feature,
		.missing_left = leaf->split.missing_left,
	};
	left.node = t->n_nodes++;
	right.node = t->n_nodes++;
	left.end = right.begin = partition_rows(t, leaf, n);
	left.split.gain = right.split.gain = 0;
	if (left.end - left.begin <= right.end - right.begin)
		left.bins = NULL;
	else
		right.bins = NULL;
	t->nodes[left.node] = t->nodes[right.node] = (struct node){ 0 };
	*leaf = left;
	t->leaves[t->n_leaves++] = right;
	/* The last leaf is not split. */
	return t->n_leaves < t->o->max_leaves ? study_children(t, leaf, &t->leaves[t->n_leaves - 1])
					      : 0;
}

/* The leaf that gains most; of equals the first. @return NULL none gains */
static struct leaf *best_leaf(struct histogram_tree *t)
{
	struct leaf *best = NULL;

	for (size_t i = 0; i < t->n_leaves; i++)
		if (t->leaves[i].split.gain > (best ? best->split.gain : 0))
			best = &t->leaves[i];
	return best;
}

/* Gradients as integers, with as many bits as the sum of all allows. */
static void pack(struct histogram_tree *t, const uint32_t *rows, size_t n, const double *gradient)
{
	double most = 0, scale;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, fabs(gradient[rows[i]]));
	scale = most > 0 ? ldexp(1, SUM_BITS) / (most * (double)n) : 0;
	for (size_t i = 0; i < n; i++)
		t->packed[rows[i]] =
			(int64_t)llrint(gradient[rows[i]] * scale) * (1 << COUNT_BITS) + 1;
}

static int start_root(struct histogram_tree *t, const uint32_t *rows, size_t n)
{
	struct leaf *root = &t->leaves[0];

	memcpy(t->rows, rows, n * sizeof(*rows));
	*root = (struct leaf){ .end = (uint32_t)n, .bins = take_histogram(t) };
	t->nodes[0] = (struct node){ 0 };
	t->n_nodes = 1;
	t->n_leaves = 1;
	if (!root->bins)
		return -ENOMEM;
	root->total = total_of(t, root);
	fill_histogram(t, root);
	if (may_split(t, root))
		find_split(t, root);
	return 0;
}

static uint32_t leaf_of(const struct histogram_tree *t, size_t row)
{
	uint32_t at = 0;

	while (t->nodes[at].node.left)
		at = t->nodes[at].node.left + !goes_left(t, row, &t->nodes[at]);
	return at;
}

static void apply_tree(const struct histogram_tree *t, double *residual)
{
	for (size_t l = 0; l < t->n_leaves; l++) {
		const struct leaf *leaf = &t->leaves[l];
		double sum = 0;

		for (uint32_t i = leaf->begin; i < leaf->end; i++)
			sum += residual[t->rows[i]];
		sum /= (double)(leaf->end - leaf->begin) + RIDGE;
		t->nodes[leaf->node].node.value = (float)(t->o->learning_rate * sum);
	}
	for (size_t i = 0; i < t->b->n_rows; i++)
		residual[i] -= (double)t->nodes[leaf_of(t, i)].node.value;
}

int histogram_tree_fit(struct histogram_tree *t, const uint32_t *rows, size_t n, double *residual,
		       struct fitted_tree *out)
{
	struct leaf *leaf;
	int rc;

	pack(t, rows, n, residual);
	rc = start_root(t, rows, n);
	while (!rc && t->n_leaves < t->o->max_leaves && (leaf = best_leaf(t)))
		rc = split_leaf(t, leaf);
	for (size_t i = 0; i < t->n_leaves; i++)
		return_histogram(t, &t->leaves[i]);
	out->nodes = rc ? NULL : malloc(t->n_nodes * sizeof(*out->nodes));
	if (!out->nodes)
		return -ENOMEM;
	apply_tree(t, residual);
	for (uint32_t i = 0; i < t->n_nodes; i++)
		out->nodes[i] = t->nodes[i].node;
	out->n = t->n_nodes;
	return 0;
}
