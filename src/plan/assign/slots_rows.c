/*
 * slots_rows.c - the least steps from a column that holds many jobs to all
 * others, kept while jobs come and go; see slots_state.h.
 *
 * Of each pair of columns a few jobs are kept. One that comes is put among
 * them where it belongs; one that goes is taken out. When none is left all
 * jobs of the column are looked at again, once that is asked for.
 */
#include <math.h>

#include "plan/assign/slots_state.h"

#define JOBS_OF_A_ROW 4 /* fewer are looked at one by one */

bool slots_row_kept(const struct hes_slots *s, size_t column)
{
	return s->rows && s->count[column] >= JOBS_OF_A_ROW;
}

static struct slot_steps *row_at(struct hes_slots *s, size_t column)
{
	return s->rows + column * slots_columns(s);
}

/* What falls out at the end is a job that takes as much as the limit from now on. */
static void insert(struct slot_steps *t, double extra, uint32_t job)
{
	uint32_t i;

	if (t->n == SLOTS_STEPS)
		t->limit = t->v[--t->n].extra;
	for (i = t->n++; i > 0 && extra < t->v[i - 1].extra; i--)
		t->v[i] = t->v[i - 1];
	t->v[i] = (struct slot_step){ extra, job };
}

static void consider(struct slot_steps *t, double extra, uint32_t job)
{
	if (extra < (t->n == SLOTS_STEPS ? t->v[SLOTS_STEPS - 1].extra : t->limit))
		insert(t, extra, job);
	else if (extra < t->limit)
		t->limit = extra;
}

/* Every position there is memory for has its steps: opening one needs no more. */
void slots_row_enter(struct hes_slots *s, size_t column, uint32_t job)
{
	struct slot_steps *row;
	double from;

	if (!s->rows || !s->row_known[column])
		return;
	row = row_at(s, column);
	from = slots_cost_at(s, job, column);
	for (size_t c = 0; c < slots_columns(s); c++)
		if (row[c].n)
			consider(&row[c], slots_cost_at(s, job, c) - from, job);
}

void slots_row_leave(struct hes_slots *s, size_t column, uint32_t job)
{
	struct slot_steps *row;

	if (!s->rows || !s->row_known[column])
		return;
	row = row_at(s, column);
	for (size_t c = 0; c < slots_columns(s); c++) {
		struct slot_steps *t = &row[c];
		uint32_t i = 0;

		while (i < t->n && t->v[i].job != job)
			i++;
		if (i == t->n)
			continue;
		for (t->n--; i < t->n; i++)
			t->v[i] = t->v[i + 1];
	}
}

const struct slot_steps *slots_row(struct hes_slots *s, size_t column)
{
	struct slot_steps *row = row_at(s, column);
	size_t n = 0;

	for (size_t c = 0; c < slots_columns(s); c++)
		if (!s->row_known[column] || row[c].n == 0) {
			row[c].n = 0;
			row[c].limit = INFINITY;
			s->stale[n++] = (uint32_t)c;
		}
	s->row_known[column] = true;
	if (!n)
		return row;
	for (uint32_t j = s->first[column]; j != SLOTS_NONE; j = s->behind[j]) {
		double from = slots_cost_at(s, j, column);

		for (size_t i = 0; i < n; i++)
			consider(&row[s->stale[i]], slots_cost_at(s, j, s->stale[i]) - from, j);
	}
	/* Where no job can go at all, one stands for the rest. */
	for (size_t i = 0; i < n; i++)
		if (row[s->stale[i]].n == 0)
			insert(&row[s->stale[i]], INFINITY, SLOTS_NONE);
	return row;
}
