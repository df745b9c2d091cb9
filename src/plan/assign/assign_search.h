/*
 * assign_search.h - stage 1 as a problem for the algorithms of evolve.h:
 * solutions are struct hes_queues.
 *
 * How solutions are drawn and varied comes as two sets of operators: plain ones, which know
 * nothing of GPUs (operators.c), and HeShare's three improvements
 * (genetic.c), each of which can be switched off, a plain one taking its place.
 *
 * What counts as an evaluation, beside every assignment judged: a job that migrates to the
 * GPU of least degradation asks all k queues what it would add there. That is one evaluation, as building an assignment
 * looks at every queue once, though most answers come from a bound and not from a walk.
 */
#ifndef HES_ASSIGN_ASSIGN_SEARCH_H
#define HES_ASSIGN_ASSIGN_SEARCH_H

#include "plan/assign/delays.h"
#include "plan/assign/evolve.h"
#include "plan/assign/queues.h"

struct hes_assign_search {
	const struct hes_assign *a;
	double                   mutation_gap;    /* see hes_mutation_gap */
	double                   crossover;       /* of the plain one: probability that parents are mixed */
	bool                     ranked_start, inherit, migrate; /* HeShare's, not the plain ones */
	double                  *least_energy_mj; /* [n] over the types */
	uint32_t                *cheapest_type;   /* [n]: of that energy, the first */
	struct hes_delays        delays;          /* where jobs migrate */
	uint32_t                *ranked_types;    /* of each job, those of best average rank */
	uint32_t                *ranked_first;    /* [n + 1]: where in ranked_types */
	uint32_t                *by_type;         /* [k]: the GPUs, type by type */
	uint32_t                *first_of_type;   /* [n_types + 1]: where in by_type */
};

/** What an operator works in; one a thread. */
struct hes_assign_scratch {
	uint32_t *gpu_of;  /* [2 * n] */
	double   *end_us;  /* [2 * n] */
	double   *delays;  /* [hes_delays_rows]: of the queues that hes_migrate changes */
	uint32_t *moving;  /* [n]: jobs that migrate */
	uint8_t  *moves;   /* [n] */
	uint8_t  *from_first; /* [k] */
};

/** @return 0 or -ENOMEM */
int  hes_assign_search_init(struct hes_assign_search *s, const struct hes_assign *a);
void hes_assign_search_finish(struct hes_assign_search *s);
size_t                    hes_assign_scratch_size(const struct hes_assign *a);
struct hes_assign_scratch hes_assign_scratch_in(const struct hes_assign *a, void *bytes);

/**
 * Jobs that are moved, each with the same probability, lie as far apart as exponential numbers of this mean
 * rounded down: a draw a job moved instead of one a job.
 */
double hes_mutation_gap(double probability);

/**
 * Run a search and evaluate what it found.
 * @param evaluations  how many it took; may be NULL
 * @return 0 or -ENOMEM
 */
int hes_assign_search_run(const struct hes_assign_search *s, hes_evolve_fn *search,
			  const struct hes_evolve_options *o, struct hes_assign_front *out, uint64_t *evaluations);

/** Plain operators: every job anywhere; parents mixed job by job; jobs moved anywhere. A second offspring may be NULL. */
void hes_plain_draw(const struct hes_assign_search *s, struct hes_rng *r, struct hes_queues *x);
void hes_plain_cross(const struct hes_assign_search *s, struct hes_rng *r, struct hes_assign_scratch *room,
		     const struct hes_queues *p, const struct hes_queues *q, struct hes_queues *first,
		     struct hes_queues *second);
void hes_plain_mutate(const struct hes_assign_search *s, struct hes_rng *r, struct hes_queues *x);

/** HeShare's (genetic.c), which need this once. @return 0 or -ENOMEM */
int  hes_genetic_prepare(struct hes_assign_search *s);
void hes_ranked_draw(const struct hes_assign_search *s, struct hes_rng *r, struct hes_queues *x);
void hes_inherit(const struct hes_assign_search *s, struct hes_rng *r, struct hes_assign_scratch *room,
		 const struct hes_queues *p, const struct hes_queues *q, struct hes_queues *child);
/** Mark the jobs that migrate, in both offspring of a mating. @return how many */
size_t hes_choose_migrants(const struct hes_assign_search *s, struct hes_rng *r, struct hes_assign_scratch *room);
/**
 * The job on @gpu whose run time there is most like @job's, and that can run on @to; of equals the one of least rank.
 * @param moves  [n]: jobs that are not to be taken
 * @return n: none
 */
size_t hes_most_similar(const struct hes_assign *a, const uint8_t *moves, const struct hes_queues *x, size_t job, uint32_t gpu,
			uint32_t to);
/** @return evaluations made */
uint64_t hes_migrate(const struct hes_assign_search *s, struct hes_rng *r, const struct hes_assign_scratch *room,
		     size_t n_moving, bool for_energy, struct hes_queues *x);

#endif
