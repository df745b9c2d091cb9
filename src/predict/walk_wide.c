/*
 * walk_wide.c - ask many rows at once; see walk_wide.h, and walk_crown.h for
 * how trees are kept.
 *
 * Rows are ranked a block at a time, the block goes through one tree after
 * the other, CHUNK rows at a time, and sums are taken in double, in the order
 * of the trees, as ensemble_predict() takes them.
 */
#include "predict/walk_wide.h"

#include <string.h>

#include "predict/walk_crown.h"
#include "predict/walk_key.h"

#define CHUNK      128   /* rows: choices of so many fit the registers */
#define BLOCK_ROWS 2048
#define BLOCK_SUMS (2 * BLOCK_ROWS)
#define BLOCK_KEYS 65536 /* of a block's rows: 384 KiB on the stack */
#define APART      32    /* keys between columns, lest their lines fall into one set of the cache */
#define SEARCHES   8     /* side by side */
#define COLUMNS    (MAX_GROUPS * GROUP)

/* Rows as ranks, by column for crowns and by row for twigs. */
struct block {
	size_t   n;      /* whole chunks */
	size_t   stride; /* from one column to the next */
	uint16_t by_column[BLOCK_KEYS + COLUMNS * APART] __attribute__((aligned(64)));
	union {
		uint32_t keys[BLOCK_KEYS + COLUMNS * APART]; /* by column, until they are ranked */
		uint16_t by_row[BLOCK_KEYS] __attribute__((aligned(64)));
	};
	double   sums[BLOCK_SUMS] __attribute__((aligned(64))); /* of each row, n_values */
};

size_t wide_room(const struct wide *w)
{
	size_t n = BLOCK_KEYS / (w->n_groups * GROUP) / CHUNK * CHUNK;
	size_t most = w->n_values <= 2 ? BLOCK_ROWS : BLOCK_SUMS / w->n_values / CHUNK * CHUNK;

	return n < most ? n : most;
}

/* How many cuts lie below each of n keys, n in whole SEARCHES. */
static void rank_keys(const struct crown_column *c, const uint32_t *keys, size_t n, uint16_t *ranks)
{
	for (size_t i = 0; i < n; i += SEARCHES) {
		const uint32_t *at[SEARCHES];

		for (size_t k = 0; k < SEARCHES; k++)
			at[k] = c->cuts + c->starts[crown_part(c, keys[i + k])];
		for (uint32_t left = c->n_among, half; left > 1; left -= half) {
			half = left / 2;
#pragma GCC unroll 8
			for (size_t k = 0; k < SEARCHES; k++)
				at[k] += half & (0 - (size_t)(at[k][half - 1] < keys[i + k]));
		}
		for (size_t k = 0; k < SEARCHES; k++)
			ranks[i + k] = (uint16_t)crown_rank((uint32_t)(at[k] - c->cuts) + (*at[k] < keys[i + k]));
	}
}

/* Keys of n rows by column, few rows at a time so that they stay in the cache. @return false: a value is missing */
static bool make_keys(const struct wide *w, const float *rows, size_t n, size_t stride, uint32_t *keys)
{
	bool missing = false;

	for (size_t first = 0; first < n; first += SEARCHES) {
		size_t end = first + SEARCHES < n ? first + SEARCHES : n;

		for (size_t c = 0; c < w->n_columns; c++)
			for (size_t i = first; i < end; i++) {
				float x = rows[i * w->n_features + w->columns[c].feature];

				missing |= x != x;
				keys[c * stride + i] = walk_key(x);
			}
	}
	return !missing;
}

/* Rank n rows by column. @return false: a value is missing */
static bool rank_rows(const struct wide *w, const float *rows, size_t n, struct block *b)
{
	b->n = (n + CHUNK - 1) / CHUNK * CHUNK;
	b->stride = b->n + APART;
	if (!make_keys(w, rows, n, b->stride, b->keys))
		return false;
	for (size_t c = 0; c < w->n_groups * GROUP; c++) {
		uint32_t *keys = b->keys + c * b->stride;

		if (c < w->n_columns) {
			memset(keys + n, 0, (b->n - n) * sizeof(*keys));
			rank_keys(&w->columns[c], keys, b->n, b->by_column + c * b->stride);
		} else {
			memset(b->by_column + c * b->stride, 0, b->n * sizeof(*b->by_column));
		}
	}
	return true;
}

#ifdef __x86_64__

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define VECTORS (CHUNK / 16)
/* Registers are named, not indexed, once this is unrolled. */
#define EACH_VECTOR _Pragma("GCC unroll 8") for (size_t j = 0; j < VECTORS; j++)

