/*
 * slots_path.c - shortest augmenting paths between columns; see slots.h and
 * slots_state.h.
 *
 * Nodes are the columns, and a sink which takes a unit of every slot in use;
 * a slot that has a price counts as used. A job that could move is an arc
 * from its column to the other, as long as what it would pay more; a column's free slot
 * without a price is an arc of no length to the sink, and the sink has an arc as long as the price to
 * each column in use. A path runs from where there is too much to where there
 * is too little: from a column with more jobs than slots, or from the sink.
 * Columns nearer than the end then rise in price, which keeps every length from being negative.
 */
#include <math.h>
#include <errno.h>
#include <string.h>

#include "plan/assign/slots_state.h"

#define DUST 1e-14 /* prices below this part of the greatest cost are rounding errors */

struct search {
	size_t  source;       /* a column, or the sink */
	size_t  sink;         /* number of columns: none of them */
	bool    sink_lacks;
	double  sink_at;      /* its distance once scanned, INFINITY until then */
	size_t  beside_sink;  /* the column from which it was reached */
	size_t  n_scanned;
	size_t  target;
	double  length;
	double  within;       /* the path is no longer than this */
	double  slack;        /* rounding */
};

static bool lacks(const struct hes_slots *s, size_t column)
{
	return s->price[column] > 0 && s->count[column] < s->groups[slots_group(s, column)].m;
}

/* Units that the sink should have and has not; negative: it has too many. */
static int64_t missing_in_sink(const struct hes_slots *s)
{
	int64_t used = 0;

	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t c = g * s->room; c < g * s->room + s->open[g]; c++) {
			uint32_t m = s->groups[g].m;

			used += s->price[c] > 0 || s->count[c] > m ? m : s->count[c];
		}
	return (int64_t)s->n - used;
}

/* Whether a path may end in a column: it lacks jobs, or has a slot that is free and the sink lacks a unit. */
static bool ends_in(const struct hes_slots *s, const struct search *f, size_t column)
{
	return s->count[column] < s->groups[slots_group(s, column)].m && (s->price[column] > 0 || f->sink_lacks);
}

static void note_ends(const struct hes_slots *s, struct search *f, size_t group)
{
	if (!s->awaited[group])
		return;
	for (size_t c = group * s->room; c < group * s->room + s->open[group]; c++)
		if (s->key[c] < f->within && ends_in(s, f, c))
			f->within = s->key[c];
}

static inline void relax_group(struct hes_slots *s, size_t group, double base, double slope)
{
	const double *restrict price = s->open_price + group * s->room, *restrict position = s->position;
	double *restrict key = s->key + group * s->room;
	const size_t n = s->open[group];
	double least = INFINITY;

	SLOTS_LEAST
	for (size_t p = 0; p < n; p++) {
		double d = (base + slope * position[p]) + price[p];

		d = d < key[p] ? d : key[p];
		key[p] = d;
		least = d < least ? d : least;
	}
	s->least[group] = least;
}

/* What a job in hand would have to pay less in a column to go there at no extra: its distance's start. */
static double start_of(const struct hes_slots *s, uint32_t job, double at)
{
	return at - (slots_cost_at(s, job, s->column_of[job]) + s->price[s->column_of[job]]);
}

SLOTS_WIDE static void relax_job(struct hes_slots *s, struct search *f, uint32_t job, double at)
{
	const double start = start_of(s, job, at), *low = s->low ? s->low + job * s->n_groups : NULL;
	double bar = (f->within + f->slack) + (s->fallen - start);

	s->start[job] = start;
	for (size_t g = 0; g < s->n_groups; g++) {
		struct slot_line cost;

		if (low && low[g] > bar)
			continue;
		cost = slots_line(s, job, g);
		relax_group(s, g, start + cost.base, cost.slope);
		note_ends(s, f, g);
		bar = (f->within + f->slack) + (s->fallen - start);
	}
}

