/*
 * joint_search.c - the walks of the joint search: their weights, their starts, and
 * what they found together; see joint_search.h.
 */
#include "plan/joint_search.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bound.h"
#include "assign/exact.h"
#include "plan/joint_walk.h"

#define WALKS         2     /* from the middle weight to either end */
#define STEPS         6     /* weights of a walk after the middle one, evenly spaced on a log scale */
#define MIDDLE        2.0   /* weight in units of the assignment front's own trade-off: where knees lie */
#define FRUGAL        (1 / 60.0) /* the ends, against the middle weight */
#define QUICK         15.0
#define FIRST_PART    0.4   /* of a walk's evaluations, spent at the middle weight */
#define HOT   0.5  /* temperatures, in parts of the mean cost of a job: at the middle weight, */
#define WARM  0.2  /* at the others */
#define COLD  0.002
#define START_WEIGHTS 12    /* weights at which the assignment is solved */
#define PENALTY       10.0  /* of a microsecond late, in microseconds of everybody's completion */

struct hes_joint {
	const struct hes_problem *p;
	struct joint_archive      archive;
	uint64_t                  evaluations;
	struct hes_rates         *memos[WALKS]; /* one a thread */
	size_t                    n_memos;
};

/* What all walks share. */
struct search {
	const struct hes_problem       *p;
	const struct hes_joint_options *o;
	struct hes_assign_front         starts;
	double                          middle; /* lambda: energy against completion time over the whole front */
	size_t                          threads, turns; /* walks at a time, and how often */
	struct joint_walk               walks[WALKS];
};

uint64_t hes_joint_evaluations(size_t n_jobs)
{
	const uint64_t n = n_jobs;

	if (n < 20)
		return 20000;
	if (n < 60)
		return n * n * n * 7 / 3;
	return n < 480 ? 8400 * n : 4000000;
}

static int find_starts(struct search *s)
{
	const struct hes_problem *p = s->p;
	const struct hes_exact_options o = { .tolerance = 1e-3, .weights = START_WEIGHTS };
	struct hes_exact_front front;
	struct hes_assign a;
	const struct hes_objectives *first, *last;
	int rc = hes_assign_init(&a, p->n, p->k, p->n_types, p->cost, p->gpus);

	if (rc)
		return rc;
	rc = hes_exact_run(&a, &o, &front);
	hes_assign_finish(&a);
	if (rc)
		return rc;
	free(front.halfplanes);
	s->starts = front.front;
	first = &s->starts.v[0].at;
	last = &s->starts.v[s->starts.n - 1].at;
	/* Where there is no trade-off, one joule's worth is the jobs' mean power's. */
	if (last->energy_mj > first->energy_mj && last->jct_us < first->jct_us)
		s->middle = (last->energy_mj - first->energy_mj) / (first->jct_us - last->jct_us);
	else
		s->middle = first->energy_mj / fmax(first->jct_us, 1);
	s->middle *= MIDDLE;
	return 0;
}

/* The assignment that is best at a weight, as open queues of whole boards at their default clock. */
static void start_of(const struct search *s, double lambda, struct hes_joint_solution *out)
{
	const struct hes_assignment *best = &s->starts.v[0];
	uint32_t n = 0;

	for (size_t i = 1; i < s->starts.n; i++) {
		const struct hes_assignment *x = &s->starts.v[i];

		if (x->at.energy_mj + lambda * x->at.jct_us < best->at.energy_mj + lambda * best->at.jct_us)
			best = x;
	}
	for (size_t g = 0; g < s->p->k; g++) {
		const uint16_t clock = (uint16_t)(s->p->types[s->p->gpus[g].type]->n_clocks - 1);

		out->first[g] = n;
		for (uint32_t i = best->first[g]; i < best->first[g + 1]; i++)
			out->items[n++] = (struct hes_flow_item){ best->queue[i], 100, clock };
	}
	out->first[s->p->k] = n;
}

/* From the middle weight, hot, to one end, warm: each weight starts where the last one left off. */
static int sweep(const struct search *s, struct joint_walk *w, double end)
{
	int rc = joint_walk_anneal(w, FIRST_PART, HOT, COLD);

	for (int i = 1; i <= STEPS && !rc; i++) {
		w->lambda = s->middle * pow(end, (double)i / STEPS);
		rc = joint_walk_anneal(w, FIRST_PART + (1 - FIRST_PART) * i / STEPS, WARM, COLD);
	}
	return rc;
}

