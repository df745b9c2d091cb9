/*
 * random_tree.c - random cuts; see random_tree.h.
 *
 * Nothing is sorted: a node takes one pass over its rows for the range of
 * every feature and one for the sums left of every cut, a BLOCK of features
 * at a time. Sums are single precision over CHUNK rows, of deviations from the
 * node's mean scaled to 1; then double.
 */
#include "trees/random_tree.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trees/joint_outputs.h"
#include "trees/tree_scratch.h"

#define LANES 4
#define BLOCK (2 * LANES) /* features taken in one pass */
#define CHUNK 1024

typedef float   lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t marks __attribute__((vector_size(LANES * sizeof(int32_t))));

/* What a node knows of a feature; of outputs after the first the two sums alone. */
struct cut {
	float    low, high;       /* of the rows that have it */
	float    at;
	bool     drawn;
	uint32_t n_left;          /* rows at or below the cut */
	double   left;            /* sum of their deviations */
	uint32_t n_missing;
	double   missing;
};

struct random_work {
	struct scratch s;
	uint32_t      *rows;
	float         *deviation; /* output by output, of the node's rows, scaled to 1 */
	struct cut    *cuts;      /* output by output, of each feature, whole blocks */
};

struct tree {
	const struct random_rows           *r;
	const struct grow_targets          *targets;
	const double                       *y;      /* of the first output */
	const struct hes_regressor_options *o;
	struct hes_rng                     *rng;
	struct random_work                 *w;
};

struct split {
	double   gain;
	uint32_t feature;
	float    cut;
	bool     missing_left;
};

int random_rows_init(struct random_rows *r, const struct hes_rows *rows)
{
	struct random_rows t = {
		.stride = (rows->n_features + BLOCK - 1) / BLOCK * BLOCK,
		.n = rows->n,
		.n_features = rows->n_features,
	};

	t.x = calloc(t.n * t.stride, sizeof(*t.x));
	t.lacking = calloc(t.stride, sizeof(*t.lacking));
	if (!t.x || !t.lacking) {
		random_rows_finish(&t);
		return -ENOMEM;
	}
	for (size_t f = 0; f < t.n_features; f++)
		for (size_t i = 0; i < t.n; i++) {
			float v = rows->x[f * t.n + i];

			t.x[i * t.stride + f] = v;
			t.lacking[f] |= isnan(v);
		}
	*r = t;
	return 0;
}

void random_rows_finish(struct random_rows *r)
{
	free(r->x);
	free(r->lacking);
	*r = (struct random_rows){ 0 };
}

void random_work_destroy(struct random_work *w)
{
	if (!w)
		return;
	scratch_finish(&w->s);
	free(w->rows);
	free(w->deviation);
	free(w->cuts);
	free(w);
}

struct random_work *random_work_create(const struct random_rows *r, size_t n_outputs)
{
	struct random_work *w = calloc(1, sizeof(*w));
	size_t n = r->n;

	if (!w)
		return NULL;
	w->rows = malloc((n + 1) * sizeof(*w->rows));
	w->deviation = malloc(n * n_outputs * sizeof(*w->deviation));
	w->cuts = calloc(r->stride * n_outputs, sizeof(*w->cuts));
	if (scratch_init(&w->s, n, r->n_features, n_outputs) || !w->rows || !w->deviation || !w->cuts) {
		random_work_destroy(w);
		return NULL;
	}
	return w;
}

static inline lanes load(const float *from)
{
	lanes v;

	memcpy(&v, from, sizeof(v));
	return v;
}

/* The second where the first is missing. */
static inline lanes lesser(lanes a, lanes b)
{
	lanes v = b;

	for (size_t k = 0; k < LANES; k++)
		v[k] = a[k] < b[k] ? a[k] : b[k];
	return v;
}

static inline lanes greater(lanes a, lanes b)
{
	lanes v = b;

	for (size_t k = 0; k < LANES; k++)
		v[k] = a[k] > b[k] ? a[k] : b[k];
	return v;
}

