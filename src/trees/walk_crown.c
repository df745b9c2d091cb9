/*
 * walk_crown.c - lay trees out for walk_wide.c; see walk_crown.h.
 */
#include "trees/walk_crown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trees/sorted_rows.h"
#include "trees/walk_key.h"
#include "trees/walk_wide.h"

/* Twigs that lie together, in the making. */
struct twigs {
	uint8_t          *shuffles;
	struct twig_tail *tail;
	uint32_t          n, n_tests, n_leaves;
	uint32_t          number;
};

/* What laying out works with. */
struct plan {
	const struct ensemble      *e;
	struct wide                *w;
	uint16_t                   *column;  /* of each feature */
	uint32_t                   *rank;    /* of each node's cut */
	const struct ensemble_tree *tree;    /* the one at hand, as what follows */
	const struct ensemble_node *nodes;
	const uint32_t             *ranks;
	uint32_t                   *leaves;  /* below each node */
	uint8_t                    *slots;   /* that choosing below each node needs */
	uint32_t                    most;    /* leaves of an end of the crown */
	uint32_t                    n_ends;
	struct twigs                twigs;
	struct crown_node          *crown;   /* the next one, as what follows */
	uint8_t                    *twig;
	float                      *leaf;
};

void wide_destroy(struct wide *w)
{
	if (!w)
		return;
	free(w->base);
	free(w->scale);
	free(w->columns);
	free(w->cuts);
	free(w->starts);
	free(w->trees);
	free(w->nodes);
	free(w->twigs);
	free(w->leaves);
	free(w);
}

/* A column for each feature that some node asks about. @return whether they are few enough */
static bool number_columns(struct plan *p)
{
	const struct ensemble *e = p->e;
	size_t n = 0;

	for (size_t i = 0; i < e->n_nodes; i++)
		if (e->nodes[i].left)
			p->column[e->nodes[i].feature] = 1;
	for (size_t f = 0; f < e->n_features; f++)
		if (p->column[f])
			p->column[f] = (uint16_t)n++;
	p->w->n_columns = n;
	p->w->n_groups = n ? (n + GROUP - 1) / GROUP : 1;
	return n <= GROUP * MAX_GROUPS;
}

/* Cuts of all columns, each with its node, column after column. */
static void gather_cuts(const struct plan *p, struct grow_keyed *cuts, size_t *end)
{
	const struct ensemble *e = p->e;
	size_t at = 0;

	for (size_t i = 0; i < e->n_nodes; i++)
		if (e->nodes[i].left) {
			end[p->column[e->nodes[i].feature]]++;
			p->w->columns[p->column[e->nodes[i].feature]].feature = e->nodes[i].feature;
		}
	for (size_t c = 0; c < p->w->n_columns; c++) {
		size_t n = end[c];

		end[c] = at;
		at += n;
	}
	for (size_t i = 0; i < e->n_nodes; i++)
		if (e->nodes[i].left)
			cuts[end[p->column[e->nodes[i].feature]]++] =
				(struct grow_keyed){ walk_key(e->nodes[i].value), (uint32_t)i };
}

/* Rank a column's cuts, n of them by rising key. @return how many differ */
static uint32_t rank_cuts(const struct plan *p, const struct grow_keyed *sorted, size_t n, int32_t *cuts)
{
	uint32_t n_cuts = 0;

	for (size_t i = 0; i < n; i++) {
		if (!i || sorted[i].key != sorted[i - 1].key)
			cuts[n_cuts++] = crown_signed(sorted[i].key);
		p->rank[sorted[i].row] = n_cuts - 1;
	}
	for (uint32_t i = 0; i < CUTS_AT_ONCE; i++)
		cuts[n_cuts + i] = INT32_MAX;
	return n_cuts;
}

static uint32_t distance(const struct crown_column *c, uint32_t cut)
{
	return (uint32_t)c->cuts[cut] - (uint32_t)c->cuts[0];
}

/*
 * Part a column's range, so that few cuts need be looked at for a key. Those before the part of a key are below it,
 * those behind are not: looking at some of them does no harm, so all parts look at as many as the fullest has.
 */
