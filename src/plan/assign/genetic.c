/*
 * genetic.c - the paper's genetic algorithm, with the selection of NSGA-II (Deb, Pratap, Agarwal,
 * Meyarivan; IEEE TEVC 6(2), 2002); see genetic.h.
 */
#include "plan/assign/genetic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assign/operators.h"

const struct hes_genetic_options hes_genetic_defaults = {
	.population = 50, .generations = 500, .seed = 1, .mutation = 0.1
};

struct individual {
	struct hes_queues *x;
	uint32_t front; /* 0: not dominated */
	uint32_t at;    /* place before sorting: equal ones keep their order */
	double crowding;
};

struct population {
	struct hes_operators ops;
	struct hes_operator_room room;
	void *scratch, *blocks;
	struct individual *v; /* [2 * size]: parents, the best first, and their children */
	double *last_us;      /* [2 * size]: of each front, the completion times of the last one */
	size_t size;
	struct hes_rng streams; /* forked for each mating, never advanced */
	uint64_t matings;
};

static int population_init(struct population *p, const struct hes_assign *a,
			   const struct hes_genetic_options *o)
{
	const size_t n = 2 * (size_t)o->population, bytes = hes_queues_size(a);

	*p = (struct population){
		.scratch = malloc(hes_operator_room_size(a) + 1),
		.blocks = aligned_alloc(64, n * bytes),
		.v = calloc(n, sizeof(*p->v)),
		.last_us = calloc(n, sizeof(*p->last_us)),
		.size = o->population,
	};
	if (!p->scratch || !p->blocks || !p->v || !p->last_us ||
	    hes_operators_init(&p->ops, a, o->mutation))
		return -ENOMEM;
	p->room = hes_operator_room_in(a, p->scratch);
	hes_rng_seed(&p->streams, o->seed);
	memset(p->blocks, 0, n * bytes);
	for (size_t i = 0; i < n; i++)
		p->v[i].x = (void *)((char *)p->blocks + i * bytes);
	return 0;
}

static void population_finish(struct population *p)
{
	hes_operators_finish(&p->ops);
	free(p->scratch);
	free(p->blocks);
	free(p->v);
	free(p->last_us);
}

/* By energy, then completion time. */
static int cheaper(const void *a, const void *b)
{
	const struct individual *x = a, *y = b;
	const struct hes_objectives *p = &x->x->at, *q = &y->x->at;

	if (p->energy_mj != q->energy_mj)
		return p->energy_mj < q->energy_mj ? -1 : 1;
	if (p->jct_us != q->jct_us)
		return p->jct_us < q->jct_us ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static int better(const void *a, const void *b)
{
	const struct individual *x = a, *y = b;

	if (x->front != y->front)
		return x->front < y->front ? -1 : 1;
	if (x->crowding != y->crowding)
		return x->crowding > y->crowding ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static void population_sort(struct population *p, size_t n,
			    int (*order)(const void *, const void *))
{
	for (size_t i = 0; i < n; i++)
		p->v[i].at = (uint32_t)i;
	qsort(p->v, n, sizeof(*p->v), order);
}

/*
 * Members by rising energy: each belongs to the first front whose last member is slower. Equal
 * members go to different fronts, because copies add nothing.
 */
static void number_fronts(struct population *p, size_t n)
{
	size_t fronts = 0;

	population_sort(p, n, cheaper);
	for (size_t i = 0; i < n; i++) {
		const double jct_us = p->v[i].x->at.jct_us;
		size_t f = 0;

		while (f < fronts && p->last_us[f] <= jct_us)
			f++;
		p->v[i].front = (uint32_t)f;
		p->v[i].crowding = 0;
		p->last_us[f] = jct_us;
		fronts += f == fronts;
	}
}

/* The crowding distance in one front, by rising energy. */
static void crowd(struct individual *m, size_t n)
{
	const double energy = m[n - 1].x->at.energy_mj - m[0].x->at.energy_mj,
		     jct = m[0].x->at.jct_us - m[n - 1].x->at.jct_us;

	m[0].crowding = m[n - 1].crowding = INFINITY;
	for (size_t i = 1; i + 1 < n; i++)
		m[i].crowding = (m[i + 1].x->at.energy_mj - m[i - 1].x->at.energy_mj) / energy +
				(m[i - 1].x->at.jct_us - m[i + 1].x->at.jct_us) / jct;
}

/* Best first: by front, then those with most room around them. */
static void population_rank(struct population *p, size_t n)
{
	number_fronts(p, n);
	population_sort(p, n, better);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && p->v[j].front == p->v[i].front;)
			j++;
		crowd(&p->v[i], j - i);
	}
	population_sort(p, n, better);
}

/* Binary tournament. */
static const struct hes_queues *choose_parent(const struct population *p, struct hes_rng *r)
{
	const uint64_t x = hes_rng_below(r, p->size), y = hes_rng_below(r, p->size);

	return p->v[x < y ? x : y].x;
}

/* Both children inherit the same segments; jobs migrate for energy in the first, for completion
 * time in the second. */
static void population_mate(struct population *p, struct individual *children)
{
	struct hes_rng r = hes_rng_fork(&p->streams, p->matings++);
	const struct hes_queues *a = choose_parent(p, &r), *b = choose_parent(p, &r);
	size_t n;

	hes_inherit(&p->ops, &r, &p->room, a, b, children[0].x);
	memcpy(children[1].x, children[0].x, hes_queues_size(p->ops.a));
	n = hes_choose_migrants(&p->ops, &r, &p->room);
	hes_migrate(&p->ops, &p->room, n, true, children[0].x);
	hes_migrate(&p->ops, &p->room, n, false, children[1].x);
}

/* Those that no other dominates, as assignments at their costs before rounding. */
static int population_collect(struct population *p, struct hes_assign_front *out)
{
	const struct hes_assign *a = p->ops.a;
	struct hes_assignment *v;
	size_t n = 0;

	number_fronts(p, p->size);
	population_sort(p, p->size, better);
	while (n < p->size && p->v[n].front == 0)
		n++;
	v = hes_assignments_new(a, n);
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		memcpy(v[i].gpu_of, hes_queues_gpus(a, p->v[i].x), a->n * sizeof(*v[i].gpu_of));
		hes_assign_evaluate(a, &v[i]);
	}
	*out = (struct hes_assign_front){ v, n };
	return 0;
}

int hes_genetic_run(const struct hes_assign *a, const struct hes_genetic_options *o,
		    struct hes_assign_front *out)
{
	struct population p;
	int rc = population_init(&p, a, o);

	for (size_t i = 0; i < p.size && !rc; i++) {
		struct hes_rng r = hes_rng_fork(&p.streams, p.matings++);

		hes_ranked_draw(&p.ops, &r, p.v[i].x);
	}
	if (!rc)
		population_rank(&p, p.size);
	for (uint32_t g = 0; g < o->generations && !rc; g++) {
		for (size_t i = 0; i < p.size; i += 2)
			population_mate(&p, &p.v[p.size + i]);
		population_rank(&p, 2 * p.size);
	}
	if (!rc)
		rc = population_collect(&p, out);
	population_finish(&p);
	return rc;
}
