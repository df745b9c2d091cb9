/*
 * replan_search.c - a short local search over waiting jobs after an arrival; see replan_state.h.
 *
 * It is a problem of its own: the GPUs that were tried for the arrived job, and the jobs that run
 * and wait there. The joint search's annealing solves it (anneal.h). Its steps grow with the
 * waiting jobs, up to a limit.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/joint/anneal.h"
#include "plan/replan_state.h"

#define STEPS_A_JOB 600
#define STEPS_MOST  3000
#define STEPS_RUN   9000   /* limit of steps times the jobs of the longest queue */
#define QUERIES     2000.0 /* of the predictor, at most */
#define LOOK        8      /* moves between two checks of both limits */
#define HOT         0.01   /* temperatures, in parts of the mean cost of a job */
#define COLD        0.002

/* The part of the problem that is searched. */
struct part {
	struct hes_problem p;
	struct hes_problem_job *jobs;
	struct hes_problem_running running[HES_REPLAN_TRIED * HES_MAX_SHARING];
	size_t first_running[HES_REPLAN_TRIED + 1];
	struct hes_assign_gpu gpus[HES_REPLAN_TRIED];
	uint32_t n_started[HES_REPLAN_TRIED]; /* of a queue's items */
	uint32_t *number;                     /* [waiting]: in the whole problem */
	struct hes_joint_solution as_is;
};

/* A running job with the start-up and the work that are left, at an even rate. */
static void part_add_running(const struct hes_replan *s, struct part *w, size_t gpu, uint32_t job,
			     uint32_t sm_pct, uint32_t clock, const struct hes_timeline_times *t,
			     double now_us)
{
	struct hes_problem_job *j = &w->jobs[w->p.n + w->p.n_running];
	const double begins_us =
		t->start_us + hes_problem_start_us(&s->p, job, s->p.gpus[gpu].type);

	if (!(t->end_us > now_us))
		return;
	*j = s->p.jobs[job];
	if (begins_us < now_us) {
		j->iterations *= (t->end_us - now_us) / (t->end_us - begins_us);
		j->started_us = INFINITY;
	} else {
		j->started_us += fmax(0, now_us - t->start_us);
	}
	w->running[w->p.n_running] =
		(struct hes_problem_running){ (uint32_t)(w->p.n + w->p.n_running), (uint16_t)sm_pct,
					      (uint16_t)clock };
	w->p.n_running++;
}

static size_t count_jobs(const struct hes_replan *s, const size_t *gpus, size_t n)
{
	size_t jobs = 0;

	for (size_t i = 0; i < n; i++)
		jobs += s->queues[gpus[i]].n + s->queues[gpus[i]].n_running;
	return jobs;
}

/* The waiting jobs, GPU by GPU. Without news from a GPU, jobs have started as predicted. */
static void part_add_waiting(struct hes_replan *s, struct part *w, const size_t *gpus, size_t n,
			     double now_us)
{
	for (size_t i = 0; i < n; i++) {
		const struct hes_replan_queue *q = &s->queues[gpus[i]];
		struct hes_timeline_cost c;
		uint32_t at = 0;

		hes_replan_run(s, gpus[i], q->items, q->n, &c, s->times, NULL);
		while (at < q->n && s->times[at].start_us <= now_us && q->from_us < now_us)
			at++;
		w->n_started[i] = at;
		w->gpus[i] = s->p.gpus[gpus[i]];
		w->as_is.first[i] = (uint32_t)w->p.n;
		for (; at < q->n; at++) {
			w->jobs[w->p.n] = s->p.jobs[q->items[at].job];
			w->number[w->p.n] = q->items[at].job;
			w->as_is.items[w->p.n] = q->items[at];
			w->as_is.items[w->p.n].job = (uint32_t)w->p.n;
			w->p.n++;
		}
	}
	w->as_is.first[n] = (uint32_t)w->p.n;
}

static void part_add_all_running(struct hes_replan *s, struct part *w, const size_t *gpus, size_t n,
				 double now_us)
{
	for (size_t i = 0; i < n; i++) {
		const struct hes_replan_queue *q = &s->queues[gpus[i]];
		struct hes_timeline_times running[HES_MAX_SHARING];
		struct hes_timeline_cost c;

		w->first_running[i] = w->p.n_running;
		hes_replan_run(s, gpus[i], q->items, q->n, &c, s->times, running);
		for (size_t r = 0; r < q->n_running; r++)
			part_add_running(s, w, gpus[i], q->running[r].at, q->running[r].sm_pct,
					 q->running[r].clock, &running[r], now_us);
		for (uint32_t at = 0; at < w->n_started[i]; at++)
			part_add_running(s, w, gpus[i], q->items[at].job, q->items[at].sm_pct,
					 q->items[at].clock, &s->times[at], now_us);
	}
	w->first_running[n] = w->p.n_running;
}

static void part_finish(struct part *w)
{
	free(w->jobs);
	free(w->number);
	free(w->as_is.items);
	free(w->as_is.first);
	free(w->p.cost);
}

