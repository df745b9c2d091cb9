/*
 * learner.c - kinds of jobs and the account of experiments; see learner.h.
 */
#include "run/learner.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "core/co_run_text.h"

#define BY_LINES     0.005    /* error of a rate by lines that have their time, or by launches */
#define BY_LOOKS_S   1        /* of a time that is read with the progress */
#define LINES_US     30000000 /* after which no line of progress is waited for */
#define QUIET_LINES  5        /* so many are missing: the job stands still */
#define START_S      600      /* about what an unknown job is taken to need */
#define KNOWN_CLOCKS 3        /* of a measured kind: planners know how it follows the clock */

void run_learner_begin(struct run_learner *l)
{
	const char *name = l->q->plan->prefer;
	const struct learn_preference *p = learn_preference(name);
	struct hes_err err;

	l->prefer = l->q->explore_pct > 0 && strcmp(p->name, name) == 0 ? p : NULL;
	l->account.explore_pct = l->q->explore_pct;
	l->earlier = l->log->run->learning;
	l->account.start_s = l->earlier.experiments ? 0 : START_S;
	if (l->prefer && l->q->store &&
	    hes_store_sets(l->q->store, NULL, &l->sets, &l->n_sets, &err))
		run_tell(l->log, "what earlier runs learnt of sets is not known: %s", err.msg);
}

void run_learner_free(struct run_learner *l)
{
	free(l->kinds);
	free(l->sets);
	learn_refusals_finish(&l->refused_whole);
	learn_refusals_finish(&l->refused_shares);
	learn_refusals_finish(&l->measured);
	for (size_t i = 0; i < l->n_notes; i++)
		free(l->notes[i]);
	free(l->notes);
}

/* --- kinds --- */

static bool kind_has(const struct run_kind *k, const struct run_task *t)
{
	return k->type == t->gpu->planned->type && k->job->batch_size == t->job->batch_size &&
	       strcmp(k->job->workload, t->job->workload) == 0;
}

/* What the store has of the kind alone on a whole GPU, at its own clock or at others. */
static void kind_saw(struct run_kind *k, const struct hes_points *p, bool unlocked)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct hes_point *x = &p->v[i];
		const struct learn_window w = {
			.clock_mhz = hes_gpu_type_clock(k->type, x->clock_mhz),
			.seconds = x->seconds,
			.joules = x->power_mw * 1e-3 * x->seconds,
			.n = 1,
			.members = { { .rate = 1e6 / x->iteration_us } },
		};

		if (!x->co_runners[0] && x->sm_pct == 100 && x->batch_size == k->job->batch_size &&
		    hes_gpu_type_is_unlocked(k->type, x->clock_mhz) == unlocked &&
		    strcmp(x->gpu_type, k->type->name) == 0)
			learn_clocks_saw(&k->clocks, &w);
	}
}

static void kind_load(const struct run_learner *l, struct run_kind *k, bool unknown)
{
	const struct hes_store_query of = { .workload = k->job->workload };
	struct hes_profile solo;
	struct hes_points points;
	const bool known =
		l->q->profiles && !hes_profile_find(l->q->profiles, k->job->workload,
						    k->job->batch_size, k->type->name, &solo, NULL);

	if (l->q->store && !hes_store_points(l->q->store, &of, &points, NULL)) {
		kind_saw(k, &points, true);
		if (k->clocks.n)
			kind_saw(k, &points, false);
		hes_points_free(&points);
	}
	/* A profile without points was measured elsewhere, with clocks or without. */
	k->measured = !unknown && known && (!k->clocks.n || k->clocks.n >= KNOWN_CLOCKS);
}

/* The kind that a text of jobs begins with, and past it. @return -1: none so far */
static long kind_of_text(const struct run_learner *l, const struct hes_gpu_type *type,
			 const char **at)
{
	for (size_t i = 0; i < l->n_kinds; i++) {
		const struct run_kind *k = &l->kinds[i];
		char text[HES_CO_RUN_JOB_MAX];
		size_t n;

		hes_co_run_text_job(text, k->job->workload, k->job->batch_size, 0);
		n = strlen(text) - 1;
		if (k->type != type || strncmp(*at, text, n) != 0)
			continue;
		*at += n;
		*at += strspn(*at, "0123456789");
		*at += **at == ',';
		return (long)i;
	}
	return -1;
}

/* Earlier runs judged sets of kinds that this one has met. Those that did worse than turns are not
 * tried again, with whatever shares. */
static void learner_recall(struct run_learner *l, const struct hes_gpu_type *type)
{
	for (size_t i = 0; i < l->n_sets; i++) {
		const struct hes_store_set *set = &l->sets[i];
		const struct learn_gain gain = { set->time, set->energy, set->se };
		uint32_t kinds[HES_MAX_SHARING], n = 0;
		const char *at = set->jobs;
		long kind = 0;

		if (strcmp(set->gpu_type, type->name) != 0)
			continue;
		while (*at && n < HES_MAX_SHARING && (kind = kind_of_text(l, type, &at)) >= 0)
			kinds[n++] = (uint32_t)kind;
		if (!*at && kind >= 0)
			learn_refuse(learn_set_judge(&gain, l->prefer, INFINITY) == LEARN_SEPARATE
					     ? &l->refused_whole
					     : &l->measured,
				     0, kinds, n);
	}
}

