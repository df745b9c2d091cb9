/*
 * joint_walk.c - annealing; see joint_walk.h.
 *
 * A move makes one or two queues anew in w->trial, which are run; if it is taken,
 * they change places with the old ones.
 */
#include "plan/joint/joint_walk.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/joint/joint_moves.h"

#define LOOK   64 /* moves between two looks at what is spent, unless the caller says otherwise */

/* Boards of one type on which nothing runs and that are free at the same time. */
static uint32_t first_like(const struct hes_problem *p, uint32_t gpu)
{
	for (uint32_t g = 0; g < gpu; g++)
		if (p->gpus[g].type == p->gpus[gpu].type && p->gpus[g].wait_us == p->gpus[gpu].wait_us &&
		    p->first_running[g] == p->first_running[g + 1] && p->first_running[gpu] == p->first_running[gpu + 1])
			return g;
	return gpu;
}

int joint_walk_init(struct joint_walk *w, const struct hes_problem *p, struct hes_paces *paces)
{
	*w = (struct joint_walk){
		.p = p, .paces = paces, .screens = hes_paces_estimate(paces), .alone = hes_paces_table(paces), .look = LOOK,
		.archive = { .n = p->n, .k = p->k },
	};
	w->boards = calloc(p->k + 1, sizeof(*w->boards));
	w->spot_of = calloc(p->n + 1, sizeof(*w->spot_of));
	w->weight_to = calloc(p->n + 1, sizeof(*w->weight_to));
	if (w->boards && w->spot_of && w->weight_to) {
		joint_moves_weigh(w);
		for (uint32_t g = 0; g < p->k; g++)
			w->boards[g].like = first_like(p, g);
		return 0;
	}
	joint_walk_finish(w);
	return -ENOMEM;
}

void joint_walk_finish(struct joint_walk *w)
{
	for (size_t g = 0; w->boards && g < w->p->k; g++) {
		free(w->boards[g].queue.items);
		free(w->boards[g].marks);
		free(w->boards[g].taken);
	}
	free(w->boards);
	free(w->spot_of);
	free(w->weight_to);
	free(w->trial[0].items);
	free(w->trial[1].items);
	free(w->trial[2].items);
	joint_archive_finish(&w->archive);
	joint_pool_free(w->pool);
	*w = (struct joint_walk){ 0 };
}

bool joint_walk_try(struct joint_walk *w, size_t gpu, struct joint_queue *q, double limit_mj, bool roughly)
{
	const struct hes_timeline_stop stop = { w->lambda, limit_mj, roughly };

	w->evaluations++;
	if (!hes_timeline_try(w->p, w->paces, gpu, q->items, q->n, w->boards[gpu].marks, q->same, &stop, &q->cost))
		return false;
	/* A board that runs nothing draws its idle power, whatever the plan. */
	q->cost.peak_mw = fmax(q->cost.peak_mw, w->p->types[w->p->gpus[gpu].type]->idle_power_mw);
	if (w->shun_far)
		q->cost.late_us += q->cost.far_us;
	return true;
}

/* @return 0 or -ENOMEM */
static int make_room(struct joint_board *b, uint32_t room)
{
	struct hes_timeline_state *marks = reallocarray(b->marks, room, sizeof(*marks));
	struct hes_timeline_taken *taken;

	if (!marks)
		return -ENOMEM;
	b->marks = marks;
	taken = reallocarray(b->taken, room, sizeof(*taken));
	if (!taken)
		return -ENOMEM;
	b->taken = taken;
	b->room = room;
	return 0;
}

/* Note the states on the way through a board's queue, from where it is no longer the one they are of. */
static int mark(struct joint_walk *w, size_t gpu)
{
	struct joint_board *b = &w->boards[gpu];
	struct joint_queue *q = &b->queue;

	if (b->room < q->n + 1 && make_room(b, 2 * (q->n + 1)))
		return -ENOMEM;
	hes_timeline_mark(w->p, w->paces, gpu, q->items, q->n, q->same, b->marks);
	for (uint32_t i = q->same; i <= q->n; i++)
		b->taken[i] = hes_timeline_taken_of(&b->marks[i]);
	q->same = q->n;
	if (w->pool && !(q->cost.late_us > 0))
		joint_pool_put(w->pool, b->like, q->items, q->n, &q->cost);
	return 0;
}

double joint_walk_price(const struct joint_walk *w, const struct hes_timeline_cost *c)
{
	return c->energy_mj + w->lambda * c->ends_us;
}

double joint_walk_excess(const struct joint_walk *w, double late_us, double peak_mw)
{
	double over_mw = w->power_cap_mw > 0 ? fmax(0, peak_mw - w->power_cap_mw) : 0;

	return late_us + 1e6 * over_mw;
}

static double cost_of(const struct joint_walk *w, const struct hes_objectives *at, double excess)
{
	return at->energy_mj + w->lambda * at->jct_us + w->penalty * excess;
}

/* Sums anew: moves add and subtract, and rounding would gather. */
static void sum_up(struct joint_walk *w)
{
	w->at = (struct hes_objectives){ 0, 0 };
	w->late_us = w->peak_mw = 0;
	for (size_t g = 0; g < w->p->k; g++) {
		const struct hes_timeline_cost *c = &w->boards[g].queue.cost;

		w->at.energy_mj += c->energy_mj;
		w->at.jct_us += c->ends_us;
		w->late_us += c->late_us;
		w->peak_mw += c->peak_mw;
	}
}

