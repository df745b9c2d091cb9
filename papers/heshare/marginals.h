/*
 * marginals.h - what every job would add on every GPU, kept while jobs move:
 * so a move, or a change of places, is judged by a few additions.
 *
 * With queues shortest first, a job of run time t adds to the sum of completion times the GPU's wait,
 * t, and of each other job there the lesser of its run time and t. Where a job already is, this is what it adds
 * now. Costs are those of struct hes_assign on their grid: every value is exact, whatever the moves that led to it.
 */
#ifndef HES_ASSIGN_MARGINALS_H
#define HES_ASSIGN_MARGINALS_H

#include "plan/assign/assign.h"

struct hes_marginals {
	const struct hes_assign *a;
	double                  *adds_us;  /* [gpu * n + job]: INFINITY where it cannot run */
	uint32_t                *gpu_of;   /* [n] */
	struct hes_objectives    at;       /* jct_us: sum of completion times */
	bool                     placed;   /* jobs are somewhere */
};

/** @return 0 or -ENOMEM, everything freed */
int  hes_marginals_init(struct hes_marginals *m, const struct hes_assign *a);
void hes_marginals_finish(struct hes_marginals *m);

/** Every job where @gpu_of has it. */
void hes_marginals_set(struct hes_marginals *m, const uint32_t *gpu_of);
/** One job to a GPU where it can run. */
void hes_marginals_move(struct hes_marginals *m, uint32_t job, uint32_t gpu);

static inline const struct hes_cost *hes_marginals_costs(const struct hes_marginals *m, size_t gpu)
{
	return &m->a->exact[m->a->gpus[gpu].type * m->a->n];
}

/** What moving a job would change. */
static inline struct hes_objectives hes_marginals_of_move(const struct hes_marginals *m, uint32_t job, uint32_t gpu)
{
	const uint32_t from = m->gpu_of[job];
	const size_t n = m->a->n;

	return (struct hes_objectives){
		hes_marginals_costs(m, gpu)[job].energy_mj - hes_marginals_costs(m, from)[job].energy_mj,
		m->adds_us[gpu * n + job] - m->adds_us[from * n + job],
	};
}

/** What it would change if two jobs of different GPUs changed places. */
struct hes_objectives hes_marginals_of_swap(const struct hes_marginals *m, uint32_t i, uint32_t j);

#endif
