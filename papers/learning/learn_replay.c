/*
 * learn_replay.c - learn while modelled jobs work; see learn_replay.h.
 *
 * Workloads have names here that the model does not know. A job whose kind was not measured on the
 * type of its GPU runs alone for some seconds, while its co-runners are held: that is its row
 * (app/known.h), from which other batch sizes and types are derived. A set is watched against what
 * its members do alone.
 */
#include "learn_replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/known.h"

#define WINDOW_US   10000000 /* of a job alone, and of a set */
#define SET_COSTS_S 1        /* a window of a set with an unknown job, before it is seen */

bool learn_replay_is(const char *policy)
{
	const size_t n = strlen(LEARN_REPLAY_POLICY);

	return !strncmp(policy, LEARN_REPLAY_POLICY, n) && (!policy[n] || policy[n] == ':');
}

/* --- begin and end --- */

static void learner_number_jobs(struct learn_replay *l)
{
	for (uint32_t i = 0; i < l->jobs.n; i++) {
		const struct hes_job *j = &l->jobs.v[i];
		struct learner_job *a = &l->job[i];

		*a = (struct learner_job){ .kind = LEARNER_NONE,
					   .workload = i,
					   .left = (double)j->iterations };
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(j->workload, l->jobs.v[k].workload))
				continue;
			a->workload = l->job[k].workload;
			if (j->batch_size == l->jobs.v[k].batch_size)
				a->kind = l->job[k].kind;
		}
		if (a->kind == LEARNER_NONE)
			a->kind = l->n_kinds++;
	}
}

static void learner_number_types(struct learn_replay *l)
{
	const struct hes_fleet *f = l->in.fleet;

	for (size_t g = 0; g < f->n; g++) {
		size_t k = 0;

		while (f->gpus[k].type != f->gpus[g].type)
			k++;
		l->gpu[g].type = k < g ? l->gpu[k].type : l->n_types++;
	}
}

