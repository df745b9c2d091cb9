/*
 * marginals.h - what each job adds on each GPU, kept up to date while jobs move, so that a move or
 * a swap is judged by a few additions.
 *
 * A job with run time t adds to the sum of completion times: the GPU's wait, t, and min(t, run
 * time) of each other job there. Costs are the rounded ones of struct hes_assign, so every value is
 * exact.
 */
#ifndef HES_ASSIGN_MARGINALS_H
#define HES_ASSIGN_MARGINALS_H

#include "plan/assign/assign.h"

struct hes_marginals {
	const struct hes_assign *a;
	double *adds_us;          /* [gpu * n + job]: INFINITY where it cannot run */
	uint32_t *gpu_of;         /* [n] */
	struct hes_objectives at; /* jct_us: sum of completion times */
	bool placed;              /* there is an assignment */
};

/** @return 0 or -ENOMEM, everything freed */
int hes_marginals_init(struct hes_marginals *m, const struct hes_assign *a);
void hes_marginals_finish(struct hes_marginals *m);

/** Take over an assignment. */
void hes_marginals_set(struct hes_marginals *m, const uint32_t *gpu_of);
/** Move a job to a GPU that can run it. */
void hes_marginals_move(struct hes_marginals *m, uint32_t job, uint32_t gpu);

static inline const struct hes_cost *hes_marginals_costs(const struct hes_marginals *m, size_t gpu)
{
	return &m->a->exact[m->a->gpus[gpu].type * m->a->n];
}

/** Change of the objectives by a move. */
static inline struct hes_objectives hes_marginals_of_move(const struct hes_marginals *m,
							  uint32_t job, uint32_t gpu)
{
	const uint32_t from = m->gpu_of[job];
	const size_t n = m->a->n;

	return (struct hes_objectives){
		hes_marginals_costs(m, gpu)[job].energy_mj -
			hes_marginals_costs(m, from)[job].energy_mj,
		m->adds_us[gpu * n + job] - m->adds_us[from * n + job],
	};
}

/** Change of the objectives by a swap of two jobs on different GPUs. */
struct hes_objectives hes_marginals_of_swap(const struct hes_marginals *m, uint32_t i, uint32_t j);

#endif
