/*
 * histogram_tree.c - see histogram_tree.h.
 *
 * A histogram's bin holds the sum of its rows' gradients above COUNT_BITS
 * bits of their number, so that one addition counts and sums.
 */
#include "trees/histogram_tree.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_BITS 24 /* HES_REGRESSOR_MAX_ROWS fits */
#define COUNT_MASK ((1 << COUNT_BITS) - 1)
#define SUM_BITS   38 /* that all rows' gradients together may take */

struct split {
	double   gain;
	uint32_t feature;
	uint32_t bin;
	uint32_t n_left;
	bool     missing_left;
};

/* A feature that a tree may use. */
struct slot {
	uint32_t feature;
	uint32_t first;  /* its first bin */
};

struct leaf {
	struct step_leaf at;
	uint32_t         depth;
	int64_t         *bins;  /* NULL: will not be split */
	int64_t          total; /* of all rows, as a bin holds it */
	struct split     split;
};

struct step {
	const struct bins                  *b;
	const struct hes_regressor_options *o;
	struct step_node *nodes;
	uint32_t          n_nodes;
	struct leaf      *leaves;
	struct step_leaf *out;       /* leaves as the caller sees them */
	size_t            n_leaves;
	uint32_t         *rows, *spare;
	int64_t          *packed;    /* of each row of the bins: a bin's worth */
	double           *inverse;   /* of each number of rows, STEP_RIDGE added */
	int64_t         **pool;      /* histograms that are free */
	size_t            n_pool;
	struct slot      *slots;     /* features of the tree, in the order they were drawn last */
	size_t            n_features;
	struct hes_rng   *rng;
};

struct step *step_create(const struct bins *b, const struct hes_regressor_options *o, size_t rows)
{
	struct step *s = calloc(1, sizeof(*s));
	size_t leaves = o->max_leaves;

	if (!s)
		return NULL;
	*s = (struct step){
		.b = b,
		.o = o,
		.nodes = malloc(2 * leaves * sizeof(*s->nodes)),
		.leaves = malloc(leaves * sizeof(*s->leaves)),
		.out = malloc(leaves * sizeof(*s->out)),
		.rows = malloc((rows + 1) * sizeof(*s->rows)),
		.spare = malloc((rows + 1) * sizeof(*s->spare)),
		.packed = malloc(b->n_rows * sizeof(*s->packed)),
		.inverse = malloc((rows + 1) * sizeof(*s->inverse)),
		.pool = calloc(leaves + 1, sizeof(*s->pool)),
		.slots = malloc(b->n_features * sizeof(*s->slots)),
	};
	if (!s->nodes || !s->leaves || !s->out || !s->rows || !s->spare || !s->packed || !s->inverse || !s->pool ||
	    !s->slots) {
		step_destroy(s);
		return NULL;
	}
	for (size_t i = 0; i <= rows; i++)
		s->inverse[i] = 1 / ((double)i + STEP_RIDGE);
	return s;
}

void step_destroy(struct step *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->pool && i < s->n_pool; i++)
		free(s->pool[i]);
	free(s->nodes);
	free(s->leaves);
	free(s->out);
	free(s->rows);
	free(s->spare);
	free(s->packed);
	free(s->inverse);
	free(s->pool);
	free(s->slots);
	free(s);
}

static int64_t *take_histogram(struct step *s)
{
	return s->n_pool ? s->pool[--s->n_pool] : malloc(s->b->n * sizeof(**s->pool));
}

static void return_histogram(struct step *s, struct leaf *leaf)
{
	if (leaf->bins)
		s->pool[s->n_pool++] = leaf->bins;
	leaf->bins = NULL;
}