/* Eight rows of eight columns from there, column by column, to here, row by row. */
AVX2 static void turn(const uint16_t *from, size_t stride, uint16_t *to, size_t row)
{
	__m128i a[8], b[8];

	for (size_t c = 0; c < 8; c++)
		a[c] = _mm_load_si128((const __m128i *)(const void *)(from + c * stride));
	for (size_t c = 0; c < 4; c++) {
		b[2 * c] = _mm_unpacklo_epi16(a[c], a[c + 4]);
		b[2 * c + 1] = _mm_unpackhi_epi16(a[c], a[c + 4]);
	}
	for (size_t c = 0; c < 4; c++) {
		a[2 * c] = _mm_unpacklo_epi16(b[c], b[c + 4]);
		a[2 * c + 1] = _mm_unpackhi_epi16(b[c], b[c + 4]);
	}
	for (size_t c = 0; c < 4; c++) {
		_mm_store_si128((__m128i *)(void *)(to + 2 * c * row), _mm_unpacklo_epi16(a[c], a[c + 4]));
		_mm_store_si128((__m128i *)(void *)(to + (2 * c + 1) * row), _mm_unpackhi_epi16(a[c], a[c + 4]));
	}
}

static void turn_all(const struct wide *w, struct block *b)
{
	size_t row = w->n_groups * GROUP;

	for (size_t c = 0; c < row; c += GROUP)
		for (size_t i = 0; i < b->n; i += 8)
			turn(b->by_column + c * b->stride + i, b->stride, b->by_row + i * row + c, row);
}

AVX2 static inline __attribute__((always_inline)) __m256i choose(__m256i beyond, const __m256i *keys, __m256i left,
								 __m256i right)
{
	__m256i goes_left = _mm256_cmpgt_epi16(beyond, _mm256_load_si256(keys));

	__asm__("" : "+x"(goes_left)); /* gcc 12 would compare it with 0 once more */
	return _mm256_blendv_epi8(right, left, goes_left);
}

/* The ends of a tree's crown that CHUNK rows come to. */
AVX2 static __attribute__((noinline)) void walk_crown(const struct crown_node *c, uint32_t n, const uint16_t *keys,
						      size_t stride, uint16_t *ends)
{
	__m256i chosen[VECTORS], slots[MAX_SLOTS][VECTORS];

	EACH_VECTOR
		chosen[j] = _mm256_setzero_si256();
	for (; n--; c++) {
		const __m256i *key = (const __m256i *)(const void *)(keys + c->column * stride);
		__m256i beyond = _mm256_set1_epi16(c->beyond), *slot = slots[c->slot];

		switch (c->kind) {
		case CROWN_ENDS_KEEP:
			EACH_VECTOR
				slot[j] = chosen[j];
			/* fall through */
		case CROWN_ENDS:
			EACH_VECTOR
				chosen[j] = choose(beyond, key + j, _mm256_set1_epi16((int16_t)c->left),
						   _mm256_set1_epi16((int16_t)c->right));
			break;
		case CROWN_END_LEFT:
			EACH_VECTOR
				chosen[j] = choose(beyond, key + j, _mm256_set1_epi16((int16_t)c->left), chosen[j]);
			break;
		case CROWN_END_RIGHT:
			EACH_VECTOR
				chosen[j] = choose(beyond, key + j, chosen[j], _mm256_set1_epi16((int16_t)c->right));
			break;
		case CROWN_SLOT_LEFT:
			EACH_VECTOR
				chosen[j] = choose(beyond, key + j, slot[j], chosen[j]);
			break;
		default:
			EACH_VECTOR
				chosen[j] = choose(beyond, key + j, chosen[j], slot[j]);
		}
	}
	EACH_VECTOR
		_mm256_store_si256((__m256i *)(void *)ends + j, chosen[j]);
}

AVX2 static inline __attribute__((always_inline)) __m256i load(const void *from)
{
	return _mm256_load_si256(from);
}

AVX2 static inline __attribute__((always_inline)) __m256i load_twice(const uint16_t *from)
{
	return _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)from));
}

/* The values of the leaf that a row comes to. @param which  of the twigs that lie together */
AVX2 static inline __attribute__((always_inline)) const float *walk_twig(const uint8_t *twig, uint32_t which,
									  const uint16_t *row, size_t n_groups,
									  size_t n_values)
{
	const struct twig_tail *tail = (const struct twig_tail *)(const void *)(twig + n_groups * 32);
	__m256i keys = _mm256_shuffle_epi8(load_twice(row), load(twig)), says, agrees;
	uint32_t right;

#pragma GCC unroll 8
	for (size_t g = 1; g < n_groups; g++)
		keys = _mm256_or_si256(keys, _mm256_shuffle_epi8(load_twice(row + g * GROUP), load(twig + g * 32)));
	says = _mm256_cmpgt_epi16(keys, load(tail->cut));
	right = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(_mm256_castsi256_si128(says),
							    _mm256_extracti128_si256(says, 1)));
	right |= which << TWIG_TESTS;
	agrees = _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16((int16_t)right), load(tail->asked)),
				    load(tail->right));
	return tail->value + (uint32_t)__builtin_ctz((uint32_t)_mm256_movemask_epi8(agrees)) / 2 * n_values;
}

typedef void walk_twigs(const uint8_t *twigs, const uint16_t *ends, const uint16_t *rows, size_t n_values,
			float *leaves);

