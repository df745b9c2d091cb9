/*
 * bound_pricing.c - what co-run sets earn, and the search for better ones; see bound_pricing.h.
 *
 * One thread searches one cell: a type at a clock. A member is a kind with a share.
 */
#include "bound_pricing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN   0.025 /* a set may draw this part less power than one of its members alone */
#define BEAM     64    /* sets of one size that are extended, in a cell */
#define RATED    250   /* larger sets of one size that are predicted, in a cell */
#define ROUNDING 1e-6  /* of a set's power: a set that is known must not come again */

struct candidate {
	struct hes_member m[HES_SHARE_MOST]; /* in the order of sets */
	uint32_t n, share_pct, memory_mib;
	double power, profit;
	double rate[HES_SHARE_MOST];
	double earns[BOUND_MOMENTS];
};

struct list {
	struct candidate *v;
	size_t n, room;
};

struct cell {
	const struct bound_pricing *b;
	const double *gpu_price;
	double tolerance;
	uint32_t type, clock_mhz;
	struct hes_rates *rates;
	struct list singles, next, found;
	int rc;
};

static void *grown(void *v, size_t n, size_t *room, size_t size)
{
	void *larger;

	if (n < *room)
		return v;
	larger = reallocarray(v, 2 * *room + 256, size);
	if (larger)
		*room = 2 * *room + 256;
	return larger;
}

static int set_add(struct bound_pricing *b, const struct bound_set *set)
{
	struct bound_set *v = grown(b->sets, b->n, &b->room, sizeof(*v));

	if (!v)
		return -ENOMEM;
	b->sets = v;
	b->sets[b->n++] = *set;
	return 0;
}

struct gathering {
	struct bound_pricing *b;
	int rc;
};

static void set_gather(void *ctx, const struct hes_set *s, const struct hes_set_rates *rates)
{
	struct gathering *g = ctx;
	struct bound_set set = { .type = s->type, .power = rates->power_mw / g->b->power_unit_mw };

	if (s->n > HES_SHARE_MOST || g->rc)
		return;
	for (; set.n < s->n; set.n++) {
		set.kind[set.n] = s->m[set.n].kind;
		set.rate[set.n] = g->b->time_unit_us / rates->iteration_us[set.n];
	}
	g->rc = set_add(g->b, &set);
}

/* Jobs by kind, and each kind's least memory. */
static void sort_jobs(struct bound_pricing *b)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < b->p->n_kinds; k++) {
		b->first[k] = n;
		b->memory_mib[k] = UINT32_MAX;
		for (uint32_t j = 0; j < b->p->n; j++)
			if (b->p->jobs[j].kind == k) {
				b->order[n++] = j;
				if (b->p->jobs[j].memory_mib < b->memory_mib[k])
					b->memory_mib[k] = b->p->jobs[j].memory_mib;
			}
	}
	b->first[b->p->n_kinds] = n;
}

int bound_pricing_init(struct bound_pricing *b, const struct hes_problem *p,
		       const struct hes_joint *met, double time_unit_us, double energy_unit_mj)
{
	struct gathering g = { b, 0 };
	size_t cells = 0;

	*b = (struct bound_pricing){ .p = p,
				     .time_unit_us = time_unit_us,
				     .power_unit_mw = energy_unit_mj / time_unit_us * 1e6 };
	for (size_t t = 0; t < p->n_types; t++)
		cells += p->types[t]->n_clocks;
	b->jobs = calloc(p->n + 1, sizeof(*b->jobs));
	b->first = calloc(p->n_kinds + 1, sizeof(*b->first));
	b->order = calloc(p->n + 1, sizeof(*b->order));
	b->memory_mib = calloc(p->n_kinds + 1, sizeof(*b->memory_mib));
	b->caches = calloc(cells + 1, sizeof(struct hes_rates *));
	if (!b->jobs || !b->first || !b->order || !b->memory_mib || !b->caches)
		return -ENOMEM;
	for (; b->n_caches < cells; b->n_caches++) {
		b->caches[b->n_caches] =
			hes_rates_new(p->request->predictor, p->types, p->solo, p->n_kinds);
		if (!b->caches[b->n_caches])
			return -ENOMEM;
	}
	sort_jobs(b);
	if (met)
		hes_joint_each_set(met, set_gather, &g);
	hes_rates_each(p->rates, set_gather, &g);
	return g.rc;
}

void bound_pricing_finish(struct bound_pricing *b)
{
	for (size_t i = 0; i < b->n_caches; i++)
		hes_rates_free(b->caches[i]);
	free(b->caches);
	free(b->jobs);
	free(b->first);
	free(b->order);
	free(b->memory_mib);
	free(b->sets);
}

