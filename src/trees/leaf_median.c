/*
 * leaf_median.c - sums of absolute deviations from medians, while rows leave
 * a group one by one; see leaf_median.h. For exact_tree.c.
 *
 * The median is the lowest row with at least half of the group's weight up to
 * and including it; entries beyond both ends, without weight, spare the steps
 * along the list a look for its ends.
 */
#include "trees/leaf_median.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int median_init(struct median *m, size_t max_rows)
{
	*m = (struct median){
		.entries = malloc((max_rows + 2) * sizeof(*m->entries)),
		.links = malloc((max_rows + 2) * sizeof(*m->links)),
		.rank = malloc((max_rows + 1) * sizeof(*m->rank)),
	};
	return m->entries && m->links && m->rank ? 0 : -ENOMEM;
}

void median_finish(struct median *m)
{
	free(m->entries);
	free(m->links);
	free(m->rank);
	*m = (struct median){ 0 };
}

/* Move the median on if @yes. */
static inline void step_up(const struct median *m, struct median_group *g, bool yes)
{
	const struct median_entry *here = &m->entries[g->at];

	g->below += yes ? here->weight : 0;
	g->sum_below += here->sum * yes;
	g->at = yes ? m->links[g->at].after : g->at;
}

static inline void step_down(const struct median *m, struct median_group *g, bool yes)
{
	uint32_t before = m->links[g->at].before;

	g->below -= yes ? m->entries[before].weight : 0;
	g->sum_below -= m->entries[before].sum * yes;
	g->at = yes ? before : g->at;
}

static inline bool is_low(const struct median *m, const struct median_group *g)
{
	return 2 * (g->below + m->entries[g->at].weight) < g->weight;
}

static inline bool is_high(const struct median_group *g)
{
	return g->below && 2 * g->below >= g->weight;
}

/* One step either way without a branch, as it cannot be foretold; seldom more. */
static inline void balance(const struct median *m, struct median_group *g)
{
	step_up(m, g, is_low(m, g));
	step_down(m, g, is_high(g));
	while (is_low(m, g))
		step_up(m, g, true);
	while (is_high(g))
		step_down(m, g, true);
}

static void link_all(struct median *m)
{
	for (uint32_t i = 0; i <= m->n + 1; i++)
		m->links[i] = (struct median_link){ i - 1, i + 1 };
}

void median_load(struct median *m, const uint32_t *rows, uint32_t n, const double *y, const uint32_t *weight)
{
	double middle = y[rows[n / 2]];
	struct median_group all = { .at = 1 };

	m->n = n;
	m->entries[0] = m->entries[n + 1] = (struct median_entry){ 0 };
	/* Deviations do not change if all targets move; small sums round less. */
	for (uint32_t i = 0; i < n; i++) {
		double value = y[rows[i]] - middle;

		m->entries[i + 1] = (struct median_entry){ value, value * weight[rows[i]], weight[rows[i]] };
		m->rank[rows[i]] = i + 1;
		all.weight += weight[rows[i]];
		all.sum += m->entries[i + 1].sum;
	}
	link_all(m);
	balance(m, &all);
	m->all = all;
}

static inline void leave(struct median *m, struct median_group *g, uint32_t rank)
{
	const struct median_entry *gone = &m->entries[rank];
	struct median_link link = m->links[rank];
	bool low = rank < g->at;

	g->weight -= gone->weight;
	g->sum -= gone->sum;
	g->below -= low ? gone->weight : 0;
	g->sum_below -= gone->sum * low;
	g->at = rank == g->at ? link.after : g->at;
	m->links[link.before].after = link.after;
	m->links[link.after].before = link.before;
}

/* Rows leave one after the other, by @step along them; each time the sum of the rest goes to @sum, by @step along it. */
static void sweep(struct median *m, const uint32_t *row, int step, double *sum)
{
	struct median_group g = m->all;

	link_all(m);
	for (uint32_t k = 0; k < m->n; k++, row += step, sum += step) {
		double middle = m->entries[g.at].value;

		*sum = middle * (double)g.below - g.sum_below + (g.sum - g.sum_below) -
		       middle * (double)(g.weight - g.below);
		leave(m, &g, m->rank[*row]);
		balance(m, &g);
	}
}

void median_sums(struct median *m, const uint32_t *rows, double *first, double *rest)
{
	sweep(m, rows, 1, rest);
	sweep(m, rows + m->n - 1, -1, first + m->n);
}
