/*
 * bound_rest.c - sets one by one and by a beam, in a cell for each type and clock; see bound_rest.h.
 *
 * Members, kinds with shares, are numbered in the order of sets.
 */
#include "plan/bound_rest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHARES (HES_SHARE_SUM_PCT / HES_SHARE_STEP_PCT) /* that a member may have, in steps, */
#define STEPS  (HES_SHARE_OVER_PCT / HES_SHARE_STEP_PCT) /* and a set */
#define LESS   0.025 /* of the power of a job alone: its company's may be lower by that */
#define BEAM   64    /* sets of one size, in a cell, that others are asked to join */
#define THIRD  (BOUND_MOMENTS / 3)
#define ROUNDING 1e-6 /* of a power: values are floats */
#define ASKED  1000  /* larger sets that are asked about, in a cell */

struct party {
	uint16_t m[HES_SHARE_MOST];  /* rising */
	uint32_t n, steps;           /* members, shares */
	uint32_t memory_mib;
	float    power;
	float    hope;               /* what it and any that join it bring beyond what is known, at most, in parts of its power */
	float    rate[HES_SHARE_MOST];
	float    brings[BOUND_MOMENTS];
};

struct parties {
	struct party *v;
	size_t        n, room;
};

struct cell {
	uint32_t          type, clock_mhz;
	uint32_t          steps;   /* of shares, that a set may have */
	struct hes_rates *rates;
	struct parties    singles;
	struct parties    beam;
	struct parties    next;    /* one larger */
	float             more[HES_SHARE_MOST][STEPS + 1][BOUND_MOMENTS]; /* most that so many others bring within so many steps; none: 0 */
	float             hope;    /* what has less is not kept */
	struct parties    found;
	uint64_t          rated;
	int               rc;
};

struct bound_rest {
	const struct hes_problem *p;
	double                    time_unit_us, power_unit;
	uint32_t                 *jobs_of;    /* [kind]: how many */
	uint32_t                 *memory_mib; /* [kind]: least of its jobs */
	struct hes_member        *members;
	size_t                    n_members;
	struct cell              *cells;
	size_t                    n_cells;
};

/* What a look goes by. */
struct look {
	const struct bound_rest     *r;
	const struct bound_question *q;
	struct cell                 *c;
	float                        worth[BOUND_MOMENTS]; /* of the cell's type */
};

static int init_kinds(struct bound_rest *r)
{
	const struct hes_problem *p = r->p;

	r->jobs_of = calloc(p->n_kinds + 1, sizeof(*r->jobs_of));
	r->memory_mib = calloc(p->n_kinds + 1, sizeof(*r->memory_mib));
	r->members = calloc(p->n_kinds * SHARES + 1, sizeof(*r->members));
	if (!r->jobs_of || !r->memory_mib || !r->members)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		const struct hes_problem_job *j = &p->jobs[i];

		if (!r->jobs_of[j->kind]++ || j->memory_mib < r->memory_mib[j->kind])
			r->memory_mib[j->kind] = j->memory_mib;
	}
	for (uint16_t k = 0; k < p->n_kinds; k++)
		for (uint16_t s = 1; s <= SHARES && r->jobs_of[k]; s++)
			r->members[r->n_members++] = (struct hes_member){ k, (uint16_t)(s * HES_SHARE_STEP_PCT) };
	return 0;
}

static int init_cells(struct bound_rest *r)
{
	const struct hes_problem *p = r->p;
	size_t n = 0;

	for (size_t t = 0; t < p->n_types; t++)
		n += p->types[t]->n_clocks;
	r->cells = calloc(n + 1, sizeof(*r->cells));
	if (!r->cells)
		return -ENOMEM;
	for (uint32_t t = 0; t < p->n_types; t++)
		for (size_t c = 0; c < p->types[t]->n_clocks; c++) {
			struct cell *cell = &r->cells[r->n_cells++];

			*cell = (struct cell){ .type = t, .clock_mhz = p->types[t]->clocks_mhz[c],
					      .steps = p->shares_pct[t] / HES_SHARE_STEP_PCT };
			cell->rates = hes_rates_new(p->request->predictor, p->types, p->solo, p->n_kinds);
			if (!cell->rates)
				return -ENOMEM;
		}
	return 0;
}

struct bound_rest *bound_rest_new(const struct hes_problem *p, double time_unit_us, double energy_unit_mj)
{
	struct bound_rest *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct bound_rest){ .p = p, .time_unit_us = time_unit_us, .power_unit = energy_unit_mj / time_unit_us * 1e6 };
	if (init_kinds(r) || init_cells(r)) {
		bound_rest_free(r);
		return NULL;
	}
	return r;
}

void bound_rest_free(struct bound_rest *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_cells; i++)
		hes_rates_free(r->cells[i].rates);
	free(r->cells);
	free(r->jobs_of);
	free(r->memory_mib);
	free(r->members);
	free(r);
}

uint64_t bound_rest_rated(const struct bound_rest *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_cells; i++)
		n += r->cells[i].rated;
	return n;
}

