/*
 * population.h - evolutionary search for trade-offs: what a problem provides, the population,
 * NSGA-II.
 *
 * A problem draws, varies and judges solutions. A solution is a block of bytes without pointers
 * into itself. Each mating has its own stream of random numbers, so a seed gives one front with any
 * number of threads.
 */
#ifndef PAPER_POPULATION_H
#define PAPER_POPULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "plan/assign/pareto.h"

typedef void hes_draw_fn(const void *problem, struct hes_rng *r, void *scratch, void *x);
/** Cross and mutate two parents into two children; @second is NULL where a search takes one.
 * @return evaluations made on the way */
typedef uint64_t hes_vary_fn(const void *problem, struct hes_rng *r, void *scratch, const void *p,
			     const void *q, void *first, void *second);

struct hes_evolvable {
	const void *problem;
	size_t size;         /* bytes of a solution; aligned to 64 */
	size_t scratch_size; /* bytes of scratch, one block per thread */
	hes_draw_fn *draw;
	hes_vary_fn *vary;
	struct hes_objectives (*judge)(const void *problem, const void *x);
};

struct hes_evolve_options {
	uint32_t population; /* even, at least 4 */
	uint32_t generations;
	uint64_t evaluations; /* stop before a generation like the last one would exceed this; 0: no
				 limit */
	uint64_t seed;
	uint32_t threads; /* at most; at least 1. The front does not depend on it */
};

/** The result: solutions none of which dominates another, by rising energy. */
struct hes_evolved {
	char *solutions; /* [n] blocks of @stride bytes; owned */
	size_t stride;
	struct hes_objectives *at; /* [n]; owned */
	size_t n;
	uint64_t evaluations;
};

void hes_evolved_free(struct hes_evolved *e);

/** A search. @return 0 or -ENOMEM; @out is written on success only */
typedef int hes_evolve_fn(const struct hes_evolvable *v, const struct hes_evolve_options *o,
			  struct hes_evolved *out);

/** NSGA-II (Deb, Pratap, Agarwal, Meyarivan; IEEE TEVC 6(2), 2002). */
hes_evolve_fn hes_nsga2;

struct hes_individual {
	char *x; /* the solution, a block of the population */
	struct hes_objectives at;
	uint32_t front; /* 0: not dominated */
	double crowding;
};

struct hes_population {
	const struct hes_evolvable *v;
	const struct hes_evolve_options *o;
	struct hes_rng streams; /* forked, never advanced */
	uint64_t matings;       /* streams used */
	uint64_t evaluations;
	uint64_t last; /* evaluations of the latest generation */
	uint32_t generation;
	uint32_t threads;
	size_t n; /* room, in solutions */
	size_t stride;
	char *blocks;
	char *scratch; /* [threads] */
	size_t scratch_stride;
	struct hes_individual *members; /* [n]; every block belongs to one member */
	struct hes_individual *spare;   /* [n]: room to sort in */
	double *least;                  /* [n] */
	uint32_t *begin;                /* [n + 1]: start of each front while sorting */
};

/** Allocates everything. @return 0 or -ENOMEM, everything freed */
int hes_population_init(struct hes_population *p, const struct hes_evolvable *v,
			const struct hes_evolve_options *o, size_t n);
void hes_population_finish(struct hes_population *p);

/** Draw members [0, n). */
void hes_population_draw(struct hes_population *p, size_t n);

/** Start the next generation. @return false: the search ends */
bool hes_population_goes_on(struct hes_population *p);

/** Chooses a parent; depends on the random numbers alone. */
typedef const struct hes_individual *hes_choose_fn(const struct hes_population *p,
						   struct hes_rng *r);

/** Replace members [from, from + n) by children; n is even. */
void hes_population_breed(struct hes_population *p, hes_choose_fn *choose, size_t from, size_t n);

/** Whether @a comes before @b. */
typedef bool hes_before_fn(const struct hes_individual *a, const struct hes_individual *b);

/** By rising energy, then completion time. */
hes_before_fn hes_cheaper;

/** Sort members [from, from + n); stable, no allocation. */
void hes_population_order(struct hes_population *p, size_t from, size_t n, hes_before_fn *before);

/** Number the fronts of members [0, n) and sort them by front, then by rising energy. */
void hes_population_sort(struct hes_population *p, size_t n);

/** Copy the members of [0, n) that are not dominated. @return 0 or -ENOMEM */
int hes_population_collect(struct hes_population *p, size_t n, struct hes_evolved *out);

#endif