static int walk(struct search *s, size_t number, struct hes_rates *rates)
{
	struct hes_joint_solution start = {
		calloc(s->p->n + 1, sizeof(*start.items)), calloc(s->p->k + 1, sizeof(*start.first)),
	};
	struct joint_walk *w = &s->walks[number];
	struct hes_rng all;
	int rc = start.items && start.first ? joint_walk_init(w, s->p, rates) : -ENOMEM;

	if (!rc) {
		hes_rng_seed(&all, s->o->seed);
		w->rng = hes_rng_fork(&all, number);
		w->lambda = s->middle;
		w->penalty = PENALTY * w->lambda * (double)s->p->n;
		w->power_cap_mw = s->o->power_cap_mw;
		w->budget = s->o->evaluations / WALKS + 1;
		w->spent = s->o->spent;
		w->spent_ctx = s->o->spent_ctx;
		/* Walks that one thread makes in turn share the time. */
		w->from = (double)(number / s->threads) / (double)s->turns;
		w->to = w->from + 1 / (double)s->turns;
		start_of(s, w->lambda, &start);
		rc = joint_walk_start(w, &start);
	}
	if (!rc)
		rc = sweep(s, w, number ? QUICK : FRUGAL);
	free(start.items);
	free(start.first);
	return rc;
}

/* A memo of rates belongs to one thread; what it says does not depend on who asked before. */
static int walk_all(struct search *s, struct hes_joint *j)
{
	int rc = 0;

	s->threads = s->o->threads ? s->o->threads : (size_t)omp_get_max_threads();
	s->threads = s->threads < WALKS ? s->threads : WALKS;
	s->turns = (WALKS + s->threads - 1) / s->threads;

	for (size_t i = 0; i < s->threads; i++) {
		j->memos[i] = hes_rates_new(s->p->request->predictor, s->p->types, s->p->solo, s->p->n_kinds);
		if (!j->memos[i])
			return -ENOMEM;
		j->n_memos++;
	}
#pragma omp parallel for schedule(static, 1) num_threads((int)s->threads) reduction(min : rc)
	for (size_t i = 0; i < WALKS; i++) {
		int failed = walk(s, i, j->memos[i % s->threads]);

		rc = failed < rc ? failed : rc;
	}
	return rc;
}

static int gather(struct search *s, struct hes_joint *j)
{
	int rc = 0;

	j->archive = (struct joint_archive){ .n = s->p->n, .k = s->p->k };
	for (size_t i = 0; i < WALKS && !rc; i++) {
		rc = joint_archive_merge(&j->archive, &s->walks[i].archive);
		j->evaluations += s->walks[i].evaluations;
	}
	return rc;
}

int hes_joint_search(const struct hes_problem *p, const struct hes_joint_options *o, struct hes_joint **out)
{
	struct hes_joint_options options = *o;
	struct search s = { .p = p, .o = &options };
	struct hes_joint *j = calloc(1, sizeof(*j));
	int rc = j ? find_starts(&s) : -ENOMEM;

	if (!options.evaluations)
		options.evaluations = hes_joint_evaluations(p->n);
	if (!rc)
		rc = walk_all(&s, j);
	if (!rc)
		rc = gather(&s, j);
	if (j)
		j->p = p;
	for (size_t i = 0; i < WALKS; i++)
		if (s.walks[i].p)
			joint_walk_finish(&s.walks[i]);
	free(s.starts.v);
	if (rc)
		hes_joint_free(j);
	else
		*out = j;
	return rc;
}

void hes_joint_free(struct hes_joint *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->n_memos; i++)
		hes_rates_free(j->memos[i]);
	joint_archive_finish(&j->archive);
	free(j);
}

const struct hes_pareto *hes_joint_front(const struct hes_joint *j)
{
	return &j->archive.front;
}

struct hes_joint_solution hes_joint_member(const struct hes_joint *j, size_t member)
{
	const size_t slot = j->archive.front.v[member].tag;

	return (struct hes_joint_solution){ &j->archive.items[slot * j->archive.n],
					    &j->archive.first[slot * (j->archive.k + 1)] };
}

uint64_t hes_joint_evaluated(const struct hes_joint *j)
{
	return j->evaluations;
}

/* When each job of a member ends, and what it takes. */
static void find_times(const struct hes_joint *j, size_t member, struct hes_flow_times *of_job,
		       struct hes_flow_times *room)
{
	const struct hes_joint_solution s = hes_joint_member(j, member);

	for (size_t g = 0; g < j->p->k; g++) {
		const struct hes_flow_item *items = &s.items[s.first[g]];
		const uint32_t n = s.first[g + 1] - s.first[g];
		struct hes_flow_cost c;

		hes_flow_run(j->p, j->memos[0], g, items, n, &c, room);
		for (uint32_t i = 0; i < n; i++)
			of_job[items[i].job] = room[i];
	}
}

int hes_joint_least_energy(const struct hes_joint *j, size_t member, double *mj)
{
	struct hes_flow_times *times = calloc(2 * (j->p->n + 1), sizeof(*times));
	int rc;

	if (!times)
		return -ENOMEM;
	find_times(j, member, times, times + j->p->n + 1);
	rc = hes_bound(j->p, j->memos, j->n_memos, times, j->archive.front.v[member].at.jct_us, mj);
	free(times);
	return rc;
}
