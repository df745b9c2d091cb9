/*
 * joint_search.c - weights, rounds and threads of the joint search, and its result; see
 * joint_search.h.
 */
#include "plan/joint/joint_search.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "plan/batch/configure.h"
#include "plan/joint/anneal.h"

#define WEIGHTS  14         /* on a log scale between the ends, */
#define WANTED   4          /* annealings at the weight of the wanted member */
#define LOW_END  (1 / 60.0) /* as parts of the reference's ratio of energy to completion time */
#define HIGH_END 15.0
#define HALVED_TO                                                                                  \
	1.01 /* width of the interval of the balanced weight: adjacent members of the front differ \
		by more */
#define HOT     2.0 /* first temperature, in parts of the mean cost of a job, times their number, */
#define HOTTEST 0.5 /* within limits */
#define COOLEST 0.03
#define COLD    0.002 /* last temperature */
/* of a microsecond late, in microseconds of the completion time of all jobs */
#define PENALTY           10.0
#define EVALUATIONS_A_JOB 500 /* at least, by default; queues are long enough with */
#define COUNTED_A_GPU     50  /* jobs */
/* One search takes some minutes where jobs times (GPUs + 100) come to this; from 16 GPUs on, by the
 * jobs alone. */
#define SMALL_WORK   500000.0
#define MOST_A_GPU   300.0
#define MOST_JOBS    30000.0
#define MOST_SQUARED 1.5e6               /* jobs squared, for each GPU */
#define CACHE_BYTES  ((size_t)512 << 20) /* of all threads' rate caches */
#define LOOK         64                  /* moves between two looks at the budget */

#define MEMBERS    16   /* of Algorithm 1's front that become open queues */
#define GENETIC    128  /* jobs at most for which HeShare's own search runs */
#define GREEDY     8    /* assignments that it starts from, */
#define TIME_ALONE 1e12 /* weight of time at which energy does not count */

static const struct {
	double part;   /* of the budget */
	double warmth; /* part of the first temperature */
	size_t walks;  /* annealings, each at a weight of its own or, if there are fewer than
			  weights, */
	bool wanted;   /* all at the weight of the wanted member, with other random numbers */
} rounds[] = { { 0.5, 1, WEIGHTS, false },
	       { 0.35, 0.3, WEIGHTS, false },
	       { 0.15, 0.3, WANTED, true } };

#define ROUNDS (sizeof(rounds) / sizeof(rounds[0]))

struct hes_joint {
	const struct hes_problem *p;
	struct plan_archive archive;
	struct hes_objectives reference;
	enum hes_joint_wanted wanted;
	uint64_t evaluations;
	struct hes_rates **caches; /* [n_caches]: one a thread */
	size_t n_caches;
};

struct search {
	const struct hes_problem *p;
	const struct hes_joint_options *o;
	struct hes_joint *j;
	uint64_t evaluations; /* the budget without a clock */
	bool shun_far;
	double begun;  /* part of the clock's time before the first round */
	double before; /* part of the budget for the rounds before this one */
	size_t round;
	struct plan_archive found[WEIGHTS];
	uint64_t evaluated[WEIGHTS];
	size_t done; /* weights of all rounds */
	int rc;      /* of the first weight that failed */
};

uint64_t hes_joint_evaluations(size_t n_jobs, size_t n_gpus)
{
	const double n = (double)n_jobs, counted = fmin(n, COUNTED_A_GPU * (double)n_gpus);

	if (n_jobs < 8)
		return 240000;
	return (uint64_t)fmax(fmin(fmax(72000, n * n * n / 2), 1451520),
			      EVALUATIONS_A_JOB * counted);
}

double hes_joint_effort(size_t n_jobs, size_t n_gpus)
{
	const double n = (double)n_jobs, k = (double)n_gpus, small = n * (k + 100) / SMALL_WORK;

	if (n_jobs < 512)
		return fmin(small, 1);
	return n_gpus < 16 ? small
			   : n / fmin(MOST_A_GPU * k, fmax(MOST_JOBS, sqrt(MOST_SQUARED * k)));
}

/* Settings far outside of the training range are not avoided where jobs that run, or default
 * settings, have them. */
static bool is_far_anyway(const struct hes_problem *p)
{
	bool far = hes_default_is_far(p);

	for (size_t g = 0; g < p->k && !far; g++) {
		struct hes_timeline_cost c;

		hes_timeline_run(p, p->rates, g, NULL, 0, &c, NULL);
		far = c.far_us > 0;
	}
	return far;
}