static int learner_make(struct learn_replay *l, struct hes_err *err)
{
	const size_t n = l->in.jobs->n, k = l->in.fleet->n;
	size_t rows;

	l->jobs.v = calloc(n + 1, sizeof(*l->jobs.v));
	l->job = calloc(n + 1, sizeof(*l->job));
	l->workload = calloc(n + 1, sizeof(*l->workload));
	l->waiting = calloc(n + 1, sizeof(*l->waiting));
	l->gpu = calloc(k + 1, sizeof(*l->gpu));
	l->free_at_us = calloc(k + 1, sizeof(*l->free_at_us));
	l->running = calloc(k + 1, HES_MAX_SHARING * sizeof(*l->running));
	if (!l->jobs.v || !l->job || !l->workload || !l->waiting || !l->gpu || !l->free_at_us ||
	    !l->running)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", n);
	for (size_t i = 0; i < n; i++) {
		l->jobs.v[i] = l->in.jobs->v[i];
		/* The longest names are those of users; the model's are shorter. */
		snprintf(l->jobs.v[i].workload, sizeof(l->jobs.v[i].workload), "job %.40s",
			 l->in.jobs->v[i].workload);
	}
	l->jobs.n = n;
	learner_number_jobs(l);
	learner_number_types(l);
	rows = (size_t)l->n_kinds * l->n_types;
	l->clocks = calloc(rows + 1, sizeof(*l->clocks));
	l->measured.v = calloc(rows + 1, sizeof(*l->measured.v));
	l->rows.v = calloc(rows + 1, sizeof(*l->rows.v));
	if (!l->clocks || !l->measured.v || !l->rows.v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu profiles", rows);
	return app_model_load(l->in.app, NULL, l->in.catalogue, NULL, 0, &l->model, err);
}

struct learn_replay *learn_replay_new(const struct learn_replay_inputs *in, struct hes_err *err)
{
	struct learn_replay *l = calloc(1, sizeof(*l));

	if (!l) {
		hes_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	l->in = *in;
	l->prefer = learn_preference(in->prefer);
	l->account.explore_pct = LEARN_EXPLORE_PCT;
	hes_rng_seed(&l->noise, in->seed);
	if (learner_make(l, err)) {
		learn_replay_free(l);
		return NULL;
	}
	return l;
}

void learn_replay_free(struct learn_replay *l)
{
	if (!l)
		return;
	free(l->jobs.v);
	free(l->job);
	free(l->workload);
	free(l->waiting);
	free(l->gpu);
	free(l->free_at_us);
	free(l->running);
	free(l->clocks);
	hes_model_free(l->model);
	hes_profiles_free(&l->measured);
	hes_profiles_free(&l->rows);
	learn_refusals_finish(&l->refused);
	free(l);
}

const struct learn_account *learn_replay_account(const struct learn_replay *l)
{
	return &l->account;
}

/* --- windows --- */

/* The only member that works; -1: there are others. */
static int only_worker(const struct hes_sim_window *w)
{
	int found = -1;

	for (uint32_t i = 0; i < w->n; i++) {
		if (w->members[i].starting || w->members[i].held)
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

static double with_noise(struct learn_replay *l, double value)
{
	return value * fmax(.1, 1 + APP_KNOWN_NOISE * hes_rng_normal(&l->noise));
}

/* The window as src/learn has it, with the noise of a measurement. */
static struct learn_window measured_window(struct learn_replay *l, const struct hes_sim_window *w)
{
	struct learn_window out = { .clock_mhz = w->clock_mhz,
				    .seconds = (double)(w->until_us - w->from_us) * 1e-6,
				    .n = w->n };

	out.joules = with_noise(l, out.seconds * w->power_mw * 1e-3);
	for (uint32_t i = 0; i < w->n; i++)
		out.members[i] = (struct learn_member){
			.kind = l->job[w->members[i].job].kind,
			.sm_pct = w->members[i].sm_pct,
			.held = w->members[i].held || w->members[i].starting,
			.rate = with_noise(l, w->members[i].rate.iterations_per_s),
			.rate_se = APP_KNOWN_NOISE,
		};
	return out;
}

/* A window at a clock that is not the best so far, or one without the set that ran before. */
static void pay_alone(struct learn_replay *l, uint32_t gpu, const struct learn_clocks *c,
		      const struct learn_window *w, bool co_runners)
{
	const double work = l->gpu[gpu].work;
	const uint32_t best = learn_clocks_best(c, l->prefer);
	struct learn_alone otherwise;
	struct learn_cost cost;

	if (co_runners && !c->n) {
		cost = (struct learn_cost){ .iterations = w->members[0].rate * w->seconds,
					    .seconds = work > 1 ? w->seconds * (work - 1) : 0 };
		learn_pay(&l->account, LEARN_OF_NEWCOMER, &cost);
	} else if (!co_runners && w->clock_mhz != best &&
		   learn_clocks_alone(c, best, 0, &otherwise)) {
		cost = learn_cost_of(w, &otherwise);
		learn_pay(&l->account, LEARN_OF_CLOCK, &cost);
	}
}

static int saw_alone(struct learn_replay *l, const struct hes_sim_window *w,
		     const struct learn_window *m, uint32_t i, struct hes_err *err)
{
	const struct hes_sim_member *of = &w->members[i];
	struct learn_clocks *c = learner_clocks(l, of->job, w->gpu);
	struct learn_window alone = *m;
	struct hes_rate rate = of->rate;

	alone.n = 1;
	alone.members[0] = m->members[i];
	if (w->until_us - w->from_us < WINDOW_US)
		return 0;
	pay_alone(l, w->gpu, c, &alone, w->n > 1);
	learn_clocks_saw(c, &alone);
	if (of->sm_pct < 100 || w->clock_mhz != learner_type(l, w->gpu)->clock_default_mhz)
		return 0;
	rate.iterations_per_s = alone.members[0].rate;
	return learner_keep_row(l, of->job, w->gpu, &rate, alone.joules / alone.seconds, err);
}

static bool same_set(const struct learner_gpu *g, const struct hes_sim_window *w)
{
	if (g->n != w->n)
		return false;
	for (uint32_t i = 0; i < w->n; i++)
		if (g->jobs[i] != w->members[i].job)
			return false;
	return true;
}

/* Add a window to those of the set. */
static void set_add(struct learner_gpu *g, const struct learn_window *m)
{
	struct learn_window *all = &g->seen;
	const double before = all->seconds;

	g->windows++;
	all->n = m->n;
	all->seconds += m->seconds;
	all->joules += m->joules;
	for (uint32_t i = 0; i < m->n; i++) {
		struct learn_member *x = &all->members[i];

		x->rate = (x->rate * before + m->members[i].rate * m->seconds) / all->seconds;
		x->rate_se = APP_KNOWN_NOISE / sqrt(g->windows);
	}
}

/* A set that is watched. */
static void saw_set(struct learn_replay *l, const struct hes_sim_window *w,
		    const struct learn_window *m)
{
	struct learner_gpu *g = &l->gpu[w->gpu];
	struct learn_alone alone[HES_MAX_SHARING];
	struct learn_gain gain;
	struct learn_cost cost;
	bool unknown = false;

	if (!same_set(g, w) || g->verdict != LEARN_UNCLEAR)
		return;
	for (uint32_t i = 0; i < w->n; i++) {
		if (m->members[i].held ||
		    !learn_clocks_alone(learner_clocks(l, g->jobs[i], w->gpu), w->clock_mhz,
					APP_KNOWN_NOISE, &alone[i]))
			return;
		unknown |= l->job[g->jobs[i]].unknown;
	}
	set_add(g, m);
	if (!learn_set_gain(&g->seen, alone, &gain))
		return;
	g->verdict = learn_set_judge(&gain, l->prefer, g->seen.seconds);
	g->work = g->verdict == LEARN_SEPARATE ? 0 : 1 / gain.time;
	cost = learn_cost_of(m, alone);
	if (unknown || g->verdict == LEARN_SEPARATE)
		learn_pay(&l->account, LEARN_OF_SET, &cost);
}

int learn_replay_saw(void *ctx, const struct hes_sim_window *w, struct hes_err *err)
{
	struct learn_replay *l = ctx;
	const struct learn_window m = measured_window(l, w);
	const int worker = only_worker(w);

	l->account.worked_s += m.seconds;
	for (uint32_t i = 0; i < w->n; i++)
		l->job[w->members[i].job].left -= w->members[i].rate.iterations_per_s * m.seconds;
	if (worker >= 0)
		return saw_alone(l, w, &m, (uint32_t)worker, err);
	saw_set(l, w, &m);
	return 0;
}

/* --- orders --- */

/* The first that works and was not measured alone; -1: none. */
static int newcomer_of(const struct learn_replay *l, const struct hes_sim_window *now)
{
	for (uint32_t i = 0; i < now->n; i++)
		if (!now->members[i].starting &&
		    !learner_clocks(l, now->members[i].job, now->gpu)->n)
			return (int)i;
	return -1;
}

static uint32_t all_but(uint32_t n, uint32_t i)
{
	return ((1u << n) - 1) & ~(1u << i);
}

/* The clock of a job that has the GPU to itself. */
static void order_clock(struct learn_replay *l, const struct hes_sim_window *now,
			struct hes_sim_order *out)
{
	struct learn_clocks *c = learner_clocks(l, now->members[0].job, now->gpu);
	const struct hes_gpu_type *g = learner_type(l, now->gpu);
	bool over;

	if (!c->expected_mhz)
		c->expected_mhz = now->members[0].clock_mhz < g->clock_default_mhz
					  ? now->members[0].clock_mhz
					  : hes_gpu_type_static_clock(g);
	out->clock_mhz = learn_clocks_next(c, g, l->prefer, &over);
	if (over)
		return;
	out->look_us = now->until_us + WINDOW_US;
	if (!learn_may(&l->account,
		       learn_clocks_cost_s(g, l->prefer, out->clock_mhz, WINDOW_US * 1e-6)))
		out->clock_mhz = learn_clocks_best(c, l->prefer);
}

/* Members that run: no refused set, and one at a time if more were a set without evidence. */
static void order_held(const struct learn_replay *l, const struct hes_sim_window *now,
		       bool one_by_one, struct hes_sim_order *out)
{
	const uint32_t n = now->n, type = l->gpu[now->gpu].type, all = (1u << n) - 1;
	uint32_t kinds[HES_MAX_SHARING], i;

	out->held = one_by_one ? all_but(n, 0) : 0;
	for (i = 0; i < n; i++)
		kinds[i] = l->job[now->members[i].job].kind;
	while (!one_by_one &&
	       (i = learn_set_to_hold(&l->refused, type, kinds, n, out->held, all)) < n)
		out->held |= 1u << i;
}

static int order_set(struct learn_replay *l, const struct hes_sim_window *now,
		     struct hes_sim_order *out, struct hes_err *err)
{
	struct learner_gpu *g = &l->gpu[now->gpu];
	const struct learn_clocks *c[HES_MAX_SHARING];
	uint32_t kinds[HES_MAX_SHARING];
	bool unknown = false, known = false;

	if (!same_set(g, now)) {
		g->n = now->n;
		g->windows = 0;
		g->seen = (struct learn_window){ 0 };
		g->verdict = LEARN_UNCLEAR;
		for (uint32_t i = 0; i < now->n; i++)
			g->jobs[i] = now->members[i].job;
	}
	for (uint32_t i = 0; i < now->n; i++) {
		kinds[i] = l->job[g->jobs[i]].kind;
		c[i] = learner_clocks(l, g->jobs[i], now->gpu);
		unknown |= l->job[g->jobs[i]].unknown;
		known |= !l->job[g->jobs[i]].unknown;
	}
	if (g->verdict == LEARN_SEPARATE && learn_refuse(&l->refused, g->type, kinds, now->n))
		return hes_fail(err, -ENOMEM, "out of memory");
	if (g->verdict == LEARN_UNCLEAR)
		out->look_us = now->until_us + WINDOW_US;
	/* A set with a planned job has the clock of its plan. */
	if (!known)
		out->clock_mhz = learn_set_clock(c, now->n, learner_type(l, now->gpu), l->prefer);
	/* Nothing speaks for a set with an unknown job: it is an experiment. */
	order_held(l, now,
		   unknown && g->verdict == LEARN_UNCLEAR && !learn_may(&l->account, SET_COSTS_S),
		   out);
	return 0;
}

int learn_replay_order(void *ctx, const struct hes_sim_window *now, struct hes_sim_order *out,
		       struct hes_err *err)
{
	struct learn_replay *l = ctx;
	int newcomer;

	for (uint32_t i = 0; i < now->n; i++) {
		l->job[now->members[i].job].running = true;
		l->job[now->members[i].job].sm_pct = now->members[i].sm_pct;
	}
	newcomer = newcomer_of(l, now);
	*out = (struct hes_sim_order){ 0 };
	if (newcomer >= 0) {
		out->held = all_but(now->n, (uint32_t)newcomer);
		out->clock_mhz = learner_type(l, now->gpu)->clock_default_mhz;
		out->look_us = now->until_us + WINDOW_US;
	} else if (now->n > 1) {
		return order_set(l, now, out, err);
	} else if (!now->members[0].starting) {
		order_clock(l, now, out);
	}
	return 0;
}
