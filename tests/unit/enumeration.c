/*
 * enumeration.c - see enumeration.h.
 *
 * A queue with barriers is enumerated batch by batch, for delays add up. An open
 * queue is played job by job, by events of its own that know nothing of flow.c; a
 * beginning is left alone when the least that it can still come to is dominated.
 */
#include "enumeration.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/batch/sharing.h"

#define MAX_JOBS 6
#define SUBSETS  (1u << MAX_JOBS)

/* Every way to give the jobs of a batch shares that sum to at most 100, from the @i-th on; its cost
 * goes to each queue. */
struct enumeration {
	const struct hes_problem *p;
	uint32_t gpu;
	struct hes_pareto best[SUBSETS]; /* of the queues of each set of jobs */
	struct hes_group batch;
	uint32_t members; /* of the batch in hand */
};

static uint32_t count(uint32_t set)
{
	return (uint32_t)__builtin_popcount(set);
}

/* Trade-offs of the batch itself, by what it adds: tag is the delay it is for those behind. */
static void run_batch(struct enumeration *e, uint32_t rest_set, struct hes_pareto *out)
{
	const struct hes_gpu_type *type = e->p->types[e->p->gpus[e->gpu].type];
	const uint32_t behind = count(rest_set);

	for (size_t c = 0; c < type->n_clocks; c++) {
		struct hes_group_cost cost;

		hes_group_run(e->p, e->p->gpus[e->gpu].type, type->clocks_mhz[c], &e->batch, &cost);
		hes_pareto_insert(out,
				  &(struct hes_objectives){ cost.energy_mj,
							    cost.ends_us + cost.last_us * behind },
				  0);
	}
}

static void share_out(struct enumeration *e, uint32_t rest_set, uint32_t i, uint32_t left,
		      struct hes_pareto *out)
{
	if (i == e->batch.n) {
		run_batch(e, rest_set, out);
		return;
	}
	for (uint32_t pct = HES_SHARE_STEP_PCT; pct <= left; pct += HES_SHARE_STEP_PCT) {
		e->batch.m[i].sm_pct = pct;
		share_out(e, rest_set, i + 1, left - pct, out);
	}
}

/* The queues of a set that begin with the batch of @members. */
static void begin_with(struct enumeration *e, uint32_t set, uint32_t members)
{
	const struct hes_pareto *rest = &e->best[set & ~members];
	struct hes_pareto first = { 0 };

	e->batch.n = 0;
	for (uint32_t j = 0; j < MAX_JOBS; j++)
		if (members >> j & 1)
			e->batch.m[e->batch.n++].job = j;
	share_out(e, set & ~members, 0, HES_SHARE_SUM_PCT, &first);
	for (size_t i = 0; i < first.n; i++)
		for (size_t k = 0; k < rest->n; k++)
			hes_pareto_insert(&e->best[set],
					  &(struct hes_objectives){
						  first.v[i].at.energy_mj + rest->v[k].at.energy_mj,
						  first.v[i].at.jct_us + rest->v[k].at.jct_us },
					  0);
	hes_pareto_free(&first);
}

/* All queues of batches with a barrier, of every set of the jobs: exact, for delays add up batch by
 * batch. */
static void enumerate(struct enumeration *e)
{
	hes_pareto_insert(&e->best[0], &(struct hes_objectives){ 0, 0 }, 0);
	for (uint32_t set = 1; set < SUBSETS; set++)
		for (uint32_t members = set; members; members = (members - 1) & set)
			if (count(members) <= HES_SHARE_MOST)
				begin_with(e, set, members);
}

/* Each job on one GPU or the other. */
static void join(const struct hes_pareto *first, const struct hes_pareto *second, uint32_t subsets,
		 struct hes_pareto *all)
{
	for (uint32_t set = 0; set < subsets; set++) {
		const struct hes_pareto *a = &first[set], *b = &second[subsets - 1 - set];

		for (size_t i = 0; i < a->n; i++)
			for (size_t k = 0; k < b->n; k++)
				hes_pareto_insert(
					all,
					&(struct hes_objectives){
						a->v[i].at.energy_mj + b->v[k].at.energy_mj,
						a->v[i].at.jct_us + b->v[k].at.jct_us },
					0);
	}
}