/* --- starts: greedy assignments, and what Algorithm 1 makes of them, as open queues --- */

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
		v = hes_assignments_new(&a, GREEDY);
		for (size_t i = 0; i < GREEDY && v; i++)
			assign_greedily(&a,
					i ? v[0].at.energy_mj / v[0].at.jct_us * LOW_END *
							pow(HIGH_END / LOW_END,
							    (double)(i - 1) / (GREEDY - 2))
					  : TIME_ALONE,
					load_us, &v[i]);
		hes_assign_finish(&a);
		*out = (struct hes_assign_front){ v, GREEDY };
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

int hes_joint_starts(const struct hes_problem *p, const struct hes_joint_options *o,
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

/* --- rounds --- */

static double middle_weight(const struct hes_joint *j)
{
	return j->reference.energy_mj / fmax(j->reference.jct_us, 1);
}

static double weight_at(const struct hes_joint *j, size_t i)
{
	return middle_weight(j) * LOW_END * pow(HIGH_END / LOW_END, (double)i / (WEIGHTS - 1));
}

/* The weight at which the best plan gains as much energy as completion time over the reference. */
static double balanced_weight(const struct hes_joint *j)
{
	double low = weight_at(j, 0), high = weight_at(j, WEIGHTS - 1);

	while (high > HALVED_TO * low) {
		const double lambda = sqrt(low * high);
		const struct hes_objectives *at =
			&j->archive.front.v[plan_archive_best(&j->archive, lambda)].at;

		if (at->energy_mj * j->reference.jct_us < at->jct_us * j->reference.energy_mj)
			low = lambda;
		else
			high = lambda;
	}
	return sqrt(low * high);
}

static double wanted_weight(const struct hes_joint *j)
{
	switch (j->wanted) {
	case HES_JOINT_ENERGY:
	case HES_JOINT_FLEET:
		return weight_at(j, 0);
	case HES_JOINT_JCT:
		return weight_at(j, WEIGHTS - 1);
	default:
		return balanced_weight(j);
	}
}

/* Weights that one thread anneals in turn share the time of the round. @param turn, turns  which of
 * how many */
static struct anneal_budget budget_of(const struct search *s, size_t turn, size_t turns)
{
	const double rest = 1 - s->begun, each = rest * rounds[s->round].part / (double)turns;
	const double from = s->begun + rest * s->before + each * (double)turn;

	return (struct anneal_budget){
		.evaluations = (uint64_t)(rounds[s->round].part * (double)s->evaluations /
					  (double)rounds[s->round].walks) +
			       1,
		.spent = s->o->spent,
		.spent_ctx = s->o->spent_ctx,
		.from = from,
		.to = from + each,
	};
}

static int anneal_weight(struct search *s, size_t i, struct hes_rates *rates,
			 const struct anneal_budget *b)
{
	const struct hes_joint *j = s->j;
	const double lambda = rounds[s->round].wanted ? wanted_weight(j) : weight_at(j, i);
	const double first = fmin(fmax(HOT / (double)s->p->n, COOLEST), HOTTEST);
	struct anneal a = {
		.p = s->p,
		.rates = rates,
		.lambda = lambda,
		.power_cap_mw = s->o->power_cap_mw,
		.shun_far = s->shun_far,
		.fleet = j->wanted == HES_JOINT_FLEET,
		.penalty = PENALTY * fmax(lambda, middle_weight(j)) * (double)s->p->n,
		.look = LOOK,
	};
	struct hes_rng all;
	int rc;

	hes_rng_seed(&all, s->o->seed);
	a.rng = hes_rng_fork(&all, s->round * WEIGHTS + i);
	rc = anneal_init(&a);
	if (!rc)
		rc = anneal_start(&a, plan_archive_member(&j->archive,
							  plan_archive_best(&j->archive, lambda)));
	if (!rc)
		rc = anneal_run(&a, b, anneal_mean_cost(&a), first * rounds[s->round].warmth, COLD);
	s->found[i] = a.archive;
	s->evaluated[i] = a.evaluations;
	a.archive = (struct plan_archive){ 0 };
	anneal_finish(&a);
	return rc;
}

static void end_weight(struct search *s, int rc)
{
#pragma omp critical(joint_search)
	{
		s->rc = s->rc ? s->rc : rc;
		s->done++;
		if (s->o->progress)
			s->o->progress(s->o->progress_ctx, s->done, 2 * WEIGHTS + WANTED);
	}
}

static int run_round(struct search *s)
{
	const size_t n = rounds[s->round].walks, turns = (n + s->j->n_caches - 1) / s->j->n_caches;
	int rc;

#pragma omp parallel for schedule(static, turns) num_threads((int)s->j->n_caches)
	for (size_t i = 0; i < n; i++) {
		const struct anneal_budget b = budget_of(s, i % turns, turns);

		end_weight(s, anneal_weight(s, i, s->j->caches[i / turns], &b));
	}
	rc = s->rc;
	for (size_t i = 0; i < n; i++) {
		if (!rc)
			rc = plan_archive_merge(&s->j->archive, &s->found[i]);
		plan_archive_finish(&s->found[i]);
		s->j->evaluations += s->evaluated[i];
	}
	return rc;
}

static int open_caches(struct hes_joint *j, const struct hes_joint_options *o)
{
	const size_t threads = o->threads ? o->threads : (size_t)omp_get_max_threads();
	const size_t n = threads < WEIGHTS ? threads : WEIGHTS;

	j->caches = calloc(n, sizeof(struct hes_rates *));
	if (!j->caches)
		return -ENOMEM;
	for (; j->n_caches < n; j->n_caches++) {
		j->caches[j->n_caches] = hes_rates_new(j->p->request->predictor, j->p->types,
						       j->p->solo, j->p->n_kinds);
		if (!j->caches[j->n_caches])
			return -ENOMEM;
		hes_rates_limit(j->caches[j->n_caches], CACHE_BYTES / n);
	}
	return 0;
}

static int search_all(struct search *s)
{
	int rc = open_caches(s->j, s->o);

	s->shun_far = !rc && !is_far_anyway(s->p);
	if (!rc)
		rc = hes_joint_starts(s->p, s->o, &s->j->reference, s->shun_far, &s->j->archive);
	s->begun = s->o->spent ? fmin(s->o->spent(s->o->spent_ctx), 1) : 0;
	for (s->round = 0; s->round < ROUNDS && !rc; s->round++) {
		rc = run_round(s);
		s->before += rounds[s->round].part;
	}
	return rc;
}

int hes_joint_search(const struct hes_problem *p, const struct hes_joint_options *o,
		     struct hes_joint **out)
{
	struct hes_joint *j = calloc(1, sizeof(*j));
	struct search s = { .p = p, .o = o, .j = j };
	int rc;

	if (!j)
		return -ENOMEM;
	j->p = p;
	j->wanted = o->wanted;
	s.evaluations = o->evaluations ? o->evaluations : hes_joint_evaluations(p->n, p->k);
	rc = search_all(&s);
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
	for (size_t i = 0; i < j->n_caches; i++)
		hes_rates_free(j->caches[i]);
	free(j->caches);
	plan_archive_finish(&j->archive);
	free(j);
}

void hes_joint_each_set(const struct hes_joint *j, hes_rates_set_fn *each, void *ctx)
{
	for (size_t i = 0; i < j->n_caches; i++)
		hes_rates_each(j->caches[i], each, ctx);
}

const struct hes_pareto *hes_joint_front(const struct hes_joint *j)
{
	return &j->archive.front;
}

struct hes_joint_solution hes_joint_member(const struct hes_joint *j, size_t member)
{
	return plan_archive_member(&j->archive, member);
}

uint64_t hes_joint_evaluated(const struct hes_joint *j)
{
	return j->evaluations;
}

/* The smaller one of the relative gains over the reference. */
static double smaller_gain(const struct hes_joint *j, size_t member)
{
	const struct hes_objectives *at = &j->archive.front.v[member].at;

	return fmin(1 - at->energy_mj / j->reference.energy_mj,
		    1 - at->jct_us / j->reference.jct_us);
}

size_t hes_joint_wanted(const struct hes_joint *j)
{
	const size_t n = j->archive.front.n;
	size_t best = 0;

	if (j->wanted != HES_JOINT_BALANCED)
		return j->wanted == HES_JOINT_JCT ? n - 1 : 0;
	for (size_t m = 1; m < n; m++)
		if (smaller_gain(j, m) > smaller_gain(j, best))
			best = m;
	return best;
}

double hes_joint_peak_mw(const struct hes_joint *j, size_t member)
{
	const struct hes_joint_solution s = hes_joint_member(j, member);
	double sum = 0;

	for (size_t g = 0; g < j->p->k; g++) {
		struct hes_timeline_cost c;

		hes_timeline_run(j->p, j->p->rates, g, &s.items[s.first[g]],
				 s.first[g + 1] - s.first[g], &c, NULL);
		sum += fmax(c.peak_mw, j->p->types[j->p->gpus[g].type]->idle_power_mw);
	}
	return sum;
}
