/*
 * grow_exact.c - best cuts over presorted features; see grow_exact.h.
 *
 * A node is a range of positions, the same in the order of every feature:
 * splitting it parts each order stably, so that every order stays sorted,
 * with the rows that lack the feature last, and nothing is sorted again.
 * Nodes are split depth first, so that small ones are split while their rows
 * are in the cache.
 */
#include "predict/grow_exact.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/grow_median.h"

struct exact_work {
	struct ensemble_node *nodes;
	uint32_t              n_nodes;
	struct pending       *stack;
	size_t                n_stack;
	uint32_t             *order;     /* of the rows that count; n_used a feature */
	uint32_t             *by_target; /* the same rows by rising target; absolute error only */
	uint32_t             *spare;
	uint8_t              *left;      /* of each row: does it go left? */
	double               *pull;      /* of each row: weight x deviation from the node's mean */
	uint32_t             *sequence;  /* a feature's rows, those without it first */
	double               *first_loss, *rest_loss; /* of a sequence's first k rows, of the others; absolute error only */
	struct grow_target   *targets;   /* spare; absolute error only */
	uint32_t             *features;  /* in the order they were drawn */
	size_t                n_used;
	struct median         median;
};

/* What the growing of one tree works on. */
struct tree {
	const struct exact_rows            *r;
	const double                       *y;
	const uint32_t                     *count;
	const struct hes_regressor_options *o;
	struct hes_rng                     *rng;
	struct exact_work                  *w;
};

/* A node while its split is searched. */
struct node {
	struct pending at;
	uint32_t       weight;
	double         mean;
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
	free(w->nodes);
	free(w->stack);
	free(w->order);
	free(w->by_target);
	free(w->spare);
	free(w->left);
	free(w->pull);
	free(w->sequence);
	free(w->first_loss);
	free(w->rest_loss);
	free(w->targets);
	free(w->features);
	median_finish(&w->median);
	free(w);
}

struct exact_work *exact_work_create(const struct exact_rows *r)
{
	struct exact_work *w = calloc(1, sizeof(*w));
	size_t n = r->n;

	if (!w)
		return NULL;
	w->nodes = malloc(2 * n * sizeof(*w->nodes));
	w->stack = malloc(n * sizeof(*w->stack));
	w->order = malloc((n * r->n_features + 1) * sizeof(*w->order));
	w->by_target = malloc((n + 1) * sizeof(*w->by_target));
	w->spare = malloc((n + 1) * sizeof(*w->spare));
	w->left = malloc(n);
	w->pull = malloc(n * sizeof(*w->pull));
	w->sequence = malloc((n + 1) * sizeof(*w->sequence));
	w->first_loss = malloc((n + 1) * sizeof(*w->first_loss));
	w->rest_loss = malloc((n + 1) * sizeof(*w->rest_loss));
	w->targets = malloc(n * sizeof(*w->targets));
	w->features = malloc(r->n_features * sizeof(*w->features));
	if (!w->nodes || !w->stack || !w->order || !w->by_target || !w->spare || !w->left || !w->pull ||
	    !w->sequence || !w->first_loss || !w->rest_loss || !w->targets || !w->features ||
	    median_init(&w->median, n)) {
		exact_work_destroy(w);
		return NULL;
	}
	return w;
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
	if (found == UINT32_MAX)
		return;
	*best = (struct split){
		.gain = most,
		.cut = found + 1 < c->n_present ? grow_cut_between(c->x[rows[found]], c->x[rows[found + 1]])
						: FLT_MAX,
		.feature = c->feature,
		.n_left = found + 1 + lead,
		.missing_left = lead > 0,
		.in_order = lead == 0,
	};
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
			*best = (struct split){
				.gain = gain,
				.cut = i + 1 < c->n_present ? grow_cut_between(c->x[rows[i]], c->x[rows[i + 1]])
							    : FLT_MAX,
				.feature = c->feature,
				.n_left = k,
				.missing_left = lead > 0,
				.in_order = lead == 0,
			};
	}
}

static void scan_cuts(const struct tree *t, const struct node *n, const struct column *c, uint32_t lead,
		      uint32_t first, uint32_t last, struct split *best)
{
	if (t->o->criterion == HES_CRITERION_ABSOLUTE)
		scan_deviations(t, c, lead, first, last, best);
	else
		scan_squares(t, n, c, lead, first, last, best);
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
	uint32_t *features = t->w->features, tried = 0;

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

/* Part a range of one order stably by w->left. */
static void part(struct exact_work *w, uint32_t *order, uint32_t n)
{
	uint32_t to = 0, n_right = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = order[i], left = w->left[row];

		/* Both stores, one kept: which way a row goes cannot be foretold. */
		order[to] = row;
		w->spare[n_right] = row;
		to += left;
		n_right += !left;
	}
	memcpy(order + to, w->spare, n_right * sizeof(*order));
}