static void relax_row(struct hes_slots *s, size_t column, double at)
{
	const struct slot_steps *row = slots_row(s, column);
	const double start = at - s->price[column];

	for (size_t g = 0; g < s->n_groups; g++) {
		double least = INFINITY;

		for (size_t c = g * s->room; c < g * s->room + s->open[g]; c++) {
			double d = (start + row[c].v[0].extra) + s->open_price[c];

			s->key[c] = d < s->key[c] ? d : s->key[c];
			least = s->key[c] < least ? s->key[c] : least;
		}
		s->least[g] = least;
	}
}

static void refresh_least(struct hes_slots *s, size_t group)
{
	double least = INFINITY;

	for (size_t c = group * s->room; c < group * s->room + s->open[group]; c++)
		least = s->key[c] < least ? s->key[c] : least;
	s->least[group] = least;
}

static void scan_column(struct hes_slots *s, struct search *f, size_t column, double at)
{
	s->at[column] = at;
	s->scanned[f->n_scanned++] = (uint32_t)column;
	s->key[column] = INFINITY;
	s->open_price[column] = INFINITY;
	if (slots_row_kept(s, column))
		relax_row(s, column, at);
	else if (s->count[column])
		for (uint32_t j = s->first[column]; j != SLOTS_NONE; j = s->behind[j])
			relax_job(s, f, j, at);
	refresh_least(s, slots_group(s, column));
}

static bool from_sink(const struct hes_slots *s, size_t column)
{
	return s->count[column] || s->price[column] > 0;
}

static void scan_sink(struct hes_slots *s, struct search *f, double at)
{
	f->sink_at = at;
	s->scanned[f->n_scanned++] = SLOTS_NONE;
	for (size_t g = 0; g < s->n_groups; g++) {
		for (size_t c = g * s->room; c < g * s->room + s->open[g]; c++)
			if (from_sink(s, c) && at + s->open_price[c] < s->key[c])
				s->key[c] = at + s->open_price[c];
		refresh_least(s, g);
	}
}

SLOTS_WIDE static size_t nearest(const struct hes_slots *s)
{
	const double *restrict of_group = s->least;
	const size_t n = s->n_groups;
	double least = INFINITY;
	size_t g = 0, c;

	SLOTS_LEAST
	for (size_t i = 0; i < n; i++)
		least = of_group[i] < least ? of_group[i] : least;
	while (of_group[g] != least)
		g++;
	for (c = g * s->room; s->key[c] != least; c++)
		;
	return c;
}

static void begin(struct hes_slots *s, struct search *f)
{
	for (size_t g = 0; g < s->n_groups; g++) {
		size_t c = g * s->room;

		s->awaited[g] = false;
		for (size_t p = 0; p < s->open[g]; p++)
			s->awaited[g] |= ends_in(s, f, c + p);

		memcpy(s->open_price + c, s->price + c, s->open[g] * sizeof(*s->price));
		for (size_t p = 0; p < s->open[g]; p++)
			s->key[c + p] = INFINITY;
		s->least[g] = INFINITY;
	}
	if (f->source == f->sink)
		scan_sink(s, f, 0);
	else
		scan_column(s, f, f->source, 0);
}

static void find_target(struct hes_slots *s, struct search *f)
{
	begin(s, f);
	for (;;) {
		size_t c = nearest(s);
		bool free_slot = s->count[c] < s->groups[slots_group(s, c)].m;

		f->target = c;
		f->length = s->key[c];
		if (free_slot && s->price[c] > 0)
			return;
		if (free_slot && f->sink_at == INFINITY) {
			f->beside_sink = c;
			f->target = f->sink;
			if (f->sink_lacks)
				return;
			scan_column(s, f, c, f->length);
			scan_sink(s, f, f->length);
		} else {
			scan_column(s, f, c, f->length);
		}
	}
}

/* The least step from a column to another. */
static struct slot_step step_between(struct hes_slots *s, size_t from, size_t to)
{
	const size_t group = slots_group(s, to);
	/* Jobs side by side here, groups side by side in the solver's own copy: paths go back over many jobs. */
	const struct hes_cost *costs = &s->a->cost[s->groups[group].type * s->a->n];
	const double wait = s->wait[group], position = s->position[slots_position(s, to)];
	struct slot_step best = { INFINITY, SLOTS_NONE };

