/*
 * walk_wide.c - ask many rows at once; see walk_wide.h, and walk_crown.h for
 * how trees are kept.
 *
 * Rows are ranked a block at a time, the block goes through one tree after
 * the other, CHUNK rows at a time, and sums are taken in double, in the order
 * of the trees, as ensemble_predict() takes them.
 */
#include "trees/walk_wide.h"

#include <string.h>

#include "trees/walk_crown.h"

#define CHUNK      128   /* rows: choices of so many fit the registers */
#define BLOCK_ROWS 2048
#define BLOCK_SUMS (2 * BLOCK_ROWS)
#define BLOCK_KEYS 65536 /* of a block's rows: 384 KiB on the stack */
#define APART      32    /* keys between columns, lest their lines fall into one set of the cache */
#define COLUMNS    (MAX_GROUPS * GROUP)

/* Rows as ranks, by column for crowns and by row for twigs. */
struct block {
	size_t   n;      /* whole chunks */
	size_t   stride; /* from one column to the next */
	uint16_t by_column[2 * (BLOCK_KEYS + COLUMNS * APART)] __attribute__((aligned(64))); /* ranks, their complements */
	union {
		int32_t  keys[BLOCK_KEYS + COLUMNS * APART] __attribute__((aligned(64))); /* by column, until they are ranked */
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

#ifdef __x86_64__

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,popcnt")))
#define VECTORS (CHUNK / 16)
/* Registers are named, not indexed, once this is unrolled. */
#define EACH_VECTOR _Pragma("GCC unroll 8") for (size_t j = 0; j < VECTORS; j++)

/* Signed keys (crown_signed()) of a feature of eight rows; @nan: where one is missing. */
AVX2 static inline __attribute__((always_inline)) __m256i make_keys(const float *const *row, uint32_t feature, __m256 *nan)
{
	__m256 x = _mm256_setr_ps(row[0][feature], row[1][feature], row[2][feature], row[3][feature], row[4][feature],
				  row[5][feature], row[6][feature], row[7][feature]);
	__m256i bits = _mm256_castps_si256(_mm256_add_ps(x, _mm256_setzero_ps())); /* -0 is 0 */

	*nan = _mm256_or_ps(*nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
	return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
}

/* Keys of n rows by column; behind them the last row goes on. @return false: a value is missing */
AVX2 static bool make_all_keys(const struct wide *w, const float *rows, size_t n, struct block *b)
{
	__m256 nan = _mm256_setzero_ps();

	for (size_t i = 0; i < b->n; i += 8) {
		const float *row[8];

		for (size_t k = 0; k < 8; k++)
			row[k] = rows + (i + k < n ? i + k : n - 1) * w->n_features;
		for (size_t c = 0; c < w->n_columns; c++)
			_mm256_store_si256((__m256i *)(void *)(b->keys + c * b->stride + i),
					   make_keys(row, w->columns[c].feature, &nan));
	}
	return !_mm256_movemask_ps(nan);
}

AVX2 static inline __attribute__((always_inline)) __m256i below(__m256i key, const int32_t *cuts)
{
	return _mm256_cmpgt_epi32(key, _mm256_loadu_si256((const __m256i *)(const void *)cuts));
}

/* How many of so many cuts are below a key. */
AVX2 static inline __attribute__((always_inline)) uint32_t count_below(const int32_t *cuts, int32_t key, uint32_t among)
{
	__m256i v = _mm256_set1_epi32(key), pair;

	if (among == 1)
		return *cuts < key;
	if (among == 8)
		return (uint32_t)__builtin_popcount((uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(below(v, cuts))));
	pair = _mm256_packs_epi32(below(v, cuts), below(v, cuts + 8));
	if (among == 16)
		return (uint32_t)__builtin_popcount((uint32_t)_mm256_movemask_epi8(pair)) / 2;
	pair = _mm256_packs_epi16(pair, _mm256_packs_epi32(below(v, cuts + 16), below(v, cuts + 24)));
	return (uint32_t)__builtin_popcount((uint32_t)_mm256_movemask_epi8(pair));
}

/*
 * How many cuts lie below each of n keys, n in whole eights.
 * @param among  cuts compared at once: as many as the fullest part has, or what halving it leaves
 */
AVX2 static inline __attribute__((always_inline)) void rank_among(const struct crown_column *c, const int32_t *keys,
								  size_t n, uint32_t among, uint16_t *ranks)
{
	__m256i first = _mm256_set1_epi32(c->cuts[0]), last_part = _mm256_set1_epi32((int32_t)c->n_parts - 1);
	__m128i shift = _mm_cvtsi32_si128((int32_t)c->shift);

	for (size_t i = 0; i < n; i += 8) {
		__m256i key = _mm256_load_si256((const __m256i *)(const void *)(keys + i));
		uint32_t parts[8] __attribute__((aligned(32)));

		key = _mm256_srl_epi32(_mm256_sub_epi32(_mm256_max_epi32(key, first), first), shift);
		_mm256_store_si256((__m256i *)(void *)parts, _mm256_min_epu32(key, last_part));
#pragma GCC unroll 8
		for (size_t k = 0; k < 8; k++) {
			const int32_t *at = c->cuts + c->starts[parts[k]];

			if (among == CUTS_AT_ONCE)
				for (uint32_t left = c->n_among, half; left > CUTS_AT_ONCE; left -= half) {
					half = left / 2;
					at += half & (0 - (size_t)(at[half - 1] < keys[i + k]));
				}
			ranks[i + k] = (uint16_t)crown_rank((uint32_t)(at - c->cuts) + count_below(at, keys[i + k], among));
		}
	}
}

AVX2 static void rank_column(const struct crown_column *c, const int32_t *keys, size_t n, uint16_t *ranks)
{
	if (c->n_among <= 1)
		rank_among(c, keys, n, 1, ranks);
	else if (c->n_among <= 8)
		rank_among(c, keys, n, 8, ranks);
	else if (c->n_among <= 16)
		rank_among(c, keys, n, 16, ranks);
	else
		rank_among(c, keys, n, CUTS_AT_ONCE, ranks);
}

/* Rank n rows by column. @return false: a value is missing */
static bool rank_rows(const struct wide *w, const float *rows, size_t n, struct block *b)
{
	b->n = (n + CHUNK - 1) / CHUNK * CHUNK;
	b->stride = b->n + APART;
	if (!make_all_keys(w, rows, n, b))
		return false;
	for (size_t c = 0; c < w->n_columns; c++)
		rank_column(&w->columns[c], b->keys + c * b->stride, b->n, b->by_column + c * b->stride);
	for (size_t c = w->n_columns; c < w->n_groups * GROUP; c++)
		memset(b->by_column + c * b->stride, 0, b->n * sizeof(*b->by_column));
	for (size_t c = 0; c < w->n_columns; c++) {
		const uint16_t *ranks = b->by_column + c * b->stride;
		uint16_t *complements = b->by_column + (c + w->n_groups * GROUP) * b->stride;

		for (size_t i = 0; i < b->n; i++)
			complements[i] = (uint16_t)~ranks[i];
	}
	return true;
}

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
		case CROWN_END:
			EACH_VECTOR
				chosen[j] = choose(beyond, key + j, _mm256_set1_epi16((int16_t)c->left), chosen[j]);
			break;
		default:
			EACH_VECTOR
				chosen[j] = choose(beyond, key + j, slot[j], chosen[j]);
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

	__builtin_prefetch(tail->value); /* which of them is known last */
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
		for (size_t i = 0; i < CHUNK; i++)
			leaves[i] = from[ends[i]];
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