static void mark_left(const struct tree *t, const struct pending *at, const struct split *s)
{
	const float *x = t->r->x + s->feature * t->r->n;
	const uint32_t *rows = t->w->order + s->feature * t->w->n_used;

	for (uint32_t i = at->begin; i < at->end; i++) {
		float v = x[rows[i]];

		t->w->left[rows[i]] = isnan(v) ? s->missing_left : v <= s->cut;
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
		part(w, w->order + s->feature * w->n_used + at->begin, n);
	for (size_t f = 0; f < t->r->n_features && !lone; f++)
		if (f != s->feature)
			part(w, w->order + f * w->n_used + at->begin, n);
	if (t->o->criterion == HES_CRITERION_ABSOLUTE)
		part(w, w->by_target + at->begin, n);
}

/* The weighted lower median of rows in the order of their targets. */
static double median_of(const struct tree *t, const struct pending *at)
{
	const uint32_t *rows = t->w->by_target;
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

/* Keep a node for splitting, or make it a leaf. @order: one that is parted already */
static void settle(const struct tree *t, const struct pending *at, const uint32_t *order)
{
	bool may_split = at->end - at->begin >= 2 && (at->end - at->begin) / 2 >= t->o->min_leaf &&
			 (!t->o->max_depth || at->depth < t->o->max_depth);
	double first = t->y[order[at->begin]], sum = 0, weight = 0;
	bool varies = false;

	for (uint32_t i = at->begin; i < at->end; i++) {
		uint32_t row = order[i];

		weight += t->count[row];
		sum += t->count[row] * (t->y[row] - first);
		varies |= t->y[row] != first;
	}
	t->w->nodes[at->node] = (struct ensemble_node){ .value = (float)(first + sum / weight) };
	if (may_split && varies)
		t->w->stack[t->w->n_stack++] = *at;
	else if (t->o->criterion == HES_CRITERION_ABSOLUTE)
		t->w->nodes[at->node].value = (float)median_of(t, at);
}

/* Weight and mean of a node, and each row's pull. */
static void weigh(const struct tree *t, struct node *n)
{
	const uint32_t *rows = t->w->order + n->at.begin;
	uint32_t n_rows = n->at.end - n->at.begin;
	double first = t->y[rows[0]], sum = 0;

	n->weight = 0;
	for (uint32_t i = 0; i < n_rows; i++) {
		n->weight += t->count[rows[i]];
		sum += t->count[rows[i]] * (t->y[rows[i]] - first);
	}
	n->mean = first + sum / n->weight;
	for (uint32_t i = 0; i < n_rows; i++)
		t->w->pull[rows[i]] = t->count[rows[i]] * (t->y[rows[i]] - n->mean);
}

/* A child with so few rows becomes a leaf whatever its rows are. */
static bool is_small(const struct tree *t, uint32_t n)
{
	return n < 2 || n / 2 < t->o->min_leaf;
}

static void split_node(const struct tree *t, const struct pending *at, const struct split *s)
{
	const uint32_t *order = t->w->order + s->feature * t->w->n_used;
	uint32_t n = at->end - at->begin, child = t->w->n_nodes;
	struct pending left = { child, at->begin, at->begin + s->n_left, at->depth + 1 };
	struct pending right = { child + 1, left.end, at->end, at->depth + 1 };
	bool lone = is_small(t, s->n_left) && is_small(t, n - s->n_left);

	part_orders(t, at, s, lone && t->o->criterion == HES_CRITERION_SQUARED);
	t->w->n_nodes += 2;
	t->w->nodes[at->node] = (struct ensemble_node){
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
		median_load(&t->w->median, t->w->by_target + at->begin, n_rows, t->y, t->count);
	else
		weigh(t, &n);
	s = find_split(t, &n);
	if (!s.n_left) {
		if (t->o->criterion == HES_CRITERION_ABSOLUTE)
			t->w->nodes[at->node].value = (float)median_of(t, at);
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

int exact_grow(const struct exact_rows *r, const double *y, const uint32_t *count,
	       const struct hes_regressor_options *o, struct hes_rng *rng, struct exact_work *w,
	       struct grown *out)
{
	struct tree t = { .r = r, .y = y, .count = count, .o = o, .rng = rng, .w = w };
	struct ensemble_node *nodes;

	select_rows(r, count, w);
	if (o->criterion == HES_CRITERION_ABSOLUTE) {
		memcpy(w->by_target, w->order, w->n_used * sizeof(*w->order));
		grow_sort_by_target(w->by_target, w->n_used, y, w->targets);
	}
	for (uint32_t f = 0; f < r->n_features; f++)
		w->features[f] = f;
	w->n_nodes = 1;
	w->n_stack = 0;
	settle(&t, &(struct pending){ 0, 0, (uint32_t)w->n_used, 0 }, w->order);
	while (w->n_stack) {
		struct pending at = w->stack[--w->n_stack];

		grow_node(&t, &at);
	}
	nodes = malloc(w->n_nodes * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	memcpy(nodes, w->nodes, w->n_nodes * sizeof(*nodes));
	*out = (struct grown){ nodes, w->n_nodes };
	return 0;
}