/* Least and greatest of a block of features; missing values count for neither. */
static void find_ranges(const struct tree *t, const struct pending *at, size_t block)
{
	const float *x = t->r->x + block;
	const uint32_t *rows = t->w->rows;
	lanes low = (lanes){ 0 } + INFINITY, low2 = low, high = -low, high2 = high;

	for (uint32_t i = at->begin; i < at->end; i++) {
		const float *v = x + rows[i] * t->r->stride;

		low = lesser(load(v), low);
		high = greater(load(v), high);
		low2 = lesser(load(v + LANES), low2);
		high2 = greater(load(v + LANES), high2);
	}
	for (size_t k = 0; k < LANES; k++) {
		t->w->cuts[block + k].low = low[k];
		t->w->cuts[block + k].high = high[k];
		t->w->cuts[block + LANES + k].low = low2[k];
		t->w->cuts[block + LANES + k].high = high2[k];
	}
}

static inline marks bits_of(float deviation)
{
	return (marks)((lanes){ 0 } + deviation);
}

/*
 * Add a chunk's rows at or below each cut of a block, and the sums of their deviations.
 * @param output  the first; their rows are counted once
 * @param two     outputs in this pass, else one
 */
static inline __attribute__((always_inline)) void sum_chunk(const struct tree *t, const struct pending *at,
							    uint32_t begin, uint32_t end, size_t block, size_t output,
							    bool two)
{
	const float *x = t->r->x + block, *deviation = t->w->deviation + output * t->r->n;
	struct cut *cuts = t->w->cuts + block, *sums = cuts + output * t->r->stride;
	lanes cut = { 0 }, cut2 = { 0 }, sum = { 0 }, sum2 = { 0 }, other = { 0 }, other2 = { 0 };
	marks n = { 0 }, n2 = { 0 };

	for (size_t k = 0; k < LANES; k++) {
		cut[k] = cuts[k].drawn ? cuts[k].at : -INFINITY;
		cut2[k] = cuts[LANES + k].drawn ? cuts[LANES + k].at : -INFINITY;
	}
	for (uint32_t i = begin; i < end; i++) {
		const float *v = x + t->w->rows[i] * t->r->stride;
		marks d = bits_of(deviation[i - at->begin]);
		marks left = load(v) <= cut, left2 = load(v + LANES) <= cut2;

		/* A mark is -1, all bits set. */
		n -= left;
		sum += (lanes)(left & d);
		n2 -= left2;
		sum2 += (lanes)(left2 & d);
		if (two) {
			d = bits_of(deviation[t->r->n + i - at->begin]);
			other += (lanes)(left & d);
			other2 += (lanes)(left2 & d);
		}
	}
	for (size_t k = 0; k < LANES; k++) {
		sums[k].left += (double)sum[k];
		sums[LANES + k].left += (double)sum2[k];
		if (two) {
			sums[t->r->stride + k].left += (double)other[k];
			sums[t->r->stride + LANES + k].left += (double)other2[k];
		}
		if (!output) {
			cuts[k].n_left += (uint32_t)n[k];
			cuts[LANES + k].n_left += (uint32_t)n2[k];
		}
	}
}

/* As sum_left(), of several outputs. */
static __attribute__((noinline)) void sum_left_jointly(const struct tree *t, const struct pending *at, size_t block)
{
	size_t n_outputs = t->targets->n_outputs;

	for (size_t o = 0; o < n_outputs; o++)
		for (size_t k = 0; k < BLOCK; k++) {
			t->w->cuts[o * t->r->stride + block + k].n_left = 0;
			t->w->cuts[o * t->r->stride + block + k].left = 0;
		}
	for (uint32_t begin = at->begin; begin < at->end; begin += CHUNK) {
		uint32_t end = at->end - begin < CHUNK ? at->end : begin + CHUNK;

		sum_chunk(t, at, begin, end, block, 0, true);
		for (size_t o = 2; o < n_outputs; o += 2)
			sum_chunk(t, at, begin, end, block, o, o + 1 < n_outputs);
	}
}

static void sum_left(const struct tree *t, const struct pending *at, size_t block)
{
	for (size_t k = 0; k < BLOCK; k++) {
		t->w->cuts[block + k].n_left = 0;
		t->w->cuts[block + k].left = 0;
	}
	for (uint32_t begin = at->begin; begin < at->end; begin += CHUNK)
		sum_chunk(t, at, begin, at->end - begin < CHUNK ? at->end : begin + CHUNK, block, 0, false);
}

