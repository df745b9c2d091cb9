/*
 * columns.c - revised primal simplex on columns that are still being added;
 * see columns.h.
 */
#include "plan/columns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OWN       UINT32_MAX /* basic in a row: the dear variable or the slack it starts with */
#define NOTHING   1e-9       /* a reduced cost per length of its column that brings nothing */
#define TINY      1e-9       /* no pivot */
#define SPREAD    1e-7       /* of right-hand sides, against ties */
#define FRESH     64         /* exchanges after which values and prices are found anew */

struct column {
	size_t   first, n;
	double   cost, length;
};

struct hes_columns {
	size_t            rows;
	double           *right, *dear;
	struct column    *v;
	size_t            n, room;
	struct hes_entry *entries;
	size_t            n_entries, room_entries;
	uint32_t         *basic;    /* [rows] */
	double           *inverse;  /* [rows * rows] */
	double           *x;        /* [rows] of the basic ones */
	double           *price;    /* [rows] */
	double           *enters;   /* [rows] the entering column in terms of the basis */
	uint32_t         *filled;   /* [rows] room: where a row of the inverse is not 0 */
};

void hes_columns_free(struct hes_columns *c)
{
	if (!c)
		return;
	free(c->right);
	free(c->inverse);
	free(c->basic);
	free(c->filled);
	free(c->v);
	free(c->entries);
	free(c);
}

static int make_room(struct hes_columns *c, size_t more)
{
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 1024;
		struct column *v = reallocarray(c->v, room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		c->v = v;
		c->room = room;
	}
	if (c->n_entries + more > c->room_entries) {
		size_t room = 2 * (c->room_entries + more);
		struct hes_entry *e = reallocarray(c->entries, room, sizeof(*e));

		if (!e)
			return -ENOMEM;
		c->entries = e;
		c->room_entries = room;
	}
	return 0;
}

int hes_columns_add(struct hes_columns *c, double cost, const struct hes_entry *v, size_t n)
{
	double squares = 1;

	if (make_room(c, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		squares += v[i].v * v[i].v;
		c->entries[c->n_entries + i] = v[i];
	}
	c->v[c->n++] = (struct column){ c->n_entries, n, cost, sqrt(squares) };
	c->n_entries += n;
	return 0;
}

static double reduced(const struct hes_columns *c, const struct column *v)
{
	double cost = v->cost;

	for (size_t i = v->first; i < v->first + v->n; i++)
		cost -= c->price[c->entries[i].row] * c->entries[i].v;
	return cost;
}

/* A basic column's reduced cost is 0 but for rounding: it is not taken again. */
static size_t choose(const struct hes_columns *c)
{
	size_t best = c->n;
	double least = -NOTHING;

	for (size_t i = 0; i < c->n; i++) {
		double each = reduced(c, &c->v[i]) / c->v[i].length;

		if (each < least) {
			least = each;
			best = i;
		}
	}
	return best;
}

static void express(struct hes_columns *c, const struct column *v)
{
	for (size_t r = 0; r < c->rows; r++) {
		const double *row = &c->inverse[r * c->rows];
		double sum = 0;

		for (size_t i = v->first; i < v->first + v->n; i++)
			sum += row[c->entries[i].row] * c->entries[i].v;
		c->enters[r] = sum;
	}
}

/* The row whose basic variable first comes down to 0; of several, the one with the largest pivot. */
static size_t leaves(const struct hes_columns *c)
{
	size_t best = c->rows;
	double least = INFINITY;

	for (size_t r = 0; r < c->rows; r++) {
		double step;

		if (c->enters[r] <= TINY)
			continue;
		step = fmax(c->x[r], 0) / c->enters[r];
		if (step < least || (step == least && c->enters[r] > c->enters[best])) {
			least = step;
			best = r;
		}
	}
	return best;
}

static void exchange(struct hes_columns *c, size_t leaving, size_t entering)
{
	double *pivot = &c->inverse[leaving * c->rows];
	const double by = c->enters[leaving], step = fmax(c->x[leaving], 0) / by;
	const double gain = reduced(c, &c->v[entering]);
	size_t n = 0;

	for (size_t i = 0; i < c->rows; i++) {
		if (pivot[i] == 0)
			continue;
		pivot[i] /= by;
		c->price[i] += gain * pivot[i];
		c->filled[n++] = (uint32_t)i;
	}
	for (size_t r = 0; r < c->rows; r++) {
		double *row = &c->inverse[r * c->rows];
		const double times = c->enters[r];

		if (r == leaving || fabs(times) < 1e-13)
			continue;
		c->x[r] -= step * times;
		for (size_t i = 0; i < n; i++)
			row[c->filled[i]] -= times * pivot[c->filled[i]];
	}
	c->x[leaving] = step;
	c->basic[leaving] = (uint32_t)entering;
}

static double cost_in(const struct hes_columns *c, size_t row)
{
	return c->basic[row] == OWN ? c->dear[row] : c->v[c->basic[row]].cost;
}

static void refresh(struct hes_columns *c)
{
	memset(c->price, 0, c->rows * sizeof(*c->price));
	for (size_t r = 0; r < c->rows; r++) {
		const double *row = &c->inverse[r * c->rows];
		const double cost = cost_in(c, r);
		double x = 0;

		for (size_t i = 0; i < c->rows; i++) {
			x += row[i] * c->right[i];
			c->price[i] += cost * row[i];
		}
		c->x[r] = x;
	}
}

/* A slack that left may come back, as a column. */
static int add_slacks(struct hes_columns *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->rows && !rc; i++)
		if (c->dear[i] == 0)
			rc = hes_columns_add(c, 0, &(struct hes_entry){ (uint32_t)i, 1 }, 1);
	return rc;
}

struct hes_columns *hes_columns_new(size_t rows, const double *right, const double *dear)
{
	struct hes_columns *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->rows = rows;
	c->right = calloc(5 * rows + 1, sizeof(*c->right));
	c->inverse = calloc(rows * rows + 1, sizeof(*c->inverse));
	c->basic = calloc(rows + 1, sizeof(*c->basic));
	c->filled = calloc(rows + 1, sizeof(*c->filled));
	if (!c->right || !c->inverse || !c->basic || !c->filled) {
		hes_columns_free(c);
		return NULL;
	}
	c->dear = c->right + rows;
	c->x = c->dear + rows;
	c->price = c->x + rows;
	c->enters = c->price + rows;
	for (size_t i = 0; i < rows; i++) {
		/* Distinct: a fraction that no two rows share. */
		c->right[i] = right[i] + SPREAD * (1 + fmod((double)(i + 1) * 0.6180339887498949, 1));
		c->dear[i] = dear[i];
		c->inverse[i * rows + i] = 1;
		c->basic[i] = OWN;
	}
	if (add_slacks(c)) {
		hes_columns_free(c);
		return NULL;
	}
	refresh(c);
	return c;
}

double hes_columns_solve(struct hes_columns *c, size_t most)
{
	double cost = 0;

	for (size_t i = 0; i < most; i++) {
		size_t entering, leaving;

		if (i % FRESH == 0)
			refresh(c);
		entering = choose(c);
		if (entering == c->n)
			break;
		express(c, &c->v[entering]);
		leaving = leaves(c);
		if (leaving == c->rows)
			break;
		exchange(c, leaving, entering);
	}
	refresh(c);
	for (size_t r = 0; r < c->rows; r++)
		cost += cost_in(c, r) * c->x[r];
	return cost;
}

const double *hes_columns_prices(const struct hes_columns *c)
{
	return c->price;
}
