/*
 * population.c - solutions alive in a search; see population.h.
 */
#include "plan/population.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 64

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

void hes_evolved_free(struct hes_evolved *e)
{
	free(e->solutions);
	free(e->at);
	*e = (struct hes_evolved){ 0 };
}

int hes_population_init(struct hes_population *p, const struct hes_evolvable *v, const struct hes_evolve_options *o,
			size_t n)
{
	*p = (struct hes_population){
		.v = v, .o = o, .n = n, .stride = aligned(v->size), .scratch_stride = aligned(v->scratch_size + 1),
	};
	hes_rng_seed(&p->streams, o->seed);
	p->blocks = aligned_alloc(ALIGN, n * p->stride);
	p->scratch = aligned_alloc(ALIGN, o->threads * p->scratch_stride);
	p->members = calloc(n, sizeof(*p->members));
	p->sorted = calloc(n, sizeof(*p->sorted));
	p->least = calloc(n, sizeof(*p->least));
	if (!p->blocks || !p->scratch || !p->members || !p->sorted || !p->least) {
		hes_population_finish(p);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		p->members[i].x = p->blocks + i * p->stride;
	return 0;
}

void hes_population_finish(struct hes_population *p)
{
	free(p->blocks);
	free(p->scratch);
	free(p->members);
	free(p->sorted);
	free(p->least);
	*p = (struct hes_population){ 0 };
}

static void *scratch_of_thread(const struct hes_population *p)
{
	return p->scratch + (size_t)omp_get_thread_num() * p->scratch_stride;
}

void hes_population_draw(struct hes_population *p, size_t n)
{
#pragma omp parallel for num_threads((int)p->o->threads) if (p->o->threads > 1)
	for (size_t i = 0; i < n; i++) {
		struct hes_rng r = hes_rng_fork(&p->streams, p->matings + i);

		p->v->draw(p->v->problem, &r, scratch_of_thread(p), p->members[i].x);
		p->members[i].at = p->v->judge(p->v->problem, p->members[i].x);
	}
	p->matings += n;
}

static void mate(struct hes_population *p, hes_choose_fn *choose, struct hes_member *offspring, uint64_t stream)
{
	const struct hes_evolvable *v = p->v;
	struct hes_rng r = hes_rng_fork(&p->streams, stream);
	const struct hes_member *a = choose(p, &r), *b = choose(p, &r);

	v->vary(v->problem, &r, scratch_of_thread(p), a->x, b->x, offspring[0].x, offspring[1].x);
	offspring[0].at = v->judge(v->problem, offspring[0].x);
	offspring[1].at = v->judge(v->problem, offspring[1].x);
}

void hes_population_breed(struct hes_population *p, hes_choose_fn *choose, size_t from, size_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads((int)p->o->threads) if (p->o->threads > 1)
	for (size_t i = 0; i < n / 2; i++)
		mate(p, choose, &p->members[from + 2 * i], p->matings + i);
	p->matings += n / 2;
}

static int by_objectives(const void *a, const void *b)
{
	const struct hes_member *x = a, *y = b;

	if (x->at.energy_mj != y->at.energy_mj)
		return x->at.energy_mj < y->at.energy_mj ? -1 : 1;
	if (x->at.jct_us != y->at.jct_us)
		return x->at.jct_us < y->at.jct_us ? -1 : 1;
	return x->x < y->x ? -1 : x->x > y->x;
}

/*
 * By rising energy, a member belongs to the first front whose last member is
 * slower than it. Of equal members all but one fall behind: copies add nothing.
 */
static size_t number_fronts(struct hes_population *p, size_t n)
{
	size_t fronts = 0;

	for (size_t i = 0; i < n; i++) {
		struct hes_member *m = &p->members[i];
		size_t lo = 0, hi = fronts;

		while (lo < hi) { /* least is rising over the fronts */
			size_t mid = lo + (hi - lo) / 2;

			if (p->least[mid] <= m->at.jct_us)
				lo = mid + 1;
			else
				hi = mid;
		}
		m->front = (uint32_t)lo;
		p->least[lo] = m->at.jct_us;
		fronts += lo == fronts;
	}
	return fronts;
}

void hes_population_sort(struct hes_population *p, size_t n)
{
	size_t fronts, at = 0;

	qsort(p->members, n, sizeof(*p->members), by_objectives);
	fronts = number_fronts(p, n);
	for (size_t f = 0; f < fronts; f++)
		for (size_t i = 0; i < n; i++)
			if (p->members[i].front == f)
				p->sorted[at++] = p->members[i];
	memcpy(p->members, p->sorted, n * sizeof(*p->members));
}

int hes_population_collect(struct hes_population *p, size_t n, struct hes_evolved *out)
{
	struct hes_evolved e = { .stride = p->stride };

	hes_population_sort(p, n);
	while (e.n < n && p->members[e.n].front == 0)
		e.n++;
	e.solutions = aligned_alloc(ALIGN, e.n * p->stride);
	e.at = calloc(e.n, sizeof(*e.at));
	if (!e.solutions || !e.at) {
		hes_evolved_free(&e);
		return -ENOMEM;
	}
	for (size_t i = 0; i < e.n; i++) {
		memcpy(e.solutions + i * e.stride, p->members[i].x, e.stride);
		e.at[i] = p->members[i].at;
	}
	*out = e;
	return 0;
}