/* Of each number of groups and of values, for compilers make better loops of numbers that they know. */
#define WALK_TWIGS_OF(name, n_groups, values) \
	AVX2 static void name(const uint8_t *twigs, const uint16_t *ends, const uint16_t *rows, size_t n_values, \
			      float *leaves) \
	{ \
		(void)n_values; \
		for (size_t i = 0; i < CHUNK; i++) \
			memcpy(leaves + i * (values), \
			       walk_twig(twigs + ends[i] / TWIGS * twig_size(n_groups, values), ends[i] % TWIGS, \
					 rows + i * (n_groups) * GROUP, n_groups, values), \
			       (values) * sizeof(*leaves)); \
	}

#define WALK_TWIGS(n_groups) \
	WALK_TWIGS_OF(walk_twigs_##n_groups, n_groups, 1) \
	WALK_TWIGS_OF(walk_twigs_two_##n_groups, n_groups, 2) \
	WALK_TWIGS_OF(walk_twigs_many_##n_groups, n_groups, n_values)

WALK_TWIGS(1)
WALK_TWIGS(2)
WALK_TWIGS(3)
WALK_TWIGS(4)
WALK_TWIGS(5)
WALK_TWIGS(6)

/* By values of a leaf, one, two, many, and by groups. */
static walk_twigs *const walk_twigs_of[3][MAX_GROUPS] = {
	{ walk_twigs_1, walk_twigs_2, walk_twigs_3, walk_twigs_4, walk_twigs_5, walk_twigs_6 },
	{ walk_twigs_two_1, walk_twigs_two_2, walk_twigs_two_3, walk_twigs_two_4, walk_twigs_two_5, walk_twigs_two_6 },
	{ walk_twigs_many_1, walk_twigs_many_2, walk_twigs_many_3, walk_twigs_many_4, walk_twigs_many_5,
	  walk_twigs_many_6 },
};

AVX2 static void add_leaves(const float *leaves, size_t n, double *sums)
{
	for (size_t i = 0; i < n; i += 4)
		_mm256_store_pd(sums + i, _mm256_add_pd(_mm256_load_pd(sums + i), _mm256_cvtps_pd(_mm_load_ps(leaves + i))));
}

static inline __attribute__((always_inline)) void take_leaves(const float *from, const uint16_t *ends, size_t n_values,
							      float *leaves)
{
	for (size_t i = 0; i < CHUNK; i++)
		memcpy(leaves + i * n_values, from + ends[i] * n_values, n_values * sizeof(*leaves));
}

/* The leaves of a small tree. */
static void take_small(const float *from, const uint16_t *ends, size_t n_values, float *leaves)
{
	if (n_values == 1)
		take_leaves(from, ends, 1, leaves);
	else if (n_values == 2)
		take_leaves(from, ends, 2, leaves);
	else
		take_leaves(from, ends, n_values, leaves);
}

/* Add the leaves that a tree sends a block's rows to, while the next tree's twigs are fetched. */
static void walk_tree(const struct wide *w, const struct crown_tree *tree, struct block *b)
{
	const uint8_t *ahead = w->twigs + tree[1].ends;
	size_t n_values = w->n_values, lines = tree[1].n_twigs * twig_size(w->n_groups, n_values) / 64;
	size_t turns = b->n / CHUNK;
	walk_twigs *walk = walk_twigs_of[n_values > 2 ? 2 : n_values - 1][w->n_groups - 1];

	lines = (lines + turns - 1) / turns;
	for (size_t i = 0; i < b->n; i += CHUNK) {
		uint16_t ends[CHUNK] __attribute__((aligned(32)));
		float leaves[CHUNK * MAX_VALUES] __attribute__((aligned(32)));

		for (size_t l = 0; l < lines; l++, ahead += 64)
			__builtin_prefetch(ahead, 0, 2);
		walk_crown(w->nodes + tree->first, tree->n_nodes, b->by_column + i, b->stride, ends);
		if (tree->small)
			take_small(w->leaves + tree->ends, ends, n_values, leaves);
		else
			walk(w->twigs + tree->ends, ends, b->by_row + i * w->n_groups * GROUP, n_values, leaves);
		add_leaves(leaves, CHUNK * n_values, b->sums + i * n_values);
	}
}

bool wide_predict(const struct wide *w, const float *rows, size_t n, double *out)
{
	struct block b;
	size_t values = w->n_values, t = 0;

	if (!rank_rows(w, rows, n, &b))
		return false;
	turn_all(w, &b);
	for (size_t o = 0; o < w->n_outputs; o += values) {
		memset(b.sums, 0, b.n * values * sizeof(*b.sums));
		for (; t < w->n_trees && w->trees[t].output == o; t++)
			walk_tree(w, &w->trees[t], &b);
		for (size_t i = 0; i < n; i++)
			for (size_t v = 0; v < values; v++)
				out[i * w->n_outputs + o + v] = w->base[o + v] + w->scale[o + v] * b.sums[i * values + v];
	}
	return true;
}

#else

/* wide_create() makes none here. */
bool wide_predict(const struct wide *w, const float *rows, size_t n, double *out)
{
	(void)w;
	(void)rows;
	(void)n;
	(void)out;
	return false;
}

#endif
