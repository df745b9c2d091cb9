/*
 * joint_starts.c - see joint_starts.h.
 */
#include "plan/joint/joint_starts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/assign/exact.h"
#include "plan/assign/genetic.h"

#define WEIGHTS  8     /* at which the assignment is solved */
#define GAP      1e-3  /* of its hull, in parts of its box, that is as good as none */
#define MEMBERS  256   /* of Algorithm 1's front that are tried, a power of two, */
#define ALWAYS   8     /* so many in any case */
#define GENETIC  128   /* jobs at most for which HeShare's own search is made */

/* The knee of Algorithm 1's front; beside jobs that run, as open queues. */
static int find_knee(const struct hes_problem *p, const struct hes_configured *from, struct hes_objectives *out)
{
	const struct hes_pareto *front = hes_configured_front(from);
	struct hes_timeline_item *items;
	uint32_t *first;
	int rc = -ENOMEM;

	*out = front->v[hes_pareto_knee(front)].at;
	if (!p->n_running)
		return 0;
	items = calloc(p->n + 1, sizeof(*items));
	first = calloc(p->k + 1, sizeof(*first));
	if (items && first)
		rc = hes_configured_open(from, hes_pareto_knee(front), items, first);
	*out = (struct hes_objectives){ 0, 0 };
	for (size_t g = 0; g < p->k && !rc; g++) {
		struct hes_timeline_cost c;

		hes_timeline_run(p, p->rates, g, &items[first[g]], first[g + 1] - first[g], &c, NULL);
		out->energy_mj += c.energy_mj;
		out->jct_us += c.ends_us;
	}
	free(items);
	free(first);
	return rc;
}

/*
 * What HeShare's own search would settle for: there a part of energy is worth as large a part of
 * time, and what is balanced gains over it in both. A clock leaves no time for that search, and the more jobs there are, the greater a part
 * of all time it would take.
 */
static int find_middle(struct joint_starts *s, const struct hes_joint_options *of)
{
	struct hes_genetic_options o = hes_genetic_defaults;
	struct hes_assign_front found = { 0 };
	struct hes_configured *c = NULL;
	struct hes_assign a;
	int rc;

	if (of->spent || of->for_cell || s->p->n > GENETIC) {
		rc = find_knee(s->p, s->configured, &s->knee);
	} else {
		rc = hes_assign_init(&a, s->p->n, s->p->k, s->p->n_types, s->p->cost, s->p->gpus);
		if (rc)
			return rc;
		o.evolve.seed = of->seed;
		rc = hes_genetic_run(&a, &o, &found);
		hes_assign_finish(&a);
		if (!rc)
			rc = hes_configure(s->p, &found, &c);
		if (!rc)
			rc = find_knee(s->p, c, &s->knee);
	}
	s->middle = s->knee.energy_mj / fmax(s->knee.jct_us, 1);
	hes_configured_free(c);
	free(found.v);
	return rc;
}

static int solve(struct joint_starts *s)
{
	const struct hes_problem *p = s->p;
	const struct hes_exact_options o = { .tolerance = GAP, .weights = WEIGHTS };
	struct hes_exact_front front;
	struct hes_assign a;
	int rc = hes_assign_init(&a, p->n, p->k, p->n_types, p->cost, p->gpus);

	if (rc)
		return rc;
	rc = hes_exact_run(&a, &o, &front);
	hes_assign_finish(&a);
	if (rc)
		return rc;
	free(front.halfplanes);
	s->front = front.front;
	return 0;
}

int joint_starts_find(const struct hes_problem *p, const struct hes_joint_options *o, struct joint_starts *out)
{
	int rc;

	*out = (struct joint_starts){ .p = p };
	rc = solve(out);
	if (!rc)
		rc = hes_configure(p, &out->front, &out->configured);
	return rc ? rc : find_middle(out, o);
}

void joint_starts_finish(struct joint_starts *s)
{
	hes_configured_free(s->configured);
	free(s->front.v);
	*s = (struct joint_starts){ 0 };
}

/* The assignment that is best at a weight, as open queues of whole boards at their default clock. */
static void start_of(const struct joint_starts *s, double lambda, struct hes_joint_solution *out)
{
	const struct hes_assignment *best = &s->front.v[0];
	uint32_t n = 0;

	for (size_t i = 1; i < s->front.n; i++) {
		const struct hes_assignment *x = &s->front.v[i];

		if (x->at.energy_mj + lambda * x->at.jct_us < best->at.energy_mj + lambda * best->at.jct_us)
			best = x;
	}
	for (size_t g = 0; g < s->p->k; g++) {
		const uint16_t clock = (uint16_t)(s->p->types[s->p->gpus[g].type]->n_clocks - 1);

		out->first[g] = n;
		for (uint32_t i = best->first[g]; i < best->first[g + 1]; i++)
			out->items[n++] = (struct hes_timeline_item){ best->queue[i], 100, clock };
	}
	out->first[s->p->k] = n;
}

/* The i-th of MEMBERS positions on a front of n, from coarse to fine. */
static size_t spread(size_t i, size_t n)
{
	size_t reversed = 0;

	for (size_t bit = 1; bit < MEMBERS; bit *= 2)
		reversed = 2 * reversed + (i & bit ? 1 : 0);
	return reversed * (n - 1) / (MEMBERS - 1);
}

static int try_all(const struct joint_starts *s, struct joint_walk *w, size_t number, size_t of, double until,
		   struct hes_joint_solution *room)
{
	const size_t n = hes_configured_front(s->configured)->n;
	int rc;

	start_of(s, w->lambda, room);
	rc = joint_walk_start(w, room);
	for (size_t i = number; i < MEMBERS && !rc; i += of) {
		if (i >= ALWAYS && joint_walk_spent(w) > until)
			break;
		rc = hes_configured_open(s->configured, spread(i, n), room->items, room->first);
		if (!rc)
			rc = joint_walk_start(w, room);
	}
	return rc ? rc : joint_walk_restart(w);
}

int joint_starts_try(const struct joint_starts *s, struct joint_walk *w, size_t number, size_t of, double until)
{
	struct hes_joint_solution room = {
		calloc(s->p->n + 1, sizeof(*room.items)), calloc(s->p->k + 1, sizeof(*room.first)),
	};
	int rc = room.items && room.first ? try_all(s, w, number, of, until, &room) : -ENOMEM;

	free(room.items);
	free(room.first);
	return rc;
}
