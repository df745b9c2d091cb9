/*
 * replan.c - put one arriving job into open queues; see replan.h. replan_search.c then moves
 * waiting jobs.
 *
 * GPUs are ranked by the cost of the job alone, behind everything in their queue. On the best GPUs
 * the job is tried at three positions of the queue, with the whole GPU and with the share that it
 * can use; the best of these at every clock.
 */
#include "plan/replan_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/batch/compose.h"
#include "plan/batch/sharing.h"

#define MORE_JOBS  1024 /* room for so many arrivals, and for as many as there are jobs */
#define MORE_KINDS 64
#define TIME_WEIGHT                                                                             \
	2.0 /* of a percent of the plan's time, in percents of its energy: later arrivals wait, \
	       too */
#define PREFER_ENERGY \
	(1 / 25.0) /* factor of the time weight: a lower one saves hardly any energy */
#define PREFER_FLEET                                                                            \
	0.2 /* the same: idle GPUs draw power until the last job ends, so that slow clocks save \
	       less */
#define PREFER_JCT 15.0  /* the same: as far as the joint search goes */
#define MOST_SETS  65536 /* sets in the rate cache when an arrival begins */

/* One position for the job. */
struct position {
	size_t gpu;
	uint32_t at;
	struct hes_timeline_item item;
	struct hes_timeline_cost cost;
	double value; /* energy and delay added, in millijoules */
};

int hes_replan_make_room(struct hes_replan *s, struct hes_replan_queue *q, uint32_t n)
{
	if (n > q->room) {
		struct hes_timeline_item *items =
			reallocarray(q->items, 2 * (size_t)n, sizeof(*items));

		if (!items)
			return -ENOMEM;
		q->items = items;
		q->room = 2 * n;
	}
	if (n >= s->longest) {
		struct hes_timeline_item *trial =
			reallocarray(s->trial, 2 * (n + 1u), sizeof(*trial));
		struct hes_timeline_times *times;

		if (!trial)
			return -ENOMEM;
		s->trial = trial;
		times = reallocarray(s->times, 2 * (n + 1u), sizeof(*times));
		if (!times)
			return -ENOMEM;
		s->times = times;
		s->longest = 2 * (n + 1);
	}
	return 0;
}

double hes_replan_value(const struct hes_replan *s, const struct hes_timeline_cost *c)
{
	const double late_us = c->late_us + (s->shun_far ? c->far_us : 0);

	return c->energy_mj + s->mj_per_us * (c->ends_us + HES_REPLAN_PENALTY * late_us);
}

/* The problem of one queue: from its own time on, with the jobs that run there. */
static struct hes_problem view_of(const struct hes_replan *s, size_t gpu)
{
	struct hes_replan_queue *q = &s->queues[gpu];
	struct hes_problem view = s->p;

	s->first[gpu] = 0;
	s->first[gpu + 1] = q->n_running;
	view.first_running = s->first;
	view.running = q->running;
	view.from_us = q->from_us;
	return view;
}

void hes_replan_run(const struct hes_replan *s, size_t gpu, const struct hes_timeline_item *items,
		    size_t n, struct hes_timeline_cost *out, struct hes_timeline_times *each,
		    struct hes_timeline_times *running)
{
	const struct hes_problem view = view_of(s, gpu);

	hes_timeline_run_all(&view, view.rates, gpu, items, n, out, each, running);
}

/* The plan may be from before other clocks were measured: then the next higher one counts. */
static uint16_t clock_index(const struct hes_gpu_type *g, const struct hes_batch *b)
{
	return hes_problem_clock(g, b->unlocked ? UINT32_MAX : b->clock_mhz);
}

static int read_queue(struct hes_replan *s, size_t gpu, const struct hes_queue *from,
		      struct hes_err *err)
{
	const struct hes_gpu *g = &s->p.request->fleet->gpus[gpu];
	struct hes_replan_queue *q = &s->queues[gpu];

	if (from->n && !from->together)
		return hes_fail(err, -EINVAL,
				"%s: its queue has barriers; only open queues are replanned",
				g->name);
	for (size_t i = 0; i < from->n; i++) {
		const struct hes_batch *b = &from->batches[i];

		if (hes_replan_make_room(s, q, q->n + 1))
			return hes_fail(err, -ENOMEM, "out of memory for a queue of %zu jobs",
					from->n);
		q->items[q->n++] = (struct hes_timeline_item){
			s->number_of[b->jobs[0].job],
			(uint16_t)b->jobs[0].sm_pct,
			clock_index(g->type, b),
		};
	}
	if (hes_replan_make_room(s, q, q->n + 1))
		return hes_fail(err, -ENOMEM, "out of memory for a queue of %zu jobs", from->n);
	hes_replan_run(s, gpu, q->items, q->n, &q->cost, NULL, NULL);
	return 0;
}

