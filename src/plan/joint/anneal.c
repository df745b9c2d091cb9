/*
 * anneal.c - see anneal.h. How much worse a move may be is drawn before its queues run, so that a
 * run stops as soon as it must cost more.
 */
#include "plan/joint/anneal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAP_UNIT 1e6 /* a milliwatt above the power cap counts as so many microseconds late */

static int queue_reserve(struct anneal_queue *q, uint32_t n)
{
	struct hes_timeline_item *items;
	double *starts_us;

	if (n <= q->room)
		return 0;
	items = reallocarray(q->items, 2 * (size_t)n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	q->items = items;
	starts_us = reallocarray(q->starts_us, 2 * (size_t)n, sizeof(*starts_us));
	if (!starts_us)
		return -ENOMEM;
	q->starts_us = starts_us;
	q->room = 2 * n;
	return 0;
}

static void queue_free(struct anneal_queue *q)
{
	free(q->items);
	free(q->starts_us);
}

static double least_run_us(const struct hes_problem *p, size_t job)
{
	double least_us = INFINITY;

	for (size_t t = 0; t < p->n_types; t++)
		least_us = fmin(least_us, p->cost[t * p->n + job].time_us);
	return least_us;
}

int anneal_init(struct anneal *a)
{
	if (a->p) {
		a->objective = &anneal_timelines;
		a->n = a->p->n;
		a->k = a->p->k;
	}
	a->archive.n = a->n;
	a->archive.k = a->k;
	a->queues = calloc(a->k + 1, sizeof(*a->queues));
	a->position_of = calloc(a->n + 1, sizeof(*a->position_of));
	a->run_us_to = calloc(a->n + 1, sizeof(*a->run_us_to));
	if (!a->queues || !a->position_of || !a->run_us_to)
		return -ENOMEM;
	for (size_t i = 0; i < a->n && a->p; i++)
		a->run_us_to[i] = (i ? a->run_us_to[i - 1] : 0) + least_run_us(a->p, i);
	return 0;
}

void anneal_finish(struct anneal *a)
{
	for (size_t g = 0; a->queues && g < a->k; g++)
		queue_free(&a->queues[g]);
	for (int i = 0; i < 2; i++)
		queue_free(&a->move.queue[i]);
	free(a->queues);
	free(a->position_of);
	free(a->run_us_to);
	plan_archive_finish(&a->archive);
	*a = (struct anneal){ 0 };
}

/* @return false: it cannot be, or costs more than @limit_mj */
static bool queue_run(struct anneal *a, uint32_t gpu, struct anneal_queue *q, double limit_mj)
{
	a->evaluations++;
	return a->objective->run(a, gpu, q, limit_mj);
}

static double price_of(const struct anneal *a, const struct hes_timeline_cost *c)
{
	return c->energy_mj + a->lambda * c->ends_us;
}

/* Violation of the constraints; 0: none. */
static double excess_of(const struct anneal *a, double late_us, double peak_mw)
{
	const double over_mw = a->power_cap_mw > 0 ? fmax(0, peak_mw - a->power_cap_mw) : 0;

	return late_us + CAP_UNIT * over_mw;
}

static double cost_of(const struct anneal *a, const struct hes_objectives *at, double excess)
{
	return at->energy_mj + a->lambda * at->jct_us + a->penalty * excess;
}

/* @param moved  with the queues of the move */
static const struct hes_timeline_cost *cost_on(const struct anneal *a, size_t gpu, bool moved)
{
	for (uint32_t i = 0; i < a->move.n && moved; i++)
		if (a->move.gpu[i] == gpu)
			return &a->move.queue[i].cost;
	return &a->queues[gpu].cost;
}

/* Energy of GPUs that are free before the last job of the fleet ends; 0 where it does not count. */
static double idle_energy_mj(const struct anneal *a, bool moved)
{
	double last_us = 0, sum_mj = 0;

	for (size_t g = 0; g < a->k && a->fleet; g++)
		last_us = fmax(last_us, cost_on(a, g, moved)->last_us);
	for (size_t g = 0; g < a->k && a->fleet; g++)
		sum_mj += (last_us - cost_on(a, g, moved)->last_us) * 1e-6 *
			  a->p->types[a->p->gpus[g].type]->idle_power_mw;
	return sum_mj;
}

/* Sums over all GPUs. Differences would gather rounding errors. */
static void sum_up(struct anneal *a)
{
	a->at = (struct hes_objectives){ 0, 0 };
	a->late_us = a->peak_mw = 0;
	for (size_t g = 0; g < a->k; g++) {
		const struct hes_timeline_cost *c = &a->queues[g].cost;

		a->at.energy_mj += c->energy_mj;
		a->at.jct_us += c->ends_us;
		a->late_us += c->late_us;
		a->peak_mw += c->peak_mw;
	}
	a->idle_mj = idle_energy_mj(a, false);
	a->at.energy_mj += a->idle_mj;
}

static int offer_current(struct anneal *a)
{
	struct hes_joint_solution slot;
	uint32_t n = 0;
	const int rc = plan_archive_offer(&a->archive, &a->at, excess_of(a, a->late_us, a->peak_mw),
					  &slot);

	if (rc <= 0)
		return rc;
	for (size_t g = 0; g < a->k; g++) {
		const struct anneal_queue *q = &a->queues[g];

		slot.first[g] = n;
		if (q->n)
			memcpy(&slot.items[n], q->items, q->n * sizeof(*q->items));
		n += q->n;
	}
	slot.first[a->k] = n;
	return 0;
}

static void note_positions(struct anneal *a, uint32_t gpu)
{
	for (uint32_t i = 0; i < a->queues[gpu].n; i++)
		a->position_of[a->queues[gpu].items[i].job] = (struct anneal_position){ gpu, i };
}

int anneal_start(struct anneal *a, struct hes_joint_solution s)
{
	for (uint32_t g = 0; g < a->k; g++) {
		struct anneal_queue *q = &a->queues[g];
		const uint32_t n = s.first[g + 1] - s.first[g];

		if (queue_reserve(q, n + 1))
			return -ENOMEM;
		if (n)
			memcpy(q->items, &s.items[s.first[g]], n * sizeof(*q->items));
		q->n = n;
		note_positions(a, g);
		queue_run(a, g, q, INFINITY);
	}
	sum_up(a);
	return offer_current(a);
}

static int queue_copy(struct anneal_queue *to, const struct anneal_queue *from)
{
	if (queue_reserve(to, from->n + 1))
		return -ENOMEM;
	if (from->n)
		memcpy(to->items, from->items, from->n * sizeof(*from->items));
	to->n = from->n;
	return 0;
}

int anneal_begin_move(struct anneal *a, uint32_t one, uint32_t other)
{
	a->move.gpu[0] = one;
	a->move.gpu[1] = other;
	a->move.n = one == other ? 1 : 2;
	if (queue_copy(&a->move.queue[0], &a->queues[one]))
		return -ENOMEM;
	return a->move.n == 2 ? queue_copy(&a->move.queue[1], &a->queues[other]) : 0;
}

void anneal_queue_remove(struct anneal_queue *q, uint32_t at)
{
	q->n--;
	memmove(&q->items[at], &q->items[at + 1], (q->n - at) * sizeof(*q->items));
}

void anneal_queue_insert(struct anneal_queue *q, uint32_t at, struct hes_timeline_item item)
{
	memmove(&q->items[at + 1], &q->items[at], (q->n - at) * sizeof(*q->items));
	q->items[at] = item;
	q->n++;
}

/* The queues of the move and the current ones change places. */
static int accept_move(struct anneal *a)
{
	for (uint32_t i = 0; i < a->move.n; i++) {
		struct anneal_queue *q = &a->queues[a->move.gpu[i]], old = *q;

		*q = a->move.queue[i];
		a->move.queue[i] = old;
		note_positions(a, a->move.gpu[i]);
	}
	sum_up(a);
	return offer_current(a);
}

/* Take the move if its cost is less, or more by at most @allowed. */
static int decide_move(struct anneal *a, double allowed)
{
	const double excess = excess_of(a, a->late_us, a->peak_mw);
	const double limit = cost_of(a, &a->at, excess) + allowed;
	struct hes_objectives at = a->at;
	double late_us = a->late_us, peak_mw = a->peak_mw, left = allowed + a->penalty * excess;

	for (uint32_t i = 0; i < a->move.n; i++)
		left += price_of(a, &a->queues[a->move.gpu[i]].cost);
	for (uint32_t i = 0; i < a->move.n; i++) {
		const struct hes_timeline_cost *old = &a->queues[a->move.gpu[i]].cost,
					       *new = &a->move.queue[i].cost;

		/* An early end of the last job can save more than its queue costs. */
		if (!queue_run(a, a->move.gpu[i], &a->move.queue[i],
			       a->fleet ? INFINITY : left * (1 + 1e-9)))
			return 0;
		left -= price_of(a, new);
		at.energy_mj += new->energy_mj - old->energy_mj;
		at.jct_us += new->ends_us - old->ends_us;
		late_us += new->late_us - old->late_us;
		peak_mw += new->peak_mw - old->peak_mw;
	}
	at.energy_mj += idle_energy_mj(a, true) - a->idle_mj;
	return cost_of(a, &at, excess_of(a, late_us, peak_mw)) > limit ? 0 : accept_move(a);
}

static double part_spent(const struct anneal *a, const struct anneal_budget *b, uint64_t since)
{
	if (b->spent)
		return (b->spent(b->spent_ctx) - b->from) / (b->to - b->from);
	return (double)(a->evaluations - since) / (double)b->evaluations;
}

double anneal_mean_cost(const struct anneal *a)
{
	return cost_of(a, &a->at, 0) / (double)a->n;
}

int anneal_run(struct anneal *a, const struct anneal_budget *b, double scale, double hot,
	       double cold)
{
	const uint64_t since = a->evaluations;
	double part = part_spent(a, b, since), temperature = scale * hot;
	int rc = 0;

	for (uint64_t made = 0; part < 1 && rc >= 0; made++) {
		if (made % a->look == 0) {
			part = part_spent(a, b, since);
			temperature = scale * hot * pow(cold / hot, fmin(fmax(part, 0), 1));
		}
		rc = a->objective->propose(a);
		if (rc > 0)
			rc = decide_move(a, -temperature * log(1 - hes_rng_unit(&a->rng)));
		else
			a->evaluations++; /* the search also ends where no move can be made */
	}
	return rc < 0 ? rc : 0;
}