	if (slots_row_kept(s, from)) {
		struct slot_step step = slots_row(s, from)[to].v[0];

		return (struct slot_step){ ((s->at[from] - s->price[from]) + step.extra) + s->price[to], step.job };
	}
	for (uint32_t j = s->first[from]; j != SLOTS_NONE; j = s->behind[j]) {
		const struct hes_cost *c = &costs[s->job[j]];
		double d = ((s->start[j] + (s->w.energy * c->energy_mj + wait)) + s->w.jct * c->time_us * position) + s->price[to];

		if (d < best.extra)
			best = (struct slot_step){ d, j };
	}
	return best;
}

/* By which of the first @n scanned a column was reached. @return its place among them */
static size_t reached_by(struct hes_slots *s, const struct search *f, size_t to, size_t n, uint32_t *job)
{
	struct slot_step best = { INFINITY, SLOTS_NONE };
	size_t place = 0;

	for (size_t i = 0; i < n; i++) {
		struct slot_step step = { INFINITY, SLOTS_NONE };

		if (s->scanned[i] != SLOTS_NONE)
			step = step_between(s, s->scanned[i], to);
		else if (from_sink(s, to))
			step.extra = f->sink_at + s->price[to];
		if (step.extra < best.extra) {
			best = step;
			place = i;
		}
	}
	*job = best.job;
	return place;
}

/* The jobs that move, from the target back. @return how many */
static size_t trace(struct hes_slots *s, const struct search *f)
{
	size_t at = f->target, before = f->n_scanned, n = 0;

	while (at != f->source) {
		uint32_t job;

		if (at == f->sink) {
			/* Scanned, if it was, just behind the column it was reached from. */
			at = f->beside_sink;
			before -= f->sink_at < INFINITY;
			continue;
		}
		before = reached_by(s, f, at, before, &job);
		if (job != SLOTS_NONE)
			s->path[n++] = (struct slot_move){ job, (uint32_t)at };
		at = s->scanned[before] == SLOTS_NONE ? f->sink : s->scanned[before];
	}
	return n;
}

/* What is nearer than the target gets dearer by the difference; the sink stays without a price. */
static void reprice(struct hes_slots *s, const struct search *f)
{
	const double dust = DUST * s->greatest, fall = f->length - fmin(f->sink_at, f->length);

	for (size_t i = 0; i < f->n_scanned; i++)
		if (s->scanned[i] != SLOTS_NONE)
			s->price[s->scanned[i]] += f->length - s->at[s->scanned[i]];
	if (f->sink_at >= f->length)
		return;
	s->fallen += fall;
	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t c = g * s->room; c < g * s->room + s->open[g]; c++) {
			s->price[c] -= fall;
			if (s->price[c] < dust)
				s->price[c] = 0;
		}
}

static int augment(struct hes_slots *s, size_t source)
{
	struct search f = {
		.source = source, .sink = slots_columns(s), .sink_at = INFINITY,
		.sink_lacks = missing_in_sink(s) > 0, .within = INFINITY, .slack = DUST * s->greatest,
	};
	size_t n;

	find_target(s, &f);
	n = trace(s, &f);
	reprice(s, &f);
	for (size_t i = 0; i < n; i++) {
		slots_leave(s, s->path[i].job);
		slots_enter(s, s->path[i].job, s->path[i].column);
	}
	return n ? slots_keep_open(s, slots_group(s, s->path[0].column)) : 0;
}

int slots_shed(struct hes_slots *s, size_t column)
{
	const size_t group = slots_group(s, column), position = slots_position(s, column);
	int rc = slots_keep_open(s, group);

	/* By group and position: opening more of them may renumber the columns. */
	while (!rc && s->count[group * s->room + position] > s->groups[group].m)
		rc = augment(s, group * s->room + position);
	return rc;
}

static bool any_lacks(const struct hes_slots *s)
{
	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t c = g * s->room; c < g * s->room + s->open[g]; c++)
			if (lacks(s, c))
				return true;
	return false;
}

int slots_settle(struct hes_slots *s)
{
	int rc = 0;

	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t p = 0; p < s->open[g] && !rc; p++)
			rc = slots_shed(s, g * s->room + p);
	while (!rc && any_lacks(s))
		rc = augment(s, slots_columns(s));
	return rc;
}
