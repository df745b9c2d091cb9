/*
 * starts.c - see starts.h.
 */
#include "plan/joint/starts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/batch/configure.h"
#include "plan/joint/anneal.h"

#define MEMBERS    16         /* of Algorithm 1's front that become open queues */
#define GENETIC    128        /* jobs at most for which HeShare's own search runs */
#define WEIGHTS    8          /* of the assignments */
#define TIME_ALONE 1e12       /* weight of time at which energy does not count */
#define LOW_END    (1 / 60.0) /* of the weights, as parts of energy / sum of completion times, */
#define HIGH_END   15.0       /* of the assignment with the least completion times */

/* The shortest job first, each to the GPU with the least energy + lambda x completion time.
 * @param load_us  [k] */
static void assign_greedily(const struct hes_assign *a, double lambda, double *load_us,
			    struct hes_assignment *out)
{
	memcpy(load_us, a->exact_wait_us, a->k * sizeof(*load_us));
	for (size_t i = a->n; i-- > 0;) {
		const uint32_t job = a->longest_first[i];
		double least = INFINITY;

		for (size_t g = 0; g < a->k; g++) {
			const struct hes_cost *c = hes_assign_cost(a, job, g);
			const double cost = c->energy_mj + lambda * (load_us[g] + c->time_us);

			if (cost < least) {
				least = cost;
				out->gpu_of[job] = (uint32_t)g;
			}
		}
		load_us[out->gpu_of[job]] += hes_assign_cost(a, job, out->gpu_of[job])->time_us;
	}
	hes_assign_evaluate(a, out);
}

static int find_front(const struct hes_problem *p, struct hes_assign_front *out)
{
	double *load_us = calloc(p->k + 1, sizeof(*load_us));
	struct hes_assignment *v = NULL;
	struct hes_assign a;
	int rc = -ENOMEM;

	if (load_us)
		rc = hes_assign_init(&a, p->n, p->k, p->n_types, p->cost, p->gpus);
	if (!rc) {
		v = hes_assignments_new(&a, WEIGHTS);
		for (size_t i = 0; i < WEIGHTS && v; i++)
			assign_greedily(&a,
					i ? v[0].at.energy_mj / v[0].at.jct_us * LOW_END *
							pow(HIGH_END / LOW_END,
							    (double)(i - 1) / (WEIGHTS - 2))
					  : TIME_ALONE,
					load_us, &v[i]);
		hes_assign_finish(&a);
		*out = (struct hes_assign_front){ v, WEIGHTS };
		rc = v ? 0 : -ENOMEM;
	}
	free(load_us);
	return rc;
}

static int start_member(struct anneal *a, const struct hes_configured *c, size_t member,
			struct hes_joint_solution room)
{
	const int rc = hes_configured_open(c, member, room.items, room.first);

	return rc ? rc : anneal_start(a, room);
}

static int start_assignment(struct anneal *a, const struct hes_assignment *x,
			    struct hes_joint_solution room)
{
	const struct hes_problem *p = a->p;

	for (size_t g = 0; g < p->k; g++)
		for (uint32_t i = x->first[g]; i < x->first[g + 1]; i++)
			room.items[i] = (struct hes_timeline_item){
				x->queue[i],
				HES_SHARE_SUM_PCT,
				(uint16_t)(p->types[p->gpus[g].type]->n_clocks - 1),
			};
	for (size_t g = 0; g <= p->k; g++)
		room.first[g] = x->first[g];
	return anneal_start(a, room);
}

static int start_all(struct anneal *a, const struct hes_assign_front *front,
		     const struct hes_configured *c, struct hes_joint_solution room)
{
	const size_t n = hes_configured_front(c)->n, members = n < MEMBERS ? n : MEMBERS;
	int rc = 0;

	for (size_t i = 0; i < front->n && !rc; i++)
		rc = start_assignment(a, &front->v[i], room);
	for (size_t i = 0; i < members && !rc; i++)
		rc = start_member(a, c, members > 1 ? i * (n - 1) / (members - 1) : 0, room);
	return rc;
}

/* The knee of Algorithm 1's front; where jobs run already, as open queues. */
static int find_reference(struct anneal *a, const struct hes_problem *p,
			  const struct hes_joint_options *o, const struct hes_configured *own,
			  struct hes_joint_solution room, struct hes_objectives *out)
{
	struct hes_assign_front front = { 0 };
	struct hes_configured *genetic = NULL;
	const struct hes_configured *c = own;
	size_t knee;
	int rc = 0;

	if (!o->spent && p->n <= GENETIC) {
		rc = hes_problem_assign(p, o->seed, &front);
		if (!rc)
			rc = hes_configure(p, &front, NULL, &genetic);
		c = genetic;
	}
	if (!rc) {
		knee = hes_pareto_knee(hes_configured_front(c));
		*out = hes_configured_front(c)->v[knee].at;
		rc = start_member(a, c, knee, room);
		if (p->n_running)
			*out = a->at;
	}
	hes_configured_free(genetic);
	free(front.v);
	return rc;
}

int starts_find(const struct hes_problem *p, const struct hes_joint_options *o,
		struct hes_objectives *reference, bool shun_far, struct plan_archive *plans)
{
	struct anneal a = { .p = p,
			    .rates = p->rates,
			    .power_cap_mw = o->power_cap_mw,
			    .shun_far = shun_far,
			    .fleet = o->wanted == HES_JOINT_FLEET };
	struct hes_joint_solution room = {
		calloc(p->n + 1, sizeof(*room.items)),
		calloc(p->k + 1, sizeof(*room.first)),
	};
	struct hes_assign_front front = { 0 };
	struct hes_configured *configured = NULL;
	int rc = room.items && room.first ? anneal_init(&a) : -ENOMEM;

	if (!rc)
		rc = find_front(p, &front);
	if (!rc)
		rc = hes_configure(p, &front, NULL, &configured);
	if (!rc)
		rc = start_all(&a, &front, configured, room);
	if (!rc)
		rc = find_reference(&a, p, o, configured, room, reference);
	*plans = a.archive;
	a.archive = (struct plan_archive){ 0 };
	anneal_finish(&a);
	hes_configured_free(configured);
	free(front.v);
	free(room.items);
	free(room.first);
	return rc;
}
