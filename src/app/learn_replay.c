/*
 * learn_replay.c - learn while modelled jobs work; see learn_replay.h.
 *
 * Workloads have names here that the model does not know. A job whose workload is not known on its
 * GPU runs alone for some seconds, while its co-runners are held: that is its row (app/known.h),
 * from which other batch sizes and types are derived. A set is watched against its members' own
 * rates.
 */
#include "app/learn_replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/known.h"

#define ALONE_US    5000000  /* a window of a job alone */
#define SET_US      10000000 /* a window of a set */
#define MAY_COST    .1       /* of its time: an experiment before it is done */
#define SHORT_S     100.     /* a job that finds out how long it takes */
#define LONG_S      2000.
#define SET_WINDOWS 6 /* of a set that stays unclear */

/* --- begin and end --- */

static void learner_number_jobs(struct learn_replay *l)
{
	for (uint32_t i = 0; i < l->jobs.n; i++) {
		const struct hes_job *j = &l->jobs.v[i];
		struct learner_job *a = &l->job[i];

		*a = (struct learner_job){ .kind = i,
					   .workload = i,
					   .left = (double)j->iterations };
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(j->workload, l->jobs.v[k].workload))
				continue;
			a->workload = l->job[k].workload;
			if (j->batch_size == l->jobs.v[k].batch_size)
				a->kind = l->job[k].kind;
		}
	}
}

