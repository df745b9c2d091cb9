/*
 * population.c - the population of a search, and NSGA-II; see population.h.
 */
#include "population.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN        64
#define THREADS_FROM (128 * 1024) /* bytes of solutions: with fewer, one thread is faster */

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

int hes_population_init(struct hes_population *p, const struct hes_evolvable *v,
			const struct hes_evolve_options *o, size_t n)
{
	*p = (struct hes_population){
		.v = v,
		.o = o,
		.n = n,
		.stride = aligned(v->size),
		.scratch_stride = aligned(v->scratch_size + 1),
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

/* @return evaluations */
static uint64_t mate(struct hes_population *p, hes_choose_fn *choose,
		     struct hes_individual *children, uint64_t stream)
{
	const struct hes_evolvable *v = p->v;
	struct hes_rng r = hes_rng_fork(&p->streams, stream);
	const struct hes_individual *a = choose(p, &r), *b = choose(p, &r);
	uint64_t evaluations = v->vary(v->problem, &r, scratch_of_thread(p), a->x, b->x,
				       children[0].x, children[1].x);

	children[0].at = v->judge(v->problem, children[0].x);
	children[1].at = v->judge(v->problem, children[1].x);
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

/* Merge the sorted runs [0, middle) and [middle, n). */
static void merge(struct hes_individual *v, size_t middle, size_t n, struct hes_individual *spare,
		  hes_before_fn *before)
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
 * Members by rising energy: each belongs to the first front whose last member is slower. Equal
 * members go to different fronts, because copies add nothing.
 */
static size_t number_fronts(struct hes_population *p, size_t n)
{
	size_t fronts = 0;

	for (size_t i = 0; i < n; i++) {
		struct hes_individual *m = &p->members[i];
		size_t lo = 0, hi = fronts;

		while (lo < hi) { /* least[] rises over the fronts */
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

/* --- NSGA-II: survivors by front, then by crowding distance --- */

/* Of one front, members by rising energy. */
static void crowd(struct hes_individual *m, size_t n)
{
	double energy = m[n - 1].at.energy_mj - m[0].at.energy_mj;
	double jct = m[0].at.jct_us - m[n - 1].at.jct_us;

	m[0].crowding = m[n - 1].crowding = INFINITY;
	for (size_t i = 1; i + 1 < n; i++)
		m[i].crowding = (m[i + 1].at.energy_mj - m[i - 1].at.energy_mj) / energy +
				(m[i - 1].at.jct_us - m[i + 1].at.jct_us) / jct;
}

static bool less_crowded(const struct hes_individual *a, const struct hes_individual *b)
{
	return a->crowding > b->crowding;
}

/* Best first. */
static void rank(struct hes_population *p, size_t n)
{
	hes_population_sort(p, n);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && p->members[j].front == p->members[i].front; j++)
			;
		crowd(&p->members[i], j - i);
		hes_population_order(p, i, j - i, less_crowded);
	}
}

/* Binary tournament; the order is best first. */
static const struct hes_individual *tournament(const struct hes_population *p, struct hes_rng *r)
{
	uint64_t x = hes_rng_below(r, p->o->population), y = hes_rng_below(r, p->o->population);

	return &p->members[x < y ? x : y];
}

int hes_nsga2(const struct hes_evolvable *v, const struct hes_evolve_options *o,
	      struct hes_evolved *out)
{
	struct hes_population p;
	int rc = hes_population_init(&p, v, o, 2 * (size_t)o->population);

	if (rc)
		return rc;
	hes_population_draw(&p, o->population);
	rank(&p, o->population);
	while (hes_population_goes_on(&p)) {
		hes_population_breed(&p, tournament, o->population, o->population);
		rank(&p, 2 * (size_t)o->population);
	}
	rc = hes_population_collect(&p, o->population, out);
	hes_population_finish(&p);
	return rc;
}
