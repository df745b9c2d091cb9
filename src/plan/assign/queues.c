/*
 * queues.c - moves of single jobs between queues; see queues.h.
 */
#include "plan/assign/queues.h"

#include <stdbool.h>
#include <string.h>

static uint32_t *next_of(const struct hes_assign *a, struct hes_queues *x)
{
	return hes_queues_gpu_of(a, x) + a->n;
}

static const struct hes_cost *costs_on(const struct hes_assign *a, uint32_t gpu)
{
	return &a->exact[a->gpus[gpu].type * a->n];
}

/* Rank of each job on a GPU's type, the shortest first. */
static const uint32_t *ranks_on(const struct hes_assign *a, uint32_t gpu)
{
	return &a->rank[a->gpus[gpu].type * a->n];
}

static void queue_put(const struct hes_assign *a, struct hes_queues *x, uint32_t job, uint32_t gpu)
{
	const struct hes_cost *costs = costs_on(a, gpu);
	const uint32_t *ranks = ranks_on(a, gpu);
	struct hes_gpu_queue *q = &x->v[gpu];
	uint32_t *next = next_of(a, x), *link = &q->head, ahead = 0;
	double end_us = a->exact_wait_us[gpu];

	for (; *link != HES_QUEUES_END && ranks[*link] < ranks[job]; link = &next[*link], ahead++)
		end_us += costs[*link].time_us;
	next[job] = *link;
	*link = job;
	/* The job ends after the jobs ahead; those behind end later by its run time. */
	q->sum.ends_us += end_us + costs[job].time_us * (double)(1 + q->n - ahead);
	q->sum.energy_mj += costs[job].energy_mj;
	q->sum.busy_us += costs[job].time_us;
	q->n++;
}

static void queue_take(const struct hes_assign *a, struct hes_queues *x, uint32_t job)
{
	uint32_t gpu = hes_queues_gpu_of(a, x)[job];
	const struct hes_cost *costs = costs_on(a, gpu);
	struct hes_gpu_queue *q = &x->v[gpu];
	uint32_t *next = next_of(a, x), *link = &q->head, ahead = 0;
	double end_us = a->exact_wait_us[gpu];

	for (; *link != job; link = &next[*link], ahead++)
		end_us += costs[*link].time_us;
	*link = next[job];
	q->sum.ends_us -= end_us + costs[job].time_us * (double)(q->n - ahead);
	q->sum.energy_mj -= costs[job].energy_mj;
	q->sum.busy_us -= costs[job].time_us;
	q->n--;
}

/* Link a job without updating sums. */
static void queue_link(const struct hes_assign *a, struct hes_queues *x, uint32_t *next,
		       uint32_t job, uint32_t gpu)
{
	const uint32_t *ranks = ranks_on(a, gpu);
	uint32_t *link = &x->v[gpu].head;

	while (*link != HES_QUEUES_END && ranks[*link] < ranks[job])
		link = &next[*link];
	next[job] = *link;
	*link = job;
}

static void sum_queue(const struct hes_assign *a, const uint32_t *next, uint32_t gpu,
		      struct hes_gpu_queue *q)
{
	const struct hes_cost *costs = costs_on(a, gpu);
	const double wait_us = a->exact_wait_us[gpu];

	for (uint32_t i = q->head; i != HES_QUEUES_END; i = next[i], q->n++) {
		q->sum.busy_us += costs[i].time_us;
		q->sum.ends_us += wait_us + q->sum.busy_us;
		q->sum.energy_mj += costs[i].energy_mj;
	}
}

/* Sums of all lists. */
static void sum_all(const struct hes_assign *a, struct hes_queues *x)
{
	x->at = (struct hes_objectives){ 0, 0 };
	for (uint32_t g = 0; g < a->k; g++) {
		struct hes_gpu_queue *q = &x->v[g];

		*q = (struct hes_gpu_queue){ .head = q->head };
		sum_queue(a, hes_queues_next(a, x), g, q);
		x->at.energy_mj += q->sum.energy_mj;
		x->at.jct_us += q->sum.ends_us;
	}
}

/* A move walks half of two queues. On long queues it is faster to find the place by rank and to sum
 * up at the end. */
static bool are_long(const struct hes_assign *a)
{
	return a->n / a->k > 2 * a->k + 10;
}

/* Longest first on each type: every job becomes its queue's head. */
static void link_by_rank(const struct hes_assign *a, struct hes_queues *x)
{
	const uint32_t *gpu_of = hes_queues_gpu_of(a, x);
	uint32_t *next = next_of(a, x);

	for (uint32_t t = 0; t < a->n_types; t++)
		for (size_t rank = a->n; rank-- > 0;) {
			const uint32_t job = a->order[t * a->n + rank];
			struct hes_gpu_queue *q = &x->v[gpu_of[job]];

			if (a->gpus[gpu_of[job]].type != t)
				continue;
			next[job] = q->head;
			q->head = job;
		}
}

