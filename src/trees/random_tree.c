/*
 * random_tree.c - random cuts; see random_tree.h.
 *
 * Nothing is sorted. A node takes one pass over its rows for the range of every feature and one for
 * the sums left of every cut, LANES features at a time. Sums are single precision over CHUNK rows,
 * of deviations from the node's mean scaled to 1; chunks are summed in double precision.
 */
#include "trees/random_tree.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8 /* features in one pass */
#define CHUNK 1024

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t marks __attribute__((vector_size(LANES * sizeof(int32_t))));

/* What a node knows of a feature. */
struct cut {
	float low, high; /* of the rows that have it */
	float at;
	bool drawn;
	uint32_t n_left; /* rows at or below the cut */
	double left;     /* sum of their deviations */
	uint32_t n_missing;
	double missing; /* sum of the deviations of rows without it */
};

struct random_work {
	struct tree_builder b;
	uint32_t *rows;
	float *deviation; /* of the node's rows, scaled to 1 */
	struct cut *cuts; /* of each feature, padded to LANES */
};

/* The fit of one tree. */
struct tree {
	const struct random_rows *r;
	const double *y;
	const struct hes_regressor_options *o;
	struct hes_rng *rng;
	struct random_work *w;
};

struct split {
	double gain;
	uint32_t feature;
	float cut;
	bool missing_left;
};

int random_rows_init(struct random_rows *r, const struct hes_rows *rows)
{
	struct random_rows made = {
		.stride = (rows->n_features + LANES - 1) / LANES * LANES,
		.n = rows->n,
		.n_features = rows->n_features,
	};

	made.x = calloc(made.n * made.stride, sizeof(*made.x));
	made.incomplete = calloc(made.stride, sizeof(*made.incomplete));
	if (!made.x || !made.incomplete) {
		random_rows_finish(&made);
		return -ENOMEM;
	}
	for (size_t f = 0; f < made.n_features; f++)
		for (size_t i = 0; i < made.n; i++) {
			float v = rows->x[f * made.n + i];

			made.x[i * made.stride + f] = v;
			made.incomplete[f] |= isnan(v);
		}
	*r = made;
	return 0;
}

void random_rows_finish(struct random_rows *r)
{
	free(r->x);
	free(r->incomplete);
	*r = (struct random_rows){ 0 };
}

void random_work_destroy(struct random_work *w)
{
	if (!w)
		return;
	builder_finish(&w->b);
	free(w->rows);
	free(w->deviation);
	free(w->cuts);
	free(w);
}

struct random_work *random_work_create(const struct random_rows *r)
{
	struct random_work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->rows = malloc((r->n + 1) * sizeof(*w->rows));
	w->deviation = malloc(r->n * sizeof(*w->deviation));
	w->cuts = calloc(r->stride, sizeof(*w->cuts));
	if (builder_init(&w->b, r->n, r->n_features) || !w->rows || !w->deviation || !w->cuts) {
		random_work_destroy(w);
		return NULL;
	}
	return w;
}

static const float *values_of(const struct tree *t, uint32_t position)
{
	return t->r->x + t->w->rows[position] * t->r->stride;
}

/* Least and greatest values of LANES features; missing values do not count. */
static void find_ranges(const struct tree *t, const struct open_node *at, size_t first)
{
	lanes low = (lanes){ 0 } + INFINITY, high = -low;

	for (uint32_t i = at->begin; i < at->end; i++) {
		const float *x = values_of(t, i) + first;

		for (size_t k = 0; k < LANES; k++) {
			low[k] = x[k] < low[k] ? x[k] : low[k];
			high[k] = x[k] > high[k] ? x[k] : high[k];
		}
	}
	for (size_t k = 0; k < LANES; k++) {
		t->w->cuts[first + k].low = low[k];
		t->w->cuts[first + k].high = high[k];
	}
}

/* Add a chunk's rows at or below each of LANES cuts, and the sums of their deviations. */
static void sum_chunk(const struct tree *t, const struct open_node *at, uint32_t begin,
		      uint32_t end, size_t first)
{
	struct cut *cuts = t->w->cuts + first;
	lanes cut = { 0 }, sum = { 0 };
	marks n = { 0 };

	for (size_t k = 0; k < LANES; k++)
		cut[k] = cuts[k].drawn ? cuts[k].at : -INFINITY;
	for (uint32_t i = begin; i < end; i++) {
		lanes x, deviation = (lanes){ 0 } + t->w->deviation[i - at->begin];
		marks left;

		memcpy(&x, values_of(t, i) + first, sizeof(x));
		left = x <= cut;
		n -= left; /* a mark is -1, all bits set */
		sum += (lanes)(left & (marks)deviation);
	}
	for (size_t k = 0; k < LANES; k++) {
		cuts[k].n_left += (uint32_t)n[k];
		cuts[k].left += (double)sum[k];
	}
}

