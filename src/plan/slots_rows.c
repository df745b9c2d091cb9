/*
 * slots_rows.c - the least steps from a column that holds many jobs to all
 * others, kept while jobs come and go; see slots_state.h.
 *
 * A job that comes can only lower a step. One that goes leaves those steps
 * unknown that were its own; they are found anew when next asked for.
 */
#include <math.h>

#include "plan/slots_state.h"

#define JOBS_OF_A_ROW 4 /* fewer are looked at one by one */

bool slots_row_kept(const struct hes_slots *s, size_t column)
{
	return s->rows && s->count[column] >= JOBS_OF_A_ROW;
}

static struct slot_step *row_at(struct hes_slots *s, size_t column)
{
	return s->rows + column * slots_columns(s);
}

static void lower_step(const struct hes_slots *s, struct slot_step *step, uint32_t job, size_t to, double from)
{
	double extra = slots_cost_at(s, job, to) - from;

	if (step->job == SLOTS_NONE || extra < step->extra)
		*step = (struct slot_step){ extra, job };
}

/* Every position there is memory for has its step: opening one needs no more. */
void slots_row_enter(struct hes_slots *s, size_t column, uint32_t job)
{
	struct slot_step *row;
	double from;

	if (!s->rows || !s->row_known[column])
		return;
	row = row_at(s, column);
	from = slots_cost_at(s, job, column);
	for (size_t c = 0; c < slots_columns(s); c++)
		if (row[c].job != SLOTS_NONE)
			lower_step(s, &row[c], job, c, from);
}

void slots_row_leave(struct hes_slots *s, size_t column, uint32_t job)
{
	struct slot_step *row;

	if (!s->rows || !s->row_known[column])
		return;
	row = row_at(s, column);
	for (size_t c = 0; c < slots_columns(s); c++)
		if (row[c].job == job)
			row[c].job = SLOTS_NONE;
}

const struct slot_step *slots_row(struct hes_slots *s, size_t column)
{
	struct slot_step *row = row_at(s, column);
	size_t n = 0;

	for (size_t c = 0; c < slots_columns(s); c++)
		if (!s->row_known[column] || row[c].job == SLOTS_NONE) {
			row[c].job = SLOTS_NONE;
			s->stale[n++] = (uint32_t)c;
		}
	s->row_known[column] = true;
	if (!n)
		return row;
	for (uint32_t j = s->first[column]; j != SLOTS_NONE; j = s->behind[j]) {
		double from = slots_cost_at(s, j, column);

		for (size_t i = 0; i < n; i++)
			lower_step(s, &row[s->stale[i]], j, s->stale[i], from);
	}
	return row;
}