void run_learner_judged(struct run_learner *l, const struct run_gpu *g,
			const struct learn_gain *gain)
{
	char jobs[HES_MAX_SHARING][HES_CO_RUN_JOB_MAX];
	struct hes_store_set set = {
		.time = gain->time, .energy = gain->energy, .se = gain->se, .at_us = hes_wall_us()
	};
	struct hes_err err;

	for (uint32_t i = 0; i < g->n_running; i++)
		hes_co_run_text_job(jobs[i], g->running[i]->job->workload,
				    g->running[i]->job->batch_size, g->running[i]->attempt.sm_pct);
	hes_co_run_text_join(jobs, g->n_running, set.jobs, sizeof(set.jobs));
	strcpy(set.gpu_type, g->planned->type->name);
	if (l->q->store && hes_store_keep_set(l->q->store, &set, &err))
		run_tell(l->log, "what was learnt of a set is not kept: %s", err.msg);
}

long run_learner_kind(struct run_learner *l, const struct run_task *t)
{
	struct run_kind *v;
	size_t i = 0;

	while (i < l->n_kinds && !kind_has(&l->kinds[i], t))
		i++;
	if (i < l->n_kinds)
		return (long)i;
	v = hes_grow(l->kinds, l->n_kinds, sizeof(*v));
	if (!v)
		return -1;
	l->kinds = v;
	v[i] = (struct run_kind){ .job = t->job, .type = t->gpu->planned->type };
	kind_load(l, &v[i], t->unknown);
	l->n_kinds++;
	learner_recall(l, v[i].type);
	return (long)i;
}

uint32_t run_learner_kinds(struct run_learner *l, struct run_task *const *v, uint32_t n,
			   uint32_t out[HES_MAX_SHARING])
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++) {
		const long kind = run_learner_kind(l, v[i]);

		if (kind >= 0)
			out[found++] = (uint32_t)kind;
	}
	return found;
}

bool run_learner_refuses(struct run_learner *l, struct run_task *const *v, uint32_t n)
{
	uint32_t kinds[HES_MAX_SHARING];

	return run_learner_kinds(l, v, n, kinds) == n &&
	       learn_join_is_refused(&l->refused_whole, 0, kinds, n);
}

/* --- alone --- */

static bool counts_as_kind(const struct run_task *t)
{
	return t->progress.known && !t->job->whole_run;
}

struct learn_clocks *run_learner_clocks(struct run_learner *l, struct run_task *t)
{
	const bool by_kind = counts_as_kind(t) && t->attempt.sm_pct == 100;
	const long kind = by_kind ? run_learner_kind(l, t) : -1;

	if (!by_kind)
		return &t->clock.of_attempt;
	return kind < 0 ? NULL : &l->kinds[kind].clocks;
}

/* Of a kind, with the whole GPU. */
static bool kind_alone(struct run_learner *l, const struct run_task *t, struct learn_alone *out)
{
	const struct run_gpu *g = t->gpu;
	const long kind = counts_as_kind(t) ? run_learner_kind(l, t) : -1;
	struct hes_profile solo;

	if (kind >= 0 &&
	    learn_clocks_alone(&l->kinds[kind].clocks,
			       hes_gpu_type_clock(g->planned->type, g->lock.mhz), BY_LINES, out))
		return true;
	if (!counts_as_kind(t) || !l->q->profiles ||
	    hes_profile_find(l->q->profiles, t->job->workload, t->job->batch_size,
			     g->planned->type->name, &solo, NULL))
		return false;
	*out = (struct learn_alone){ .rate = 1e6 / solo.iteration_us,
				     .rate_se = solo.time_se,
				     .power_w = solo.power_mw * 1e-3 };
	return true;
}

static bool attempt_alone(const struct run_task *t, struct learn_alone *out)
{
	return learn_clocks_alone(&t->clock.of_attempt,
				  hes_gpu_type_clock(t->gpu->planned->type, t->gpu->lock.mhz),
				  BY_LINES, out);
}

bool run_learner_alone_whole(struct run_learner *l, struct run_task *t, struct learn_alone *out)
{
	return kind_alone(l, t, out) || attempt_alone(t, out);
}

bool run_learner_alone(struct run_learner *l, struct run_task *t, struct learn_alone *out)
{
	struct learn_alone whole;

	if (t->attempt.sm_pct == 100)
		return run_learner_alone_whole(l, t, out);
	if (attempt_alone(t, out))
		return true;
	if (!(t->share.time > 0) || !kind_alone(l, t, &whole))
		return false;
	*out = learn_alone_with(&whole, &t->share);
	return true;
}

/* --- windows --- */

bool run_learner_shows_work(const struct run_task *t, int64_t now)
{
	return t->progress.known || (task_ran_us(t, now) > LINES_US &&
				     run_count_of(t, now).source == RUN_COUNT_LAUNCHES);
}