static void sum_left(const struct tree *t, const struct open_node *at, size_t first)
{
	for (size_t k = 0; k < LANES; k++) {
		t->w->cuts[first + k].n_left = 0;
		t->w->cuts[first + k].left = 0;
	}
	for (uint32_t begin = at->begin; begin < at->end; begin += CHUNK)
		sum_chunk(t, at, begin, at->end - begin < CHUNK ? at->end : begin + CHUNK, first);
}

static void sum_missing(const struct tree *t, const struct open_node *at, uint32_t feature)
{
	struct cut *c = &t->w->cuts[feature];

	c->n_missing = 0;
	c->missing = 0;
	for (uint32_t i = at->begin; i < at->end && t->r->incomplete[feature]; i++)
		if (isnan(values_of(t, i)[feature])) {
			c->n_missing++;
			c->missing += (double)t->w->deviation[i - at->begin];
		}
}

/*
 * Uniform in [low, high). When all rows that have the feature are alike, the cut separates them
 * from the rows that lack it.
 */
static float place_cut(const struct cut *c, uint32_t draw)
{
	double u = draw * 0x1p-32;
	float at = (float)((double)c->low + u * ((double)c->high - (double)c->low));

	if (!(c->low < c->high))
		return FLT_MAX;
	return at < c->high ? at : c->low;
}

/* Draw the next feature. @param draw  its lower half is for the cut */
static uint32_t draw_feature(const struct tree *t, uint32_t drawn, uint64_t *draw)
{
	uint32_t *features = t->w->b.features, n = (uint32_t)t->r->n_features, pick, f;

	*draw = hes_rng_u64(t->rng);
	pick = drawn + (uint32_t)((*draw >> 32) * (n - drawn) >> 32);
	f = features[pick];
	features[pick] = features[drawn];
	features[drawn] = f;
	return f;
}

/* Draw features in random order until enough that vary have a cut. @return how many were drawn */
static uint32_t draw_cuts(const struct tree *t, const struct open_node *at)
{
	uint32_t n = (uint32_t)t->r->n_features, drawn = 0, cuts = 0;

	for (uint32_t f = 0; f < n; f++)
		t->w->cuts[f].drawn = false;
	for (; drawn < n && cuts < t->o->features_per_split; drawn++) {
		uint64_t draw;
		uint32_t f = draw_feature(t, drawn, &draw);
		struct cut *c = &t->w->cuts[f];

		sum_missing(t, at, f);
		if (c->n_missing == at->end - at->begin || (!(c->low < c->high) && !c->n_missing))
			continue;
		c->at = place_cut(c, (uint32_t)draw);
		c->drawn = true;
		cuts++;
	}
	return drawn;
}

/* Rows without the feature go right, then left. */
static void try_cut(const struct tree *t, const struct open_node *at, uint32_t feature,
		    struct split *best)
{
	const struct cut *c = &t->w->cuts[feature];
	uint32_t n = at->end - at->begin, ways = c->n_missing && c->at < FLT_MAX ? 2 : 1;

	for (uint32_t way = 0; way < ways; way++) {
		uint32_t n_left = c->n_left + way * c->n_missing;
		double left = c->left + way * c->missing, gain;

		if (n_left < t->o->min_leaf || n - n_left < t->o->min_leaf)
			continue;
		gain = left * left / ((double)n_left * (n - n_left));
		if (gain > best->gain)
			/* Where all rows have the feature, a row without it follows the majority.
			 */
			*best = (struct split){ gain, feature, c->at,
						c->n_missing ? way == 1 : n_left > n / 2 };
	}
}

/* There is only one way to split two rows: the first feature that varies does it. */
static struct split split_pair(const struct tree *t, const struct open_node *at)
{
	const float *a = values_of(t, at->begin), *b = values_of(t, at->begin + 1);

	for (uint32_t drawn = 0; drawn < t->r->n_features; drawn++) {
		uint64_t draw;
		uint32_t f = draw_feature(t, drawn, &draw);
		struct cut c = { .low = a[f] < b[f] ? a[f] : b[f],
				 .high = a[f] < b[f] ? b[f] : a[f] };

		if (isnan(a[f]) != isnan(b[f]))
			return (struct split){ 0, f, FLT_MAX, false };
		if (c.low < c.high)
			return (struct split){ 0, f, place_cut(&c, (uint32_t)draw), false };
	}
	return (struct split){ .gain = -INFINITY };
}

