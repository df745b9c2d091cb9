/*
 * learn_plan.c - plans while little is known: unknown workloads begin somewhere, and the joint
 * planner plans the known jobs; see learn_replay.h.
 */
#include "app/learn_plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EACH   300 /* evaluations of a search for each waiting job: it plans often */
#define NO_GPU UINT32_MAX

/* Rough: iterations take longer at larger batch sizes. */
static double guessed_work(const struct hes_job *j)
{
	return (double)j->iterations * sqrt(j->batch_size);
}

static double strength(const struct hes_gpu_type *g)
{
	return (double)g->sm_count * g->clock_default_mhz;
}

/* What waits and is not known, and where it may be measured. */
struct newcomers {
	const uint32_t *waiting;
	size_t n_waiting;
	uint32_t *on; /* [GPUs]: the job that is to start there; NO_GPU: none */
	uint32_t *shares, *members;
	uint64_t *mib;
	bool *taken; /* [GPUs]: one is measured there */
};

static bool is_measured_now(const struct learn_replay *l, uint32_t workload)
{
	for (uint32_t i = 0; i < l->jobs.n; i++)
		if (l->job[i].running && l->job[i].left > 0 && l->job[i].workload == workload)
			return true;
	return false;
}

/* The job of each unknown workload that has probably the least work, the shortest of all first. */
static uint32_t next_newcomer(const struct learn_replay *l, const struct newcomers *c,
			      const bool *chosen)
{
	uint32_t best = NO_GPU;

	for (size_t i = 0; i < c->n_waiting; i++) {
		const uint32_t job = c->waiting[i];

		if (chosen[l->job[job].workload] || learner_knows(l, job) ||
		    is_measured_now(l, l->job[job].workload))
			continue;
		if (best == NO_GPU ||
		    guessed_work(&l->jobs.v[job]) < guessed_work(&l->jobs.v[best]))
			best = job;
	}
	return best;
}

/* The GPU with the fewest jobs, then the strongest. */
static uint32_t gpu_for(const struct learn_replay *l, const struct newcomers *c, uint32_t job)
{
	uint32_t best = NO_GPU;

	for (uint32_t g = 0; g < l->in.fleet->n; g++) {
		const struct hes_gpu_type *type = learner_type(l, g);

		if (c->taken[g] || c->members[g] >= HES_MAX_SHARING ||
		    (type->alone && c->members[g]) ||
		    c->mib[g] + hes_memory_on(type, hes_job_memory_mib(&l->jobs.v[job])) >
			    type->memory_mib)
			continue;
		if (best == NO_GPU || c->members[g] < c->members[best] ||
		    (c->members[g] == c->members[best] &&
		     strength(type) > strength(learner_type(l, best))))
			best = g;
	}
	return best;
}

static void count_running(const struct learn_replay *l, const struct hes_running *running,
			  size_t n_running, struct newcomers *c)
{
	for (size_t i = 0; i < n_running; i++) {
		const uint32_t g = running[i].gpu, job = running[i].job;

		c->members[g]++;
		c->shares[g] += running[i].sm_pct;
		c->mib[g] += hes_memory_on(learner_type(l, g), hes_job_memory_mib(&l->jobs.v[job]));
		c->taken[g] |= !l->job[job].clocks.n;
	}
}

static int choose_newcomers(const struct learn_replay *l, struct newcomers *c, struct hes_err *err)
{
	bool *chosen = calloc(l->jobs.n + 1, sizeof(*chosen));
	uint32_t job;

	if (!chosen)
		return hes_fail(err, -ENOMEM, "out of memory");
	while ((job = next_newcomer(l, c, chosen)) != NO_GPU) {
		const uint32_t g = gpu_for(l, c, job);

		chosen[l->job[job].workload] = true;
		if (g == NO_GPU)
			continue;
		c->on[g] = job;
		c->taken[g] = true;
	}
	free(chosen);
	return 0;
}

/* Plan the known jobs. */
static int plan_known(struct learn_replay *l, const struct hes_request *r, struct hes_plan *out,
		      struct hes_err *err)
{
	return r->n_waiting ? hes_policy_plan(l->in.policy, r, out, NULL, err)
			    : hes_plan_init(out, r->fleet->n);
}

static int put_newcomer(struct learn_replay *l, const struct newcomers *c, uint32_t g,
			int64_t now_us, struct hes_plan *out)
{
	const uint32_t job = c->on[g];
	struct hes_batch b = { .n = 1, .unlocked = true, .unknown = true };

	l->job[job].stranger = true;
	b.clock_mhz = learner_type(l, g)->clock_default_mhz;
	b.start_us = now_us;
	b.end_us = now_us + GUESS_S * INT64_C(1000000);
	b.jobs[0] = (struct hes_placement){
		.job = job, .sm_pct = 100, .start_us = b.start_us, .end_us = b.end_us
	};
	out->queues[g].together = HES_MAX_SHARING;
	out->queues[g].shares_pct = c->shares[g] + 100;
	return hes_plan_append(out, g, &b);
}

