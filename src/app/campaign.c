/*
 * campaign.c - plan and replay each policy with each seed; see campaign.h.
 *
 * A run changes only its own entry, so results do not depend on the number of threads. Planning
 * time is measured around the policy.
 */
#include "app/campaign.h"

#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/texts.h"
#include "policy/line.h"
#include "policy/replanner.h"

#define MAX_SEEDS 10000
#define WORD_MAX  4096 /* of a list: a policy may be the path of a program */
#define MAX_PLANNINGS \
	10 /* times the effort of the largest request, in one run: about half an hour */

void campaign_contender_label(const struct contender *w, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s", w->name, *w->prefer ? ":" : "", w->prefer);
}

static int campaign_add(struct campaign *c, const struct contender *w, struct hes_err *err)
{
	struct contender *v = reallocarray(c->who, c->n_who + 1, sizeof(*v));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory");
	c->who = v;
	c->who[c->n_who++] = *w;
	return 0;
}

int campaign_add_plan(struct campaign *c, const char *path, const struct hes_plan *plan,
		      struct hes_err *err)
{
	const char *slash = strrchr(path, '/');

	return campaign_add(
		c,
		&(struct contender){ .plan = plan, .name = slash ? slash + 1 : path, .prefer = "" },
		err);
}

/* @param prefer  a preference or variant; NULL: the policy's first preference, if it has any */
static int add_policy(struct campaign *c, const struct hes_policy *p, const char *prefer,
		      struct hes_err *err)
{
	const char *own = prefer       ? hes_policy_preference(p, prefer, err)
			  : p->prefers ? p->prefers[0]
				       : "";

	return own ? campaign_add(
			     c, &(struct contender){ .policy = p, .name = p->name, .prefer = own },
			     err)
		   : -EINVAL;
}

/* A policy with variants as its paper describes it, and at its strongest. */
static int add_weak_and_strong(struct campaign *c, const struct hes_policy *p, struct hes_err *err)
{
	size_t last = 0;
	int rc = add_policy(c, p, NULL, err);

	if (rc || !p->variants)
		return rc;
	while (p->variants[last + 1])
		last++;
	return add_policy(c, p, p->variants[last], err);
}

static int add_all(struct campaign *c, const char *prefer, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; hes_policies[i].name && !rc; i++) {
		const struct hes_policy *p = &hes_policies[i];

		if (!p->prefers)
			rc = add_weak_and_strong(c, p, err);
		else if (prefer)
			rc = add_policy(c, p, prefer, err);
		else
			for (size_t k = 0; p->prefers[k] && !rc; k++)
				rc = add_policy(c, p, p->prefers[k], err);
	}
	return rc;
}

static int add_program(struct campaign *c, const char *name, struct hes_err *err)
{
	struct policy_program **v =
		reallocarray(c->programs, c->n_programs + 1, sizeof(struct policy_program *));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory");
	c->programs = v;
	v[c->n_programs] = policy_program_new(name, c->exec_limit_s, err);
	if (!v[c->n_programs])
		return -EINVAL;
	c->n_programs++;
	return add_policy(c, &v[c->n_programs - 1]->policy, NULL, err);
}

int campaign_policies(struct campaign *c, const char *list, const char *prefer, struct hes_err *err)
{
	char word[WORD_MAX];
	int rc = 0;

	while (!rc && hes_text_next(&list, word, sizeof(word))) {
		const char *own;
		const struct hes_policy *p;

		if (strcmp(word, CAMPAIGN_ALL) == 0) {
			rc = add_all(c, prefer, err);
			continue;
		}
		if (policy_program_is(word)) {
			rc = add_program(c, word, err);
			continue;
		}
		p = hes_policy_parse(word, &own, err);
		rc = p ? add_policy(c, p, own ? own : p->prefers ? prefer : NULL, err) : -ENOENT;
	}
	return rc;
}

static int add_seeds(struct campaign *c, const char *what, uint64_t first, uint64_t last,
		     struct hes_err *err)
{
	uint64_t *v;

	if (last < first || last - first >= MAX_SEEDS - c->n_seeds)
		return hes_fail(err, -EINVAL,
				"%s: %" PRIu64 "..%" PRIu64
				" is not a rising range of at most %d seeds",
				what, first, last, MAX_SEEDS);
	v = reallocarray(c->seeds, c->n_seeds + (size_t)(last - first) + 1, sizeof(*v));
	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory");
	c->seeds = v;
	for (uint64_t s = first; s <= last; s++)
		c->seeds[c->n_seeds++] = s;
	return 0;
}

