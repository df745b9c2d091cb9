/*
 * evolve.h - evolutionary search for trade-offs: what a problem gives, and
 * the algorithms that take it.
 *
 * A problem is how solutions are drawn, varied and judged; solutions are
 * blocks of bytes without pointers into themselves. The algorithms know no
 * more of it, so the tests run them on functions whose fronts are known. Every mating has a
 * stream of random numbers of its own: a seed gives one front with any number
 * of threads. All memory is taken before the first generation.
 *
 * Effort is counted in evaluations, the measure that algorithms are compared at: each solution judged
 * is one, and operators add what they evaluate on their way.
 */
#ifndef HES_ASSIGN_EVOLVE_H
#define HES_ASSIGN_EVOLVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "plan/assign/pareto.h"

struct hes_evolvable {
	const void *problem;
	size_t      size;          /* bytes of a solution; kept aligned to 64 */
	size_t      scratch_size;  /* bytes that vary may use, one block a thread */
	void      (*draw)(const void *problem, struct hes_rng *r, void *scratch, void *x);
	/**
	 * Cross and mutate: two parents give two offspring, or the first alone where @second is NULL.
	 * @return what was evaluated to do so, in evaluations
	 */
	uint64_t  (*vary)(const void *problem, struct hes_rng *r, void *scratch, const void *p, const void *q,
			  void *first, void *second);
	struct hes_objectives (*judge)(const void *problem, const void *x);
};

struct hes_evolve_options {
	uint32_t population;   /* even, from 4 on */
	uint32_t generations;
	uint64_t evaluations;  /* end where a generation like the last would go beyond so many; 0: no limit */
	uint64_t seed;
	uint32_t threads;      /* at most; at least 1 */
};

/** What a search ends with: solutions none of which dominates another, by rising first objective. */
struct hes_evolved {
	char                  *solutions; /* [n] blocks of @stride bytes; owned, free() */
	size_t                 stride;
	struct hes_objectives *at;        /* [n]; owned, free() */
	size_t                 n;
	uint64_t               evaluations;
};

void hes_evolved_free(struct hes_evolved *e);

/** A search. @return 0 or -ENOMEM; @out is written on success only */
typedef int hes_evolve_fn(const struct hes_evolvable *v, const struct hes_evolve_options *o,
			  struct hes_evolved *out);

/** NSGA-II (Deb, Pratap, Agarwal, Meyarivan; IEEE TEVC 6(2), 2002). */
hes_evolve_fn hes_nsga2;
/** SPEA2 (Zitzler, Laumanns, Thiele; TIK report 103, 2001), with an archive as large as the population. */
hes_evolve_fn hes_spea2;
/** MOEA/D (Zhang, Li; IEEE TEVC 11(6), 2007): Tchebycheff, objectives scaled to the range found. */
hes_evolve_fn hes_moead;

#endif