static int join_plans(struct learn_replay *l, const struct newcomers *c, int64_t now_us,
		      const struct hes_plan *known, struct hes_plan *out, struct hes_err *err)
{
	struct hes_plan p = { 0 };
	int rc = hes_plan_init(&p, l->in.fleet->n);

	for (uint32_t g = 0; g < l->in.fleet->n && !rc; g++) {
		p.queues[g].together = known->queues[g].together;
		p.queues[g].shares_pct = known->queues[g].shares_pct;
		if (c->on[g] != NO_GPU)
			rc = put_newcomer(l, c, g, now_us, &p);
		for (size_t b = 0; b < known->queues[g].n && !rc; b++)
			rc = hes_plan_append(&p, g, &known->queues[g].batches[b]);
	}
	snprintf(p.policy, sizeof(p.policy), "learn");
	snprintf(p.prefer, sizeof(p.prefer), "%s", l->in.prefer);
	p.seed = l->in.seed;
	if (rc) {
		hes_plan_finish(&p);
		return hes_fail(err, rc, "out of memory for a plan");
	}
	*out = p;
	return 0;
}

/* The rest of a running job by what is known of it now. */
static void update_running(const struct learn_replay *l, int64_t now_us, struct hes_running *v,
			   size_t n, int64_t *free_at_us)
{
	for (size_t i = 0; i < n; i++) {
		const double s = learner_left_s(l, v[i].job, v[i].gpu);

		v[i].left = fmin(1, fmax(1e-9, l->job[v[i].job].left /
						       (double)l->jobs.v[v[i].job].iterations));
		v[i].end_us = now_us + 1 + (int64_t)(s * 1e6);
		if (v[i].end_us > free_at_us[v[i].gpu])
			free_at_us[v[i].gpu] = v[i].end_us;
	}
}

int learn_plan(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n_waiting,
	       const int64_t *free_at_us, const struct hes_running *running, size_t n_running,
	       struct hes_plan *out, struct hes_err *err)
{
	struct learn_replay *l = ctx;
	const size_t k = l->in.fleet->n;
	uint32_t *known = calloc(n_waiting + 1, sizeof(*known));
	struct hes_running *now = calloc(n_running + 1, sizeof(*now));
	int64_t *free_us = calloc(k + 1, sizeof(*free_us));
	struct newcomers c = { .waiting = waiting,
			       .n_waiting = n_waiting,
			       .on = calloc(k + 1, sizeof(*c.on)),
			       .shares = calloc(k + 1, sizeof(*c.shares)),
			       .members = calloc(k + 1, sizeof(*c.members)),
			       .mib = calloc(k + 1, sizeof(*c.mib)),
			       .taken = calloc(k + 1, sizeof(*c.taken)) };
	struct hes_request r = { .fleet = l->in.fleet,
				 .jobs = &l->jobs,
				 .waiting = known,
				 .now_us = now_us,
				 .free_at_us = free_us,
				 .running = now,
				 .predictor = l->in.predictor,
				 .profiles = &l->rows,
				 .prefer = l->in.prefer,
				 .seed = l->in.seed };
	struct hes_plan p = { 0 };
	int rc = known && now && free_us && c.on && c.shares && c.members && c.mib && c.taken
			 ? 0
			 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", n_waiting);

	(void)free_at_us;
	if (!rc) {
		for (size_t g = 0; g < k; g++) {
			c.on[g] = NO_GPU;
			free_us[g] = now_us;
		}
		count_running(l, running, n_running, &c);
		rc = choose_newcomers(l, &c, err);
	}
	if (!rc) {
		for (size_t i = 0; i < n_running; i++)
			if (learner_knows(l, running[i].job))
				now[r.n_running++] = running[i];
		update_running(l, now_us, now, r.n_running, free_us);
		for (size_t i = 0; i < n_waiting; i++)
			if (learner_knows(l, waiting[i]))
				known[r.n_waiting++] = waiting[i];
		r.budget = EACH * r.n_waiting;
		rc = plan_known(l, &r, &p, err);
	}
	if (!rc)
		rc = join_plans(l, &c, now_us, &p, out, err);
	hes_plan_finish(&p);
	free(known);
	free(now);
	free(free_us);
	free(c.on);
	free(c.shares);
	free(c.members);
	free(c.mib);
	free(c.taken);
	return rc;
}
