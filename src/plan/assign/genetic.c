/*
 * genetic.c - the paper's genetic algorithm; see genetic.h.
 */
#include "plan/assign/genetic.h"

#include <errno.h>
#include <string.h>

#include "plan/assign/operators.h"

const struct hes_genetic_options hes_genetic_defaults = {
	.evolve = { .population = 50, .generations = 500, .seed = 1, .threads = 1 },
	.mutation = 0.1,
};

static struct hes_objectives judge(const void *problem, const void *x)
{
	(void)problem;
	return ((const struct hes_queues *)x)->at;
}

/* The solutions as assignments, at their costs before rounding. */
static int keep_front(const struct hes_assign *a, const struct hes_evolved *found,
		      struct hes_assign_front *out)
{
	struct hes_assignment *v = hes_assignments_new(a, found->n);

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < found->n; i++) {
		const struct hes_queues *x = (const void *)(found->solutions + i * found->stride);

		memcpy(v[i].gpu_of, hes_queues_gpus(a, x), a->n * sizeof(*v[i].gpu_of));
		hes_assign_evaluate(a, &v[i]);
	}
	*out = (struct hes_assign_front){ v, found->n };
	return 0;
}

int hes_assign_evolve(const struct hes_assign *a, const void *problem, hes_draw_fn *draw,
		      hes_vary_fn *vary, hes_evolve_fn *search, const struct hes_evolve_options *o,
		      struct hes_assign_front *out, uint64_t *evaluations)
{
	const struct hes_evolvable v = {
		.problem = problem,
		.size = hes_queues_size(a),
		.scratch_size = hes_operator_room_size(a),
		.draw = draw,
		.vary = vary,
		.judge = judge,
	};
	struct hes_evolved found;
	int rc = search(&v, o, &found);

	if (rc)
		return rc;
	rc = keep_front(a, &found, out);
	if (!rc && evaluations)
		*evaluations = found.evaluations;
	hes_evolved_free(&found);
	return rc;
}

static void genetic_draw(const void *problem, struct hes_rng *r, void *scratch, void *x)
{
	(void)scratch;
	hes_ranked_draw(problem, r, x);
}

/* Both children inherit the same segments; jobs migrate for energy in the first, for completion
 * time in the second. */
static uint64_t genetic_vary(const void *problem, struct hes_rng *r, void *scratch, const void *p,
			     const void *q, void *first, void *second)
{
	const struct hes_operators *ops = problem;
	struct hes_operator_room room = hes_operator_room_in(ops->a, scratch);
	uint64_t evaluations;
	size_t n;

	hes_inherit(ops, r, &room, p, q, first);
	memcpy(second, first, hes_queues_size(ops->a));
	n = hes_choose_migrants(ops, r, &room);
	evaluations = hes_migrate(ops, &room, n, true, first);
	return evaluations + hes_migrate(ops, &room, n, false, second);
}

int hes_genetic_run(const struct hes_assign *a, const struct hes_genetic_options *o,
		    struct hes_assign_front *out)
{
	struct hes_operators ops;
	int rc = hes_operators_init(&ops, a, o->mutation);

	if (rc)
		return rc;
	rc = hes_assign_evolve(a, &ops, genetic_draw, genetic_vary, hes_nsga2, &o->evolve, out,
			       NULL);
	hes_operators_finish(&ops);
	return rc;
}
