/*
 * bound_menu.c - sets gathered from memos and thinned out; see bound_menu.h.
 */
#include "plan/bound_menu.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gathering {
	struct bound_menu *menu;
	double             time_unit_us, power_unit; /* mW */
	bool               failed;
};

int bound_menu_add(struct bound_menu *m, const struct bound_set *set)
{
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 4096;
		struct bound_set *v = reallocarray(m->v, room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		m->v = v;
		m->room = room;
	}
	m->v[m->n++] = *set;
	return 0;
}

static void keep(void *ctx, const struct hes_set *s, const struct hes_pace *pace)
{
	struct gathering *g = ctx;
	struct bound_set l = { .type = s->type, .n = s->n, .power = pace->power_mw / g->power_unit };

	if (s->n > HES_SHARE_MOST || g->failed)
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		l.kind[i] = s->m[i].kind;
		l.rate[i] = g->time_unit_us / pace->iteration_us[i];
	}
	g->failed = bound_menu_add(g->menu, &l) != 0;
}

/* Sets of the same jobs side by side, the thriftier and the quicker first; equal ones are alike. */
static int order(const void *a, const void *b)
{
	const struct bound_set *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->kind[i] != y->kind[i])
			return x->kind[i] < y->kind[i] ? -1 : 1;
	if (x->power != y->power)
		return x->power < y->power ? -1 : 1;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->rate[i] != y->rate[i])
			return x->rate[i] > y->rate[i] ? -1 : 1;
	return 0;
}

static bool same_jobs(const struct bound_set *a, const struct bound_set *b)
{
	return a->type == b->type && a->n == b->n && memcmp(a->kind, b->kind, sizeof(a->kind)) == 0;
}

static bool outdoes(const struct bound_set *a, const struct bound_set *b)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->rate[i] < b->rate[i])
			return false;
	return true; /* its power is not more: it comes before */
}

static void thin_out(struct bound_menu *m)
{
	size_t kept = 0, from = 0;

	qsort(m->v, m->n, sizeof(*m->v), order);
	for (size_t s = 0; s < m->n; s++) {
		const struct bound_set set = m->v[s];
		bool outdone = false;

		if (kept > from && !same_jobs(&m->v[from], &set))
			from = kept;
		for (size_t i = from; i < kept && !outdone; i++)
			outdone = outdoes(&m->v[i], &set);
		if (!outdone)
			m->v[kept++] = set;
	}
	m->n = kept;
}

static void sort_jobs(struct bound_menu *m, const struct hes_problem *p)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < p->n_kinds; k++) {
		m->first[k] = n;
		for (uint32_t j = 0; j < p->n; j++)
			if (p->jobs[j].kind == k)
				m->jobs[n++] = j;
	}
	m->first[p->n_kinds] = n;
}

static void find_least(struct bound_menu *m, const struct hes_problem *p)
{
	for (size_t j = 0; j < p->n; j++)
		m->least[j] = INFINITY;
	for (size_t s = 0; s < m->n; s++)
		for (uint32_t i = 0; i < m->v[s].n; i++)
			for (uint32_t j = m->first[m->v[s].kind[i]]; j < m->first[m->v[s].kind[i] + 1]; j++) {
				const uint32_t job = m->jobs[j];

				m->least[job] = fmin(m->least[job], p->jobs[job].iterations / m->v[s].rate[i]);
			}
}

int bound_menu_init(struct bound_menu *m, const struct hes_problem *p, struct hes_rates *const *memos, size_t n_memos,
		    double time_unit_us, double energy_unit_mj)
{
	struct gathering g = { m, time_unit_us, energy_unit_mj / time_unit_us * 1e6, false };

	*m = (struct bound_menu){ .n = 0 };
	m->first = calloc(p->n_kinds + 1, sizeof(*m->first));
	m->jobs = calloc(p->n + 1, sizeof(*m->jobs));
	m->least = calloc(p->n + 1, sizeof(*m->least));
	if (!m->first || !m->jobs || !m->least)
		return -ENOMEM;
	for (size_t i = 0; i < n_memos; i++)
		hes_rates_each(memos[i], keep, &g);
	if (g.failed)
		return -ENOMEM;
	thin_out(m);
	sort_jobs(m, p);
	find_least(m, p);
	return 0;
}

void bound_menu_finish(struct bound_menu *m)
{
	free(m->v);
	free(m->first);
	free(m->jobs);
	free(m->least);
	*m = (struct bound_menu){ .n = 0 };
}