static void fill_histogram(const struct step *s, const struct leaf *leaf)
{
	const struct slot *slots = s->slots;
	size_t n = s->n_features, stride = s->b->n_features;
	int64_t *bins = leaf->bins;

	memset(bins, 0, s->b->n * sizeof(*bins));
	for (uint32_t i = leaf->at.begin; i < leaf->at.end; i++) {
		const uint8_t *codes = s->b->codes + s->rows[i] * stride;
		int64_t packed = s->packed[s->rows[i]];

		for (size_t k = 0; k < n; k++)
			bins[slots[k].first + codes[slots[k].feature]] += packed;
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
	int64_t  left;
	uint32_t bin;
};

/*
 * Cuts after those of bins 0..n - 1 that are not empty, with @left on the
 * left already. The sums run on without a branch: which bins are empty
 * cannot be foretold.
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

static void scan_bins(const struct step *s, const struct leaf *leaf, uint32_t feature, uint32_t n, int64_t left,
		      bool missing_left, struct split *best)
{
	struct cut cuts[BINS_MAX];
	uint32_t rows = count_of(leaf->total), least = s->o->min_leaf, found = UINT32_MAX, i = 0;
	uint32_t end = list_cuts(leaf->bins + s->b->features[feature].first, n, left, cuts);
	const double *inverse = s->inverse;
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
		*best = (struct split){ most, feature, cuts[found].bin, count_of(cuts[found].left), missing_left };
}

static void scan_feature(const struct step *s, const struct leaf *leaf, uint32_t feature, struct split *best)
{
	const struct bins_feature *f = &s->b->features[feature];
	int64_t missing = f->n_missing ? leaf->bins[f->first + f->n] : 0;

	if (!count_of(missing)) {
		struct split before = *best;

		if (f->n)
			scan_bins(s, leaf, feature, f->n - 1, 0, false, best);
		/* Where all rows have the feature, one without it follows the many. */
		if (best->gain > before.gain)
			best->missing_left = best->n_left > count_of(leaf->total) / 2;
		return;
	}
	scan_bins(s, leaf, feature, f->n, 0, false, best);
	if (f->n)
		scan_bins(s, leaf, feature, f->n - 1, missing, true, best);
}

/* Best split of a leaf; gain 0 where there is none. */
static void find_split(struct step *s, struct leaf *leaf)
{
	uint32_t rows = count_of(leaf->total);
	double sum = sum_of(leaf->total), unsplit = sum * sum * s->inverse[rows];
	size_t tries = s->o->features_per_split < s->n_features ? s->o->features_per_split : s->n_features;

	leaf->split = (struct split){ .gain = unsplit };
	for (size_t k = 0; k < tries; k++) {
		size_t pick = tries == s->n_features ? k
						     : k + grow_draw_below(s->rng, (uint32_t)(s->n_features - k));
		struct slot slot = s->slots[pick];

		s->slots[pick] = s->slots[k];
		s->slots[k] = slot;
		scan_feature(s, leaf, slot.feature, &leaf->split);
	}
	leaf->split.gain -= unsplit;
}

static bool may_split(const struct step *s, const struct leaf *leaf)
{
	return (leaf->at.end - leaf->at.begin) / 2 >= s->o->min_leaf && leaf->at.end - leaf->at.begin >= 2 &&
	       (!s->o->max_depth || leaf->depth < s->o->max_depth);
}

static bool goes_left(const struct step *s, size_t row, const struct step_node *n)
{
	uint32_t code = s->b->codes[row * s->b->n_features + n->node.feature];
	const struct bins_feature *f = &s->b->features[n->node.feature];

	return code == f->n ? n->node.missing_left : code <= n->bin;
}

static uint32_t part_rows(struct step *s, const struct leaf *leaf, const struct step_node *n)
{
	uint32_t to = leaf->at.begin, n_right = 0;

	for (uint32_t i = leaf->at.begin; i < leaf->at.end; i++) {
		uint32_t row = s->rows[i];
		bool left = goes_left(s, row, n);

		/* Both stores, one kept: which way a row goes cannot be foretold. */
		s->rows[to] = row;
		s->spare[n_right] = row;
		to += left;
		n_right += !left;
	}
	memcpy(s->rows + to, s->spare, n_right * sizeof(*s->rows));
	return to;
}

static int64_t total_of(const struct step *s, const struct leaf *leaf)
{
	int64_t total = 0;

	for (uint32_t i = leaf->at.begin; i < leaf->at.end; i++)
		total += s->packed[s->rows[i]];
	return total;
}

/* Histograms and splits of two new leaves: the smaller is summed, the larger has what remains of their parent. */
static int study_children(struct step *s, struct leaf *a, struct leaf *b)
{
	struct leaf *small = a->at.end - a->at.begin <= b->at.end - b->at.begin ? a : b;
	struct leaf *large = small == a ? b : a;

	small->total = total_of(s, small);
	large->total -= small->total;
	if (!may_split(s, small) && !may_split(s, large)) {
		return_histogram(s, large);
		return 0;
	}
	small->bins = take_histogram(s);
	if (!small->bins)
		return -ENOMEM;
	fill_histogram(s, small);
	for (size_t i = 0; i < s->b->n; i++)
		large->bins[i] -= small->bins[i];
	for (int i = 0; i < 2; i++) {
		struct leaf *leaf = i ? large : small;

		if (may_split(s, leaf))
			find_split(s, leaf);
		if (!(leaf->split.gain > 0))
			return_histogram(s, leaf);
	}
	return 0;
}

