/*
 * exact_tree.c - best cuts over presorted features; see exact_tree.h.
 *
 * A node is a range of positions, the same in the order of every feature:
 * splitting it parts each order stably, so that every order stays sorted,
 * with the rows that lack the feature last, and nothing is sorted again.
 * Nodes are split depth first, so that small ones are split while their rows
 * are in the cache.
 */
#include "trees/exact_tree.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trees/joint_outputs.h"
#include "trees/leaf_median.h"
#include "trees/tree_scratch.h"

struct exact_work {
	struct scratch s;
	uint32_t      *order;     /* of the rows that count; n_used a feature */
	double        *pull;      /* of each row: weight x deviation from the node's mean; joint: in pairs of outputs */
	uint32_t      *sequence;  /* a feature's rows, those without it first */
	double        *first_loss, *rest_loss; /* of a sequence's first k rows, of the others; absolute error only */
	size_t         n_used;
	struct median  median;
};

/* What the growing of one tree works on. */
struct tree {
	const struct exact_rows            *r;
	const struct grow_targets          *targets;
	const double                       *y;      /* of the first output */
	const uint32_t                     *count;
	const struct hes_regressor_options *o;
	struct hes_rng                     *rng;
	struct exact_work                  *w;
};

/* A node while its split is searched. */
struct node {
	struct pending at;
	uint32_t       weight;
};

struct split {
	double   gain;
	float    cut;
	uint32_t feature;
	uint32_t n_left;       /* distinct rows */
	bool     missing_left;
	bool     in_order;     /* the left rows lead the feature's order */
};

/* A feature of a node: its rows in order, those that have the feature first. */
struct column {
	const uint32_t *rows;
	const float    *x;
	uint32_t        feature;
	uint32_t        n_present, n;
};

int exact_rows_init(struct exact_rows *r, const struct hes_rows *rows)
{
	struct exact_rows t = { .x = rows->x, .n = rows->n, .n_features = rows->n_features };

	t.inverse = malloc((t.n + 1) * sizeof(*t.inverse));
	if (!t.inverse || grow_order_init(&t.order, t.x, t.n, t.n_features)) {
		exact_rows_finish(&t);
		return -ENOMEM;
	}
	t.inverse[0] = 0;
	for (size_t i = 1; i <= t.n; i++)
		t.inverse[i] = 1 / (double)i;
	*r = t;
	return 0;
}

void exact_rows_finish(struct exact_rows *r)
{
	grow_order_finish(&r->order);
	free(r->inverse);
	*r = (struct exact_rows){ 0 };
}

void exact_work_destroy(struct exact_work *w)
{
	if (!w)
		return;
	scratch_finish(&w->s);
	free(w->order);
	free(w->pull);
	free(w->sequence);
	free(w->first_loss);
	free(w->rest_loss);
	median_finish(&w->median);
	free(w);
}

struct exact_work *exact_work_create(const struct exact_rows *r, size_t n_outputs)
{
	struct exact_work *w = calloc(1, sizeof(*w));
	size_t n = r->n;

	if (!w)
		return NULL;
	w->order = malloc((n * r->n_features + 1) * sizeof(*w->order));
	w->pull = malloc(n * joint_width(n_outputs) * sizeof(*w->pull));
	w->sequence = malloc((n + 1) * sizeof(*w->sequence));
	w->first_loss = malloc((n + 1) * sizeof(*w->first_loss));
	w->rest_loss = malloc((n + 1) * sizeof(*w->rest_loss));
	if (scratch_init(&w->s, n, r->n_features, n_outputs) || !w->order || !w->pull || !w->sequence ||
	    !w->first_loss || !w->rest_loss || median_init(&w->median, n)) {
		exact_work_destroy(w);
		return NULL;
	}
	return w;
}

