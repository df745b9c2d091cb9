/*
 * tree.c - grow a regression tree; see tree.h.
 *
 * A node is a range of positions, the same in the order of every feature:
 * splitting it parts each order stably, so that every order stays sorted
 * and nothing is sorted again. Nodes are made level by level; the two
 * children of a node lie side by side.
 */
#include "predict/tree.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "predict/deviation.h"

struct range {
	uint32_t begin, end;
	uint32_t depth;
};

struct keyed {
	double   key;
	uint32_t row;
};

struct tree_work {
	struct tree_node *nodes;
	struct range     *ranges;   /* of nodes[i] */
	size_t            n_nodes;
	uint32_t         *order;    /* of the rows that count; n_used a feature */
	uint32_t         *by_target; /* the same rows by rising target; absolute error only */
	uint32_t         *spare;
	uint8_t          *left;     /* of each row: does it go left? */
	double           *weight;   /* of each row */
	struct keyed     *keyed;
	size_t            n_used;
	struct deviation  dev;
};

struct split {
	double   gain;
	float    threshold;
	uint32_t feature;
	uint32_t n_left;   /* distinct rows */
};

/* What the search for a node's split works on. */
struct node {
	const struct tree_data    *d;
	const double              *y;
	const struct tree_options *o;
	struct range               at;
	double                     weight, mean;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static void sort_rows(struct keyed *k, size_t n, uint32_t *out)
{
	qsort(k, n, sizeof(*k), by_key);
	for (size_t i = 0; i < n; i++)
		out[i] = k[i].row;
}

int tree_data_init(struct tree_data *d, const float *x, size_t n_rows, size_t n_features)
{
	struct keyed *k = malloc(n_rows * sizeof(*k));
	struct tree_data t = {
		.x = malloc(n_rows * n_features * sizeof(*t.x)),
		.order = malloc(n_rows * n_features * sizeof(*t.order)),
		.n_rows = n_rows,
		.n_features = n_features,
	};

	if (!k || !t.x || !t.order) {
		free(k);
		tree_data_finish(&t);
		return -ENOMEM;
	}
	memcpy(t.x, x, n_rows * n_features * sizeof(*x));
	for (size_t f = 0; f < n_features; f++) {
		for (size_t i = 0; i < n_rows; i++)
			k[i] = (struct keyed){ x[f * n_rows + i], (uint32_t)i };
		sort_rows(k, n_rows, t.order + f * n_rows);
	}
	free(k);
	*d = t;
	return 0;
}

void tree_data_finish(struct tree_data *d)
{
	free(d->x);
	free(d->order);
	*d = (struct tree_data){ 0 };
}

void tree_work_destroy(struct tree_work *w)
{
	if (!w)
		return;
	free(w->nodes);
	free(w->ranges);
	free(w->order);
	free(w->by_target);
	free(w->spare);
	free(w->left);
	free(w->weight);
	free(w->keyed);
	deviation_finish(&w->dev);
	free(w);
}

struct tree_work *tree_work_create(const struct tree_data *d)
{
	struct tree_work *w = calloc(1, sizeof(*w));
	size_t n = d->n_rows;