void bound_kind_earns(const struct bound_pricing *b, uint32_t kind, double rate,
		      double out[BOUND_MOMENTS], uint32_t who[BOUND_MOMENTS])
{
	for (size_t t = 0; t < BOUND_MOMENTS; t++) {
		out[t] = 0;
		who[t] = UINT32_MAX;
	}
	for (uint32_t i = b->first[kind]; i < b->first[kind + 1]; i++) {
		const struct bound_job *j = &b->jobs[b->order[i]];
		const double speed = rate / b->p->jobs[b->order[i]].iterations;
		double fast = 0;

		for (size_t k = 0; k < BOUND_CUTS; k++)
			fast += j->cut[k] * fmax(0, j->pace[k] * speed - 1);
		for (size_t t = 0; t < BOUND_MOMENTS; t++) {
			const double each =
				(j->work - j->slope * b->at[t]) * speed + fast - j->busy[t];

			if (each > out[t]) {
				out[t] = each;
				who[t] = b->order[i];
			}
		}
	}
}

void bound_set_earns(const struct bound_pricing *b, const struct bound_set *s,
		     double out[BOUND_MOMENTS])
{
	double each[BOUND_MOMENTS];
	uint32_t who[BOUND_MOMENTS];

	memset(out, 0, BOUND_MOMENTS * sizeof(*out));
	for (uint32_t i = 0; i < s->n; i++) {
		bound_kind_earns(b, s->kind[i], s->rate[i], each, who);
		for (size_t t = 0; t < BOUND_MOMENTS; t++)
			out[t] += each[t];
	}
}

/* By how much a set earns more than its energy and the GPU's price, at its best moment, in parts of
 * its power. */
static double profit_of(const struct cell *c, const struct candidate *y)
{
	const double *price = &c->gpu_price[c->type * BOUND_MOMENTS];
	double best = -INFINITY;

	for (size_t t = 0; t < BOUND_MOMENTS; t++)
		best = fmax(best, y->earns[t] - price[t]);
	return best / y->power - 1;
}

static void list_add(struct cell *c, struct list *to, const struct candidate *y)
{
	struct candidate *v = grown(to->v, to->n, &to->room, sizeof(*v));

	if (!v) {
		c->rc = -ENOMEM;
		return;
	}
	to->v = v;
	to->v[to->n++] = *y;
}

/* Predict a set; it is found if it is worth more than what is known. */
static void candidate_rate(struct cell *c, struct candidate *y)
{
	const struct bound_pricing *b = c->b;
	struct hes_set set = { .type = c->type, .clock_mhz = c->clock_mhz, .n = y->n };
	struct bound_set s = { .n = y->n };
	struct hes_set_rates rates;

	memcpy(set.m, y->m, sizeof(y->m));
	hes_rates_of(c->rates, &set, &rates);
	y->power = rates.power_mw / b->power_unit_mw;
	for (size_t i = 0; i < y->n; i++) {
		s.kind[i] = y->m[i].kind;
		s.rate[i] = y->rate[i] = b->time_unit_us / rates.iteration_us[i];
	}
	bound_set_earns(b, &s, y->earns);
	y->profit = profit_of(c, y);
	if (y->profit > ROUNDING)
		list_add(c, &c->found, y);
}

/* More profit first; equal ones in the order of their members. */
static int by_profit(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->profit != y->profit)
		return x->profit > y->profit ? -1 : 1;
	return memcmp(x->m, y->m, sizeof(x->m));
}

/* Keep the best, without duplicates. */
static void list_trim(struct list *of, size_t most)
{
	size_t n = 0;

	if (of->n)
		qsort(of->v, of->n, sizeof(*of->v), by_profit);
	for (size_t i = 0; i < of->n && n < most; i++)
		if (n == 0 || memcmp(of->v[n - 1].m, of->v[i].m, sizeof(of->v[i].m)) != 0)
			of->v[n++] = of->v[i];
	of->n = n;
}

static bool member_before(const struct hes_member *a, const struct hes_member *b)
{
	return a->kind != b->kind ? a->kind < b->kind : a->sm_pct < b->sm_pct;
}

/* A set with one more, at most as good as it can be. @return false: no such set can run */
static bool join(const struct cell *c, const struct candidate *y, const struct candidate *one,
		 struct candidate *out)
{
	const struct bound_pricing *b = c->b;
	uint32_t alike = 1, at = y->n;