/* The cut behind a row of a feature, with @lead rows, which lack the feature, on the left already. */
static inline struct split split_after(const struct column *c, uint32_t lead, uint32_t row, double gain)
{
	return (struct split){
		.gain = gain,
		.cut = row + 1 < c->n_present ? grow_cut_between(c->x[c->rows[row]], c->x[c->rows[row + 1]]) : FLT_MAX,
		.feature = c->feature,
		.n_left = row + 1 + lead,
		.missing_left = lead > 0,
		.in_order = lead == 0,
	};
}

/*
 * Squared error: the gain of a cut is the square of the left part's sum of
 * deviations from the node's mean, times weight / (left weight x right
 * weight); the node's weight is left out. Cuts come after rows first..last - 1,
 * with @lead rows, which lack the feature, on the left already.
 */
static void scan_squares(const struct tree *t, const struct node *n, const struct column *c, uint32_t lead,
			 uint32_t first, uint32_t last, struct split *best)
{
	const double *pull = t->w->pull, *inverse = t->r->inverse;
	const uint32_t *rows = c->rows, *count = t->count;
	uint32_t weight = 0, i = 0, found = UINT32_MAX;
	double sum = 0, most = best->gain;

	for (uint32_t k = c->n - lead; k < c->n; k++) {
		sum += pull[rows[k]];
		weight += count[rows[k]];
	}
	for (; i < first; i++) {
		sum += pull[rows[i]];
		weight += count[rows[i]];
	}
	for (; i < last; i++) {
		double gain;

		sum += pull[rows[i]];
		weight += count[rows[i]];
		gain = sum * sum * inverse[weight] * inverse[n->weight - weight];
		if (gain > most && c->x[rows[i]] != c->x[rows[i + 1]]) {
			most = gain;
			found = i;
		}
	}
	if (found != UINT32_MAX)
		*best = split_after(c, lead, found, most);
}

/* As scan_squares(), of several outputs: their squares are added. */
static inline __attribute__((always_inline)) void scan_pairs(const struct tree *t, const struct node *n,
							     const struct column *c, uint32_t lead, uint32_t first,
							     uint32_t last, struct split *best, size_t pairs)
{
	const double *pull = t->w->pull, *inverse = t->r->inverse;
	const uint32_t *rows = c->rows, *count = t->count;
	uint32_t weight = 0, i = 0, found = UINT32_MAX;
	double most = best->gain;
	joint_pair sum[JOINT_PAIRS];

	for (size_t p = 0; p < pairs; p++)
		sum[p] = (joint_pair){ 0 };
	for (uint32_t k = c->n - lead; k < c->n; k++) {
		joint_add(sum, pull, rows[k], pairs);
		weight += count[rows[k]];
	}
	for (; i < first; i++) {
		joint_add(sum, pull, rows[i], pairs);
		weight += count[rows[i]];
	}
	for (; i < last; i++) {
		double gain;

		joint_add(sum, pull, rows[i], pairs);
		weight += count[rows[i]];
		gain = joint_square(sum, pairs) * inverse[weight] * inverse[n->weight - weight];
		if (gain > most && c->x[rows[i]] != c->x[rows[i + 1]]) {
			most = gain;
			found = i;
		}
	}
	if (found != UINT32_MAX)
		*best = split_after(c, lead, found, most);
}

static void scan_two(const struct tree *t, const struct node *n, const struct column *c, uint32_t lead, uint32_t first,
		     uint32_t last, struct split *best)
{
	scan_pairs(t, n, c, lead, first, last, best, 1);
}

static void scan_many(const struct tree *t, const struct node *n, const struct column *c, uint32_t lead,
		      uint32_t first, uint32_t last, struct split *best)
{
	scan_pairs(t, n, c, lead, first, last, best, joint_width(t->targets->n_outputs) / 2);
}