static void part_range(struct crown_column *c, uint16_t *starts)
{
	uint32_t at = 0;

	while (distance(c, c->n_cuts - 1) >> c->shift >= MAX_PARTS)
		c->shift++;
	c->n_parts = (distance(c, c->n_cuts - 1) >> c->shift) + 1;
	c->starts = starts;
	c->n_among = 1;
	for (uint32_t part = 0; part < c->n_parts; part++) {
		uint32_t start = at;

		while (at < c->n_cuts && distance(c, at) >> c->shift == part)
			at++;
		starts[part] = (uint16_t)start;
		c->n_among = at - start > c->n_among ? at - start : c->n_among;
	}
	for (uint32_t part = 0; part < c->n_parts; part++)
		if (starts[part] > c->n_cuts - c->n_among)
			starts[part] = (uint16_t)(c->n_cuts - c->n_among);
}

/* @return 0; -ENOMEM; -ERANGE too many cuts */
static int rank_columns(struct plan *p)
{
	struct wide *w = p->w;
	struct grow_keyed *cuts = malloc((p->e->n_nodes + 1) * sizeof(*cuts));
	struct grow_keyed *spare = malloc((p->e->n_nodes + 1) * sizeof(*spare));
	size_t *end = calloc(w->n_columns + 1, sizeof(*end)), at = 0;
	int rc = cuts && spare && end ? 0 : -ENOMEM;

	if (!rc)
		gather_cuts(p, cuts, end);
	for (size_t c = 0; !rc && c < w->n_columns; c++) {
		size_t n = end[c] - at;

		grow_sort_keyed(cuts + at, spare + at, n);
		w->columns[c].cuts = w->cuts + at + c * CUTS_AT_ONCE;
		w->columns[c].n_cuts = rank_cuts(p, spare + at, n, w->cuts + at + c * CUTS_AT_ONCE);
		if (w->columns[c].n_cuts > MAX_CUTS)
			rc = -ERANGE;
		else
			part_range(&w->columns[c], w->starts + c * MAX_PARTS);
		at = end[c];
	}
	free(cuts);
	free(spare);
	free(end);
	return rc;
}

/* Leaves below each node, and how large the crown is. @return its nodes */
static uint32_t measure(struct plan *p, const struct ensemble_tree *tree)
{
	uint32_t n = 0;

	p->tree = tree;
	p->nodes = p->e->nodes + tree->root;
	p->ranks = p->rank + tree->root;
	for (uint32_t i = tree->n_nodes; i--;) {
		uint32_t left = p->nodes[i].left;

		p->leaves[i] = left ? p->leaves[left] + p->leaves[left + 1] : 1;
	}
	p->most = p->leaves[0] <= SMALL_LEAVES ? 1 : TWIG_TESTS + 1;
	for (uint32_t i = tree->n_nodes; i--;) {
		uint32_t left = p->nodes[i].left, a = left ? p->slots[left] : 0, b = left ? p->slots[left + 1] : 0;

		n += p->leaves[i] > p->most;
		p->slots[i] = (uint8_t)(p->leaves[i] <= p->most ? 0 : a == b ? a + 1 : a > b ? a : b);
	}
	return n;
}

struct sizes {
	size_t nodes, twigs, leaves;
};

/* @return false: crowns too large */
static bool add_up(struct plan *p, struct sizes *s)
{
	const struct ensemble *e = p->e;

	if (e->n_nodes > MEAN_NODES * e->n_trees)
		return false;
	for (size_t t = 0; t < e->n_trees; t++) {
		uint32_t n = measure(p, &e->trees[t]);

		if (n > MAX_CROWN)
			return false;
		s->nodes += n;
		if (s->nodes > MEAN_CROWN * e->n_trees)
			return false;
		if (p->most == 1)
			s->leaves += n + 1;
		else
			s->twigs += n + 1;
	}
	return true;
}

/* Values of a leaf, to where they are kept. */
static void put_leaf(const struct plan *p, uint32_t i, float *to)
{
	memcpy(to, ensemble_leaf(p->e, p->tree, i), p->w->n_values * sizeof(*to));
}

