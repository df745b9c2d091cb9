/*
 * walk.c - ask a walker; see walk.h, and walk_layout.h for what a step is.
 *
 * A step waits for the memory twice, for the node and for the row's key, so
 * several chains of steps go abreast: of trees for one row, of rows for one
 * tree. Sums are taken in double, in the order of the trees, as
 * ensemble_predict() takes them.
 */
#include "predict/walk.h"

#include "predict/walk_key.h"
#include "predict/walk_layout.h"

#define TREES_ABREAST 10
#define ROWS_ABREAST  16
#define STEPS         4    /* between looks at whether all chains came to their leaves */
#define BLOCK_ROWS    128  /* a tree is walked by so many rows while it is in the cache */
#define BLOCK_KEYS    8192
#define FEW_ROWS      10   /* up to so many are quicker one by one */
#define MAX_COLUMNS   2001 /* column 0 and two of each feature */

/*
 * One step. Most ensembles get by with 8 bits for columns, which callers pass as a constant.
 * @param asked  takes the column's bits: none of a leaf
 */
static inline __attribute__((always_inline)) uint64_t step(const uint64_t *tree, uint64_t at, const uint64_t *keys,
							   unsigned column_bits, uint64_t *asked)
{
	uint64_t node = tree[at], next = (uint32_t)node >> column_bits;
	uint64_t column = node & (((uint32_t)1 << column_bits) - 1);

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

static void make_keys(const struct walker *w, const float *row, uint64_t *keys)
{
	keys[0] = 0;
	for (size_t c = 1; c < w->n_columns; c++) {
		float x = row[w->columns[c].feature];

		keys[c] = x != x ? w->columns[c].missing : (uint64_t)walk_key(x) << 32;
	}
}

/* Add the leaves that n trees, at most TREES_ABREAST, send a row to. */
static inline __attribute__((always_inline)) double walk_trees(const uint64_t *const *trees, size_t n,
							       const uint64_t *keys, unsigned column_bits,
							       double sum)
{
	const uint64_t *tree[TREES_ABREAST];
	uint64_t at[TREES_ABREAST] = { 0 }, asked, unused = 0;

	for (size_t i = 0; i < TREES_ABREAST; i++)
		tree[i] = trees[i < n ? i : 0];
	do {
		for (int s = 1; s < STEPS; s++)
#pragma GCC unroll 16
			for (size_t i = 0; i < TREES_ABREAST; i++)
				at[i] = step(tree[i], at[i], keys, column_bits, &unused);
		asked = 0;
#pragma GCC unroll 16
		for (size_t i = 0; i < TREES_ABREAST; i++)
			at[i] = step(tree[i], at[i], keys, column_bits, &asked);
	} while (asked);
	for (size_t i = 0; i < n; i++)
		sum += leaf_value(tree[i][at[i]]);
	return sum;
}

static inline __attribute__((always_inline)) void predict_row(const struct walker *w, const float *row, double *out,
							      unsigned column_bits)
{
	uint64_t keys[MAX_COLUMNS];

	make_keys(w, row, keys);
	for (size_t o = 0; o < w->n_outputs; o++) {
		const struct walker_output *output = &w->outputs[o];
		double sum = 0;

		for (size_t t = output->first; t < output->end; t += TREES_ABREAST) {
			size_t left = output->end - t;

			sum = walk_trees(w->trees + t, left < TREES_ABREAST ? left : TREES_ABREAST, keys, column_bits, sum);
		}
		out[o] = output->base + output->scale * sum;
	}
}

void walker_predict(const struct walker *w, const float *row, double *out)
{
	if (w->plain.n_trees)
		ensemble_predict(&w->plain, row, out);
	else if (w->column_bits == 8)
		predict_row(w, row, out, 8);
	else
		predict_row(w, row, out, w->column_bits);
}

/* Add to each of n sums the leaf that a tree sends its row to; n at most ROWS_ABREAST, keys for all of these. */
static inline __attribute__((always_inline)) void walk_rows(const uint64_t *tree, const uint64_t *keys, size_t stride,
							    size_t n, unsigned column_bits, double *sums)
{
	uint64_t at[ROWS_ABREAST] = { 0 }, asked, unused = 0;

	do {
		for (int s = 1; s < STEPS; s++)
#pragma GCC unroll 16
			for (size_t i = 0; i < ROWS_ABREAST; i++)
				at[i] = step(tree, at[i], keys + i * stride, column_bits, &unused);
		asked = 0;
#pragma GCC unroll 16
		for (size_t i = 0; i < ROWS_ABREAST; i++)
			at[i] = step(tree, at[i], keys + i * stride, column_bits, &asked);
	} while (asked);
	for (size_t i = 0; i < n; i++)
		sums[i] += leaf_value(tree[at[i]]);
}

/* Up to BLOCK_ROWS rows whose keys are made. */
static inline __attribute__((always_inline)) void predict_block(const struct walker *w, const uint64_t *keys,
								size_t stride, size_t n, unsigned column_bits,
								double *out)
{
	for (size_t i = 0; i < w->n_outputs; i++) {
		const struct walker_output *o = &w->outputs[i];
		double sums[BLOCK_ROWS] = { 0 };

		for (size_t t = o->first; t < o->end; t++)
			for (size_t r = 0; r < n; r += ROWS_ABREAST)
				walk_rows(w->trees[t], keys + r * stride, stride,
					  n - r < ROWS_ABREAST ? n - r : ROWS_ABREAST, column_bits, sums + r);
		for (size_t r = 0; r < n; r++)
			out[r * w->n_outputs + i] = o->base + o->scale * sums[r];
	}
}

/*
 * Keys from one row to the next. Where the compiler knows it, a row needs no
 * register of its own; odd multiples of a cache line spread over all its sets.
 */
static size_t stride_of(const struct walker *w)
{
	return w->n_columns <= 24 ? 24 : w->n_columns <= 40 ? 40 : w->n_columns <= 72 ? 72 : w->n_columns | 1;
}

static void walk_block(const struct walker *w, const float *rows, size_t n, double *out)
{
	size_t stride = stride_of(w), r = 0;
	uint64_t keys[BLOCK_KEYS];

	for (; r < n; r++)
		make_keys(w, rows + r * w->n_features, keys + r * stride);
	for (; r % ROWS_ABREAST; r++)
		memset(keys + r * stride, 0, stride * sizeof(*keys));
	if (w->column_bits == 8 && stride == 24)
		predict_block(w, keys, 24, n, 8, out);
	else if (w->column_bits == 8 && stride == 40)
		predict_block(w, keys, 40, n, 8, out);
	else if (w->column_bits == 8 && stride == 72)
		predict_block(w, keys, 72, n, 8, out);
	else
		predict_block(w, keys, stride, n, w->column_bits, out);
}

/* Rows whose keys fit BLOCK_KEYS, in whole companies of ROWS_ABREAST; 0: not even one company. */
static size_t block_rows(const struct walker *w)
{
	size_t n = BLOCK_KEYS / stride_of(w) / ROWS_ABREAST * ROWS_ABREAST;

	return n < BLOCK_ROWS ? n : BLOCK_ROWS;
}

void walker_predict_rows(const struct walker *w, const float *rows, size_t n, double *out)
{
	size_t room = w->plain.n_trees ? 0 : block_rows(w), r = 0;

	while (room && n - r > FEW_ROWS) {
		size_t some = n - r < room ? n - r : room;

		walk_block(w, rows + r * w->n_features, some, out + r * w->n_outputs);
		r += some;
	}
	for (; r < n; r++)
		walker_predict(w, rows + r * w->n_features, out + r * w->n_outputs);
}