/* Absolute error: the gain is the fall of the sum of deviations from the medians. */
static void scan_deviations(const struct tree *t, const struct column *c, uint32_t lead, uint32_t first,
			    uint32_t last, struct split *best)
{
	struct exact_work *w = t->w;
	const uint32_t *rows = c->rows;

	if (lead) {
		memcpy(w->sequence, rows + c->n_present, lead * sizeof(*rows));
		memcpy(w->sequence + lead, rows, c->n_present * sizeof(*rows));
	}
	median_sums(&w->median, lead ? w->sequence : rows, w->first_loss, w->rest_loss);
	for (uint32_t i = first; i < last; i++) {
		uint32_t k = lead + i + 1;
		double gain = w->rest_loss[0] - w->first_loss[k] - w->rest_loss[k];

		if (gain > best->gain && c->x[rows[i]] != c->x[rows[i + 1]])
			*best = split_after(c, lead, i, gain);
	}
}

static void scan_cuts(const struct tree *t, const struct node *n, const struct column *c, uint32_t lead,
		      uint32_t first, uint32_t last, struct split *best)
{
	if (t->o->criterion == HES_CRITERION_ABSOLUTE)
		scan_deviations(t, c, lead, first, last, best);
	else if (t->targets->n_outputs == 1)
		scan_squares(t, n, c, lead, first, last, best);
	else if (t->targets->n_outputs == 2)
		scan_two(t, n, c, lead, first, last, best);
	else
		scan_many(t, n, c, lead, first, last, best);
}

/* All cuts of a feature: rows without it on the right, then on the left. */
static void scan(const struct tree *t, const struct node *n, const struct column *c, struct split *best)
{
	uint32_t missing = c->n - c->n_present, least = t->o->min_leaf;
	uint32_t last = c->n - least < c->n_present ? c->n - least : c->n_present;

	/* A cut after the last row that has the feature parts it from those that lack it. */
	scan_cuts(t, n, c, 0, least - 1, last < c->n - 1 ? last : c->n - 1, best);
	if (missing && c->n_present > least)
		scan_cuts(t, n, c, missing, least > missing ? least - missing - 1 : 0, c->n_present - least,
			  best);
}

static struct column column_of(const struct tree *t, const struct pending *at, uint32_t feature)
{
	struct column c = {
		.rows = t->w->order + feature * t->w->n_used + at->begin,
		.x = t->r->x + feature * t->r->n,
		.feature = feature,
		.n_present = at->end - at->begin,
		.n = at->end - at->begin,
	};

	if (t->r->order.n_present[feature] < t->r->n)
		while (c.n_present && isnan(c.x[c.rows[c.n_present - 1]]))
			c.n_present--;
	return c;
}

static bool is_constant(const struct column *c)
{
	return c->n_present == 0 ||
	       (c->n_present == c->n && c->x[c->rows[0]] == c->x[c->rows[c->n - 1]]);
}

/* Try features in random order until enough that vary were seen. */
static struct split find_split(const struct tree *t, const struct node *n)
{
	struct split best = { .gain = -INFINITY };
	uint32_t *features = t->w->s.features, tried = 0;

	for (uint32_t left = (uint32_t)t->r->n_features; left && tried < t->o->features_per_split; left--) {
		uint32_t pick = grow_draw_below(t->rng, left), f = features[pick];
		struct column c = column_of(t, &n->at, f);

		features[pick] = features[left - 1];
		features[left - 1] = f;
		if (is_constant(&c))
			continue;
		tried++;
		scan(t, n, &c, &best);
		/* Two rows can be parted in one way. */
		if (c.n == 2)
			break;
	}
	return best;
}

/* Part a range of one order stably by s->left. */
static void part(struct scratch *s, uint32_t *order, uint32_t n)
{
	uint32_t to = 0, n_right = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = order[i], left = s->left[row];

		/* Both stores, one kept: which way a row goes cannot be foretold. */
		order[to] = row;
		s->spare[n_right] = row;
		to += left;
		n_right += !left;
	}
	memcpy(order + to, s->spare, n_right * sizeof(*order));
}

static void mark_left(const struct tree *t, const struct pending *at, const struct split *s)
{
	const float *x = t->r->x + s->feature * t->r->n;
	const uint32_t *rows = t->w->order + s->feature * t->w->n_used;

	for (uint32_t i = at->begin; i < at->end; i++) {
		float v = x[rows[i]];

		t->w->s.left[rows[i]] = isnan(v) ? s->missing_left : v <= s->cut;
	}
}