static void make_below(struct plan *p, uint32_t i, uint32_t asked, uint32_t right)
{
	struct twigs *m = &p->twigs;
	uint32_t test, column;

	if (!p->nodes[i].left) {
		m->tail->asked[m->n_leaves] = (uint16_t)asked;
		m->tail->right[m->n_leaves] = (uint16_t)right;
		put_leaf(p, i, m->tail->value + m->n_leaves++ * p->w->n_values);
		return;
	}
	test = m->n_tests++;
	column = p->column[p->nodes[i].feature];
	m->shuffles[column / GROUP * 32 + 2 * test] = (uint8_t)(column % GROUP * 2);
	m->shuffles[column / GROUP * 32 + 2 * test + 1] = (uint8_t)(column % GROUP * 2 + 1);
	m->tail->cut[test] = crown_rank(p->ranks[i]);
	make_below(p, p->nodes[i].left, asked | 1u << test, right);
	make_below(p, p->nodes[i].left + 1, asked | 1u << test, right | 1u << test);
}

/* Room for twigs that lie together. */
static void begin_twigs(struct plan *p)
{
	size_t shuffles = p->w->n_groups * 32;

	p->twigs = (struct twigs){
		.shuffles = p->twig,
		.tail = (struct twig_tail *)(void *)(p->twig + shuffles),
		.number = p->n_ends++,
	};
	memset(p->twigs.shuffles, 0x80, shuffles); /* fetches 0 */
	memset(p->twigs.tail, 0, twig_size(p->w->n_groups, p->w->n_values) - shuffles);
	memset(p->twigs.tail->cut, 0x7f, sizeof(p->twigs.tail->cut)); /* exceeds all that is fetched */
	memset(p->twigs.tail->right, 0xff, sizeof(p->twigs.tail->right));
	p->twig += twig_size(p->w->n_groups, p->w->n_values);
}

/* What hangs below the crown. @return its number */
static uint16_t make_end(struct plan *p, uint32_t i)
{
	uint32_t n = p->leaves[i], which;

	if (p->most == 1) {
		put_leaf(p, i, p->leaf);
		p->leaf += p->w->n_values;
		return (uint16_t)p->n_ends++;
	}
	if (!p->n_ends || p->twigs.n == TWIGS || p->twigs.n_leaves + n > TWIG_LEAVES ||
	    p->twigs.n_tests + n - 1 > TWIG_TESTS)
		begin_twigs(p);
	which = p->twigs.n++;
	make_below(p, i, (TWIGS - 1u) << TWIG_TESTS, which << TWIG_TESTS);
	return (uint16_t)(p->twigs.number * TWIGS + which);
}

/* The same question with left and right the other way round. */
static void turn_round(const struct plan *p, struct crown_node *c)
{
	c->beyond = (int16_t)-c->beyond;
	c->column = (uint16_t)(c->column + p->w->n_groups * GROUP);
	c->left = c->right;
}

/*
 * Have the accumulator choose below node i of the crown. Of two children that choose, the one that needs more slots
 * goes first, so that few are needed.
 * @param slot  the first free one; the one before takes what the accumulator holds, if that is to be kept
 */
static void make_crown(struct plan *p, uint32_t i, uint8_t slot, bool keep)
{
	uint32_t left = p->nodes[i].left, right = left + 1;
	bool left_ends = p->leaves[left] <= p->most, right_ends = p->leaves[right] <= p->most;
	struct crown_node c = {
		.beyond = (int16_t)(crown_rank(p->ranks[i]) + 1),
		.column = p->column[p->nodes[i].feature],
		.slot = (uint8_t)(keep ? slot - 1 : 0),
	};

	if (left_ends)
		c.left = make_end(p, left);
	if (right_ends)
		c.right = make_end(p, right);
	if (left_ends && right_ends) {
		c.kind = keep ? CROWN_ENDS_KEEP : CROWN_ENDS;
	} else if (left_ends || right_ends) {
		make_crown(p, left_ends ? right : left, slot, keep);
		c.kind = CROWN_END;
		if (right_ends)
			turn_round(p, &c);
	} else {
		bool left_first = p->slots[left] >= p->slots[right];

		make_crown(p, left_first ? left : right, slot, keep);
		make_crown(p, left_first ? right : left, (uint8_t)(slot + 1), true);
		c.kind = CROWN_SLOT;
		c.slot = slot;
		if (!left_first)
			turn_round(p, &c);
	}
	*p->crown++ = c;
}