static struct party *add(struct look *l, struct parties *to)
{
	if (to->n == to->room) {
		size_t room = to->room ? 2 * to->room : 256;
		struct party *v = reallocarray(to->v, room, sizeof(*v));

		if (!v) {
			l->c->rc = -ENOMEM;
			return NULL;
		}
		to->v = v;
		to->room = room;
	}
	return &to->v[to->n++];
}

/* By how much more than the board is worth a set brings, with what others add, at most, in parts of its power. */
static double excess_of(const struct look *l, const struct party *y, const float others[BOUND_MOMENTS])
{
	float beyond[BOUND_MOMENTS], most[THIRD], best;

	for (size_t t = 0; t < BOUND_MOMENTS; t++)
		beyond[t] = y->brings[t] + others[t] - l->worth[t];
	/* In thirds: so that it takes few instructions. */
	for (size_t t = 0; t < THIRD; t++) {
		most[t] = beyond[t] > beyond[t + THIRD] ? beyond[t] : beyond[t + THIRD];
		most[t] = most[t] > beyond[t + 2 * THIRD] ? most[t] : beyond[t + 2 * THIRD];
	}
	best = most[0];
	for (size_t t = 1; t < THIRD; t++)
		best = most[t] > best ? most[t] : best;
	return best / y->power - 1;
}

static double hope_of(const struct look *l, const struct party *y)
{
	return excess_of(l, y, l->c->more[HES_SHARE_MOST - y->n][l->c->steps - y->steps]);
}

/* A set's rates, and what it brings; it is found if that is more than is known. */
static void ask(struct look *l, struct party *y)
{
	struct hes_set set = { .type = l->c->type, .clock_mhz = l->c->clock_mhz, .n = y->n };
	struct hes_pace pace;
	struct party *kept;

	for (size_t i = 0; i < y->n; i++)
		set.m[i] = l->r->members[y->m[i]];
	hes_rates_of(l->c->rates, &set, &pace);
	l->c->rated++;
	y->power = (float)(pace.power_mw / l->r->power_unit);
	memset(y->brings, 0, sizeof(y->brings));
	for (size_t i = 0; i < y->n; i++) {
		double brings[BOUND_MOMENTS];

		y->rate[i] = (float)(l->r->time_unit_us / pace.iteration_us[i]);
		l->q->brings(l->q->ctx, set.m[i].kind, l->r->time_unit_us / pace.iteration_us[i], brings);
		for (size_t t = 0; t < BOUND_MOMENTS; t++)
			y->brings[t] += (float)brings[t];
	}
	if (excess_of(l, y, l->c->more[0][0]) <= ROUNDING)
		return;
	kept = add(l, &l->c->found);
	if (kept)
		*kept = *y;
}

/* What a set would be with one more, by what the one brings alone. @return false: there is no such set */
static bool join(const struct look *l, const struct party *y, const struct party *one, struct party *out)
{
	const struct hes_member *m = &l->r->members[one->m[0]];
	uint32_t alike = 1, at = y->n;

	if (y->steps + one->steps > l->c->steps || y->memory_mib + one->memory_mib > l->r->p->types[l->c->type]->memory_mib)
		return false;
	*out = *y;
	for (size_t i = 0; i < y->n; i++)
		alike += l->r->members[y->m[i]].kind == m->kind;
	for (; at > 0 && out->m[at - 1] > one->m[0]; at--)
		out->m[at] = out->m[at - 1];
	out->m[at] = one->m[0];
	out->n++;
	out->steps += one->steps;
	out->memory_mib += one->memory_mib;
	out->power = fmaxf(y->power, one->power * (float)(1 - LESS));
	for (size_t t = 0; t < BOUND_MOMENTS; t++)
		out->brings[t] += one->brings[t];
	return alike <= l->r->jobs_of[m->kind];
}

/* What up to so many others bring within so many steps, at most. */
static void find_more(struct cell *c)
{
	for (size_t i = 0; i < c->singles.n; i++)
		for (size_t t = 0; t < BOUND_MOMENTS; t++) {
			float *most = &c->more[1][c->singles.v[i].steps][t];

			*most = fmaxf(*most, c->singles.v[i].brings[t]);
		}
	for (size_t n = 1; n < HES_SHARE_MOST; n++)
		for (size_t s = 1; s <= STEPS; s++)
			for (size_t one = 0; one <= s; one++)
				for (size_t t = 0; t < BOUND_MOMENTS; t++)
					c->more[n][s][t] = fmaxf(c->more[n][s][t], c->more[1][one][t] +
								 (n > 1 ? c->more[n - 1][s - one][t] : 0));
}

static void look_at_singles(struct look *l)
{
	struct cell *c = l->c;

	for (size_t m = 0; m < l->r->n_members && !c->rc; m++) {
		const uint32_t kind = l->r->members[m].kind;
		struct party y = { .m = { (uint16_t)m }, .n = 1, .steps = l->r->members[m].sm_pct / HES_SHARE_STEP_PCT,
				   .memory_mib = l->r->memory_mib[kind] }, *kept;

		if (l->r->p->solo[c->type * l->r->p->n_kinds + kind].iteration_us <= 0 ||
		    y.memory_mib > l->r->p->types[c->type]->memory_mib)
			continue;
		ask(l, &y);
		kept = add(l, &c->singles);
		if (kept)
			*kept = y;
	}
	find_more(c);
}