static void sum_missing(const struct tree *t, const struct pending *at, uint32_t feature)
{
	struct cut *c = &t->w->cuts[feature];

	c->n_missing = 0;
	c->missing = 0;
	for (size_t o = 1; o < t->targets->n_outputs; o++)
		c[o * t->r->stride].missing = 0;
	if (!t->r->lacking[feature])
		return;
	for (uint32_t i = at->begin; i < at->end; i++)
		if (isnan(t->r->x[t->w->rows[i] * t->r->stride + feature])) {
			c->n_missing++;
			for (size_t o = 0; o < t->targets->n_outputs; o++)
				c[o * t->r->stride].missing += (double)t->w->deviation[o * t->r->n + i - at->begin];
		}
}

/* Uniform between the ends, the upper one excluded; between rows that have the feature and rows that lack it
 * where the former are all alike. */
static float place_cut(const struct cut *c, uint32_t draw)
{
	double u = draw * 0x1p-32;
	float at = (float)((double)c->low + u * ((double)c->high - (double)c->low));

	if (!(c->low < c->high))
		return FLT_MAX;
	return at < c->high ? at : c->low;
}

/* Draw features in random order until enough that vary have a cut. @return how many were looked at */
static uint32_t draw_cuts(const struct tree *t, const struct pending *at)
{
	struct random_work *w = t->w;
	uint32_t n = (uint32_t)t->r->n_features, looked = 0, drawn = 0;

	for (uint32_t f = 0; f < n; f++)
		w->cuts[f].drawn = false;
	for (; looked < n && drawn < t->o->features_per_split; looked++) {
		uint64_t draw = hes_rng_u64(t->rng); /* its upper half picks, its lower half cuts */
		uint32_t pick = looked + (uint32_t)((draw >> 32) * (n - looked) >> 32), f = w->s.features[pick];
		struct cut *c = &w->cuts[f];

		w->s.features[pick] = w->s.features[looked];
		w->s.features[looked] = f;
		sum_missing(t, at, f);
		if (c->n_missing == at->end - at->begin || (!(c->low < c->high) && !c->n_missing))
			continue;
		c->at = place_cut(c, (uint32_t)draw);
		c->drawn = true;
		drawn++;
	}
	return looked;
}

/* Squares of the sums left of a cut, of all outputs; @way 1: with the rows that lack the feature. */
static double squared_gain(const struct tree *t, uint32_t feature, uint32_t way, uint32_t n_left, uint32_t n)
{
	const struct cut *c = t->w->cuts + feature;
	double left = c->left + way * c->missing, square = left * left;

	for (size_t o = 1; o < t->targets->n_outputs; o++) {
		c += t->r->stride;
		left = c->left + way * c->missing;
		square += left * left;
	}
	return square / ((double)n_left * (n - n_left));
}

/* Sum of absolute deviations from the lower median of the rows whose flag is @side, in the order of targets. */
static double deviation_of(const struct tree *t, const struct pending *at, uint8_t side, uint32_t n_side)
{
	const uint32_t *rows = t->w->s.by_target;
	double sum = 0, first = t->y[rows[at->begin]];
	uint32_t rank = 0;

	for (uint32_t i = at->begin; i < at->end; i++) {
		if (t->w->s.left[rows[i]] != side)
			continue;
		if (rank < n_side / 2)
			sum -= t->y[rows[i]] - first;
		else if (rank >= (n_side + 1) / 2)
			sum += t->y[rows[i]] - first;
		rank++;
	}
	return sum;
}

static uint32_t mark_left(const struct tree *t, const struct pending *at, uint32_t feature, float cut,
			  bool missing_left)
{
	uint32_t n_left = 0;

	for (uint32_t i = at->begin; i < at->end; i++) {
		uint32_t row = t->w->rows[i];
		float v = t->r->x[row * t->r->stride + feature];

		t->w->s.left[row] = isnan(v) ? missing_left : v <= cut;
		n_left += t->w->s.left[row];
	}
	return n_left;
}

/* Fall of the sum of deviations from the medians; @whole: of all the node's rows. */
static double absolute_gain(const struct tree *t, const struct pending *at, uint32_t feature, bool missing_left,
			    double whole)
{
	uint32_t n_left = mark_left(t, at, feature, t->w->cuts[feature].at, missing_left);

	return whole - deviation_of(t, at, 1, n_left) - deviation_of(t, at, 0, at->end - at->begin - n_left);
}

/* Rows without the feature go right, then left. */
static void try_cut(const struct tree *t, const struct pending *at, uint32_t feature, double whole,
		    struct split *best)
{
	const struct cut *c = &t->w->cuts[feature];
	uint32_t n = at->end - at->begin, ways = c->n_missing && c->at < FLT_MAX ? 2 : 1;

