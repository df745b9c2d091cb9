/*
 * population.h - solutions alive in a search and their memory; shared by the
 * algorithms of evolve.h.
 */
#ifndef HES_ASSIGN_POPULATION_H
#define HES_ASSIGN_POPULATION_H

#include <stdbool.h>

#include "plan/assign/evolve.h"

struct hes_individual {
	char                 *x;        /* the solution, a block of the population */
	struct hes_objectives at;
	uint32_t              front;    /* 0: dominated by none */
	double                crowding;
};

struct hes_population {
	const struct hes_evolvable      *v;
	const struct hes_evolve_options *o;
	struct hes_rng                   streams;  /* forked, never advanced */
	uint64_t                         matings;  /* streams used */
	uint64_t                         evaluations;
	uint64_t                         last;     /* of those, the latest generation's */
	uint32_t                         generation;
	uint32_t                         threads;  /* that work on it */
	size_t                           n;        /* solutions there is room for */
	size_t                           stride;
	char                            *blocks;
	char                            *scratch;  /* [threads] */
	size_t                           scratch_stride;
	struct hes_individual           *members;  /* [n]; every block is some member's */
	struct hes_individual           *spare;    /* [n]: room to sort in */
	double                          *least;    /* [n] */
	uint32_t                        *begin;    /* [n + 1]: of each front while members are sorted */
};

/** @return 0 or -ENOMEM, everything freed */
int  hes_population_init(struct hes_population *p, const struct hes_evolvable *v, const struct hes_evolve_options *o,
			 size_t n);
void hes_population_finish(struct hes_population *p);

/** Draw members [0, n). */
void hes_population_draw(struct hes_population *p, size_t n);

/** @return whether there is to be another generation, which then is the one under way */
bool hes_population_goes_on(struct hes_population *p);

/** Chooses the parents of a mating; pure but for the random numbers. */
typedef const struct hes_individual *hes_choose_fn(const struct hes_population *p, struct hes_rng *r);

/** Replace members [from, from + n) by offspring; n is even. */
void hes_population_breed(struct hes_population *p, hes_choose_fn *choose, size_t from, size_t n);

/** Whether a member comes before another; a total order, but for members equal in all that counts. */
typedef bool hes_before_fn(const struct hes_individual *a, const struct hes_individual *b);

/** By rising energy, then completion time. */
hes_before_fn hes_cheaper;

/** Sort members [from, from + n), equals as they stood. No allocation. */
void hes_population_order(struct hes_population *p, size_t from, size_t n, hes_before_fn *before);

/** Number the fronts of members [0, n) and sort them by front, then by rising energy. */
void hes_population_sort(struct hes_population *p, size_t n);

/** Copy those of members [0, n) that none dominates. @return 0 or -ENOMEM */
int  hes_population_collect(struct hes_population *p, size_t n, struct hes_evolved *out);

#endif
