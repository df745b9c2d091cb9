/*
 * population.c - solutions alive in a search; see population.h.
 */
#include "plan/assign/population.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 64
#define THREADS_FROM (128 * 1024) /* bytes of solutions: with fewer, threads wait for each other longer than they work */

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
	p->threads = n * p->stride < THREADS_FROM ? 1 : o->threads;
	hes_rng_seed(&p->streams, o->seed);
	p->blocks = aligned_alloc(ALIGN, n * p->stride);
	p->scratch = aligned_alloc(ALIGN, p->threads * p->scratch_stride);
	p->members = calloc(n, sizeof(*p->members));
	p->spare = calloc(n, sizeof(*p->spare));
	p->least = calloc(n, sizeof(*p->least));
	p->begin = calloc(n + 1, sizeof(*p->begin));
	if (!p->blocks || !p->scratch || !p->members || !p->spare || !p->least || !p->begin) {
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
	free(p->spare);
	free(p->least);
	free(p->begin);
	*p = (struct hes_population){ 0 };
}

static void *scratch_of_thread(const struct hes_population *p)
{
	return p->scratch + (size_t)omp_get_thread_num() * p->scratch_stride;
}

void hes_population_draw(struct hes_population *p, size_t n)
{
#pragma omp parallel for num_threads((int)p->threads) if (p->threads > 1)
	for (size_t i = 0; i < n; i++) {
		struct hes_rng r = hes_rng_fork(&p->streams, p->matings + i);

		p->v->draw(p->v->problem, &r, scratch_of_thread(p), p->members[i].x);
		p->members[i].at = p->v->judge(p->v->problem, p->members[i].x);
	}
	p->matings += n;
	p->evaluations = p->last = n;
}

bool hes_population_goes_on(struct hes_population *p)
{
	if (p->generation == p->o->generations ||
	    (p->o->evaluations && p->evaluations + p->last > p->o->evaluations))
		return false;
	p->generation++;
	return true;
}

/* @return what was evaluated */
static uint64_t mate(struct hes_population *p, hes_choose_fn *choose, struct hes_individual *offspring, uint64_t stream)
{
	const struct hes_evolvable *v = p->v;
	struct hes_rng r = hes_rng_fork(&p->streams, stream);
	const struct hes_individual *a = choose(p, &r), *b = choose(p, &r);
	uint64_t evaluations = v->vary(v->problem, &r, scratch_of_thread(p), a->x, b->x, offspring[0].x, offspring[1].x);

	offspring[0].at = v->judge(v->problem, offspring[0].x);
	offspring[1].at = v->judge(v->problem, offspring[1].x);
	return evaluations + 2;
}

void hes_population_breed(struct hes_population *p, hes_choose_fn *choose, size_t from, size_t n)
{
	uint64_t evaluations = 0;

#pragma omp parallel for schedule(dynamic) reduction(+ : evaluations) num_threads((int)p->threads) \
	if (p->threads > 1)
	for (size_t i = 0; i < n / 2; i++)
		evaluations += mate(p, choose, &p->members[from + 2 * i], p->matings + i);
	p->matings += n / 2;
	p->last = evaluations;
	p->evaluations += evaluations;
}

bool hes_cheaper(const struct hes_individual *a, const struct hes_individual *b)
{
	return a->at.energy_mj < b->at.energy_mj ||
	       (a->at.energy_mj == b->at.energy_mj && a->at.jct_us < b->at.jct_us);
}

/* Two runs, in order each, that end at @middle and @n, become one. */
static void merge(struct hes_individual *v, size_t middle, size_t n, struct hes_individual *spare, hes_before_fn *before)
{
	size_t left = 0, right = middle, at = 0;

	if (middle == n || !before(&v[middle], &v[middle - 1]))
		return;
	memcpy(spare, v, middle * sizeof(*v));
	while (left < middle)
		v[at++] = right < n && before(&v[right], &spare[left]) ? v[right++] : spare[left++];
}

void hes_population_order(struct hes_population *p, size_t from, size_t n, hes_before_fn *before)
{
	struct hes_individual *v = p->members + from;

	for (size_t run = 1; run < n; run *= 2)
		for (size_t i = 0; i + run < n; i += 2 * run)
			merge(v + i, run, n - i < 2 * run ? n - i : 2 * run, p->spare, before);
}

/*
 * By rising energy, a member belongs to the first front whose last member is
 * slower than it. Of equal members all but one fall behind: copies add nothing.
 */
static size_t number_fronts(struct hes_population *p, size_t n)
{
	size_t fronts = 0;

	for (size_t i = 0; i < n; i++) {
		struct hes_individual *m = &p->members[i];
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
	size_t fronts;

	hes_population_order(p, 0, n, hes_cheaper);
	fronts = number_fronts(p, n);
	memset(p->begin, 0, (fronts + 1) * sizeof(*p->begin));
	for (size_t i = 0; i < n; i++)
		p->begin[p->members[i].front + 1]++;
	for (size_t f = 1; f < fronts; f++)
		p->begin[f] += p->begin[f - 1];
	for (size_t i = 0; i < n; i++)
		p->spare[p->begin[p->members[i].front]++] = p->members[i];
	memcpy(p->members, p->spare, n * sizeof(*p->members));
}

int hes_population_collect(struct hes_population *p, size_t n, struct hes_evolved *out)
{
	struct hes_evolved e = { .stride = p->stride, .evaluations = p->evaluations };

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