static int read_plan(struct hes_replan *s, const struct hes_plan *plan, struct hes_err *err)
{
	const struct hes_problem *p = &s->p;
	int rc = 0;

	s->number_of = malloc((p->request->jobs->n + 1) * sizeof(*s->number_of));
	s->first = calloc(p->k + 2, sizeof(*s->first));
	s->queues = calloc(p->k + 1, sizeof(*s->queues));
	if (!s->queues || !s->number_of || !s->first)
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", p->k);
	memset(s->number_of, 0xff, (p->request->jobs->n + 1) * sizeof(*s->number_of));
	for (size_t i = 0; i < p->n + p->n_running; i++)
		s->number_of[p->jobs[i].job] = (uint32_t)i;
	for (size_t g = 0; g < p->k && !rc; g++) {
		struct hes_replan_queue *q = &s->queues[g];

		q->n_running = p->first_running[g + 1] - p->first_running[g];
		memcpy(q->running, &p->running[p->first_running[g]],
		       q->n_running * sizeof(*q->running));
		rc = read_queue(s, g, &plan->queues[g], err);
	}
	return rc;
}

/* Prefault memory: the first write to a page takes longer than everything else about an arrival. */
static void prefault(struct hes_replan *s)
{
	memset(&s->p.jobs[s->p.n_jobs], 0, (s->p.room - s->p.n_jobs) * sizeof(*s->p.jobs));
}

int hes_replan_open(const struct hes_request *r, const struct hes_plan *plan, double mj_per_us,
		    struct hes_replan **out, struct hes_err *err)
{
	struct hes_replan *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return hes_fail(err, -ENOMEM, "out of memory");
	s->fixed_mj_per_us = mj_per_us;
	rc = hes_problem_init_for_more(&s->p, r, MORE_JOBS + r->n_waiting, MORE_KINDS, err);
	s->p.counts_running = true;
	for (size_t i = 0; i < s->p.n_jobs && !rc; i++)
		hes_problem_limit_overlap(&s->p, i);
	if (!rc)
		rc = read_plan(s, plan, err);
	if (!rc)
		s->shun_far = !hes_default_is_far(&s->p);
	if (rc) {
		hes_replan_close(s);
		return rc;
	}
	prefault(s);
	*out = s;
	return 0;
}

void hes_replan_close(struct hes_replan *s)
{
	if (!s)
		return;
	for (size_t g = 0; s->queues && g < s->p.k; g++)
		free(s->queues[g].items);
	free(s->queues);
	free(s->number_of);
	free(s->first);
	free(s->trial);
	free(s->times);
	if (s->p.request)
		hes_problem_finish(&s->p);
	free(s);
}

/* The cost of the job alone, behind everything in the queue. */
static double first_guess(const struct hes_replan *s, size_t gpu, const struct hes_cost *c,
			  double now_us)
{
	return c->energy_mj +
	       s->mj_per_us * (fmax(0, s->queues[gpu].cost.last_us - now_us) + c->time_us);
}

/* The best GPUs by first guess, best first. @return how many */
static size_t shortlist(struct hes_replan *s, uint32_t job, double now_us, size_t *gpus)
{
	double values[HES_REPLAN_TRIED];
	size_t n = 0;

	for (size_t g = 0; g < s->p.k; g++) {
		const uint32_t type = s->p.gpus[g].type;
		struct hes_cost c;
		double value;
		size_t at;

		if (!hes_problem_runs(&s->p, job, type))
			continue;
		c = hes_problem_alone(&s->p, job, type);
		value = first_guess(s, g, &c, now_us);
		if (n == HES_REPLAN_TRIED && value >= values[n - 1])
			continue;
		n += n < HES_REPLAN_TRIED;
		for (at = n - 1; at > 0 && value < values[at - 1]; at--) {
			values[at] = values[at - 1];
			gpus[at] = gpus[at - 1];
		}
		values[at] = value;
		gpus[at] = g;
	}
	return n;
}

/* Try one position; keep it if it is the best so far. */
static void position_try(struct hes_replan *s, size_t gpu, uint32_t at,
			 struct hes_timeline_item item, struct position *best)
{
	const struct hes_replan_queue *q = &s->queues[gpu];
	const struct hes_problem view = view_of(s, gpu);
	const double before = hes_replan_value(s, &q->cost);
	const struct hes_timeline_stop stop = { s->mj_per_us, before + best->value };
	struct hes_timeline_cost c;
	double value;

