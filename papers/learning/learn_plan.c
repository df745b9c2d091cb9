/*
 * learn_plan.c - plans while little is known: unknown workloads begin somewhere, and the joint
 * planner plans the known jobs; see learn_replay.h.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "learn_replay.h"

#define EACH 1000 /* evaluations of a search for each waiting job: it plans often */

/* Rough: iterations take longer at larger batch sizes. */
static double guessed_work(const struct hes_job *j)
{
	return (double)j->iterations * sqrt(j->batch_size);
}

static double strength(const struct hes_gpu_type *g)
{
	return (double)g->sm_count * g->clock_default_mhz;
}

/* The job of each unknown workload that has probably the least work, the shortest of all first. */
static uint32_t next_newcomer(const struct learn_replay *l, const uint32_t *waiting,
			      size_t n_waiting)
{
	uint32_t best = LEARNER_NONE;

	for (size_t i = 0; i < n_waiting; i++) {
		const uint32_t job = waiting[i];

		if (learner_knows(l, job) || l->workload[l->job[job].workload].begins)
			continue;
		if (best == LEARNER_NONE ||
		    guessed_work(&l->jobs.v[job]) < guessed_work(&l->jobs.v[best]))
			best = job;
	}
	return best;
}

static bool has_room(const struct learn_replay *l, uint32_t gpu, uint32_t job)
{
	const struct learner_gpu *g = &l->gpu[gpu];
	const struct hes_gpu_type *type = learner_type(l, gpu);

	return !g->measures && g->members < HES_MAX_SHARING && !(type->alone && g->members) &&
	       g->memory_mib + hes_memory_on(type, hes_job_memory_mib(&l->jobs.v[job])) <=
		       type->memory_mib;
}

/* The GPU with the fewest jobs, then the strongest. */
static uint32_t gpu_for(const struct learn_replay *l, uint32_t job)
{
	uint32_t best = LEARNER_NONE;

	for (uint32_t g = 0; g < l->in.fleet->n; g++) {
		if (!has_room(l, g, job))
			continue;
		if (best == LEARNER_NONE || l->gpu[g].members < l->gpu[best].members ||
		    (l->gpu[g].members == l->gpu[best].members &&
		     strength(learner_type(l, g)) > strength(learner_type(l, best))))
			best = g;
	}
	return best;
}

/* What runs, and how much of the known jobs is left by what is known of them now. @return how many
 * known jobs run */
static size_t take_running(struct learn_replay *l, int64_t now_us, const struct hes_running *v,
			   size_t n)
{
	size_t known = 0;

	for (uint32_t g = 0; g < l->in.fleet->n; g++) {
		l->gpu[g].members = l->gpu[g].shares_pct = 0;
		l->gpu[g].memory_mib = 0;
		l->gpu[g].measures = false;
		l->gpu[g].start = LEARNER_NONE;
		l->free_at_us[g] = now_us;
	}
	for (uint32_t i = 0; i < l->jobs.n; i++)
		l->workload[i].begins = false;
	for (size_t i = 0; i < n; i++) {
		const uint32_t job = v[i].job;
		struct learner_gpu *g = &l->gpu[v[i].gpu];
		struct hes_running *r = &l->running[known];

		g->members++;
		g->shares_pct += v[i].sm_pct;
		g->memory_mib += hes_memory_on(learner_type(l, v[i].gpu),
					       hes_job_memory_mib(&l->jobs.v[job]));
		g->measures |= !learner_clocks(l, job, v[i].gpu)->n;
		l->workload[l->job[job].workload].begins = true;
		if (!learner_knows(l, job))
			continue;
		*r = v[i];
		r->left = fmin(1, fmax(1e-9, l->job[job].left / (double)l->jobs.v[job].iterations));
		r->end_us = now_us + 1 + (int64_t)(learner_left_s(l, job, r->gpu) * 1e6);
		if (r->end_us > l->free_at_us[r->gpu])
			l->free_at_us[r->gpu] = r->end_us;
		known++;
	}
	return known;
}