int campaign_seeds(struct campaign *c, const char *what, const char *text, struct hes_err *err)
{
	char word[WORD_MAX];
	int rc = 0;

	while (!rc && hes_text_next(&text, word, sizeof(word))) {
		char *dots = strstr(word, "..");
		uint64_t first, last;

		if (dots)
			*dots = '\0';
		rc = hes_parse_u64(what, word, 0, INT64_MAX, &first, err);
		last = first;
		if (!rc && dots)
			rc = hes_parse_u64(what, dots + 2, 0, INT64_MAX, &last, err);
		if (!rc)
			rc = add_seeds(c, what, first, last, err);
	}
	return rc;
}

bool campaign_any(const struct campaign *c, hes_policy_is *is)
{
	for (size_t i = 0; i < c->n_who; i++)
		if (c->who[i].policy && is(c->who[i].policy))
			return true;
	return false;
}

bool campaign_is_static(const struct hes_policy *p)
{
	return p->static_clock;
}

bool campaign_limits_power(const struct hes_policy *p)
{
	return p->limits_power;
}

/* The GPUs as a contender has them. */
static const struct hes_fleet *fleet_of(const struct campaign *c, const struct contender *w)
{
	return w->policy && w->policy->limits_power ? &c->limited : c->fleet;
}

/* A policy that searches plans open queues. */
bool campaign_can_replan(const struct contender *w)
{
	return w->policy && w->policy->searches;
}

/* What a planner is called back with. */
struct planner {
	const struct campaign *c;
	struct campaign_run *run;
	/* Both NULL: plan everything at every arrival. */
	struct hes_replanner *replanner;
	struct hes_line *line; /* plan as far as is needed */
};

/* Count the planning of so many jobs, and refuse what would take hours. */
static int spend_effort(struct planner *p, size_t n, double now_s, struct hes_err *err)
{
	p->run->effort += hes_policy_effort(p->run->who->policy, n, p->c->fleet->n);
	if (p->run->effort <= MAX_PLANNINGS)
		return 0;
	return hes_fail(err, -E2BIG,
			"planning again at every arrival takes too long: %zu jobs wait at %.0f s; "
			"fewer jobs, more GPUs, --burst%s or a policy that does not search, such "
			"as pwr, is needed",
			n, now_s, campaign_can_replan(p->run->who) ? ", no --replan" : "");
}

static int replan(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n_waiting,
		  const int64_t *free_at_us, const struct hes_running *running, size_t n_running,
		  struct hes_plan *out, struct hes_err *err)
{
	struct planner *p = ctx;
	struct campaign_run *run = p->run;
	struct hes_request r = {
		.fleet = fleet_of(p->c, run->who),
		.jobs = p->c->jobs,
		.waiting = waiting,
		.n_waiting = n_waiting,
		.now_us = now_us,
		.free_at_us = free_at_us,
		.running = running,
		.n_running = n_running,
		.predictor = p->c->predictor,
		.profiles = p->c->profiles,
		.prefer = run->who->prefer,
		.seed = run->seed,
	};
	struct hes_front *front = run->keep && n_waiting == p->c->jobs->n ? &run->front : NULL;
	const double start_s = hes_monotonic_s();
	int rc = p->replanner || p->line ? 0
					 : spend_effort(p, n_waiting, (double)now_us * 1e-6, err);

	if (!rc && p->replanner)
		rc = hes_replanner_plan(p->replanner, &r, out, front, err);
	else if (!rc && p->line)
		rc = hes_line_plan(p->line, &r, out, err);
	else if (!rc)
		rc = hes_policy_plan(run->who->policy, &r, out, front, err);
	run->plan_wall_s += hes_monotonic_s() - start_s;
	return rc;
}

static int plan_more(void *ctx, struct hes_plan *out, struct hes_err *err)
{
	struct planner *p = ctx;
	const double start_s = hes_monotonic_s();
	const int rc = hes_line_more(p->line, out, err);

	p->run->plan_wall_s += hes_monotonic_s() - start_s;
	return rc;
}

static uint32_t count_missed(const struct hes_jobs *jobs, const struct hes_replay *r)
{
	uint32_t n = 0;

	for (size_t i = 0; i < jobs->n; i++)
		n += jobs->v[i].has_deadline && r->jobs[i].end_us > jobs->v[i].deadline_us;
	return n;
}

static void keep_totals(struct hes_replay *r)
{
	struct hes_replay totals = *r;

	hes_replay_free(r);
	totals.jobs = NULL;
	totals.segments = NULL;
	totals.gpus = NULL;
	totals.n_jobs = totals.n_segments = totals.n_gpus = 0;
	*r = totals;
}