	if (!w)
		return NULL;
	w->nodes = malloc(2 * n * sizeof(*w->nodes));
	w->ranges = malloc(2 * n * sizeof(*w->ranges));
	w->order = malloc(n * d->n_features * sizeof(*w->order));
	w->by_target = malloc(n * sizeof(*w->by_target));
	w->spare = malloc(n * sizeof(*w->spare));
	w->left = malloc(n);
	w->weight = malloc(n * sizeof(*w->weight));
	w->keyed = malloc(n * sizeof(*w->keyed));
	if (!w->nodes || !w->ranges || !w->order || !w->by_target || !w->spare || !w->left || !w->weight ||
	    !w->keyed || deviation_init(&w->dev, n)) {
		tree_work_destroy(w);
		return NULL;
	}
	return w;
}

const struct tree_node *tree_work_nodes(const struct tree_work *w)
{
	return w->nodes;
}

/* The cut between two neighbouring values: the lower side must not exceed it, the upper must. */
static float cut_between(float low, float high)
{
	float mid = low + (high - low) / 2;

	return mid < high ? mid : low;
}

/*
 * Squared error: the gain of a cut is the square of the left part's sum of
 * deviations from the node's mean, times weight / (left weight x right weight).
 */
static void scan_squares(const struct node *n, const struct tree_work *w, uint32_t feature, struct split *best)
{
	const uint32_t *order = w->order + feature * w->n_used;
	const float *x = n->d->x + feature * n->d->n_rows;
	uint32_t last = n->at.end - n->o->min_leaf;
	double weight = 0, sum = 0;
	uint32_t row = order[n->at.begin];

	for (uint32_t i = n->at.begin; i < last; i++) {
		uint32_t next = order[i + 1];
		double gain;

		weight += w->weight[row];
		sum += w->weight[row] * (n->y[row] - n->mean);
		if (x[next] > x[row] && i + 1 - n->at.begin >= n->o->min_leaf) {
			gain = sum * sum * n->weight / (weight * (n->weight - weight));
			if (gain > best->gain)
				*best = (struct split){ gain, cut_between(x[row], x[next]), feature,
							i + 1 - n->at.begin };
		}
		row = next;
	}
}

/* Absolute error: the gain is the fall of the sum of deviations from the medians. */
static void scan_deviations(const struct node *n, struct tree_work *w, uint32_t feature, struct split *best)
{
	const uint32_t *order = w->order + feature * w->n_used;
	const float *x = n->d->x + feature * n->d->n_rows;
	uint32_t last = n->at.end - n->o->min_leaf;
	double whole = deviation_reset(&w->dev);

	for (uint32_t i = n->at.begin; i < last; i++) {
		float here = x[order[i]], next = x[order[i + 1]];
		double gain;

		deviation_move(&w->dev, order[i]);
		if (!(next > here) || i + 1 - n->at.begin < n->o->min_leaf)
			continue;
		gain = whole - deviation_sum(&w->dev);
		if (gain > best->gain)
			*best = (struct split){ gain, cut_between(here, next), feature, i + 1 - n->at.begin };
	}
}

static bool is_constant(const struct node *n, const struct tree_work *w, uint32_t feature)
{
	const uint32_t *order = w->order + feature * w->n_used;
	const float *x = n->d->x + feature * n->d->n_rows;

	return !(x[order[n->at.end - 1]] > x[order[n->at.begin]]);
}

/* Try features in random order until enough that vary were seen. */
static struct split find_split(const struct node *n, struct tree_work *w, struct hes_rng *rng)
{
	struct split best = { .gain = 0 };
	uint32_t feature[TREE_MAX_FEATURES], n_features = (uint32_t)n->d->n_features, tried = 0;