static void choose_newcomers(struct learn_replay *l, const uint32_t *waiting, size_t n_waiting)
{
	uint32_t job;

	while ((job = next_newcomer(l, waiting, n_waiting)) != LEARNER_NONE) {
		const uint32_t g = gpu_for(l, job);

		l->workload[l->job[job].workload].begins = true;
		if (g == LEARNER_NONE)
			continue;
		l->gpu[g].start = job;
		l->gpu[g].measures = true;
	}
}

static int put_newcomer(struct learn_replay *l, uint32_t gpu, int64_t now_us, struct hes_plan *out)
{
	const struct learner_gpu *g = &l->gpu[gpu];
	struct hes_batch b = { .n = 1, .unlocked = true, .unknown = true };

	l->job[g->start].unknown = true;
	b.clock_mhz = learner_type(l, gpu)->clock_default_mhz;
	b.start_us = now_us;
	b.end_us = now_us + LEARN_GUESS_S * INT64_C(1000000);
	b.jobs[0] = (struct hes_placement){
		.job = g->start, .sm_pct = 100, .start_us = b.start_us, .end_us = b.end_us
	};
	out->queues[gpu].together = HES_MAX_SHARING;
	out->queues[gpu].shares_pct = g->shares_pct + 100;
	return hes_plan_append(out, gpu, &b);
}

/* Unknown jobs first. */
static int join_plans(struct learn_replay *l, int64_t now_us, const struct hes_plan *known,
		      struct hes_plan *out, struct hes_err *err)
{
	struct hes_plan p = { 0 };
	int rc = hes_plan_init(&p, l->in.fleet->n);

	for (uint32_t g = 0; g < l->in.fleet->n && !rc; g++) {
		p.queues[g].together = known->queues[g].together;
		p.queues[g].shares_pct = known->queues[g].shares_pct;
		if (l->gpu[g].start != LEARNER_NONE)
			rc = put_newcomer(l, g, now_us, &p);
		for (size_t b = 0; b < known->queues[g].n && !rc; b++)
			rc = hes_plan_append(&p, g, &known->queues[g].batches[b]);
	}
	snprintf(p.policy, sizeof(p.policy), LEARN_REPLAY_POLICY);
	snprintf(p.prefer, sizeof(p.prefer), "%s", l->in.prefer);
	p.seed = l->in.seed;
	if (rc) {
		hes_plan_finish(&p);
		return hes_fail(err, rc, "out of memory for a plan");
	}
	*out = p;
	return 0;
}

int learn_replay_plan(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n_waiting,
		      const int64_t *free_at_us, const struct hes_running *running,
		      size_t n_running, struct hes_plan *out, struct hes_err *err)
{
	struct learn_replay *l = ctx;
	struct hes_request r = { .fleet = l->in.fleet,
				 .jobs = &l->jobs,
				 .waiting = l->waiting,
				 .now_us = now_us,
				 .free_at_us = l->free_at_us,
				 .running = l->running,
				 .n_running = take_running(l, now_us, running, n_running),
				 .predictor = l->in.predictor,
				 .profiles = &l->rows,
				 .prefer = l->in.prefer,
				 .seed = l->in.seed };
	struct hes_plan known = { 0 };
	int rc;

	(void)free_at_us;
	choose_newcomers(l, waiting, n_waiting);
	for (size_t i = 0; i < n_waiting; i++)
		if (learner_knows(l, waiting[i]))
			l->waiting[r.n_waiting++] = waiting[i];
	r.budget = EACH * r.n_waiting;
	rc = r.n_waiting ? hes_policy_plan(l->in.policy, &r, &known, NULL, err)
			 : hes_plan_init(&known, r.fleet->n);
	if (rc)
		return r.n_waiting ? rc : hes_fail(err, rc, "out of memory for a plan");
	rc = join_plans(l, now_us, &known, out, err);
	hes_plan_finish(&known);
	return rc;
}