/* No line came for long: what it did, until now. */
static bool member_is_quiet(struct run_learner *l, struct run_task *t, const struct run_rate *p,
			    int64_t now, struct learn_member *out, double *s)
{
	const int64_t start_us = t->gpu->energy.now.start_us;
	const int64_t from_us = t->progress_us > start_us ? t->progress_us : start_us;
	struct learn_alone own;

	if (!t->progress.known || !t->progress.step || !run_learner_alone_whole(l, t, &own) ||
	    (double)(now - from_us) * 1e-6 * own.rate < (double)(QUIET_LINES * t->progress.step))
		return false;
	*s = (double)(now - start_us) * 1e-6;
	out->rate = p->seen ? (double)(p->last - p->first) / *s : 0;
	out->rate_se = BY_LINES;
	return true;
}

static bool member_saw(const struct run_rate *p, int64_t now, struct learn_member *out, double *s)
{
	const struct run_count to = run_count_of(p->task, now);
	const double lines_s = run_rate_us(p) * 1e-6;

	*out = (struct learn_member){ .sm_pct = p->task->attempt.sm_pct };
	if (p->task->progress.known) {
		*s = lines_s;
		out->rate = (double)(p->last - p->first) / lines_s;
		out->rate_se = isnan(p->first_s) ? BY_LOOKS_S / lines_s : BY_LINES;
		return p->seen && p->last > p->first && lines_s > 0;
	}
	*s = (double)(to.ran_us - p->from.ran_us) * 1e-6;
	out->rate = run_count_rate(&p->from, &to);
	out->rate_se = BY_LINES;
	return to.source == RUN_COUNT_LAUNCHES && out->rate > 0;
}

bool run_learner_window(struct run_learner *l, struct run_gpu *g, struct learn_window *out)
{
	const struct run_segment *now = &g->energy.now;
	const int64_t now_us = run_now_us(l->log->clock);
	double seconds;

	run_account_so_far(l->meter, g);
	if (!now->settled || now->n != g->n_running || !(now->seconds > 0))
		return false;
	*out = (struct learn_window){ .clock_mhz =
					      hes_gpu_type_clock(g->planned->type, now->clock_mhz),
				      .seconds = now->seconds,
				      .n = now->n };
	for (uint32_t i = 0; i < now->n; i++) {
		if (!member_is_quiet(l, g->running[i], &now->rates[i], now_us, &out->members[i],
				     &seconds) &&
		    !member_saw(&now->rates[i], now_us, &out->members[i], &seconds))
			return false;
		out->seconds = fmin(out->seconds, seconds);
	}
	out->joules = now->has_energy ? now->energy_j * out->seconds / now->seconds : NAN;
	return true;
}

void run_learner_restart(struct run_learner *l, struct run_gpu *g)
{
	run_account(l->meter, g);
	run_segment_begin(l->meter, g);
}

/* --- the account --- */

void run_learner_pay(struct run_learner *l, enum learn_what what, const struct learn_cost *c,
		     struct run_gpu *g)
{
	learn_pay(&l->account, what, c);
	g->experiment_s = 0;
	for (uint32_t i = 0; i < g->n_running && c->joules > 0; i++) {
		struct run_task *t = g->running[i];
		const double joules = fmin(c->joules / g->n_running, t->energy_j);

		if (t->energy_missing)
			continue;
		t->energy_j -= joules;
		l->joules += joules;
	}
}

bool run_learner_may(struct run_learner *l, struct run_gpu *g, double cost_s)
{
	bool may;

	l->account.worked_s = l->account.going_s = 0;
	for (size_t i = 0; i < l->gpus->n; i++) {
		const struct run_gpu *other = &l->gpus->v[i];

		l->account.worked_s += other->energy.busy_s;
		if (other != g && other->n_running)
			l->account.going_s += other->experiment_s;
	}
	may = learn_may(&l->account, cost_s);
	g->experiment_s = may ? fmax(cost_s, 0) : 0;
	return may;
}

struct hes_run_learning run_learner_sum(const struct run_learner *l)
{
	const struct learn_cost all = learn_paid(&l->account);
	struct hes_run_learning sum = l->earlier;

	for (size_t i = 0; i < LEARN_WHATS; i++)
		sum.experiments += l->account.n[i];
	sum.took_us += (int64_t)(all.seconds * 1e6);
	sum.energy_mj += (uint64_t)(l->joules * 1e3 + 0.5);
	sum.iterations += (uint64_t)(all.iterations + 0.5);
	return sum;
}

void run_learner_note(struct run_learner *l, const char *gpu, const char *job, const char *fmt, ...)
{
	char text[HES_ERR_MAX];
	char **v = hes_grow(l->notes, l->n_notes, sizeof(*v));
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	run_act(l->log, gpu, job, NULL, "%s", text);
	if (!v)
		return;
	l->notes = v;
	if (asprintf(&v[l->n_notes], job ? "job %s %s" : "%s: %s", job ? job : gpu, text) >= 0)
		l->n_notes++;
}

void run_learner_no_progress(struct run_learner *l, struct run_task *t)
{
	l->without_progress += !t->clock.without_progress;
	t->clock.without_progress = true;
}
