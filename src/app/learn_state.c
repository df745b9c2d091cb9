/*
 * learn_state.c - what a replay that learns knows of its jobs; see learn_state.h.
 */
#include "app/learn_state.h"

#include <string.h>

const struct hes_gpu_type *learner_type(const struct learn_replay *l, uint32_t gpu)
{
	return l->in.fleet->gpus[gpu].type;
}

bool learner_row(const struct learn_replay *l, const struct hes_profiles *in, uint32_t job,
		 uint32_t gpu, struct hes_profile *out)
{
	const struct hes_job *j = &l->jobs.v[job];

	return !hes_profile_find(in, j->workload, j->batch_size, learner_type(l, gpu)->name, out,
				 NULL);
}

bool learner_knows(const struct learn_replay *l, uint32_t job)
{
	for (size_t i = 0; i < l->measured.n; i++)
		if (!strcmp(l->measured.v[i].workload, l->jobs.v[job].workload))
			return true;
	return false;
}

double learner_left_s(const struct learn_replay *l, uint32_t job, uint32_t gpu)
{
	const struct learner_job *a = &l->job[job];
	struct hes_profile p;

	if (a->clocks.n && a->gpu == gpu)
		return a->left * a->clocks.tries[0].seconds / a->clocks.tries[0].iterations;
	return learner_row(l, &l->rows, job, gpu, &p) ? a->left * p.iteration_us * 1e-6 : GUESS_S;
}