static int keep(struct joint_walk *w)
{
	size_t slot;
	struct hes_timeline_item *items;
	uint32_t *first, n = 0;
	int rc = joint_archive_offer(&w->archive, &w->at, joint_walk_excess(w, w->late_us, w->peak_mw), &slot);

	if (rc <= 0)
		return rc;
	items = &w->archive.items[slot * w->p->n];
	first = w->archive.first + slot * (w->p->k + 1);
	for (size_t g = 0; g < w->p->k; g++) {
		first[g] = n;
		if (w->boards[g].queue.n)
			memcpy(&items[n], w->boards[g].queue.items, w->boards[g].queue.n * sizeof(*items));
		n += w->boards[g].queue.n;
	}
	first[w->p->k] = n;
	return 0;
}

int joint_walk_start(struct joint_walk *w, const struct hes_joint_solution *s)
{
	for (size_t g = 0; g < w->p->k; g++) {
		struct joint_queue *q = &w->boards[g].queue;

		q->n = q->same = 0;
		if (joint_queue_reserve(q, s->first[g + 1] - s->first[g] + 1))
			return -ENOMEM;
		for (uint32_t i = s->first[g]; i < s->first[g + 1]; i++) {
			w->spot_of[s->items[i].job] = (struct joint_spot){ (uint32_t)g, q->n };
			q->items[q->n++] = s->items[i];
		}
		joint_walk_try(w, g, q, INFINITY, false);
		if (mark(w, g))
			return -ENOMEM;
	}
	sum_up(w);
	return keep(w);
}

int joint_walk_restart(struct joint_walk *w)
{
	const struct joint_archive *a = &w->archive;
	double least = cost_of(w, &w->at, joint_walk_excess(w, w->late_us, w->peak_mw));
	size_t best = SIZE_MAX;

	for (size_t m = 0; m < a->front.n; m++) {
		double cost = cost_of(w, &a->front.v[m].at, a->excess);

		if (cost < least) {
			least = cost;
			best = a->front.v[m].tag;
		}
	}
	if (best == SIZE_MAX)
		return 0;
	return joint_walk_start(w, &(struct hes_joint_solution){ &a->items[best * a->n], &a->first[best * (a->k + 1)] });
}

static int accept(struct joint_walk *w, const struct joint_move *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct joint_queue *q = &w->boards[m->gpu[i]].queue, old = *q;

		*q = w->trial[i];
		w->trial[i] = old;
		for (uint32_t j = q->same; j < q->n; j++)
			w->spot_of[q->items[j].job] = (struct joint_spot){ m->gpu[i], j };
		if (mark(w, m->gpu[i]))
			return -ENOMEM;
	}
	return 0;
}

/* Whether a move may be taken, as far as estimates can tell. */
static bool is_hopeful(struct joint_walk *w, const struct joint_move *m, double left)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (!joint_walk_try(w, m->gpu[i], &w->trial[i], left * (1 + 1e-9), true))
			return false;
		left -= joint_walk_price(w, &w->trial[i].cost);
	}
	return true;
}

/* Take a proposed move if it is better, or worse by no more than a lot drawn beforehand allows. */
static int decide(struct joint_walk *w, const struct joint_move *m, double allowed)
{
	const double had = w->penalty * joint_walk_excess(w, w->late_us, w->peak_mw);
	struct hes_objectives at = w->at;
	double late_us = w->late_us, peak_mw = w->peak_mw, rise, left = w->slack;

	for (uint32_t i = 0; i < m->n; i++)
		left += joint_walk_price(w, &w->boards[m->gpu[i]].queue.cost);
	if (w->screens && !m->screened && !is_hopeful(w, m, left))
		return 0;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct hes_timeline_cost *old = &w->boards[m->gpu[i]].queue.cost, *new = &w->trial[i].cost;

		if ((!w->screens || new->rough_us > 0) && !joint_walk_try(w, m->gpu[i], &w->trial[i], left * (1 + 1e-9), false))
			return 0;
		left -= joint_walk_price(w, new);
		at.energy_mj += new->energy_mj - old->energy_mj;
		at.jct_us += new->ends_us - old->ends_us;
		late_us += new->late_us - old->late_us;
		peak_mw += new->peak_mw - old->peak_mw;
	}
	rise = cost_of(w, &at, joint_walk_excess(w, late_us, peak_mw)) - cost_of(w, &w->at, 0) - had;
	if (rise > allowed)
		return 0;
	if (accept(w, m))
		return -ENOMEM;
	sum_up(w);
	return keep(w);
}

double joint_walk_spent(const struct joint_walk *w)
{
	if (w->spent)
		return (w->spent(w->spent_ctx) - w->from) / (w->to - w->from);
	return (double)(w->evaluations - w->since) / (double)w->budget;
}

/* The mean cost of a job at the present weight. */
static double scale_of(const struct joint_walk *w)
{
	return cost_of(w, &w->at, 0) / (double)w->p->n;
}

int joint_walk_anneal(struct joint_walk *w, double until, double hot, double cold)
{
	const double scale = scale_of(w), from = joint_walk_spent(w);
	double part = from, temperature = scale * hot, allowed;
	int rc = 0;

	for (uint64_t made = 0; part < until; made++) {
		struct joint_move m = { 0 };

		if (made % w->look == 0) {
			part = joint_walk_spent(w);
			temperature = scale * hot * pow(cold / hot, fmin((part - from) / (until - from), 1));
		}
		allowed = -temperature * log(1 - hes_rng_unit(&w->rng));
		w->slack = allowed + w->penalty * joint_walk_excess(w, w->late_us, w->peak_mw);
		rc = joint_moves_propose(w, &m);
		if (rc > 0)
			rc = decide(w, &m, allowed);
		else if (rc == 0)
			w->evaluations++; /* so that the walk ends even where nothing can be moved */
		if (rc < 0)
			return rc;
	}
	return 0;
}