	memcpy(s->trial, q->items, at * sizeof(item));
	s->trial[at] = item;
	memcpy(&s->trial[at + 1], &q->items[at], (q->n - at) * sizeof(item));
	if (!hes_timeline_try(&view, view.rates, gpu, s->trial, q->n + 1, &stop, NULL, &c))
		return;
	value = hes_replan_value(s, &c) - before;
	if (value < best->value)
		*best = (struct position){ gpu, at, item, c, value };
}

/* The position before the first longer job, after those that have started. */
static uint32_t position_by_length(const struct hes_replan *s, const struct hes_replan_queue *q,
				   uint32_t job, uint32_t from)
{
	while (from < q->n && s->p.jobs[q->items[from].job].iterations <= s->p.jobs[job].iterations)
		from++;
	return from;
}

/* Every clock at the best position of a GPU. */
static void try_clocks(struct hes_replan *s, struct position *best)
{
	const struct position from = *best;

	for (uint16_t c = 0; c < s->p.types[s->p.gpus[from.gpu].type]->n_clocks; c++) {
		struct hes_timeline_item item = from.item;

		item.clock = c;
		if (c != from.item.clock)
			position_try(s, from.gpu, from.at, item, best);
	}
}

/* The clock of the last job in the queue, of the last that runs, or the default one. */
static uint16_t usual_clock(const struct hes_replan *s, const struct hes_replan_queue *q,
			    uint32_t type)
{
	if (q->n)
		return q->items[q->n - 1].clock;
	return q->n_running ? q->running[q->n_running - 1].clock
			    : (uint16_t)(s->p.types[type]->n_clocks - 1);
}

static double preference(const char *prefer)
{
	if (strcmp(prefer, "energy") == 0)
		return PREFER_ENERGY;
	if (strcmp(prefer, "fleet") == 0)
		return PREFER_FLEET;
	return strcmp(prefer, "jct") == 0 ? PREFER_JCT : 1;
}

/*
 * The energy that a microsecond of completion time is worth. One percent of all remaining
 * completion times counts like TIME_WEIGHT percent of all remaining energy, the new job included as
 * if alone on its best GPU. A queue's energy is taken to be spread evenly over its time.
 */
static double time_worth(struct hes_replan *s, uint32_t job, size_t gpu, double now_us)
{
	const char *prefer = s->p.request->prefer ? s->p.request->prefer : "";
	const struct hes_cost own = hes_problem_alone(&s->p, job, s->p.gpus[gpu].type);
	double mj = own.energy_mj, us = own.time_us;

	if (s->fixed_mj_per_us > 0)
		return s->fixed_mj_per_us;
	for (size_t g = 0; g < s->p.k; g++) {
		const struct hes_replan_queue *q = &s->queues[g];

		if (!(q->cost.last_us > now_us))
			continue;
		mj += q->cost.energy_mj * (q->cost.last_us - now_us) /
		      (q->cost.last_us - q->from_us);
		us += fmax(0, q->cost.ends_us - (double)(q->n + q->n_running) * now_us);
	}
	return TIME_WEIGHT * mj / fmax(us, 1) * preference(prefer);
}

static void try_gpu(struct hes_replan *s, size_t gpu, uint32_t job, double now_us,
		    struct position *best)
{
	const uint32_t type = s->p.gpus[gpu].type;
	const struct hes_replan_queue *q = &s->queues[gpu];
	const double use = s->p.solo[type * s->p.n_kinds + s->p.jobs[job].kind].sm_util;
	const uint32_t fits = HES_SHARE_STEP_PCT * (uint32_t)fmin(fmax(ceil(use * 10), 1), 10);
	const uint16_t clock = usual_clock(s, q, type);
	struct position here = { .value = INFINITY };
	struct hes_timeline_cost c;
	uint32_t first = 0, places[3];

	hes_replan_run(s, gpu, q->items, q->n, &c, s->times, NULL);
	while (first < q->n && s->times[first].start_us <= now_us)
		first++;
	places[0] = first;
	places[1] = position_by_length(s, q, job, first);
	places[2] = q->n;
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t pct = fits; i == 0 || places[i] != places[i - 1]; pct = 100) {
			position_try(s, gpu, places[i],
				     (struct hes_timeline_item){ job, (uint16_t)pct, clock },
				     &here);
			if (pct == 100)
				break;
		}
	try_clocks(s, &here);
	if (here.value < best->value)
		*best = here;
}

/* Put the job at its best position. */
static void insert(struct hes_replan *s, const struct position *best)
{
	struct hes_replan_queue *q = &s->queues[best->gpu];

	memmove(&q->items[best->at + 1], &q->items[best->at],
		(q->n - best->at) * sizeof(*q->items));
	q->items[best->at] = best->item;
	q->n++;
	q->cost = best->cost;
	s->arrivals++;
}

