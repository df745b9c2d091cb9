/*
 * walk.c - ask a walker; see walk.h, and walk_layout.h for what a step is.
 *
 * A step waits for the memory twice, for the node and for the row's key, so
 * several chains of steps go abreast: of trees for one row, of rows for one
 * tree. Sums are taken in double, in the order of the trees, as
 * ensemble_predict() takes them. Where they can, walk_wide.c takes blocks of
 * rows in which no value is missing.
 */
#include "trees/walk.h"

#include "heshare/regressor.h"
#include "trees/walk_key.h"
#include "trees/walk_layout.h"
#include "trees/quickscorer.h"
#include "trees/walk_wide.h"

#define TREES_ABREAST 10
#define STEPS         4     /* between looks at whether all trees came to their leaves */
#define ROWS_ABREAST  12    /* as many as leave the compiler registers for a step */
#define SHALLOW       10    /* trees up to so deep are walked to their depth without a look */
#define SURE_STEPS    9     /* in deeper ones before the first look; then one every other step */
#define BLOCK_KEYS    32768 /* of the rows that walk a tree while the cache holds it: 256 KiB on the stack */
#define BLOCK_ROWS    1356
#define BLOCK_SUMS    (2 * BLOCK_ROWS) /* of joint trees: as many rows of two outputs */
#define FEW_ROWS      10    /* up to so many are quicker one by one */
#define FETCH_LINES   128   /* of the next tree at most, while so many rows as go abreast walk this one */
#define MAX_COLUMNS   2001  /* column 0 and two of each feature */

/* How nodes are read: callers pass constants where they can. */
struct reading {
	unsigned child_shift;
	unsigned column_shift; /* of the column asked for */
	uint32_t column_mask;
	size_t   stride;       /* keys from one row to the next; of one row alone 0 */
};

/*
 * One step.
 * @param asked  takes the column's bits: none of a leaf
 */
static inline __attribute__((always_inline)) uint64_t step(const uint64_t *tree, uint64_t at, const uint64_t *keys,
							   struct reading how, uint64_t *asked)
{
	uint64_t node = tree[at], next = (uint32_t)node >> how.child_shift;
	uint64_t column = (uint32_t)node >> how.column_shift & how.column_mask;

	*asked |= column;
	next += node < keys[column]; /* as this, and only so, it becomes an addition with carry */
	return next;
}

