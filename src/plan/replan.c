/*
 * replan.c - one arriving job into open queues; see replan.h.
 *
 * GPUs are ranked by what the job would cost alone behind all that is there:
 * two additions a GPU. On the best of them it is tried at three places of the queue that have
 * not started, with all of the board and with the share it can use.
 */
#include "plan/replan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/compose.h"
#include "plan/sharing.h"

#define MORE_JOBS  1024
#define MORE_KINDS 64
#define TRIED      4     /* GPUs looked at closely */

struct queue {
	struct hes_flow_item *items;
	uint32_t              n, room;
	struct hes_flow_cost  cost;
};

struct hes_replan {
	struct hes_problem   p;
	double               mj_per_us;
	struct queue        *queues;   /* [k] */
	struct hes_flow_item *trial;   /* room for the longest queue and one more */
	struct hes_flow_times *times;
	uint32_t             longest;
};

/* One way to take the job in. */
struct seat {
	size_t               gpu;
	uint32_t             at;
	struct hes_flow_item item;
	struct hes_flow_cost cost;
	double               value;  /* energy and delay added, in millijoules */
};

static int make_room(struct hes_replan *s, struct queue *q)
{
	if (q->n + 1 > q->room) {
		struct hes_flow_item *items = reallocarray(q->items, 2 * (q->n + 1u), sizeof(*items));

		if (!items)
			return -ENOMEM;
		q->items = items;
		q->room = 2 * (q->n + 1);
	}
	if (q->n + 2 > s->longest) {
		struct hes_flow_item *trial = reallocarray(s->trial, 2 * (q->n + 2u), sizeof(*trial));
		struct hes_flow_times *times;

		if (!trial)
			return -ENOMEM;
		s->trial = trial;
		times = reallocarray(s->times, 2 * (q->n + 2u), sizeof(*times));
		if (!times)
			return -ENOMEM;
		s->times = times;
		s->longest = 2 * (q->n + 2);
	}
	return 0;
}

static long clock_index(const struct hes_gpu_type *g, uint32_t clock_mhz)
{
	for (size_t c = 0; c < g->n_clocks; c++)
		if (g->clocks_mhz[c] == clock_mhz)
			return (long)c;
	return -1;
}

/* @param number_of  of a request's job among the problem's */
static int read_queue(struct hes_replan *s, size_t gpu, const struct hes_queue *from, const uint32_t *number_of,
		      struct hes_err *err)
{
	const struct hes_gpu *g = &s->p.request->fleet->gpus[gpu];
	struct queue *q = &s->queues[gpu];

	if (from->n && !from->together)
		return hes_fail(err, -EINVAL, "%s: its queue has barriers; only open queues are replanned", g->name);
	for (size_t i = 0; i < from->n; i++) {
		const struct hes_batch *b = &from->batches[i];
		long clock = clock_index(g->type, b->clock_mhz);

		if (clock < 0)
			return hes_fail(err, -EINVAL, "%s: %u MHz is none of the clocks %s is planned at", g->name,
					b->clock_mhz, g->type->name);
		if (make_room(s, q))
			return hes_fail(err, -ENOMEM, "out of memory for a queue of %zu jobs", from->n);
		q->items[q->n++] = (struct hes_flow_item){
			number_of[b->jobs[0].job], (uint16_t)b->jobs[0].sm_pct, (uint16_t)clock,
		};
	}
	if (make_room(s, q))
		return hes_fail(err, -ENOMEM, "out of memory for a queue of %zu jobs", from->n);
	hes_flow_run(&s->p, s->p.rates, gpu, q->items, q->n, &q->cost, NULL);
	return 0;
}

static int read_plan(struct hes_replan *s, const struct hes_plan *plan, struct hes_err *err)
{
	uint32_t *number_of = calloc(s->p.request->jobs->n + 1, sizeof(*number_of));
	int rc = 0;

	s->queues = calloc(s->p.k + 1, sizeof(*s->queues));
	if (!s->queues || !number_of) {
		free(number_of);
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", s->p.k);
	}
	for (size_t i = 0; i < s->p.n; i++)
		number_of[s->p.jobs[i].job] = (uint32_t)i;
	for (size_t g = 0; g < s->p.k && !rc; g++)
		rc = read_queue(s, g, &plan->queues[g], number_of, err);
	free(number_of);
	return rc;
}

int hes_replan_open(const struct hes_request *r, const struct hes_plan *plan, double mj_per_us,
		    struct hes_replan **out, struct hes_err *err)
{
	struct hes_replan *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return hes_fail(err, -ENOMEM, "out of memory");
	s->mj_per_us = mj_per_us;
	rc = hes_problem_init_for_more(&s->p, r, MORE_JOBS, MORE_KINDS, err);
	if (!rc)
		rc = read_plan(s, plan, err);
	if (rc)
		hes_replan_close(s);
	else
		*out = s;
	return rc;
}

void hes_replan_close(struct hes_replan *s)
{
	if (!s)
		return;
	for (size_t g = 0; s->queues && g < s->p.k; g++)
		free(s->queues[g].items);
	free(s->queues);
	free(s->trial);
	free(s->times);
	if (s->p.request)
		hes_problem_finish(&s->p);
	free(s);
}