	for (uint32_t way = 0; way < ways; way++) {
		uint32_t n_left = c->n_left + way * c->n_missing;
		double gain;

		if (n_left < t->o->min_leaf || n - n_left < t->o->min_leaf)
			continue;
		gain = t->o->criterion == HES_CRITERION_ABSOLUTE
			       ? absolute_gain(t, at, feature, way, whole)
			       : squared_gain(t, feature, way, n_left, n);
		if (gain > best->gain)
			/* Where all rows have the feature, one without it follows the many. */
			*best = (struct split){ gain, feature, c->at,
						c->n_missing ? way == 1 : n_left > n / 2 };
	}
}

/* Two rows can be parted in one way: any feature that varies does it, the first that is drawn. */
static struct split split_pair(const struct tree *t, const struct pending *at)
{
	const float *a = t->r->x + t->w->rows[at->begin] * t->r->stride;
	const float *b = t->r->x + t->w->rows[at->begin + 1] * t->r->stride;
	uint32_t n = (uint32_t)t->r->n_features, *features = t->w->s.features;

	for (uint32_t looked = 0; looked < n; looked++) {
		uint64_t draw = hes_rng_u64(t->rng);
		uint32_t pick = looked + (uint32_t)((draw >> 32) * (n - looked) >> 32), f = features[pick];
		struct cut c = { .low = a[f] < b[f] ? a[f] : b[f], .high = a[f] < b[f] ? b[f] : a[f] };

		features[pick] = features[looked];
		features[looked] = f;
		if (isnan(a[f]) != isnan(b[f]))
			return (struct split){ 0, f, FLT_MAX, false };
		if (c.low < c.high)
			return (struct split){ 0, f, place_cut(&c, (uint32_t)draw), false };
	}
	return (struct split){ .gain = -INFINITY };
}

static struct split find_split(const struct tree *t, const struct pending *at)
{
	struct split best = { .gain = -INFINITY };
	double whole = 0;
	uint32_t looked;

	for (size_t block = 0; block < t->r->stride; block += BLOCK)
		find_ranges(t, at, block);
	looked = draw_cuts(t, at);
	for (size_t block = 0; block < t->r->stride; block += BLOCK)
		if (t->targets->n_outputs == 1)
			sum_left(t, at, block);
		else
			sum_left_jointly(t, at, block);
	if (t->o->criterion == HES_CRITERION_ABSOLUTE) {
		for (uint32_t i = at->begin; i < at->end; i++)
			t->w->s.left[t->w->rows[i]] = 0;
		whole = deviation_of(t, at, 0, at->end - at->begin);
	}
	for (uint32_t i = 0; i < looked; i++)
		if (t->w->cuts[t->w->s.features[i]].drawn)
			try_cut(t, at, t->w->s.features[i], whole, &best);
	return best;
}

/* Part rows stably. @return how many went left */
static uint32_t part(const struct tree *t, const struct pending *at, const struct split *s, uint32_t *rows)
{
	uint32_t to = at->begin, n_right = 0;

	for (uint32_t i = at->begin; i < at->end; i++) {
		uint32_t row = rows[i];
		float v = t->r->x[row * t->r->stride + s->feature];
		bool left = isnan(v) ? s->missing_left : v <= s->cut;

		/* Both stores, one kept: which way a row goes cannot be foretold. */
		rows[to] = row;
		t->w->s.spare[n_right] = row;
		to += left;
		n_right += !left;
	}
	memcpy(rows + to, t->w->s.spare, n_right * sizeof(*rows));
	return to - at->begin;
}

/* Let a node say the mean of an output. @return whether the output varies in it */
static bool put_mean(const struct tree *t, const struct pending *at, size_t output)
{
	const double *y = t->y + output * t->r->n;
	const uint32_t *rows = t->w->rows;
	double first = y[rows[at->begin]], sum = 0;
	bool varies = false;

	for (uint32_t i = at->begin; i < at->end; i++) {
		sum += y[rows[i]] - first;
		varies |= y[rows[i]] != first;
	}
	scratch_put_value(&t->w->s, at->node, output, first + sum / (at->end - at->begin));
	return varies;
}