static void make_trees(struct plan *p)
{
	struct wide *w = p->w;

	p->crown = w->nodes;
	p->twig = w->twigs;
	p->leaf = w->leaves;
	for (size_t t = 0; t < w->n_trees; t++) {
		const struct ensemble_tree *tree = &p->e->trees[t];
		uint32_t n = measure(p, tree);
		bool small = p->most == 1;

		w->trees[t] = (struct crown_tree){
			.first = (size_t)(p->crown - w->nodes),
			.n_nodes = n,
			.output = tree->output,
			.ends = small ? (size_t)(p->leaf - w->leaves) : (size_t)(p->twig - w->twigs),
			.small = small,
		};
		p->n_ends = 0;
		if (n)
			make_crown(p, 0, 0, false);
		else
			make_end(p, 0);
		w->trees[t].n_twigs = small ? 0 : p->n_ends;
	}
}

/* @return 0; -ENOMEM; -ERANGE better served by other ways */
static int make(struct plan *p, struct sizes *s)
{
	struct wide *w = p->w;
	int rc = add_up(p, s) ? rank_columns(p) : -ERANGE;

	if (rc)
		return rc;
	w->trees = calloc(w->n_trees + 1, sizeof(*w->trees));
	w->nodes = malloc((s->nodes + 1) * sizeof(*w->nodes));
	w->twigs = aligned_alloc(64, (s->twigs + 1) * twig_size(w->n_groups, w->n_values));
	w->leaves = malloc((s->leaves + 1) * w->n_values * sizeof(*w->leaves));
	if (!w->trees || !w->nodes || !w->twigs || !w->leaves)
		return -ENOMEM;
	make_trees(p);
	return 0;
}

static uint32_t biggest_tree(const struct ensemble *e)
{
	uint32_t n = 0;

	for (size_t t = 0; t < e->n_trees; t++)
		n = e->trees[t].n_nodes > n ? e->trees[t].n_nodes : n;
	return n;
}

/* @return 0; -ENOMEM; -ERANGE better served by other ways */
static int fill(struct plan *p)
{
	const struct ensemble *e = p->e;
	struct wide *w = p->w;
	size_t biggest = biggest_tree(e);

	p->column = calloc(e->n_features, sizeof(*p->column));
	p->rank = malloc((e->n_nodes + 1) * sizeof(*p->rank));
	p->leaves = malloc((biggest + 1) * sizeof(*p->leaves));
	p->slots = malloc(biggest + 1);
	if (!p->column || !p->rank || !p->leaves || !p->slots)
		return -ENOMEM;
	w->n_values = ensemble_values(e);
	if (!number_columns(p) || w->n_values > MAX_VALUES)
		return -ERANGE;
	w->n_features = e->n_features;
	w->n_outputs = e->n_outputs;
	w->n_trees = e->n_trees;
	w->base = malloc(e->n_outputs * sizeof(*w->base));
	w->scale = malloc(e->n_outputs * sizeof(*w->scale));
	w->columns = calloc(w->n_columns + 1, sizeof(*w->columns));
	w->cuts = malloc((e->n_nodes + w->n_columns * CUTS_AT_ONCE + 1) * sizeof(*w->cuts));
	w->starts = malloc((w->n_columns + 1) * MAX_PARTS * sizeof(*w->starts));
	if (!w->base || !w->scale || !w->columns || !w->cuts || !w->starts)
		return -ENOMEM;
	memcpy(w->base, e->base, e->n_outputs * sizeof(*w->base));
	memcpy(w->scale, e->scale, e->n_outputs * sizeof(*w->scale));
	return make(p, &(struct sizes){ 0 });
}

/* What walk_wide.c's vectors need. */
static bool processor_can(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
#else
	return false;
#endif
}

int wide_create(const struct ensemble *e, struct wide **out)
{
	struct plan p = { .e = e };
	int rc;

	*out = NULL;
	if (!processor_can())
		return 0;
	p.w = calloc(1, sizeof(*p.w));
	rc = p.w ? fill(&p) : -ENOMEM;
	free(p.column);
	free(p.rank);
	free(p.leaves);
	free(p.slots);
	if (rc) {
		wide_destroy(p.w);
		return rc == -ERANGE ? 0 : rc;
	}
	*out = p.w;
	return 0;
}