static float leaf_value(uint64_t node)
{
	uint32_t bits = (uint32_t)(node >> 32);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Add what a joint tree's leaf says. */
static inline __attribute__((always_inline)) void add_leaf(const struct walker_tree *tree, uint64_t node, size_t n_values,
							   double *sums)
{
	const float *values = tree->leaves + (node >> 32) * n_values;

	for (size_t v = 0; v < n_values; v++)
		sums[v] += (double)values[v];
}

static void make_keys(const struct walker *w, const float *row, uint64_t *keys)
{
	keys[0] = 0;
	for (size_t c = 1; c < w->n_columns; c++) {
		float x = row[w->columns[c].feature];

		keys[c] = x != x ? w->columns[c].missing : (uint64_t)walk_key(x) << 32;
	}
}

/* Keys of features alone. @return whether they suffice: nothing that trees ask for is missing */
static bool make_keys_alone(const struct walker *w, const float *row, uint64_t *keys)
{
	bool missing = false;

	keys[0] = 0;
	for (size_t c = 1; c < w->n_alone; c++) {
		float x = row[w->features[c]];

		missing |= x != x;
		keys[c] = (uint64_t)walk_key(x) << 32;
	}
	return !missing;
}

/* How nodes are read for keys of features alone, and for those of columns. */
static inline __attribute__((always_inline)) struct reading alone(size_t stride)
{
	return (struct reading){ WALK_TWO_COLUMNS, 0, 0xff, stride };
}

static inline __attribute__((always_inline)) struct reading second_column(size_t stride)
{
	return (struct reading){ WALK_TWO_COLUMNS, 8, 0xff, stride };
}

static inline __attribute__((always_inline)) struct reading only_column(unsigned child_shift, size_t stride)
{
	return (struct reading){ child_shift, 0, (1u << child_shift) - 1, stride };
}

/* Add the leaves that n trees, at most TREES_ABREAST, send a row to; joint trees have several values to add. */
static inline __attribute__((always_inline)) void walk_trees(const struct walker_tree *trees, size_t n,
							     const uint64_t *keys, struct reading how, size_t joint,
							     double *sums)
{
	const uint64_t *tree[TREES_ABREAST];
	uint64_t at[TREES_ABREAST] = { 0 }, asked, unused = 0;
	double sum = sums[0];

	for (size_t i = 0; i < TREES_ABREAST; i++)
		tree[i] = trees[i < n ? i : 0].nodes;
	do {
		for (int s = 1; s < STEPS; s++)
#pragma GCC unroll 16
			for (size_t i = 0; i < TREES_ABREAST; i++)
				at[i] = step(tree[i], at[i], keys, how, &unused);
		asked = 0;
#pragma GCC unroll 16
		for (size_t i = 0; i < TREES_ABREAST; i++)
			at[i] = step(tree[i], at[i], keys, how, &asked);
	} while (asked);
	if (joint) {
		for (size_t i = 0; i < n; i++)
			add_leaf(&trees[i], tree[i][at[i]], joint, sums);
		return;
	}
	for (size_t i = 0; i < n; i++)
		sum += leaf_value(tree[i][at[i]]);
	sums[0] = sum;
}

static inline __attribute__((always_inline)) void predict_row(const struct walker *w, const uint64_t *keys, double *out,
							      struct reading how)
{
	for (size_t o = 0; o < w->n_outputs; o++) {
		const struct walker_output *output = &w->outputs[o];
		double sum = 0;

		for (size_t t = output->first; t < output->end; t += TREES_ABREAST) {
			size_t left = output->end - t;

			walk_trees(w->trees + t, left < TREES_ABREAST ? left : TREES_ABREAST, keys, how, 0, &sum);
		}
		out[o] = output->base + output->scale * sum;
	}
}

/* As predict_row(), of joint trees. */
static __attribute__((noinline)) void predict_row_jointly(const struct walker *w, const uint64_t *keys, double *out,
							  struct reading how)
{
	double sums[HES_REGRESSOR_MAX_OUTPUTS] = { 0 };

	for (size_t t = 0; t < w->n_trees; t += TREES_ABREAST)
		walk_trees(w->trees + t, w->n_trees - t < TREES_ABREAST ? w->n_trees - t : TREES_ABREAST, keys, how,
			   w->n_values, sums);
	for (size_t o = 0; o < w->n_outputs; o++)
		out[o] = w->outputs[o].base + w->outputs[o].scale * sums[o];
}

const struct sieve *walker_sieve(const struct walker *w)
{
	return w->sieve;
}

void walker_predict(const struct walker *w, const float *row, double *out)
{
	uint64_t keys[MAX_COLUMNS];

	if (w->sieve) {
		sieve_predict(w->sieve, row, out);
	} else if (w->plain.n_trees) {
		ensemble_predict(&w->plain, row, out);
	} else if (w->leaves && w->child_shift != WALK_TWO_COLUMNS) {
		make_keys(w, row, keys);
		predict_row_jointly(w, keys, out, only_column(w->child_shift, 0));
	} else if (w->leaves && make_keys_alone(w, row, keys)) {
		predict_row_jointly(w, keys, out, alone(0));
	} else if (w->leaves) {
		make_keys(w, row, keys);
		predict_row_jointly(w, keys, out, second_column(0));
	} else if (w->child_shift != WALK_TWO_COLUMNS) {
		make_keys(w, row, keys);
		predict_row(w, keys, out, only_column(w->child_shift, 0));
	} else if (make_keys_alone(w, row, keys)) {
		predict_row(w, keys, out, alone(0));
	} else {
		make_keys(w, row, keys);
		predict_row(w, keys, out, second_column(0));
	}
}

/* The compiler shall be done with one chain before it begins the next: all at once they do not fit its registers. */
#define ALL_ROWS_STEP(asked) \
	for (size_t i = 0; i < ROWS_ABREAST; i++) { \
		uint64_t next = step(nodes, at[i], keys + i * how.stride, how, asked); \
		__asm__ volatile("" : "+r"(next)); \
		at[i] = next; \
	}

/*
 * Add to the sums of each of ROWS_ABREAST rows the leaf that a tree sends it to.
 * @param joint  values of a joint tree's leaf, or 0
 */
static inline __attribute__((always_inline)) void walk_rows(const struct walker_tree *tree, const uint64_t *keys,
							    struct reading how, size_t joint, double *sums)
{
	uint64_t at[ROWS_ABREAST] = { 0 }, asked = 0, unused = 0;
	uint32_t sure = tree->depth <= SHALLOW ? tree->depth : SURE_STEPS;
	const uint64_t *nodes = tree->nodes;

	for (uint32_t s = 0; s < sure; s++)
#pragma GCC unroll 16
		ALL_ROWS_STEP(&unused)
	if (tree->depth > SHALLOW)
		do {
#pragma GCC unroll 16
			ALL_ROWS_STEP(&unused)
			asked = 0;
#pragma GCC unroll 16
			ALL_ROWS_STEP(&asked)
		} while (asked);
	if (joint) {
#pragma GCC unroll 16
		for (size_t i = 0; i < ROWS_ABREAST; i++)
			add_leaf(tree, nodes[at[i]], joint, sums + i * joint);
		return;
	}
#pragma GCC unroll 16
	for (size_t i = 0; i < ROWS_ABREAST; i++)
		sums[i] += leaf_value(nodes[at[i]]);
}

/*
 * All rows of a block through one tree, while the next one is fetched, for caches hold few trees of a forest.
 * @param keys   of n rows, a multiple of ROWS_ABREAST
 * @param given  how nodes are read, for those who do not know it
 * @param joint  values of a joint tree's leaf
 */
typedef void walk_tree(const struct walker_tree *tree, const struct walker_tree *next, const uint64_t *keys, size_t n,
		       struct reading given, size_t joint, double *sums);

/* One for each way to read nodes and leaves: several in one function leave the compiler short of registers. */
#define WALK_TREE(name, way, values) \
	static __attribute__((noinline)) void name(const struct walker_tree *tree, const struct walker_tree *next, \
						   const uint64_t *keys, size_t n, struct reading given, size_t joint, \
						   double *sums) \
	{ \
		size_t companies = n / ROWS_ABREAST, lines = (next->lines + companies - 1) / companies; \
		const uint64_t *ahead = next->nodes; \
		const struct reading how = way; \
\
		(void)given; \
		(void)joint; \
		lines = lines < FETCH_LINES ? lines : FETCH_LINES; \
		for (; companies; companies--, keys += ROWS_ABREAST * how.stride, \
				  sums += ROWS_ABREAST * ((values) ? (values) : 1)) { \
			for (size_t l = 0; l < lines; l++, ahead += WALK_LINE_NODES) \
				__builtin_prefetch(ahead, 0, 2); \
			walk_rows(tree, keys, how, values, sums); \
		} \
	}

#define WALK_TREES(name, way) \
	WALK_TREE(name, way, 0) \
	WALK_TREE(name##_two, way, 2) \
	WALK_TREE(name##_joint, way, joint)

WALK_TREES(walk_alone_24, alone(24))
WALK_TREES(walk_alone_40, alone(40))
WALK_TREES(walk_alone_72, alone(72))
WALK_TREES(walk_second_24, second_column(24))
WALK_TREES(walk_second_40, second_column(40))
WALK_TREES(walk_second_72, second_column(72))
WALK_TREES(walk_any, given)

/* Ways to walk nodes that have two columns, and any; by values of a joint tree's leaf: none, two, others. */
struct walks {
	size_t     stride; /* 0: any */
	walk_tree *alone[3], *second[3];
};

static const struct walks walks[] = {
	{ 24, { walk_alone_24, walk_alone_24_two, walk_alone_24_joint },
	      { walk_second_24, walk_second_24_two, walk_second_24_joint } },
	{ 40, { walk_alone_40, walk_alone_40_two, walk_alone_40_joint },
	      { walk_second_40, walk_second_40_two, walk_second_40_joint } },
	{ 72, { walk_alone_72, walk_alone_72_two, walk_alone_72_joint },
	      { walk_second_72, walk_second_72_two, walk_second_72_joint } },
	{ 0, { walk_any, walk_any_two, walk_any_joint }, { walk_any, walk_any_two, walk_any_joint } },
};

static const struct walks *walks_of(size_t stride)
{
	const struct walks *w = walks;

	while (w->stride && w->stride != stride)
		w++;
	return w;
}

/* @param walk  three of them, as in struct walks */
static void predict_block(const struct walker *w, const uint64_t *keys, size_t n, struct reading how,
			  walk_tree *const *walk, double *out)
{
	size_t all = (n + ROWS_ABREAST - 1) / ROWS_ABREAST * ROWS_ABREAST, values = w->n_values;
	walk_tree *one = walk[!w->leaves ? 0 : values == 2 ? 1 : 2];

	for (size_t i = 0; i < w->n_outputs; i += values) {
		const struct walker_output *o = &w->outputs[i];
		double sums[BLOCK_SUMS];

		memset(sums, 0, all * values * sizeof(*sums));
		for (size_t t = o->first; t < o->end; t++)
			one(&w->trees[t], &w->trees[t + 1 < w->n_trees ? t + 1 : 0], keys, all, how, values, sums);
		for (size_t r = 0; r < n; r++)
			for (size_t v = 0; v < values; v++)
				out[r * w->n_outputs + i + v] = o[v].base + o[v].scale * sums[r * values + v];
	}
}

/* Keys from one row to the next. Where the compiler knows it, a row needs no register of its own. */
static size_t stride_of(size_t n_columns)
{
	return n_columns <= 24 ? 24 : n_columns <= 40 ? 40 : n_columns <= 72 ? 72 : n_columns | 1;
}

/* Rows whose keys and sums fit, in whole companies of ROWS_ABREAST; 0: not even one company. */
static size_t block_rows(const struct walker *w, size_t stride)
{
	size_t n = BLOCK_KEYS / stride / ROWS_ABREAST * ROWS_ABREAST;
	size_t most = w->n_values == 1 ? BLOCK_ROWS : BLOCK_SUMS / w->n_values / ROWS_ABREAST * ROWS_ABREAST;

	return n < most ? n : most;
}

/* Keys of rows that do not exist, to the end of their company. */
static void fill_up(uint64_t *keys, size_t stride, size_t n)
{
	for (; n % ROWS_ABREAST; n++)
		memset(keys + n * stride, 0, stride * sizeof(*keys));
}

/*
 * Not inlined, for the stack that keys take.
 * @param n  at most block_rows()
 * @return false: some value is missing, nothing was done
 */
static __attribute__((noinline)) bool walk_alone(const struct walker *w, const float *rows, size_t n, double *out)
{
	size_t stride = stride_of(w->n_alone);
	uint64_t keys[BLOCK_KEYS];

	for (size_t r = 0; r < n; r++)
		if (!make_keys_alone(w, rows + r * w->n_features, keys + r * stride))
			return false;
	fill_up(keys, stride, n);
	predict_block(w, keys, n, alone(stride), walks_of(stride)->alone, out);
	return true;
}

/* As walk_alone(), with keys that know of missing values. */
static __attribute__((noinline)) void walk_columns(const struct walker *w, const float *rows, size_t n, double *out)
{
	size_t stride = stride_of(w->n_columns);
	uint64_t keys[BLOCK_KEYS];

	for (size_t r = 0; r < n; r++)
		make_keys(w, rows + r * w->n_features, keys + r * stride);
	fill_up(keys, stride, n);
	if (w->child_shift != WALK_TWO_COLUMNS)
		predict_block(w, keys, n, only_column(w->child_shift, stride), walks_of(0)->alone, out);
	else
		predict_block(w, keys, n, second_column(stride), walks_of(stride)->second, out);
}

/* Blocks of like size, none larger than room. */
static size_t next_block(size_t left, size_t room)
{
	size_t blocks = (left + room - 1) / room;

	return (left + blocks - 1) / blocks;
}

static void predict_by_columns(const struct walker *w, const float *rows, size_t n, double *out)
{
	size_t room = block_rows(w, stride_of(w->n_columns)), r = 0;

	while (room && n - r > FEW_ROWS) {
		size_t some = next_block(n - r, room);

		walk_columns(w, rows + r * w->n_features, some, out + r * w->n_outputs);
		r += some;
	}
	for (; r < n; r++)
		walker_predict(w, rows + r * w->n_features, out + r * w->n_outputs);
}

/* By nodes, or plainly. */
static void predict_some(const struct walker *w, const float *rows, size_t n, double *out)
{
	bool by_features = !w->plain.n_trees && w->child_shift == WALK_TWO_COLUMNS;
	size_t room = w->plain.n_trees ? 0 : block_rows(w, stride_of(by_features ? w->n_alone : w->n_columns)), r = 0;

	while (room && n - r > FEW_ROWS) {
		size_t some = next_block(n - r, room);
		const float *at = rows + r * w->n_features;
		double *to = out + r * w->n_outputs;

		if (!by_features || !walk_alone(w, at, some, to))
			predict_by_columns(w, at, some, to);
		r += some;
	}
	for (; r < n; r++)
		walker_predict(w, rows + r * w->n_features, out + r * w->n_outputs);
}

void walker_predict_rows(const struct walker *w, const float *rows, size_t n, double *out)
{
	while (w->wide && n >= WIDE_FEWEST) {
		size_t some = next_block(n, wide_room(w->wide));

		if (!wide_predict(w->wide, rows, some, out))
			predict_some(w, rows, some, out);
		rows += some * w->n_features;
		out += some * w->n_outputs;
		n -= some;
	}
	predict_some(w, rows, n, out);
}