/* Keep a node for splitting, or make it a leaf. */
static void settle(const struct tree *t, const struct pending *at)
{
	struct scratch *s = &t->w->s;
	uint32_t n = at->end - at->begin;
	bool varies = false;

	s->nodes[at->node] = (struct ensemble_node){ 0 };
	for (size_t o = 0; o < t->targets->n_outputs; o++)
		varies |= put_mean(t, at, o);
	if (t->o->criterion == HES_CRITERION_ABSOLUTE)
		s->nodes[at->node].value = (float)t->y[s->by_target[at->begin + (n - 1) / 2]];
	if (varies && n / 2 >= t->o->min_leaf && (!t->o->max_depth || at->depth < t->o->max_depth))
		s->stack[s->n_stack++] = *at;
}

/* As deviate(), of several outputs, which keep their proportions. */
static void deviate_joint(const struct tree *t, const struct pending *at)
{
	const uint32_t *rows = t->w->rows + at->begin;
	size_t n_outputs = t->targets->n_outputs, width = joint_width(n_outputs);
	double mean[HES_REGRESSOR_MAX_OUTPUTS], most = 0;
	uint32_t n = at->end - at->begin;

	for (size_t o = 0; o < n_outputs; o++) {
		const double *even = t->targets->even + o;
		double first = even[rows[0] * width], sum = 0;

		for (uint32_t i = 0; i < n; i++)
			sum += even[rows[i] * width] - first;
		mean[o] = first + sum / n;
		for (uint32_t i = 0; i < n; i++) {
			double d = fabs(even[rows[i] * width] - mean[o]);

			most = d > most ? d : most;
		}
	}
	for (size_t o = 0; o < n_outputs; o++)
		for (uint32_t i = 0; i < n; i++)
			t->w->deviation[o * t->r->n + i] =
				most > 0 ? (float)((t->targets->even[rows[i] * width + o] - mean[o]) / most) : 0;
}

/* Deviations from the mean, the greatest of size 1. */
static void deviate(const struct tree *t, const struct pending *at)
{
	const uint32_t *rows = t->w->rows + at->begin;
	uint32_t n = at->end - at->begin;
	double first = t->y[rows[0]], sum = 0, most = 0, mean;

	for (uint32_t i = 0; i < n; i++)
		sum += t->y[rows[i]] - first;
	mean = first + sum / n;
	for (uint32_t i = 0; i < n; i++)
		most = fabs(t->y[rows[i]] - mean) > most ? fabs(t->y[rows[i]] - mean) : most;
	for (uint32_t i = 0; i < n; i++)
		t->w->deviation[i] = (float)((t->y[rows[i]] - mean) / most);
}

static void grow_node(const struct tree *t, const struct pending *at)
{
	struct scratch *w = &t->w->s;
	struct pending left, right;
	struct split s;

	if (at->end - at->begin == 2) {
		s = split_pair(t, at);
	} else {
		if (t->targets->n_outputs == 1)
			deviate(t, at);
		else
			deviate_joint(t, at);
		s = find_split(t, at);
	}
	if (!(s.gain > -INFINITY))
		return;
	left = right = (struct pending){ w->n_nodes, at->begin, at->end, at->depth + 1 };
	right.node++;
	left.end = right.begin = at->begin + part(t, at, &s, t->w->rows);
	if (t->o->criterion == HES_CRITERION_ABSOLUTE)
		part(t, at, &s, w->by_target);
	w->nodes[at->node] = (struct ensemble_node){ s.cut, w->n_nodes, (uint16_t)s.feature, s.missing_left };
	w->n_nodes += 2;
	settle(t, &right);
	settle(t, &left);
}

int random_grow(const struct random_rows *r, const struct grow_targets *y,
		const struct hes_regressor_options *o, struct hes_rng *rng, struct random_work *w, struct grown *out)
{
	struct tree t = { .r = r, .targets = y, .y = y->y, .o = o, .rng = rng, .w = w };
	struct scratch *s = &w->s;

	for (size_t i = 0; i < r->n; i++)
		w->rows[i] = s->by_target[i] = (uint32_t)i;
	scratch_begin(s, r->n_features);
	if (o->criterion == HES_CRITERION_ABSOLUTE)
		grow_sort_by_target(s->by_target, r->n, y->y, s->targets);
	settle(&t, &(struct pending){ 0, 0, (uint32_t)r->n, 0 });
	while (s->n_stack) {
		struct pending at = s->stack[--s->n_stack];

		grow_node(&t, &at);
	}
	return scratch_take(s, out);
}