static int learner_make(struct learn_replay *l, struct hes_err *err)
{
	const struct hes_fleet *f = l->in.fleet;
	const size_t n = l->in.jobs->n;

	l->jobs.v = calloc(n + 1, sizeof(*l->jobs.v));
	l->job = calloc(n + 1, sizeof(*l->job));
	l->gpu = calloc(f->n + 1, sizeof(*l->gpu));
	l->type = calloc(f->n + 1, sizeof(*l->type));
	if (!l->jobs.v || !l->job || !l->gpu || !l->type)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", n);
	for (size_t i = 0; i < n; i++) {
		l->jobs.v[i] = l->in.jobs->v[i];
		/* The longest names are those of users; the model's are shorter. */
		snprintf(l->jobs.v[i].workload, sizeof(l->jobs.v[i].workload), "job %.40s",
			 l->in.jobs->v[i].workload);
	}
	l->jobs.n = n;
	learner_number_jobs(l);
	for (size_t g = 0; g < f->n; g++)
		for (size_t k = 0; k <= g; k++)
			if (f->gpus[k].type == f->gpus[g].type) {
				l->type[g] = (uint32_t)k;
				break;
			}
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
	l->wants = learn_preference(in->prefer);
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
	free(l->gpu);
	free(l->type);
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

/* --- what is known --- */

static bool has_workload(const struct hes_profile *p, const char *workload)
{
	return !strcmp(p->workload, workload);
}

/* The longest job of a row that has not started, in seconds. */
static double longest_s(const struct learn_replay *l, const struct hes_profile *p)
{
	double most = 0;

	for (size_t i = 0; i < l->jobs.n; i++)
		if (!l->job[i].running && l->jobs.v[i].batch_size == p->batch_size &&
		    has_workload(p, l->jobs.v[i].workload))
			most = fmax(most, (double)l->jobs.v[i].iterations * p->iteration_us * 1e-6);
	return most;
}

/*
 * A long job goes only where its time is sure: a derived time is taken to be longer by its error,
 * by half of it on a type where the workload was measured. A short job may find out.
 */
static void doubt_row(const struct learn_replay *l, struct hes_profile *p, double error)
{
	const double s = longest_s(l, p),
		     part = s > SHORT_S ? fmin(1, log(s / SHORT_S) / log(LONG_S / SHORT_S)) : 0;
	bool here = false;

	for (size_t i = 0; i < l->measured.n; i++)
		here |= has_workload(&l->measured.v[i], p->workload) &&
			!strcmp(l->measured.v[i].gpu_type, p->gpu_type);
	p->iteration_us *= exp(part * error * (here ? .5 : 1));
}

/* Derive the rows of a workload, in place of those that are there. */
static int derive_rows(struct learn_replay *l, const char *workload, struct hes_err *err)
{
	struct hes_job *v = calloc(l->jobs.n + 1, sizeof(*v));
	struct hes_profile *own = calloc(l->measured.n + 1, sizeof(*own));
	struct hes_jobs jobs = { .v = v };
	struct hes_profiles seen = { .v = own }, joined;
	const struct app_known_request q = { .app = l->in.app,
					     .catalogue = l->in.catalogue,
					     .fleet = l->in.fleet,
					     .model = l->model,
					     .jobs = &jobs,
					     .seen = &seen,
					     .profiles_only = true,
					     .again = true };
	struct app_known k = { 0 };
	size_t n = 0;
	int rc = v && own ? 0 : hes_fail(err, -ENOMEM, "out of memory for profiles");

	for (size_t i = 0; i < l->jobs.n && !rc; i++)
		if (!strcmp(l->jobs.v[i].workload, workload))
			v[jobs.n++] = l->jobs.v[i];
	for (size_t i = 0; i < l->measured.n && !rc; i++)
		if (has_workload(&l->measured.v[i], workload))
			own[seen.n++] = l->measured.v[i];
	if (!rc)
		rc = app_known_load(&q, &k, err);
	for (size_t i = 0; i < k.profiles.n && !rc; i++)
		if (k.rows[i].source == HES_KNOWN_DERIVED)
			doubt_row(l, &k.profiles.v[i], k.rows[i].time_error);
	for (size_t i = 0; i < l->rows.n && !rc; i++)
		if (!has_workload(&l->rows.v[i], workload))
			l->rows.v[n++] = l->rows.v[i];
	if (!rc) {
		l->rows.n = n;
		rc = hes_profiles_join(&k.profiles, &l->rows, &joined);
		if (rc)
			hes_fail(err, rc, "out of memory for profiles");
	}
	if (!rc) {
		hes_profiles_free(&l->rows);
		l->rows = joined;
		hes_profiles_sort(&l->rows);
	}
	app_known_free(&k);
	free(v);
	free(own);
	return rc;
}

/* A job was alone on a whole GPU, unlocked. @return 1: its row is new */
static int keep_row(struct learn_replay *l, uint32_t job, const struct hes_sim_window *w,
		    const struct hes_rate *rate, double power_w, struct hes_err *err)
{
	const struct hes_job *j = &l->jobs.v[job];
	const struct hes_gpu_type *g = learner_type(l, w->gpu);
	struct hes_profile p = {
		.batch_size = j->batch_size,
		.memory_mib = hes_job_memory_mib(j),
		.clock_mhz = g->clock_default_mhz,
		.iteration_us = 1e6 / rate->iterations_per_s,
		.busy = rate->busy,
		.sm_util = rate->sm_util,
		.dram_util = rate->dram_util,
		.l2_util = rate->l2_util,
		.power_mw = (uint32_t)lround(power_w * 1e3),
	};
	struct hes_profiles one = { &p, 1 }, joined;
	int rc;

	strcpy(p.workload, j->workload);
	strcpy(p.gpu_type, g->name);
	if (hes_profiles_join(&one, &l->measured, &joined))
		return hes_fail(err, -ENOMEM, "out of memory for profiles");
	hes_profiles_free(&l->measured);
	l->measured = joined;
	hes_profiles_sort(&l->measured);
	rc = derive_rows(l, j->workload, err);
	return rc ? rc : 1;
}

/* --- windows --- */

/* The only member that worked; -1: there were others. */
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

/* A job's own figures at the clock nearest to the set's. */
static struct learn_alone alone_of(const struct learn_clocks *c, uint32_t clock_mhz)
{
	const struct learn_clock_try *best = &c->tries[0];

	if (!c->n)
		return (struct learn_alone){ .rate = NAN, .power_w = NAN };
	for (uint32_t i = 1; i < c->n; i++)
		if (fabs((double)c->tries[i].clock_mhz - clock_mhz) <
		    fabs((double)best->clock_mhz - clock_mhz))
			best = &c->tries[i];
	return (struct learn_alone){ .rate = best->iterations / best->seconds,
				     .rate_se = APP_KNOWN_NOISE,
				     .power_w = best->joules / best->seconds };
}

/* A window at a clock that is not the best so far, or one without the set that ran before. */
static void pay_alone(struct learn_replay *l, uint32_t gpu, const struct learn_clocks *c,
		      const struct learn_window *w, bool co_runners)
{
	const double work = l->gpu[gpu].work;
	const uint32_t best = learn_clocks_best(c, l->wants);
	struct learn_alone otherwise = alone_of(c, best ? best : w->clock_mhz);
	struct learn_cost cost;

	if (co_runners && !c->n) {
		cost = (struct learn_cost){ .iterations = w->members[0].rate * w->seconds,
					    .seconds = work > 1 ? w->seconds * (work - 1) : 0 };
		learn_pay(&l->account, LEARN_OF_NEWCOMER, &cost);
	} else if (!co_runners && best && w->clock_mhz != best) {
		cost = learn_cost_of(w, &otherwise);
		learn_pay(&l->account, LEARN_OF_CLOCK, &cost);
	}
}

static int saw_alone(struct learn_replay *l, const struct hes_sim_window *w,
		     const struct learn_window *m, uint32_t i, struct hes_err *err)
{
	const uint32_t job = w->members[i].job;
	struct learn_window alone = *m;
	struct hes_rate rate = w->members[i].rate;
	struct hes_profile known;

	alone.n = 1;
	alone.members[0] = m->members[i];
	if (m->seconds * 1e6 < ALONE_US)
		return 0;
	l->job[job].gpu = w->gpu;
	pay_alone(l, w->gpu, &l->job[job].clocks, &alone, w->n > 1);
	learn_clocks_saw(&l->job[job].clocks, &alone);
	if (w->members[i].sm_pct < 100 ||
	    w->clock_mhz != learner_type(l, w->gpu)->clock_default_mhz ||
	    learner_row(l, &l->measured, job, w->gpu, &known))
		return 0;
	rate.iterations_per_s = alone.members[0].rate;
	return keep_row(l, job, w, &rate, alone.joules / alone.seconds, err);
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

/* All windows of a set as one. */
static struct learn_window whole_set(struct learner_gpu *g, const struct learn_window *m)
{
	struct learn_window all = *m;

	g->windows++;
	g->seconds += m->seconds;
	g->joules += m->joules;
	all.seconds = g->seconds;
	all.joules = g->joules;
	for (uint32_t i = 0; i < m->n; i++) {
		g->done[i] += m->members[i].rate * m->seconds;
		all.members[i].rate = g->done[i] / g->seconds;
		all.members[i].rate_se /= sqrt(g->windows);
	}
	return all;
}

/* A set that is watched. Within its error for so long it is what it seems to be. */
static void saw_set(struct learn_replay *l, const struct hes_sim_window *w,
		    const struct learn_window *m)
{
	struct learner_gpu *g = &l->gpu[w->gpu];
	struct learn_alone alone[HES_MAX_SHARING];
	struct learn_window all;
	struct learn_gain gain;
	struct learn_cost cost;
	bool strange = false;

	if (!same_set(g, w) || g->verdict != LEARN_UNCLEAR)
		return;
	for (uint32_t i = 0; i < w->n; i++) {
		if (m->members[i].held)
			return;
		strange |= l->job[w->members[i].job].stranger;
		alone[i] = alone_of(&l->job[w->members[i].job].clocks, w->clock_mhz);
	}
	all = whole_set(g, m);
	if (!learn_set_gain(&all, alone, &gain))
		return;
	g->verdict = learn_set_judge(&gain, l->wants);
	if (g->verdict == LEARN_UNCLEAR && g->windows == SET_WINDOWS)
		g->verdict = learn_set_score(&gain, l->wants) > 1 ? LEARN_SEPARATE : LEARN_KEEP;
	g->work = g->verdict == LEARN_SEPARATE ? 0 : 1 / gain.time;
	cost = learn_cost_of(m, alone);
	if (strange || g->verdict == LEARN_SEPARATE)
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

/* The first that works and has no rate of its own yet; -1: none. */
static int newcomer_of(const struct learn_replay *l, const struct hes_sim_window *now)
{
	for (uint32_t i = 0; i < now->n; i++)
		if (!now->members[i].starting && !l->job[now->members[i].job].clocks.n)
			return (int)i;
	return -1;
}

static uint32_t all_but(uint32_t n, uint32_t i)
{
	return ((1u << n) - 1) & ~(1u << i);
}

/* The clock of a job that has the GPU to itself. */
static void order_clock(struct learn_replay *l, const struct hes_sim_window *now, uint32_t i,
			struct hes_sim_order *out)
{
	struct learn_clocks *c = &l->job[now->members[i].job].clocks;
	const struct hes_gpu_type *g = learner_type(l, now->gpu);
	bool over;

	if (!c->expected_mhz)
		c->expected_mhz = now->members[i].clock_mhz < g->clock_default_mhz
					  ? now->members[i].clock_mhz
					  : g->clock_default_mhz * 3 / 4;
	out->clock_mhz = learn_clocks_next(c, g, l->wants, &over);
	if (!over && !learn_may(&l->account, MAY_COST * ALONE_US * 1e-6))
		out->clock_mhz = learn_clocks_best(c, l->wants);
	if (!over)
		out->look_us = now->until_us + ALONE_US;
}

/* Members that may run: those with the least work first, unless a set was refused.
 * @param most  so many at a time */
static void order_subset(const struct learn_replay *l, const struct hes_sim_window *now,
			 uint32_t most, struct hes_sim_order *out)
{
	uint32_t kinds[HES_MAX_SHARING], n = 0, left = (1u << now->n) - 1;

	out->held = 0;
	while (left) {
		uint32_t next = 0;
		double least = INFINITY;

		for (uint32_t i = 0; i < now->n; i++)
			if (left >> i & 1 &&
			    learner_left_s(l, now->members[i].job, now->gpu) < least) {
				least = learner_left_s(l, now->members[i].job, now->gpu);
				next = i;
			}
		left &= ~(1u << next);
		kinds[n] = l->job[now->members[next].job].kind;
		if (n == most || learn_is_refused(&l->refused, l->type[now->gpu], kinds, n + 1))
			out->held |= 1u << next;
		else
			n++;
	}
}

static int order_set(struct learn_replay *l, const struct hes_sim_window *now,
		     struct hes_sim_order *out, struct hes_err *err)
{
	struct learner_gpu *g = &l->gpu[now->gpu];
	uint32_t kinds[HES_MAX_SHARING];
	bool strange = false;

	if (!same_set(g, now)) {
		*g = (struct learner_gpu){ .n = now->n, .work = g->work };
		for (uint32_t i = 0; i < now->n; i++)
			g->jobs[i] = now->members[i].job;
	}
	for (uint32_t i = 0; i < now->n; i++) {
		kinds[i] = l->job[now->members[i].job].kind;
		strange |= l->job[now->members[i].job].stranger;
	}
	if (g->verdict == LEARN_SEPARATE &&
	    learn_refuse(&l->refused, l->type[now->gpu], kinds, now->n))
		return hes_fail(err, -ENOMEM, "out of memory");
	if (g->verdict == LEARN_UNCLEAR)
		out->look_us = now->until_us + SET_US;
	/* Nothing speaks for a set with a stranger: it is an experiment. */
	strange &= g->verdict == LEARN_UNCLEAR && !learn_may(&l->account, MAY_COST * SET_US * 1e-6);
	order_subset(l, now, strange ? 1 : HES_MAX_SHARING, out);
	return 0;
}

int learn_replay_order(void *ctx, const struct hes_sim_window *now, struct hes_sim_order *out,
		       struct hes_err *err)
{
	struct learn_replay *l = ctx;
	const int newcomer = newcomer_of(l, now), only = only_worker(now);

	*out = (struct hes_sim_order){ 0 };
	for (uint32_t i = 0; i < now->n; i++) {
		l->job[now->members[i].job].running = true;
		l->job[now->members[i].job].gpu = now->gpu;
	}
	if (newcomer >= 0) {
		out->held = all_but(now->n, (uint32_t)newcomer);
		out->clock_mhz = learner_type(l, now->gpu)->clock_default_mhz;
		out->look_us = now->until_us + ALONE_US;
		return 0;
	}
	if (now->n == 1 && only == 0) {
		order_clock(l, now, 0, out);
		return 0;
	}
	return order_set(l, now, out, err);
}