	for (uint32_t f = 0; f < n_features; f++)
		feature[f] = f;
	for (uint32_t left = n_features; left && tried < n->o->features_per_split; left--) {
		uint32_t pick = (uint32_t)hes_rng_below(rng, left), f = feature[pick];

		feature[pick] = feature[left - 1];
		if (is_constant(n, w, f))
			continue;
		tried++;
		if (n->o->criterion == HES_CRITERION_ABSOLUTE)
			scan_deviations(n, w, f, &best);
		else
			scan_squares(n, w, f, &best);
	}
	return best;
}

/* Part a range of one order stably by w->left. */
static void part(struct tree_work *w, uint32_t *order, const struct range *at)
{
	uint32_t to = at->begin, n_right = 0;

	for (uint32_t i = at->begin; i < at->end; i++) {
		uint32_t row = order[i];

		/* Both stores, one kept: which way a row goes cannot be foretold. */
		order[to] = row;
		w->spare[n_right] = row;
		to += w->left[row];
		n_right += !w->left[row];
	}
	memcpy(order + to, w->spare, n_right * sizeof(*order));
}

static void split_node(const struct tree_data *d, const struct tree_options *o, struct tree_work *w,
		       size_t index, const struct split *s)
{
	struct range at = w->ranges[index];
	const uint32_t *order = w->order + s->feature * w->n_used;
	size_t child = w->n_nodes;

	for (uint32_t i = at.begin; i < at.end; i++)
		w->left[order[i]] = i < at.begin + s->n_left;
	for (size_t f = 0; f < d->n_features; f++)
		if (f != s->feature)
			part(w, w->order + f * w->n_used, &at);
	if (o->criterion == HES_CRITERION_ABSOLUTE)
		part(w, w->by_target, &at);
	w->nodes[index] = (struct tree_node){ s->threshold, (uint32_t)child & 0xffffff,
					      (uint8_t)s->feature };
	w->ranges[child] = (struct range){ at.begin, at.begin + s->n_left, at.depth + 1 };
	w->ranges[child + 1] = (struct range){ at.begin + s->n_left, at.end, at.depth + 1 };
	w->n_nodes += 2;
}

/* Weight and mean of a node. @return whether its target varies */
static bool summarise(struct node *n, const struct tree_work *w)
{
	double first = n->y[w->order[n->at.begin]], sum = 0;
	bool varies = false;

	n->weight = 0;
	for (uint32_t i = n->at.begin; i < n->at.end; i++) {
		uint32_t row = w->order[i];

		n->weight += w->weight[row];
		sum += w->weight[row] * (n->y[row] - first);
		varies |= n->y[row] != first;
	}
	n->mean = first + sum / n->weight;
	return varies;
}

static void grow_node(struct node *n, struct tree_work *w, size_t index, struct hes_rng *rng)
{
	bool absolute = n->o->criterion == HES_CRITERION_ABSOLUTE;
	struct split s = { .gain = 0 };
	bool may_split;

	n->at = w->ranges[index];
	may_split = summarise(n, w) && (n->at.end - n->at.begin) / 2 >= n->o->min_leaf &&
		    (!n->o->max_depth || n->at.depth < n->o->max_depth);
	if (absolute)
		deviation_load(&w->dev, w->by_target + n->at.begin, n->at.end - n->at.begin, n->y, w->weight);
	if (may_split)
		s = find_split(n, w, rng);
	if (s.gain > 0) {
		split_node(n->d, n->o, w, index, &s);
		return;
	}
	w->nodes[index] = (struct tree_node){
		(float)(absolute ? deviation_median(&w->dev) : n->mean), (uint32_t)index & 0xffffff,
		(uint8_t)n->d->n_features,
	};
}

/* Keep the rows that count, in each feature's order. */
static void select_rows(const struct tree_data *d, const uint16_t *count, struct tree_work *w)
{
	size_t to = 0;

	for (size_t f = 0; f < d->n_features; f++)
		for (size_t i = 0; i < d->n_rows; i++) {
			uint32_t row = d->order[f * d->n_rows + i];

			w->order[to] = row;
			to += count[row] != 0;
		}
	w->n_used = to / d->n_features;
	for (size_t i = 0; i < d->n_rows; i++)
		w->weight[i] = count[i];
}

/* Needs select_rows. */
static void sort_targets(const double *y, struct tree_work *w)
{
	for (size_t i = 0; i < w->n_used; i++)
		w->keyed[i] = (struct keyed){ y[w->order[i]], w->order[i] };
	sort_rows(w->keyed, w->n_used, w->by_target);
}

size_t tree_grow(const struct tree_data *d, const double *y, const uint16_t *count,
		 const struct tree_options *o, struct hes_rng *rng, struct tree_work *w)
{
	struct node n = { .d = d, .y = y, .o = o };

	select_rows(d, count, w);
	if (o->criterion == HES_CRITERION_ABSOLUTE)
		sort_targets(y, w);
	w->ranges[0] = (struct range){ 0, (uint32_t)w->n_used, 0 };
	w->n_nodes = 1;
	for (size_t i = 0; i < w->n_nodes; i++)
		grow_node(&n, w, i, rng);
	return w->n_nodes;
}