/* @return how many GPUs were tried for the job, now in a queue as number *number; -errno */
static long place(struct hes_replan *s, uint32_t job, int64_t now_us, size_t *gpus, long *number,
		  struct hes_err *err)
{
	const double ready_us = (double)(now_us - s->p.request->now_us);
	struct position best = { .value = INFINITY };
	size_t n;

	hes_rates_forget(s->p.rates, MOST_SETS);
	*number = hes_problem_add(&s->p, job, ready_us, err);
	if (*number < 0)
		return *number;
	s->number_of[job] = (uint32_t)*number;
	hes_problem_limit_overlap(&s->p, (size_t)*number);
	n = shortlist(s, (uint32_t)*number, ready_us, gpus);
	if (!n)
		return hes_fail(err, -ENOSPC, "job %s fits the memory of no GPU it was profiled on",
				s->p.request->jobs->v[job].id);
	s->mj_per_us = time_worth(s, (uint32_t)*number, gpus[0], ready_us);
	for (size_t i = 0; i < n; i++)
		try_gpu(s, gpus[i], (uint32_t)*number, ready_us, &best);
	insert(s, &best);
	if (hes_replan_make_room(s, &s->queues[best.gpu], s->queues[best.gpu].n + 1))
		return hes_fail(err, -ENOMEM, "out of memory for a queue of %u jobs",
				s->queues[best.gpu].n);
	return (long)n;
}

int hes_replan_arrive(struct hes_replan *s, uint32_t job, int64_t now_us, size_t *gpu,
		      struct hes_err *err)
{
	const double ready_us = (double)(now_us - s->p.request->now_us);
	size_t gpus[HES_REPLAN_TRIED];
	long number, n = place(s, job, now_us, gpus, &number, err);

	if (n < 0)
		return (int)n;
	if (hes_replan_search(s, gpus, (size_t)n, ready_us))
		return hes_fail(err, -ENOMEM, "out of memory for the queues of %ld GPUs", n);
	for (long i = 0; i < n; i++)
		for (uint32_t at = 0; at < s->queues[gpus[i]].n; at++)
			if (s->queues[gpus[i]].items[at].job == (uint32_t)number)
				*gpu = gpus[i];
	return 0;
}

int hes_replan_write(const struct hes_replan *s, size_t gpu, struct hes_plan *plan)
{
	const struct hes_problem view = view_of(s, gpu);

	return hes_compose_open(&view, plan, gpu, s->queues[gpu].items, s->queues[gpu].n);
}

size_t hes_replan_queue(const struct hes_replan *s, size_t gpu, uint32_t *jobs, size_t room)
{
	const struct hes_replan_queue *q = &s->queues[gpu];

	for (size_t i = 0; i < q->n && i < room; i++)
		jobs[i] = s->p.jobs[q->items[i].job].job;
	return q->n;
}

static int check_running(const struct hes_replan *s, size_t gpu, const struct hes_running *r,
			 struct hes_err *err)
{
	const struct hes_request *request = s->p.request;

	if (r->job < request->jobs->n && s->number_of[r->job] != UINT32_MAX)
		return 0;
	return hes_fail(err, -EINVAL, "%s: job number %u was never planned",
			request->fleet->gpus[gpu].name, r->job);
}

static struct hes_problem_running take_running(struct hes_replan *s, size_t gpu,
					       const struct hes_running *r, int64_t now_us)
{
	const struct hes_request *request = s->p.request;
	const struct hes_gpu_type *type = request->fleet->gpus[gpu].type;
	const uint32_t number = s->number_of[r->job];

	hes_problem_continue(&s->p, number, r, now_us);
	return (struct hes_problem_running){ number, (uint16_t)r->sm_pct,
					     hes_problem_clock(type, r->clock_mhz) };
}

int hes_replan_observe(struct hes_replan *s, size_t gpu, size_t n_started,
		       const struct hes_running *running, size_t n, int64_t now_us,
		       struct hes_err *err)
{
	struct hes_replan_queue *q = &s->queues[gpu];
	int rc = 0;

	if (n_started > q->n || n > HES_MAX_SHARING)
		return hes_fail(err, -EINVAL,
				"%s: %zu jobs of its queue of %u have started, %zu run",
				s->p.request->fleet->gpus[gpu].name, n_started, q->n, n);
	for (size_t i = 0; i < n && !rc; i++)
		rc = check_running(s, gpu, &running[i], err);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		q->running[i] = take_running(s, gpu, &running[i], now_us);
	q->n_running = n;
	q->n -= (uint32_t)n_started;
	memmove(q->items, q->items + n_started, q->n * sizeof(*q->items));
	q->from_us = (double)(now_us - s->p.request->now_us);
	s->p.gpus[gpu].wait_us = 0;
	hes_replan_run(s, gpu, q->items, q->n, &q->cost, NULL, NULL);
	return 0;
}