static int split_leaf(struct step *s, struct leaf *leaf)
{
	struct step_node *n = &s->nodes[leaf->at.node];
	const struct bins_feature *f = &s->b->features[leaf->split.feature];
	struct leaf left = *leaf, right = *leaf;

	n->bin = leaf->split.bin;
	n->node = (struct ensemble_node){
		.value = s->b->cuts[f->first + leaf->split.bin],
		.left = s->n_nodes,
		.feature = (uint16_t)leaf->split.feature,
		.missing_left = leaf->split.missing_left,
	};
	left.at.node = s->n_nodes++;
	right.at.node = s->n_nodes++;
	left.at.end = right.at.begin = part_rows(s, leaf, n);
	left.depth = right.depth = leaf->depth + 1;
	left.split.gain = right.split.gain = 0;
	if (left.at.end - left.at.begin <= right.at.end - right.at.begin)
		left.bins = NULL;
	else
		right.bins = NULL;
	s->nodes[left.at.node] = s->nodes[right.at.node] = (struct step_node){ 0 };
	*leaf = left;
	s->leaves[s->n_leaves++] = right;
	/* Who comes last is not split. */
	return s->n_leaves < s->o->max_leaves ? study_children(s, leaf, &s->leaves[s->n_leaves - 1]) : 0;
}

/* The leaf that gains most; of equals the first. @return NULL none gains */
static struct leaf *best_leaf(struct step *s)
{
	struct leaf *best = NULL;

	for (size_t i = 0; i < s->n_leaves; i++)
		if (s->leaves[i].split.gain > (best ? best->split.gain : 0))
			best = &s->leaves[i];
	return best;
}

/* Gradients as integers, of as many bits as the sum of all leaves room for. */
static void pack(struct step *s, const uint32_t *rows, size_t n, const double *gradient)
{
	double most = 0, scale;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, fabs(gradient[rows[i]]));
	scale = most > 0 ? ldexp(1, SUM_BITS) / (most * (double)n) : 0;
	for (size_t i = 0; i < n; i++)
		s->packed[rows[i]] = (int64_t)llrint(gradient[rows[i]] * scale) * (1 << COUNT_BITS) + 1;
}

static int plant(struct step *s, const uint32_t *rows, size_t n)
{
	struct leaf *root = &s->leaves[0];

	memcpy(s->rows, rows, n * sizeof(*rows));
	*root = (struct leaf){ .at = { 0, 0, (uint32_t)n }, .bins = take_histogram(s) };
	s->nodes[0] = (struct step_node){ 0 };
	s->n_nodes = 1;
	s->n_leaves = 1;
	if (!root->bins)
		return -ENOMEM;
	root->total = total_of(s, root);
	fill_histogram(s, root);
	if (may_split(s, root))
		find_split(s, root);
	return 0;
}

int step_grow(struct step *s, const uint32_t *rows, size_t n, const double *gradient,
	      const uint32_t *features, size_t n_features, struct hes_rng *rng)
{
	struct leaf *leaf;
	int rc;

	s->rng = rng;
	s->n_features = n_features;
	for (size_t k = 0; k < n_features; k++)
		s->slots[k] = (struct slot){ features[k], (uint32_t)s->b->features[features[k]].first };
	pack(s, rows, n, gradient);
	rc = plant(s, rows, n);
	while (!rc && s->n_leaves < s->o->max_leaves && (leaf = best_leaf(s)))
		rc = split_leaf(s, leaf);
	for (size_t i = 0; i < s->n_leaves; i++) {
		return_histogram(s, &s->leaves[i]);
		s->out[i] = s->leaves[i].at;
	}
	return rc;
}

struct step_node *step_nodes(struct step *s, uint32_t *n)
{
	*n = s->n_nodes;
	return s->nodes;
}

const struct step_leaf *step_leaves(const struct step *s, size_t *n)
{
	*n = s->n_leaves;
	return s->out;
}

const uint32_t *step_rows(const struct step *s)
{
	return s->rows;
}

uint32_t step_walk(const struct step *s, size_t row)
{
	uint32_t at = 0;

	while (s->nodes[at].node.left)
		at = s->nodes[at].node.left + !goes_left(s, row, &s->nodes[at]);
	return at;
}