/* The job alone on a type's whole board, at its default clock. */
static struct hes_cost alone(struct hes_replan *s, uint32_t job, uint32_t type)
{
	const struct hes_set set = {
		.type = type, .clock_mhz = s->p.types[type]->clock_default_mhz, .n = 1,
		.m = { { (uint16_t)s->p.jobs[job].kind, 100 } },
	};
	struct hes_pace pace;
	double time_us;

	hes_rates_of(s->p.rates, &set, &pace);
	time_us = pace.iteration_us[0] * s->p.jobs[job].iterations;
	return (struct hes_cost){ time_us, time_us * pace.power_mw * 1e-6 };
}

/* Behind all that is there: a first guess. */
static double guess(const struct hes_replan *s, size_t gpu, const struct hes_cost *c, double now_us)
{
	return c->energy_mj + s->mj_per_us * (fmax(0, s->queues[gpu].cost.last_us - now_us) + c->time_us);
}

/* The best GPUs by guess, best first. @return how many */
static size_t shortlist(struct hes_replan *s, uint32_t job, double now_us, size_t *gpus)
{
	double values[TRIED];
	size_t n = 0;

	for (size_t g = 0; g < s->p.k; g++) {
		const uint32_t type = s->p.gpus[g].type;
		struct hes_cost c;
		double value;
		size_t at;

		if (!hes_problem_runs(&s->p, job, type))
			continue;
		c = alone(s, job, type);
		value = guess(s, g, &c, now_us);
		if (n == TRIED && value >= values[n - 1])
			continue;
		n += n < TRIED;
		for (at = n - 1; at > 0 && value < values[at - 1]; at--) {
			values[at] = values[at - 1];
			gpus[at] = gpus[at - 1];
		}
		values[at] = value;
		gpus[at] = g;
	}
	return n;
}

/* Try one seat; keep it if it is the best so far. */
static void try_seat(struct hes_replan *s, size_t gpu, uint32_t at, struct hes_flow_item item, struct seat *best)
{
	const struct queue *q = &s->queues[gpu];
	struct hes_flow_cost c;
	double value;

	memcpy(s->trial, q->items, at * sizeof(item));
	s->trial[at] = item;
	memcpy(&s->trial[at + 1], &q->items[at], (q->n - at) * sizeof(item));
	hes_flow_run(&s->p, s->p.rates, gpu, s->trial, q->n + 1, &c, NULL);
	value = c.energy_mj - q->cost.energy_mj + s->mj_per_us * (c.ends_us - q->cost.ends_us + 10 * (c.late_us - q->cost.late_us));
	if (value < best->value)
		*best = (struct seat){ gpu, at, item, c, value };
}

/* Before the first job that is longer, but behind those that have started. */
static uint32_t by_length(const struct hes_replan *s, const struct queue *q, uint32_t job, uint32_t from)
{
	while (from < q->n && s->p.jobs[q->items[from].job].iterations <= s->p.jobs[job].iterations)
		from++;
	return from;
}

static void try_gpu(struct hes_replan *s, size_t gpu, uint32_t job, double now_us, struct seat *best)
{
	const uint32_t type = s->p.gpus[gpu].type;
	const struct queue *q = &s->queues[gpu];
	const double use = s->p.solo[type * s->p.n_kinds + s->p.jobs[job].kind].sm_util;
	const uint32_t fits = HES_SHARE_STEP_PCT * (uint32_t)fmin(fmax(ceil(use * 10), 1), 10);
	struct hes_flow_cost c;
	uint32_t first = 0, places[3];

	hes_flow_run(&s->p, s->p.rates, gpu, q->items, q->n, &c, s->times);
	while (first < q->n && s->times[first].start_us <= now_us)
		first++;
	places[0] = first;
	places[1] = by_length(s, q, job, first);
	places[2] = q->n;
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t pct = fits; i == 0 || places[i] != places[i - 1]; pct = 100) {
			const uint16_t clock = q->n ? q->items[q->n - 1].clock : (uint16_t)(s->p.types[type]->n_clocks - 1);

			try_seat(s, gpu, places[i], (struct hes_flow_item){ job, (uint16_t)pct, clock }, best);
			if (pct == 100)
				break;
		}
}

int hes_replan_arrive(struct hes_replan *s, uint32_t job, int64_t now_us, size_t *gpu, struct hes_err *err)
{
	const double ready_us = (double)(now_us - s->p.request->now_us);
	struct seat best = { .value = INFINITY };
	size_t gpus[TRIED], n;
	long number = hes_problem_add(&s->p, job, ready_us, err);
	struct queue *q;

	if (number < 0)
		return (int)number;
	n = shortlist(s, (uint32_t)number, ready_us, gpus);
	for (size_t i = 0; i < n; i++)
		try_gpu(s, gpus[i], (uint32_t)number, ready_us, &best);
	if (!n)
		return hes_fail(err, -ENOSPC, "job %s fits the memory of no GPU it was profiled on",
				s->p.request->jobs->v[job].id);
	q = &s->queues[best.gpu];
	memmove(&q->items[best.at + 1], &q->items[best.at], (q->n - best.at) * sizeof(*q->items));
	q->items[best.at] = best.item;
	q->n++;
	q->cost = best.cost;
	*gpu = best.gpu;
	return make_room(s, q) ? hes_fail(err, -ENOMEM, "out of memory for a queue of %u jobs", q->n) : 0;
}

int hes_replan_write(const struct hes_replan *s, size_t gpu, struct hes_plan *plan)
{
	return hes_compose_flow(&s->p, plan, gpu, s->queues[gpu].items, s->queues[gpu].n);
}