/* Part the order of every feature; @lone: only of the one that was cut, all that leaves need. */
static void part_orders(const struct tree *t, const struct pending *at, const struct split *s, bool lone)
{
	struct exact_work *w = t->w;
	uint32_t n = at->end - at->begin;

	if (lone && s->in_order)
		return;
	mark_left(t, at, s);
	if (!s->in_order)
		part(&w->s, w->order + s->feature * w->n_used + at->begin, n);
	for (size_t f = 0; f < t->r->n_features && !lone; f++)
		if (f != s->feature)
			part(&w->s, w->order + f * w->n_used + at->begin, n);
	if (t->o->criterion == HES_CRITERION_ABSOLUTE)
		part(&w->s, w->s.by_target + at->begin, n);
}

/* The weighted lower median of rows in the order of their targets. */
static double median_of(const struct tree *t, const struct pending *at)
{
	const uint32_t *rows = t->w->s.by_target;
	uint64_t weight = 0, below = 0;
	uint32_t i = at->begin;

	for (uint32_t k = at->begin; k < at->end; k++)
		weight += t->count[rows[k]];
	for (; i + 1 < at->end; i++) {
		below += t->count[rows[i]];
		if (2 * below >= weight)
			break;
	}
	return t->y[rows[i]];
}

/* Let a node say the mean of an output. @return whether the output varies in it */
static bool put_mean(const struct tree *t, const struct pending *at, const uint32_t *order, size_t output)
{
	const double *y = t->y + output * t->targets->n;
	double first = y[order[at->begin]], sum = 0, weight = 0;
	bool varies = false;

	for (uint32_t i = at->begin; i < at->end; i++) {
		uint32_t row = order[i];

		weight += t->count[row];
		sum += t->count[row] * (y[row] - first);
		varies |= y[row] != first;
	}
	scratch_put_value(&t->w->s, at->node, output, first + sum / weight);
	return varies;
}

/* Keep a node for splitting, or make it a leaf. @order: one that is parted already */
static void settle(const struct tree *t, const struct pending *at, const uint32_t *order)
{
	bool may_split = at->end - at->begin >= 2 && (at->end - at->begin) / 2 >= t->o->min_leaf &&
			 (!t->o->max_depth || at->depth < t->o->max_depth);
	struct scratch *s = &t->w->s;
	bool varies = false;

	s->nodes[at->node] = (struct ensemble_node){ 0 };
	for (size_t o = 0; o < t->targets->n_outputs; o++)
		varies |= put_mean(t, at, order, o);
	if (may_split && varies)
		s->stack[s->n_stack++] = *at;
	else if (t->o->criterion == HES_CRITERION_ABSOLUTE)
		s->nodes[at->node].value = (float)median_of(t, at);
}

/* As weigh(), of several outputs. */
static void weigh_joint(const struct tree *t, struct node *n)
{
	const uint32_t *rows = t->w->order + n->at.begin;
	uint32_t n_rows = n->at.end - n->at.begin;
	size_t width = joint_width(t->targets->n_outputs);

	n->weight = 0;
	for (uint32_t i = 0; i < n_rows; i++)
		n->weight += t->count[rows[i]];
	for (size_t o = 0; o < width; o++) {
		const double *even = t->targets->even + o;
		double *pull = t->w->pull + o, first = even[rows[0] * width], sum = 0, mean;

		for (uint32_t i = 0; i < n_rows; i++)
			sum += t->count[rows[i]] * (even[rows[i] * width] - first);
		mean = first + sum / n->weight;
		for (uint32_t i = 0; i < n_rows; i++)
			pull[rows[i] * width] = t->count[rows[i]] * (even[rows[i] * width] - mean);
	}
}