	if (y->share_pct + one->share_pct > b->p->shares_pct[c->type] ||
	    y->memory_mib + one->memory_mib > b->p->types[c->type]->memory_mib)
		return false;
	*out = *y;
	for (size_t i = 0; i < y->n; i++)
		alike += y->m[i].kind == one->m[0].kind;
	for (; at > 0 && member_before(&one->m[0], &out->m[at - 1]); at--)
		out->m[at] = out->m[at - 1];
	out->m[at] = one->m[0];
	out->n++;
	out->share_pct += one->share_pct;
	out->memory_mib += one->memory_mib;
	out->power = fmax(y->power, one->power) * (1 - MARGIN);
	for (size_t t = 0; t < BOUND_MOMENTS; t++)
		out->earns[t] += one->earns[t];
	out->profit = profit_of(c, out);
	return alike <= b->first[one->m[0].kind + 1] - b->first[one->m[0].kind];
}

static void search_singles(struct cell *c)
{
	const struct hes_problem *p = c->b->p;

	for (uint16_t k = 0; k < p->n_kinds && !c->rc; k++)
		for (uint16_t pct = HES_SHARE_STEP_PCT; pct <= HES_SHARE_SUM_PCT;
		     pct += HES_SHARE_STEP_PCT) {
			struct candidate y = { .m = { { k, pct } },
					       .n = 1,
					       .share_pct = pct,
					       .memory_mib = c->b->memory_mib[k] };

			if (p->solo[c->type * p->n_kinds + k].iteration_us <= 0 ||
			    y.memory_mib > p->types[c->type]->memory_mib)
				continue;
			candidate_rate(c, &y);
			list_add(c, &c->singles, &y);
		}
}

/*
 * Sets with one more member, the BEAM best of which are extended further. All pairs that may earn
 * enough are predicted, and the most promising of the larger sets.
 */
static void extend(struct cell *c, const struct list *from, uint32_t n)
{
	const size_t most = n == 2 ? BEAM : RATED;
	double least_profit = -INFINITY; /* of the best so far */

	for (size_t i = 0; i < from->n; i++)
		for (size_t j = n == 2 ? i : 0; j < c->singles.n && !c->rc; j++) {
			struct candidate y;

			if (!join(c, &from->v[i], &c->singles.v[j], &y))
				continue;
			if (n == 2 && y.profit > c->tolerance)
				candidate_rate(c, &y);
			if (y.profit <= least_profit)
				continue;
			list_add(c, &c->next, &y);
			if (c->next.n >= 4 * most) {
				list_trim(&c->next, most);
				least_profit = c->next.v[c->next.n - 1].profit;
			}
		}
	list_trim(&c->next, most);
	for (size_t i = 0; i < c->next.n && n > 2 && !c->rc; i++)
		candidate_rate(c, &c->next.v[i]);
	list_trim(&c->next, BEAM);
}

static void search_cell(struct cell *c)
{
	search_singles(c);
	extend(c, &c->singles, 2);
	for (uint32_t n = 3; n <= HES_SHARE_MOST && !c->rc; n++) {
		struct list beam = c->next;

		c->next = (struct list){ 0 };
		extend(c, &beam, n);
		free(beam.v);
	}
	free(c->singles.v);
	free(c->next.v);
}

static int take_found(struct bound_pricing *b, struct cell *c)
{
	int rc = c->rc;

	for (size_t i = 0; i < c->found.n && !rc; i++) {
		const struct candidate *y = &c->found.v[i];
		struct bound_set s = { .type = c->type, .n = y->n, .power = y->power };

		memcpy(s.rate, y->rate, sizeof(s.rate));
		for (size_t m = 0; m < y->n; m++)
			s.kind[m] = y->m[m].kind;
		rc = set_add(b, &s);
	}
	free(c->found.v);
	return rc;
}

int bound_search(struct bound_pricing *b, const double *gpu_price, double tolerance)
{
	struct cell *cells = calloc(b->n_caches + 1, sizeof(*cells));
	size_t n = 0;
	int rc = 0;

	if (!cells)
		return -ENOMEM;
	for (uint32_t t = 0; t < b->p->n_types; t++)
		for (size_t k = 0; k < b->p->types[t]->n_clocks; k++, n++)
			cells[n] = (struct cell){ .b = b,
						  .gpu_price = gpu_price,
						  .tolerance = tolerance,
						  .type = t,
						  .clock_mhz = b->p->types[t]->clocks_mhz[k],
						  .rates = b->caches[n] };
#pragma omp parallel for schedule(dynamic, 1)
	for (size_t i = 0; i < n; i++)
		search_cell(&cells[i]);
	for (size_t i = 0; i < n; i++) {
		const int taken = take_found(b, &cells[i]);

		rc = rc ? rc : taken;
	}
	free(cells);
	return rc;
}
