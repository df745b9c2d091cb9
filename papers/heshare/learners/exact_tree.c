/*
 * exact_tree.c - best cuts over presorted features; see exact_tree.h.
 *
 * A node is a range of positions, the same in the order of every feature. A split partitions each
 * order stably, so every order stays sorted, with the rows that lack the feature last. Nodes are
 * split depth first, so that the rows of small nodes stay in the cache.
 */
#include "exact_tree.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A node that may be split: a range of rows. */
struct open_node {
	uint32_t node;
	uint32_t begin, end;
	uint32_t depth;
};

/* Memory to build one tree in. */
struct tree_builder {
	struct ensemble_node *nodes;
	uint32_t n_nodes;
	struct open_node *stack; /* nodes that may be split */
	size_t n_stack;
	uint32_t *features; /* in the order of the last draw */
	uint32_t *spare;    /* [rows] */
};

struct exact_work {
	struct tree_builder b;
	uint32_t *order; /* of the rows that count: n_used per feature */
	double *pull;    /* of each row: weight x deviation from the node's mean */
	uint8_t *left;   /* of each row: it goes left */
	size_t n_used;
};

/* The fit of one tree. */
struct tree {
	const struct exact_rows *r;
	const double *y;
	const uint32_t *count;
	const struct tree_options *o;
	struct hes_rng *rng;
	struct exact_work *w;
};

struct split {
	double gain;
	float cut;
	uint32_t feature;
	uint32_t n_left; /* distinct rows; 0: no split */
	bool missing_left;
	bool in_order; /* the left rows are first in the feature's order */
};

/* A feature of a node: its rows in order, those that have the feature first. */
struct column {
	const uint32_t *rows;
	const float *x;
	uint32_t feature;
	uint32_t n_present, n;
};

static int builder_init(struct tree_builder *b, size_t n_rows, size_t n_features)
{
	*b = (struct tree_builder){
		.nodes = malloc(2 * n_rows * sizeof(*b->nodes)),
		.stack = malloc(n_rows * sizeof(*b->stack)),
		.features = malloc(n_features * sizeof(*b->features)),
		.spare = malloc((n_rows + 1) * sizeof(*b->spare)),
	};
	return b->nodes && b->stack && b->features && b->spare ? 0 : -ENOMEM;
}

static void builder_finish(struct tree_builder *b)
{
	free(b->nodes);
	free(b->stack);
	free(b->features);
	free(b->spare);
}

static void builder_start(struct tree_builder *b, size_t n_features)
{
	for (uint32_t f = 0; f < n_features; f++)
		b->features[f] = f;
	b->n_nodes = 1;
	b->n_stack = 0;
}

