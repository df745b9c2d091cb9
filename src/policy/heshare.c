/*
 * heshare.c - the policies `heshare` (IEEE TC 2026), `sched-only`, its stage 1 alone, and
 * `heshare-tuned`, both stages improved (plan/batch/priced.h).
 *
 * The first two assign jobs to GPUs by the genetic algorithm. heshare runs Algorithm 1 on every
 * member of the front and takes the preferred one of all that come out; sched-only takes the
 * front's knee as it is.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/batch/priced.h"
#include "policy/decide.h"

/* Measured: 18,518 jobs on 8 GPUs 118 s, 10,000 on 200 33 s, on 1000 39 s, on 10,000 252 s. */
#define MOST_WORK   28e6 /* jobs times GPUs and so many more: */
#define WORK_A_JOB  1500.0
#define FLEET_TRIED 64 /* members of a front */

double hes_effort_heshare(size_t n_jobs, size_t n_gpus)
{
	return (double)n_jobs * ((double)n_gpus + WORK_A_JOB) / MOST_WORK;
}

/* Measured: 3000 jobs on 8 GPUs 64 s. */
double hes_effort_heshare_tuned(size_t n_jobs, size_t n_gpus)
{
	return 3 * hes_effort_heshare(n_jobs, n_gpus);
}

int hes_front_report(const struct hes_problem *p, const struct hes_pareto *found,
		     struct hes_front *out)
{
	struct hes_front f = { calloc(found->n + 1, sizeof(*f.v)), found->n };
	double waited_us = 0;

	if (!f.v)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		waited_us += (double)(p->request->now_us -
				      p->request->jobs->v[p->jobs[i].job].arrival_us);
	for (size_t i = 0; i < f.n; i++)
		f.v[i] = (struct hes_front_point){
			.energy_j = found->v[i].at.energy_mj * 1e-3,
			.avg_jct_s = (found->v[i].at.jct_us + waited_us) / (double)p->n * 1e-6,
		};
	*out = f;
	return 0;
}

/* Energy of all GPUs until the last job ends. */
static double fleet_energy_mj(const struct hes_problem *p, const struct hes_plan *plan)
{
	double sum_mj = 0;
	int64_t last_us = 0;

	for (size_t g = 0; g < p->k; g++)
		last_us = hes_compose_free_us(p, plan, g) > last_us
				  ? hes_compose_free_us(p, plan, g)
				  : last_us;
	for (size_t g = 0; g < p->k; g++) {
		sum_mj += (double)(last_us - hes_compose_free_us(p, plan, g)) * 1e-6 *
			  p->types[p->gpus[g].type]->idle_power_mw;
		for (size_t b = 0; b < plan->queues[g].n; b++)
			sum_mj += (double)plan->queues[g].batches[b].energy_mj;
	}
	return sum_mj;
}

/* The member with the least energy of the fleet, of the front's ends and some between. */
static int find_least_fleet(const struct hes_problem *p, const struct hes_configured *c,
			    size_t *out)
{
	const size_t n = hes_configured_front(c)->n, tried = n < FLEET_TRIED ? n : FLEET_TRIED;
	double least_mj = INFINITY;
	int rc = 0;

	for (size_t i = 0; i < tried && !rc; i++) {
		const size_t member = tried > 1 ? i * (n - 1) / (tried - 1) : 0;
		struct hes_plan plan;

		rc = hes_plan_init(&plan, p->k);
		if (rc)
			break;
		rc = hes_configured_plan(c, member, &plan);
		if (!rc && fleet_energy_mj(p, &plan) < least_mj) {
			least_mj = fleet_energy_mj(p, &plan);
			*out = member;
		}
		hes_plan_finish(&plan);
	}
	return rc;
}

typedef size_t balanced_fn(const struct hes_pareto *front);

/* The paper's Trade-off, En-opt and JCT-opt; beyond it, the least energy of the fleet. */
static int find_preferred(const struct hes_problem *p, const struct hes_configured *c,
			  balanced_fn *balanced, size_t *out)
{
	const struct hes_pareto *front = hes_configured_front(c);
	const char *prefer = p->request->prefer;

	if (strcmp(prefer, "fleet") == 0)
		return find_least_fleet(p, c, out);
	*out = strcmp(prefer, "energy") == 0 ? 0
	       : strcmp(prefer, "jct") == 0  ? front->n - 1
					     : balanced(front);
	return 0;
}

static int take_preferred(const struct hes_problem *p, const struct hes_configured *c,
			  balanced_fn *balanced, struct hes_plan *plan, struct hes_front *front)
{
	size_t member = 0;
	int rc = find_preferred(p, c, balanced, &member);

	if (!rc)
		rc = hes_configured_plan(c, member, plan);
	return rc || !front ? rc : hes_front_report(p, hes_configured_front(c), front);
}

int hes_decide_heshare(const struct hes_problem *p, struct hes_plan *plan, struct hes_front *front)
{
	struct hes_assign_front found;
	struct hes_configured *c;
	int rc = hes_problem_assign(p, p->request->seed, &found);

	if (rc)
		return rc;
	rc = hes_configure(p, &found, NULL, &c);
	if (!rc) {
		rc = take_preferred(p, c, hes_pareto_knee, plan, front);
		hes_configured_free(c);
	}
	free(found.v);
	return rc;
}

/* The member with the least product of energy and completion time. */
static size_t least_product(const struct hes_pareto *front)
{
	size_t best = 0;

	for (size_t i = 1; i < front->n; i++)
		if (front->v[i].at.energy_mj * front->v[i].at.jct_us <
		    front->v[best].at.energy_mj * front->v[best].at.jct_us)
			best = i;
	return best;
}

int hes_decide_heshare_tuned(const struct hes_problem *p, struct hes_plan *plan,
			     struct hes_front *front)
{
	struct hes_sharing_aim aims[HES_PRICES];
	struct hes_assign_front found;
	struct hes_configured *c;
	int rc = hes_priced_assign(p, &found, aims);

	if (rc)
		return rc;
	rc = hes_configure(p, &found, aims, &c);
	if (!rc) {
		rc = take_preferred(p, c, least_product, plan, front);
		hes_configured_free(c);
	}
	free(found.v);
	return rc;
}

int hes_decide_sched_only(const struct hes_problem *p, struct hes_plan *plan,
			  struct hes_front *front)
{
	struct hes_assign_front found;
	struct hes_pareto set = { 0 };
	int rc = hes_problem_assign(p, p->request->seed, &found);

	if (rc)
		return rc;
	for (size_t i = 0; i < found.n && rc >= 0; i++)
		rc = hes_pareto_insert(&set, &found.v[i].at, i);
	if (rc >= 0)
		rc = hes_compose_assignment(p, &found.v[set.v[hes_pareto_knee(&set)].tag], plan);
	if (!rc && front)
		rc = hes_front_report(p, &set, front);
	hes_pareto_free(&set);
	free(found.v);
	return rc;
}
