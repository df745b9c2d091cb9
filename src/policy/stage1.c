/*
 * stage1.c - the assignment stage as policies use it; see stage1.h.
 */
#include "policy/stage1.h"

#include <errno.h>
#include <stdlib.h>

int hes_stage1_search(const struct hes_problem *p, struct hes_assign_front *out)
{
	struct hes_genetic_options o = hes_genetic_defaults;
	struct hes_assign a;
	int rc = hes_assign_init(&a, p->n, p->k, p->n_types, p->cost, p->gpus);

	if (rc)
		return rc;
	o.evolve.seed = p->request->seed;
	rc = hes_genetic_run(&a, &o, out);
	hes_assign_finish(&a);
	return rc;
}

int hes_stage1_report(const struct hes_problem *p, const struct hes_pareto *found, struct hes_front *out)
{
	struct hes_front f = { calloc(found->n + 1, sizeof(*f.v)), found->n };
	double waited_us = 0;

	if (!f.v)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		waited_us += (double)(p->request->now_us - p->request->jobs->v[p->jobs[i].job].arrival_us);
	for (size_t i = 0; i < f.n; i++)
		f.v[i] = (struct hes_front_point){
			.energy_j = found->v[i].at.energy_mj * 1e-3,
			.avg_jct_s = (found->v[i].at.jct_us + waited_us) / (double)p->n * 1e-6,
		};
	*out = f;
	return 0;
}
