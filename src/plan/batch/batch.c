/* batch.c - what may run together on one GPU; see batch.h. */
#include "plan/batch/batch.h"

bool hes_group_fits(const struct hes_problem *p, uint32_t type, const struct hes_group *g)
{
	uint64_t memory_mib = 0;

	if (g->n > 1 && p->types[type]->alone)
		return false;
	for (uint32_t i = 0; i < g->n; i++) {
		if (!hes_problem_runs(p, g->m[i].job, type))
			return false;
		memory_mib += hes_problem_memory_mib(p, g->m[i].job, type);
	}
	return memory_mib <= p->types[type]->memory_mib;
}

bool hes_default_is_far(const struct hes_problem *p)
{
	for (size_t t = 0; t < p->n_types; t++)
		for (size_t i = 0; i < p->n; i++) {
			const struct hes_group alone = { 1, { { (uint32_t)i, 100 } } };
			struct hes_group_cost cost;

			if (!hes_problem_runs(p, i, t))
				continue;
			hes_group_run(p, (uint32_t)t, p->types[t]->clock_default_mhz, &alone,
				      &cost);
			if (cost.far)
				return true;
		}
	return false;
}