void enumerate_batches(const struct hes_problem *p, struct hes_pareto *all)
{
	struct enumeration *e = calloc(2, sizeof(*e));

	assert_non_null(e);
	assert_int_equal(p->n, MAX_JOBS);
	for (uint32_t g = 0; g < 2; g++) {
		e[g].p = p;
		e[g].gpu = g;
		enumerate(&e[g]);
	}
	join(e[0].best, e[1].best, SUBSETS, all);
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t set = 0; set < SUBSETS; set++)
			hes_pareto_free(&e[g].best[set]);
	free(e);
}

/* A job of an open queue that runs. */
struct guest {
	struct hes_member member;
	uint32_t job;
	uint32_t clock;
	double left; /* iterations */
};

/* An open queue as far as it is decided. */
struct begun {
	struct guest v[HES_SHARE_MOST];
	uint32_t n;
	double now_us, energy_mj, ends_us;
	uint32_t rest; /* jobs that are still to be admitted */
};

struct open {
	const struct hes_problem *p;
	uint32_t type;
	double slack;
	double least_us[MAX_JOBS]; /* of each job, in any setting */
	double least_mj[MAX_JOBS]; /* added to what an idle GPU draws */
	struct hes_pareto *front;  /* of the set in hand */
};

static bool is_before(const struct guest *a, const struct guest *b)
{
	return a->member.kind != b->member.kind ? a->member.kind < b->member.kind
						: a->member.sm_pct < b->member.sm_pct;
}

static void find_rates(const struct open *o, const struct begun *b, struct hes_set_rates *rates)
{
	struct hes_set set = { .type = o->type, .n = b->n };
	uint32_t clock = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		set.m[i] = b->v[i].member;
		clock = b->v[i].clock > clock ? b->v[i].clock : clock;
	}
	set.clock_mhz = o->p->types[o->type]->clocks_mhz[clock];
	hes_rates_of(o->p->rates, &set, rates);
}

/* Until the first job ends. */
static void play(const struct open *o, struct begun *b)
{
	struct hes_set_rates rates;
	double us = INFINITY;
	uint32_t still = 0;

	find_rates(o, b, &rates);
	for (uint32_t i = 0; i < b->n; i++)
		us = fmin(us, b->v[i].left * rates.iteration_us[i]);
	b->now_us += us;
	b->energy_mj += us * rates.power_mw * 1e-6;
	for (uint32_t i = 0; i < b->n; i++) {
		struct guest g = b->v[i];

		g.left -= us / rates.iteration_us[i];
		if (g.left * rates.iteration_us[i] <= 1e-9 * us)
			b->ends_us += b->now_us;
		else
			b->v[still++] = g;
	}
	b->n = still;
}

static bool fits(const struct open *o, const struct begun *b, const struct guest *g)
{
	uint64_t memory_mib = o->p->jobs[g->job].memory_mib;
	uint32_t shares_pct = g->member.sm_pct;

	for (uint32_t i = 0; i < b->n; i++) {
		memory_mib += o->p->jobs[b->v[i].job].memory_mib;
		shares_pct += b->v[i].member.sm_pct;
	}
	return b->n < HES_SHARE_MOST && shares_pct <= o->p->shares_pct[o->type] &&
	       memory_mib <= o->p->types[o->type]->memory_mib;
}

static void admit(struct begun *b, const struct guest *g)
{
	uint32_t at = b->n++;

	for (; at > 0 && is_before(g, &b->v[at - 1]); at--)
		b->v[at] = b->v[at - 1];
	b->v[at] = *g;
	b->rest &= ~(1u << g->job);
}

/* A lower bound for a partial plan: no job ends earlier, or takes less energy, than alone with its
 * best setting. */
static struct hes_objectives least(const struct open *o, const struct begun *b)
{
	struct hes_objectives at = { b->energy_mj, b->ends_us + b->n * b->now_us };
	double longest_us = 0;