static int part_init(struct part *w, struct hes_replan *s, const size_t *gpus, size_t n,
		     double now_us)
{
	const size_t jobs = count_jobs(s, gpus, n) + 1;

	*w = (struct part){ .p = s->p };
	w->jobs = calloc(jobs, sizeof(*w->jobs));
	w->number = calloc(jobs, sizeof(*w->number));
	w->as_is.items = calloc(jobs, sizeof(*w->as_is.items));
	w->as_is.first = calloc(n + 1, sizeof(*w->as_is.first));
	w->p.cost = calloc(jobs * (s->p.n_types + 1), sizeof(*w->p.cost));
	if (!w->jobs || !w->number || !w->as_is.items || !w->as_is.first || !w->p.cost) {
		part_finish(w);
		return -ENOMEM;
	}
	w->p.jobs = w->jobs;
	w->p.running = w->running;
	w->p.first_running = w->first_running;
	w->p.gpus = w->gpus;
	w->p.k = n;
	w->p.n = w->p.n_running = 0;
	w->p.from_us = now_us;
	part_add_waiting(s, w, gpus, n, now_us);
	part_add_all_running(s, w, gpus, n, now_us);
	w->p.n_jobs = w->p.room = w->p.n + w->p.n_running;
	for (uint32_t t = 0; t < w->p.n_types; t++)
		for (size_t i = 0; i < w->p.n; i++)
			w->p.cost[t * w->p.n + i] = hes_problem_alone(&w->p, i, t);
	return 0;
}

/* A queue as found, with the whole problem's numbers, after the jobs that have started. @return how
 * many */
static uint32_t lay_out(const struct part *w, const struct anneal *walk, size_t i,
			struct hes_timeline_item *out)
{
	const struct anneal_queue *q = &walk->queues[i];

	for (uint32_t at = 0; at < q->n; at++) {
		out[w->n_started[i] + at] = q->items[at];
		out[w->n_started[i] + at].job = w->number[q->items[at].job];
	}
	return w->n_started[i] + q->n;
}

static bool is_same(const struct hes_replan_queue *q, const struct hes_timeline_item *items,
		    uint32_t n)
{
	bool same = n == q->n;

	for (uint32_t i = 0; i < n && same; i++)
		same = items[i].job == q->items[i].job && items[i].sm_pct == q->items[i].sm_pct &&
		       items[i].clock == q->items[i].clock;
	return same;
}

/* Take over the queues that were found, if the whole problem's figures also say that they are
 * better. */
static int take_over(struct hes_replan *s, const struct part *w, const struct anneal *walk,
		     const size_t *gpus)
{
	struct hes_timeline_cost costs[HES_REPLAN_TRIED];
	bool same[HES_REPLAN_TRIED];
	double gain = 0;

	for (size_t i = 0; i < w->p.k; i++) {
		struct hes_replan_queue *q = &s->queues[gpus[i]];
		uint32_t n = w->n_started[i] + walk->queues[i].n;

		if (hes_replan_make_room(s, q, n + 1))
			return -ENOMEM;
		memcpy(s->trial, q->items, w->n_started[i] * sizeof(*q->items));
		lay_out(w, walk, i, s->trial);
		same[i] = is_same(q, s->trial, n);
		hes_replan_run(s, gpus[i], s->trial, n, &costs[i], NULL, NULL);
		gain += hes_replan_value(s, &q->cost) - hes_replan_value(s, &costs[i]);
	}
	for (size_t i = 0; i < w->p.k && gain > 0; i++) {
		struct hes_replan_queue *q = &s->queues[gpus[i]];

		if (same[i])
			continue;
		q->n = lay_out(w, walk, i, q->items);
		q->cost = costs[i];
	}
	return 0;
}

/* Steps and queries of the predictor; the search ends at the first limit reached. */
struct effort {
	const struct anneal *walk;
	uint64_t steps;  /* limit */
	uint64_t before; /* queries of the predictor before the search */
};

static double effort_spent(void *ctx)
{
	const struct effort *e = ctx;
	const double steps = (double)e->walk->evaluations / (double)e->steps;
	const double queries = (double)(hes_rates_queries(e->walk->p->rates) - e->before) / QUERIES;

	return fmax(steps, queries);
}

static void set_up(const struct hes_replan *s, const struct part *w, struct anneal *walk,
		   struct effort *e)
{
	uint64_t steps = (uint64_t)w->p.n * STEPS_A_JOB;
	struct hes_rng all;
	uint32_t longest = 1;

	for (size_t i = 0; i < w->p.k; i++)
		if (w->as_is.first[i + 1] - w->as_is.first[i] > longest)
			longest = w->as_is.first[i + 1] - w->as_is.first[i];
	steps = steps < STEPS_MOST ? steps : STEPS_MOST;
	steps = steps * longest < STEPS_RUN ? steps : STEPS_RUN / longest;
	hes_rng_seed(&all, s->p.request->seed);
	*walk = (struct anneal){
		.p = &w->p,
		.rates = s->p.rates,
		.rng = hes_rng_fork(&all, s->arrivals),
		.lambda = s->mj_per_us,
		.penalty = HES_REPLAN_PENALTY * s->mj_per_us,
		.shun_far = s->shun_far,
		.look = LOOK,
	};
	*e = (struct effort){ walk, w->p.k + steps, hes_rates_queries(s->p.rates) };
}

static int part_search(struct hes_replan *s, struct part *w, const size_t *gpus)
{
	struct anneal walk;
	struct effort e;
	struct anneal_budget all = { .spent = effort_spent, .spent_ctx = &e, .to = 1 };
	int rc;

	set_up(s, w, &walk, &e);
	rc = anneal_init(&walk);
	if (!rc)
		rc = anneal_start(&walk, w->as_is);
	if (!rc)
		rc = anneal_run(&walk, &all, anneal_mean_cost(&walk), HOT, COLD);
	if (!rc)
		rc = anneal_start(
			&walk, plan_archive_member(&walk.archive,
						   plan_archive_best(&walk.archive, walk.lambda)));
	if (!rc)
		rc = take_over(s, w, &walk, gpus);
	anneal_finish(&walk);
	return rc;
}

int hes_replan_search(struct hes_replan *s, const size_t *gpus, size_t n, double now_us)
{
	struct part w;
	int rc = part_init(&w, s, gpus, n, now_us);

	if (rc)
		return rc;
	if (w.p.n > 0)
		rc = part_search(s, &w, gpus);
	part_finish(&w);
	return rc;
}