/* More hope first; equal ones in the order of their members. */
static int by_hope(const void *a, const void *b)
{
	const struct party *x = a, *y = b;

	if (x->hope != y->hope)
		return x->hope > y->hope ? -1 : 1;
	return memcmp(x->m, y->m, sizeof(x->m));
}

/* Sort by hope, leave out what is there twice and all beyond so many. */
static void select_best(struct parties *of, size_t most)
{
	size_t n = 0;

	if (of->n)
		qsort(of->v, of->n, sizeof(*of->v), by_hope);
	for (size_t i = 0; i < of->n && n < most; i++)
		if (n == 0 || memcmp(of->v[n - 1].m, of->v[i].m, sizeof(of->v[i].m)) != 0)
			of->v[n++] = of->v[i];
	of->n = n;
}

/* Keep a set while it is among the most hopeful; a few times as many are kept before they are sorted. */
static void keep(struct look *l, const struct party *y, double hope, size_t most)
{
	struct parties *in = &l->c->next;
	struct party *kept;

	if (hope <= l->c->hope)
		return;
	kept = add(l, in);
	if (!kept)
		return;
	*kept = *y;
	kept->hope = (float)hope;
	if (in->n < 4 * most)
		return;
	select_best(in, most);
	l->c->hope = in->n == most ? in->v[most - 1].hope : l->c->hope;
}

/* All pairs that could bring more are asked about. */
static void look_at_pairs(struct look *l)
{
	struct cell *c = l->c;

	c->hope = (float)ROUNDING;
	for (size_t i = 0; i < c->singles.n; i++)
		for (size_t j = i; j < c->singles.n && !c->rc; j++) {
			struct party x = c->singles.v[i], y;

			x.power *= (float)(1 - LESS);
			if (!join(l, &x, &c->singles.v[j], &y))
				continue;
			if (excess_of(l, &y, c->more[0][0]) > l->q->tolerance)
				ask(l, &y);
			keep(l, &y, hope_of(l, &y), BEAM);
		}
	select_best(&c->next, BEAM);
}

/* Anyone who fits joins the sets of the beam; the most promising are asked about. */
static void look_at_larger(struct look *l)
{
	struct cell *c = l->c;
	const struct parties beam = c->beam;

	c->hope = (float)ROUNDING;
	for (size_t i = 0; i < beam.n; i++)
		for (size_t j = 0; j < c->singles.n && !c->rc; j++) {
			struct party y;

			if (join(l, &beam.v[i], &c->singles.v[j], &y))
				keep(l, &y, hope_of(l, &y), ASKED);
		}
	select_best(&c->next, ASKED);
	for (size_t i = 0; i < c->next.n && !c->rc; i++) {
		ask(l, &c->next.v[i]);
		c->next.v[i].hope = (float)hope_of(l, &c->next.v[i]);
	}
	select_best(&c->next, BEAM);
}

static void look_at_cell(struct look *l)
{
	struct cell *c = l->c;

	c->rc = 0;
	memset(c->more, 0, sizeof(c->more));
	look_at_singles(l);
	look_at_pairs(l);
	for (size_t n = 3; n <= HES_SHARE_MOST && !c->rc; n++) {
		const struct parties before = c->beam;

		c->beam = c->next;
		c->next = (struct parties){ .v = before.v, .room = before.room };
		look_at_larger(l);
	}
	free(c->singles.v);
	free(c->beam.v);
	free(c->next.v);
	c->singles = c->beam = c->next = (struct parties){ 0 };
}

static int tell(const struct bound_rest *r, struct cell *c, struct bound_menu *found)
{
	int rc = 0;

	for (size_t i = 0; i < c->found.n && !rc; i++) {
		const struct party *y = &c->found.v[i];
		struct bound_set s = { .type = c->type, .power = y->power };

		for (; s.n < y->n; s.n++) {
			s.kind[s.n] = r->members[y->m[s.n]].kind;
			s.rate[s.n] = y->rate[s.n];
		}
		rc = bound_menu_add(found, &s);
	}
	free(c->found.v);
	c->found = (struct parties){ 0 };
	return rc;
}

int bound_rest_look(struct bound_rest *r, const struct bound_question *q, struct bound_menu *found)
{
	int rc = 0;

#pragma omp parallel for schedule(dynamic, 1)
	for (size_t i = 0; i < r->n_cells; i++) {
		struct cell *c = &r->cells[i];
		struct look l = { r, q, c, { 0 } };

		for (size_t t = 0; t < BOUND_MOMENTS; t++)
			l.worth[t] = (float)q->worth[c->type * BOUND_MOMENTS + t];
		look_at_cell(&l);
	}
	for (size_t i = 0; i < r->n_cells; i++) {
		const int told = tell(r, &r->cells[i], found);

		rc = rc ? rc : r->cells[i].rc ? r->cells[i].rc : told;
	}
	return rc;
}