static int builder_take(const struct tree_builder *b, struct fitted_tree *out)
{
	struct ensemble_node *nodes = malloc(b->n_nodes * sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	memcpy(nodes, b->nodes, b->n_nodes * sizeof(*nodes));
	*out = (struct fitted_tree){ nodes, b->n_nodes };
	return 0;
}

int exact_rows_init(struct exact_rows *r, const struct training_rows *rows)
{
	struct exact_rows made = { .x = rows->x, .n = rows->n, .n_features = rows->n_features };

	made.inverse = calloc(made.n + 1, sizeof(*made.inverse));
	if (!made.inverse || sorted_rows_init(&made.sorted, made.x, made.n, made.n_features)) {
		exact_rows_finish(&made);
		return -ENOMEM;
	}
	for (size_t i = 1; i <= made.n; i++)
		made.inverse[i] = 1 / (double)i;
	*r = made;
	return 0;
}

void exact_rows_finish(struct exact_rows *r)
{
	sorted_rows_finish(&r->sorted);
	free(r->inverse);
	*r = (struct exact_rows){ 0 };
}

void exact_work_destroy(struct exact_work *w)
{
	if (!w)
		return;
	builder_finish(&w->b);
	free(w->order);
	free(w->pull);
	free(w->left);
	free(w);
}

struct exact_work *exact_work_create(const struct exact_rows *r)
{
	struct exact_work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->order = malloc((r->n * r->n_features + 1) * sizeof(*w->order));
	w->pull = malloc(r->n * sizeof(*w->pull));
	w->left = malloc(r->n);
	if (builder_init(&w->b, r->n, r->n_features) || !w->order || !w->pull || !w->left) {
		exact_work_destroy(w);
		return NULL;
	}
	return w;
}

/* The cut behind a row of a feature, when @lead rows that lack the feature go left, too. */
static struct split split_after(const struct column *c, uint32_t lead, uint32_t row, double gain)
{
	return (struct split){
		.gain = gain,
		.cut = row + 1 < c->n_present
			       ? cut_between(c->x[c->rows[row]], c->x[c->rows[row + 1]])
			       : FLT_MAX,
		.feature = c->feature,
		.n_left = row + 1 + lead,
		.missing_left = lead > 0,
		.in_order = lead == 0,
	};
}

/*
 * Try the cuts behind rows first..last - 1. The gain of a cut is the square of the left part's sum
 * of deviations from the node's mean / (left weight x right weight); the factor that all cuts of
 * the node share is left out.
 */
static void try_cuts(const struct tree *t, uint32_t node_weight, const struct column *c,
		     uint32_t lead, uint32_t first, uint32_t last, struct split *best)
{
	const double *pull = t->w->pull, *inverse = t->r->inverse;
	const uint32_t *rows = c->rows, *count = t->count;
	uint32_t weight = 0, found = UINT32_MAX;
	double sum = 0, most = best->gain;

	for (uint32_t k = c->n - lead; k < c->n; k++) {
		sum += pull[rows[k]];
		weight += count[rows[k]];
	}
	for (uint32_t i = 0; i < last; i++) {
		double gain;

		sum += pull[rows[i]];
		weight += count[rows[i]];
		gain = sum * sum * inverse[weight] * inverse[node_weight - weight];
		if (i >= first && gain > most && c->x[rows[i]] != c->x[rows[i + 1]]) {
			most = gain;
			found = i;
		}
	}
	if (found != UINT32_MAX)
		*best = split_after(c, lead, found, most);
}

/* All cuts of a feature: rows without it go right, then left. */
static void try_feature(const struct tree *t, uint32_t node_weight, const struct column *c,
			struct split *best)
{
	uint32_t missing = c->n - c->n_present, least = t->o->min_leaf;
	uint32_t last = c->n - least < c->n_present ? c->n - least : c->n_present;

	/* A cut behind the last row that has the feature separates those that lack it. */
	try_cuts(t, node_weight, c, 0, least - 1, last < c->n - 1 ? last : c->n - 1, best);
	if (missing && c->n_present > least)
		try_cuts(t, node_weight, c, missing, least > missing ? least - missing - 1 : 0,
			 c->n_present - least, best);
}

/* One cut at random between the least and the greatest value. */
static void try_random_cut(const struct tree *t, uint32_t node_weight, const struct column *c,
			   struct split *best)
{
	const float low = c->x[c->rows[0]], high = c->x[c->rows[c->n_present - 1]];
	const uint32_t missing = c->n - c->n_present, least = t->o->min_leaf;
	float at = low + (float)hes_rng_unit(t->rng) * (high - low);
	uint32_t row = 0;

	at = at < high || low == high ? at : low;
	while (row + 1 < c->n_present && c->x[c->rows[row + 1]] <= at)
		row++;
	for (uint32_t lead = 0; lead <= missing; lead += missing ? missing : 1) {
		const uint32_t n_left = row + 1 + lead;
		const double before = best->gain;

		if (n_left < least || n_left >= c->n || c->n - n_left < least)
			continue;
		try_cuts(t, node_weight, c, lead, row, row + 1, best);
		if (best->gain > before && row + 1 < c->n_present)
			best->cut = at;
	}
}

static struct column column_of(const struct tree *t, const struct open_node *at, uint32_t feature)
{
	struct column c = {
		.rows = t->w->order + feature * t->w->n_used + at->begin,
		.x = t->r->x + feature * t->r->n,
		.feature = feature,
		.n_present = at->end - at->begin,
		.n = at->end - at->begin,
	};

	if (t->r->sorted.n_present[feature] < t->r->n)
		while (c.n_present && isnan(c.x[c.rows[c.n_present - 1]]))
			c.n_present--;
	return c;
}

static bool is_constant(const struct column *c)
{
	return c->n_present == 0 ||
	       (c->n_present == c->n && c->x[c->rows[0]] == c->x[c->rows[c->n - 1]]);
}

/* Try features in random order until enough of them vary. */
static struct split find_split(const struct tree *t, const struct open_node *at,
			       uint32_t node_weight)
{
	struct split best = { .gain = -INFINITY };
	uint32_t *features = t->w->b.features, tried = 0;

	for (uint32_t left = (uint32_t)t->r->n_features; left && tried < t->o->features_per_split;
	     left--) {
		uint32_t pick = draw_below(t->rng, left), f = features[pick];
		struct column c = column_of(t, at, f);

		features[pick] = features[left - 1];
		features[left - 1] = f;
		if (is_constant(&c))
			continue;
		tried++;
		if (t->o->random_cuts)
			try_random_cut(t, node_weight, &c, &best);
		else
			try_feature(t, node_weight, &c, &best);
		if (c.n == 2) /* there is only one way to split two rows */
			break;
	}
	return best;
}

/* Partition a range of one order stably by w->left. */
static void partition_order(struct exact_work *w, uint32_t *order, uint32_t n)
{
	uint32_t to = 0, n_right = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = order[i], left = w->left[row];

		/* Two stores and no branch: the way of a row cannot be predicted. */
		order[to] = row;
		w->b.spare[n_right] = row;
		to += left;
		n_right += !left;
	}
	memcpy(order + to, w->b.spare, n_right * sizeof(*order));
}