void hes_queues_build(const struct hes_assign *a, struct hes_queues *x)
{
	const uint32_t *gpu_of = hes_queues_gpu_of(a, x);
	uint32_t *next = next_of(a, x);

	for (size_t g = 0; g < a->k; g++)
		x->v[g] = (struct hes_gpu_queue){ .head = HES_QUEUES_END };
	if (are_long(a))
		link_by_rank(a, x);
	/* Longest first by mean rank: almost every job becomes its queue's head. */
	for (size_t i = 0; i < a->n && !are_long(a); i++)
		queue_link(a, x, next, a->longest_first[i], gpu_of[a->longest_first[i]]);
	sum_all(a, x);
}

void hes_queues_move(const struct hes_assign *a, struct hes_queues *x, uint32_t job, uint32_t gpu)
{
	uint32_t *gpu_of = hes_queues_gpu_of(a, x), from = gpu_of[job];

	if (from == gpu)
		return;
	x->at.energy_mj -= x->v[from].sum.energy_mj + x->v[gpu].sum.energy_mj;
	x->at.jct_us -= x->v[from].sum.ends_us + x->v[gpu].sum.ends_us;
	queue_take(a, x, job);
	queue_put(a, x, job, gpu);
	gpu_of[job] = gpu;
	x->at.energy_mj += x->v[from].sum.energy_mj + x->v[gpu].sum.energy_mj;
	x->at.jct_us += x->v[from].sum.ends_us + x->v[gpu].sum.ends_us;
}

/* The link to the job's place on a GPU: behind the next shorter job there, found by rank. */
static uint32_t *link_to(const struct hes_assign *a, struct hes_queues *x, uint32_t job,
			 uint32_t gpu)
{
	const uint32_t *gpu_of = hes_queues_gpus(a, x),
		       *order = &a->order[a->gpus[gpu].type * a->n];

	for (uint32_t rank = ranks_on(a, gpu)[job]; rank-- > 0;)
		if (gpu_of[order[rank]] == gpu)
			return &next_of(a, x)[order[rank]];
	return &x->v[gpu].head;
}

/* Move a job on long queues; completion times stay as they were. */
static void shift(const struct hes_assign *a, struct hes_queues *x, uint32_t job, uint32_t gpu)
{
	uint32_t *gpu_of = hes_queues_gpu_of(a, x), *next = next_of(a, x), *link;
	struct hes_gpu_queue *from = &x->v[gpu_of[job]], *to = &x->v[gpu];

	if (from == to)
		return;
	*link_to(a, x, job, gpu_of[job]) = next[job];
	from->sum.energy_mj -= costs_on(a, gpu_of[job])[job].energy_mj;
	from->sum.busy_us -= costs_on(a, gpu_of[job])[job].time_us;
	from->n--;
	link = link_to(a, x, job, gpu);
	next[job] = *link;
	*link = job;
	to->sum.energy_mj += costs_on(a, gpu)[job].energy_mj;
	to->sum.busy_us += costs_on(a, gpu)[job].time_us;
	to->n++;
	gpu_of[job] = gpu;
}

void hes_queues_shift(const struct hes_assign *a, struct hes_queues *x, uint32_t job, uint32_t gpu)
{
	if (are_long(a))
		shift(a, x, job, gpu);
	else
		hes_queues_move(a, x, job, gpu);
}

void hes_queues_settle(const struct hes_assign *a, struct hes_queues *x)
{
	if (are_long(a))
		sum_all(a, x);
}

#define MOVES_PER_BUILD 12 /* a rebuild costs a twelfth of a move per job */

void hes_queues_become(const struct hes_assign *a, struct hes_queues *x, const uint32_t *gpu_of)
{
	uint32_t *now = hes_queues_gpu_of(a, x);
	size_t differing = 0;

	for (size_t i = 0; i < a->n; i++)
		differing += now[i] != gpu_of[i];
	if (differing > a->n / MOVES_PER_BUILD) {
		memcpy(now, gpu_of, a->n * sizeof(*now));
		hes_queues_build(a, x);
		return;
	}
	for (size_t i = 0; i < a->n && differing; i++)
		if (now[i] != gpu_of[i]) {
			hes_queues_shift(a, x, (uint32_t)i, gpu_of[i]);
			differing--;
		}
	hes_queues_settle(a, x);
}

double hes_queues_delay_us(const struct hes_assign *a, const struct hes_queues *x, uint32_t job,
			   uint32_t gpu)
{
	const struct hes_cost *costs = costs_on(a, gpu);
	const uint32_t *ranks = ranks_on(a, gpu), *next = hes_queues_next(a, x);
	uint32_t behind = x->v[gpu].n, at = x->v[gpu].head;
	double end_us = a->exact_wait_us[gpu];

	for (; at != HES_QUEUES_END && ranks[at] < ranks[job]; at = next[at], behind--)
		end_us += costs[at].time_us;
	return end_us + costs[job].time_us * (double)(1 + behind - (at == job));
}