	for (uint32_t j = 0; j < o->p->n; j++)
		if (b->rest >> j & 1) {
			at.jct_us += b->now_us + o->least_us[j];
			at.energy_mj += o->least_mj[j];
			longest_us = fmax(longest_us, o->least_us[j]);
		}
	for (uint32_t i = 0; i < b->n; i++) {
		const struct guest *g = &b->v[i];
		const double part = g->left / o->p->jobs[g->job].iterations;

		at.jct_us += part * o->least_us[g->job];
		at.energy_mj += part * o->least_mj[g->job];
		longest_us = fmax(longest_us, part * o->least_us[g->job]);
	}
	at.energy_mj += longest_us * o->p->types[o->type]->idle_power_mw * 1e-6;
	return at;
}

/* Whether a member of the front is as good but for the slack: of those with no more energy, the
 * quickest. */
static bool is_known(const struct open *o, const struct hes_objectives *at)
{
	size_t lo = 0, hi = o->front->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (o->front->v[mid].at.energy_mj <= at->energy_mj * (1 + o->slack))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && o->front->v[lo - 1].at.jct_us <= at->jct_us * (1 + o->slack);
}

static void go_on(const struct open *o, const struct begun *b);

/* The next of the queue: it waits until it fits. */
static void go_on_with(const struct open *o, const struct begun *b, const struct guest *next)
{
	struct begun then = *b;
	struct hes_objectives at;

	while (!fits(o, &then, next))
		play(o, &then);
	admit(&then, next);
	at = least(o, &then);
	if (!is_known(o, &at))
		go_on(o, &then);
}

static void go_on(const struct open *o, const struct begun *b)
{
	if (!b->rest) {
		struct begun last = *b;

		while (last.n)
			play(o, &last);
		hes_pareto_insert(o->front,
				  &(struct hes_objectives){ last.energy_mj, last.ends_us }, 0);
		return;
	}
	for (uint32_t job = 0; job < o->p->n; job++)
		for (uint32_t c = (uint32_t)o->p->types[o->type]->n_clocks;
		     b->rest >> job & 1 && c-- > 0;)
			for (uint32_t pct = 100; pct > 0; pct -= HES_SHARE_STEP_PCT)
				go_on_with(o, b,
					   &(struct guest){ { (uint16_t)o->p->jobs[job].kind,
							      (uint16_t)pct },
							    job,
							    c,
							    o->p->jobs[job].iterations });
}

static void find_least(struct open *o)
{
	const struct hes_gpu_type *g = o->p->types[o->type];

	for (uint32_t j = 0; j < o->p->n; j++) {
		o->least_us[j] = o->least_mj[j] = INFINITY;
		for (uint32_t c = 0; c < g->n_clocks; c++)
			for (uint32_t pct = HES_SHARE_STEP_PCT; pct <= 100;
			     pct += HES_SHARE_STEP_PCT) {
				struct begun b = {
					.n = 1,
					.v = { { { (uint16_t)o->p->jobs[j].kind, (uint16_t)pct },
						 j,
						 c,
						 o->p->jobs[j].iterations } }
				};

				play(o, &b);
				o->least_us[j] = fmin(o->least_us[j], b.now_us);
				o->least_mj[j] =
					fmin(o->least_mj[j],
					     b.energy_mj - b.now_us * g->idle_power_mw * 1e-6);
			}
	}
}

void enumerate_open(const struct hes_problem *p, double slack, struct hes_pareto *all)
{
	const uint32_t subsets = 1u << p->n;
	struct hes_pareto *fronts = calloc(2 * subsets, sizeof(*fronts));

	assert_non_null(fronts);
	assert_true(p->n <= MAX_JOBS);
	for (uint32_t g = 0; g < 2; g++) {
		struct open o = { .p = p, .type = p->gpus[g].type, .slack = slack };

		find_least(&o);
		for (uint32_t set = 0; set < subsets; set++) {
			o.front = &fronts[g * subsets + set];
			go_on(&o, &(struct begun){ .rest = set });
		}
	}
	join(fronts, fronts + subsets, subsets, all);
	for (uint32_t i = 0; i < 2 * subsets; i++)
		hes_pareto_free(&fronts[i]);
	free(fronts);
}