static struct split find_split(const struct tree *t, const struct open_node *at)
{
	struct split best = { .gain = -INFINITY };
	uint32_t drawn;

	for (size_t first = 0; first < t->r->stride; first += LANES)
		find_ranges(t, at, first);
	drawn = draw_cuts(t, at);
	for (size_t first = 0; first < t->r->stride; first += LANES)
		sum_left(t, at, first);
	for (uint32_t i = 0; i < drawn; i++)
		if (t->w->cuts[t->w->b.features[i]].drawn)
			try_cut(t, at, t->w->b.features[i], &best);
	return best;
}

/* Partition the node's rows stably. @return where those that go right begin */
static uint32_t partition_rows(const struct tree *t, const struct open_node *at,
			       const struct split *s)
{
	uint32_t *rows = t->w->rows, *spare = t->w->b.spare, to = at->begin, n_right = 0;

	for (uint32_t i = at->begin; i < at->end; i++) {
		uint32_t row = rows[i];
		float x = values_of(t, i)[s->feature];
		bool left = isnan(x) ? s->missing_left : x <= s->cut;

		/* Two stores and no branch: the way of a row cannot be predicted. */
		rows[to] = row;
		spare[n_right] = row;
		to += left;
		n_right += !left;
	}
	memcpy(rows + to, spare, n_right * sizeof(*rows));
	return to;
}

/* Give a node its mean, and keep it on the stack if it may be split. */
static void settle_node(const struct tree *t, const struct open_node *at)
{
	const uint32_t *rows = t->w->rows;
	struct tree_builder *b = &t->w->b;
	uint32_t n = at->end - at->begin;
	double first = t->y[rows[at->begin]], sum = 0;
	bool varies = false;

	for (uint32_t i = at->begin; i < at->end; i++) {
		sum += t->y[rows[i]] - first;
		varies |= t->y[rows[i]] != first;
	}
	b->nodes[at->node] = (struct ensemble_node){ .value = (float)(first + sum / n) };
	if (varies && n / 2 >= t->o->min_leaf && (!t->o->max_depth || at->depth < t->o->max_depth))
		b->stack[b->n_stack++] = *at;
}

/* Deviations from the mean; the greatest has size 1. */
static void set_deviations(const struct tree *t, const struct open_node *at)
{
	const uint32_t *rows = t->w->rows + at->begin;
	uint32_t n = at->end - at->begin;
	double first = t->y[rows[0]], sum = 0, most = 0, mean;

	for (uint32_t i = 0; i < n; i++)
		sum += t->y[rows[i]] - first;
	mean = first + sum / n;
	for (uint32_t i = 0; i < n; i++)
		most = fmax(most, fabs(t->y[rows[i]] - mean));
	for (uint32_t i = 0; i < n; i++)
		t->w->deviation[i] = (float)((t->y[rows[i]] - mean) / most);
}

static void fit_node(const struct tree *t, const struct open_node *at)
{
	struct tree_builder *b = &t->w->b;
	struct open_node left, right;
	struct split s;

	if (at->end - at->begin > 2)
		set_deviations(t, at);
	s = at->end - at->begin > 2 ? find_split(t, at) : split_pair(t, at);
	if (!(s.gain > -INFINITY))
		return;
	left = right = (struct open_node){ b->n_nodes, at->begin, at->end, at->depth + 1 };
	right.node++;
	left.end = right.begin = partition_rows(t, at, &s);
	b->nodes[at->node] =
		(struct ensemble_node){ s.cut, b->n_nodes, (uint16_t)s.feature, s.missing_left };
	b->n_nodes += 2;
	settle_node(t, &right);
	settle_node(t, &left);
}

int random_tree_fit(const struct random_rows *r, const double *y,
		    const struct hes_regressor_options *o, struct hes_rng *rng,
		    struct random_work *w, struct fitted_tree *out)
{
	const struct tree t = { .r = r, .y = y, .o = o, .rng = rng, .w = w };

	for (size_t i = 0; i < r->n; i++)
		w->rows[i] = (uint32_t)i;
	builder_start(&w->b, r->n_features);
	settle_node(&t, &(struct open_node){ 0, 0, (uint32_t)r->n, 0 });
	while (w->b.n_stack) {
		struct open_node at = w->b.stack[--w->b.n_stack];

		fit_node(&t, &at);
	}
	return builder_take(&w->b, out);
}