/* Partition the order of every feature; @only_cut: only of the one that was cut, which is all that
 * leaves need. */
static void partition_orders(const struct tree *t, const struct open_node *at,
			     const struct split *s, bool only_cut)
{
	const float *x = t->r->x + s->feature * t->r->n;
	struct exact_work *w = t->w;

	if (only_cut && s->in_order)
		return;
	for (uint32_t i = at->begin; i < at->end; i++) {
		uint32_t row = w->order[s->feature * w->n_used + i];

		w->left[row] = isnan(x[row]) ? s->missing_left : x[row] <= s->cut;
	}
	for (size_t f = 0; f < t->r->n_features; f++)
		if (f == s->feature ? !s->in_order : !only_cut)
			partition_order(w, w->order + f * w->n_used + at->begin,
					at->end - at->begin);
}

static bool too_few(const struct tree *t, uint32_t n)
{
	return n < 2 || n / 2 < t->o->min_leaf;
}

/* Give a node its mean, and keep it on the stack if it may be split. @param order  one that is
 * partitioned already */
static void settle_node(const struct tree *t, const struct open_node *at, const uint32_t *order)
{
	bool may_split = !too_few(t, at->end - at->begin) &&
			 (!t->o->max_depth || at->depth < t->o->max_depth);
	double first = t->y[order[at->begin]], sum = 0, weight = 0;
	struct tree_builder *b = &t->w->b;
	bool varies = false;

	for (uint32_t i = at->begin; i < at->end; i++) {
		uint32_t row = order[i];

		weight += t->count[row];
		sum += t->count[row] * (t->y[row] - first);
		varies |= t->y[row] != first;
	}
	b->nodes[at->node] = (struct ensemble_node){ .value = (float)(first + sum / weight) };
	if (may_split && varies)
		b->stack[b->n_stack++] = *at;
}

/* Set each row's pull. @return the node's weight */
static uint32_t weigh_node(const struct tree *t, const struct open_node *at)
{
	const uint32_t *rows = t->w->order + at->begin;
	uint32_t n_rows = at->end - at->begin, weight = 0;
	double first = t->y[rows[0]], sum = 0, mean;

	for (uint32_t i = 0; i < n_rows; i++) {
		weight += t->count[rows[i]];
		sum += t->count[rows[i]] * (t->y[rows[i]] - first);
	}
	mean = first + sum / weight;
	for (uint32_t i = 0; i < n_rows; i++)
		t->w->pull[rows[i]] = t->count[rows[i]] * (t->y[rows[i]] - mean);
	return weight;
}

static void split_node(const struct tree *t, const struct open_node *at, const struct split *s)
{
	const uint32_t *order = t->w->order + s->feature * t->w->n_used;
	uint32_t n = at->end - at->begin, child = t->w->b.n_nodes;
	struct open_node left = { child, at->begin, at->begin + s->n_left, at->depth + 1 };
	struct open_node right = { child + 1, left.end, at->end, at->depth + 1 };

	partition_orders(t, at, s, too_few(t, s->n_left) && too_few(t, n - s->n_left));
	t->w->b.n_nodes += 2;
	t->w->b.nodes[at->node] = (struct ensemble_node){
		.value = s->cut,
		.left = child,
		.feature = (uint16_t)s->feature,
		.missing_left = s->missing_left,
	};
	settle_node(t, &right, order);
	settle_node(t, &left, order);
}

static void fit_node(const struct tree *t, const struct open_node *at)
{
	struct split s = find_split(t, at, weigh_node(t, at));
	uint32_t n = at->end - at->begin;

	if (!s.n_left)
		return;
	/* Where all rows have the feature, a row without it follows the majority. */
	if (s.in_order && s.cut < FLT_MAX && column_of(t, at, s.feature).n_present == n)
		s.missing_left = s.n_left > n / 2;
	split_node(t, at, &s);
}

/* Keep the rows that count, in each feature's order. */
static void select_rows(const struct exact_rows *r, const uint32_t *count, struct exact_work *w)
{
	size_t to = 0;

	for (size_t i = 0; i < r->n * r->n_features; i++) {
		uint32_t row = r->sorted.rows[i];

		w->order[to] = row;
		to += count[row] != 0;
	}
	w->n_used = to / r->n_features;
}

int exact_tree_fit(const struct exact_rows *r, const double *y, const uint32_t *count,
		   const struct tree_options *o, struct hes_rng *rng, struct exact_work *w,
		   struct fitted_tree *out)
{
	const struct tree t = { .r = r, .y = y, .count = count, .o = o, .rng = rng, .w = w };

	select_rows(r, count, w);
	builder_start(&w->b, r->n_features);
	settle_node(&t, &(struct open_node){ 0, 0, (uint32_t)w->n_used, 0 }, w->order);
	while (w->b.n_stack) {
		struct open_node at = w->b.stack[--w->b.n_stack];

		fit_node(&t, &at);
	}
	return builder_take(&w->b, out);
}