static void do_run(const struct campaign *c, struct campaign_run *run)
{
	struct planner p = { .c = c, .run = run };
	const bool inserts = !c->replan_all && campaign_can_replan(run->who),
		   lines = run->who->policy && hes_line_can(run->who->policy, run->who->prefer);
	struct hes_sim s = c->terms;

	if (inserts)
		p.replanner = hes_replanner_new(run->who->policy);
	else if (lines)
		p.line = hes_line_new(run->who->policy, run->who->prefer);
	if ((inserts && !p.replanner) || (lines && !p.line)) {
		run->rc = hes_fail(&run->err, -ENOMEM, "out of memory");
		return;
	}

	s.plan = run->who->plan;
	s.replan = run->who->policy ? replan : NULL;
	s.more = p.line ? plan_more : NULL;
	s.ctx = &p;
	s.model = c->model;
	s.fleet = fleet_of(c, run->who);
	s.jobs = c->jobs;
	s.profiles = c->profiles;
	s.seed = run->seed;
	s.carried_out = run->keep ? &run->carried_out : NULL;
	run->rc = hes_sim_run(&s, &run->replay, &run->err);
	hes_replanner_free(p.replanner);
	hes_line_free(p.line);
	if (run->rc)
		return;
	run->deadlines_missed = count_missed(c->jobs, &run->replay);
	if (!run->keep && !c->keep_jobs)
		keep_totals(&run->replay);
}

static int first_failure(struct campaign *c, struct hes_err *err)
{
	for (size_t i = 0; i < c->n_who * c->n_seeds; i++) {
		char label[2 * HES_NAME_MAX];

		if (!c->runs[i].rc)
			continue;
		campaign_contender_label(c->runs[i].who, label, sizeof(label));
		*err = c->runs[i].err;
		hes_fail_in(err, "%s, seed %" PRIu64, label, c->runs[i].seed);
		return c->runs[i].rc;
	}
	return 0;
}

/* Jobs that a policy may have to plan at once. */
static size_t most_at_once(const struct campaign *c, const struct contender *w)
{
	int64_t first_us = INT64_MAX;
	size_t n = 0;

	if (c->replan_all || !campaign_can_replan(w))
		return c->jobs->n;
	for (size_t i = 0; i < c->jobs->n; i++)
		first_us =
			c->jobs->v[i].arrival_us < first_us ? c->jobs->v[i].arrival_us : first_us;
	for (size_t i = 0; i < c->jobs->n; i++)
		n += c->jobs->v[i].arrival_us == first_us;
	return n;
}

/* What one policy cannot do is found before any other has worked for it in vain. */
static int check_work(const struct campaign *c, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < c->n_who && !rc; i++)
		if (c->who[i].policy)
			rc = hes_policy_check_work(c->who[i].policy, most_at_once(c, &c->who[i]),
						   c->fleet->n, err);
	return rc;
}

int campaign_run_all(struct campaign *c, int threads, struct hes_err *err)
{
	const size_t n = c->n_who * c->n_seeds,
		     most = threads > 0 ? (size_t)threads : (size_t)omp_get_max_threads();
	size_t done = 0;
	int rc = check_work(c, err);

	if (!rc && !c->limited.gpus && hes_fleet_lower(c->fleet, &c->limited))
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", c->fleet->n);
	if (rc)
		return rc;
	c->runs = calloc(n ? n : 1, sizeof(*c->runs));
	if (!c->runs)
		return hes_fail(err, -ENOMEM, "out of memory for %zu runs", n);
	for (size_t i = 0; i < n; i++) {
		c->runs[i].who = &c->who[i / c->n_seeds];
		c->runs[i].seed = c->seeds[i % c->n_seeds];
		c->runs[i].keep = c->keep && i % c->n_seeds == 0;
	}
	/* One run alone has all processors for its searches. */
#pragma omp parallel for schedule(dynamic) num_threads((int)(n < most ? (n ? n : 1) : most))
	for (size_t i = 0; i < n; i++) {
		char label[2 * HES_NAME_MAX];

		campaign_contender_label(c->runs[i].who, label, sizeof(label));
#pragma omp critical(campaign_progress)
		if (c->progress)
			c->progress(label, done, n);
		do_run(c, &c->runs[i]);
#pragma omp critical(campaign_progress)
		if (c->progress)
			c->progress(label, ++done, n);
	}
	return first_failure(c, err);
}

const struct campaign_run *campaign_runs_of(const struct campaign *c, size_t who)
{
	return &c->runs[who * c->n_seeds];
}

void campaign_free_runs(struct campaign *c)
{
	for (size_t i = 0; c->runs && i < c->n_who * c->n_seeds; i++) {
		hes_replay_free(&c->runs[i].replay);
		hes_plan_finish(&c->runs[i].carried_out);
		free(c->runs[i].front.v);
	}
	free(c->runs);
	c->runs = NULL;
}

void campaign_free(struct campaign *c)
{
	campaign_free_runs(c);
	for (size_t i = 0; i < c->n_programs; i++)
		policy_program_free(c->programs[i]);
	free(c->programs);
	hes_fleet_free(&c->limited);
	free(c->draws);
	free(c->who);
	free(c->seeds);
	c->draws = NULL;
	c->programs = NULL;
	c->n_programs = 0;
	c->who = NULL;
	c->seeds = NULL;
}