/* Weight of a node, and each row's pull. */
static void weigh(const struct tree *t, struct node *n)
{
	const uint32_t *rows = t->w->order + n->at.begin;
	uint32_t n_rows = n->at.end - n->at.begin;
	double first = t->y[rows[0]], sum = 0, mean;

	n->weight = 0;
	for (uint32_t i = 0; i < n_rows; i++) {
		n->weight += t->count[rows[i]];
		sum += t->count[rows[i]] * (t->y[rows[i]] - first);
	}
	mean = first + sum / n->weight;
	for (uint32_t i = 0; i < n_rows; i++)
		t->w->pull[rows[i]] = t->count[rows[i]] * (t->y[rows[i]] - mean);
}

/* A child with so few rows becomes a leaf whatever its rows are. */
static bool is_small(const struct tree *t, uint32_t n)
{
	return n < 2 || n / 2 < t->o->min_leaf;
}

static void split_node(const struct tree *t, const struct pending *at, const struct split *s)
{
	const uint32_t *order = t->w->order + s->feature * t->w->n_used;
	uint32_t n = at->end - at->begin, child = t->w->s.n_nodes;
	struct pending left = { child, at->begin, at->begin + s->n_left, at->depth + 1 };
	struct pending right = { child + 1, left.end, at->end, at->depth + 1 };
	bool lone = is_small(t, s->n_left) && is_small(t, n - s->n_left);

	part_orders(t, at, s, lone && t->o->criterion == HES_CRITERION_SQUARED);
	t->w->s.n_nodes += 2;
	t->w->s.nodes[at->node] = (struct ensemble_node){
		.value = s->cut,
		.left = child,
		.feature = (uint16_t)s->feature,
		.missing_left = s->missing_left,
	};
	settle(t, &right, order);
	settle(t, &left, order);
}

static void grow_node(const struct tree *t, const struct pending *at)
{
	struct node n = { .at = *at };
	struct split s;
	uint32_t n_rows = at->end - at->begin;

	if (t->o->criterion == HES_CRITERION_ABSOLUTE)
		median_load(&t->w->median, t->w->s.by_target + at->begin, n_rows, t->y, t->count);
	else if (t->targets->n_outputs == 1)
		weigh(t, &n);
	else
		weigh_joint(t, &n);
	s = find_split(t, &n);
	if (!s.n_left) {
		if (t->o->criterion == HES_CRITERION_ABSOLUTE)
			t->w->s.nodes[at->node].value = (float)median_of(t, at);
		return;
	}
	/* Where all rows had the feature, one without it follows the many. */
	if (s.in_order && s.cut < FLT_MAX && column_of(t, at, s.feature).n_present == n_rows)
		s.missing_left = s.n_left > n_rows / 2;
	split_node(t, at, &s);
}

/* Keep the rows that count, in each feature's order. */
static void select_rows(const struct exact_rows *r, const uint32_t *count, struct exact_work *w)
{
	size_t to = 0;

	for (size_t i = 0; i < r->n * r->n_features; i++) {
		uint32_t row = r->order.rows[i];

		w->order[to] = row;
		to += count[row] != 0;
	}
	w->n_used = to / r->n_features;
}

int exact_grow(const struct exact_rows *r, const struct grow_targets *y, const uint32_t *count,
	       const struct hes_regressor_options *o, struct hes_rng *rng, struct exact_work *w,
	       struct grown *out)
{
	struct tree t = { .r = r, .targets = y, .y = y->y, .count = count, .o = o, .rng = rng, .w = w };

	select_rows(r, count, w);
	scratch_begin(&w->s, r->n_features);
	if (o->criterion == HES_CRITERION_ABSOLUTE) {
		memcpy(w->s.by_target, w->order, w->n_used * sizeof(*w->order));
		grow_sort_by_target(w->s.by_target, w->n_used, y->y, w->s.targets);
	}
	settle(&t, &(struct pending){ 0, 0, (uint32_t)w->n_used, 0 }, w->order);
	while (w->s.n_stack) {
		struct pending at = w->s.stack[--w->s.n_stack];

		grow_node(&t, &at);
	}
	return scratch_take(&w->s, out);
}
