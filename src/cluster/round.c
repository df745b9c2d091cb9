/*
 * round.c - plan what is left for the nodes that are up, and write it down; see round.h.
 */
#include "cluster/round.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/known.h"
#include "app/plan_request.h"
#include "app/policy_program.h"
#include "app/run_identity.h"
#include "base/clock.h"
#include "base/plural.h"
#include "cluster/part.h"

#define OTHER_POLICY "joint" /* where the plan's own cannot plan again */

/* A round in the making. The jobs are copies that own nothing. */
struct draft {
	struct gpus_fleet fleet; /* of the nodes that are up */
	struct hes_jobs jobs;
	size_t *of; /* their indices in the request */
	struct hes_plan plan;
};

static void draft_free(struct draft *d)
{
	gpus_fleet_free(&d->fleet);
	free(d->jobs.v);
	free(d->of);
	hes_plan_finish(&d->plan);
}

static bool job_is_free(const struct head *h, size_t job)
{
	return h->state[job] == HES_RUN_JOB_WAITING && h->part_of[job] == PART_NONE;
}

size_t round_pool(const struct head *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->q->jobs->n; i++)
		n += job_is_free(h, i);
	return n;
}

/* What no GPU that is up has the memory for waits for --resume. */
static void leave_large(struct head *h, const struct hes_fleet *up)
{
	uint32_t most_mib = 0;
	size_t n = 0;

	for (size_t g = 0; g < up->n; g++)
		if (up->gpus[g].type->memory_mib > most_mib)
			most_mib = up->gpus[g].type->memory_mib;
	for (size_t i = 0; i < h->q->jobs->n; i++) {
		if (!job_is_free(h, i) || hes_job_memory_mib(&h->q->jobs->v[i]) <= most_mib)
			continue;
		h->part_of[i] = PART_NOWHERE;
		n++;
	}
	if (n)
		run_tell(&h->log,
			 "%zu job%s more memory than any GPU of the nodes that are up has, and "
			 "wait%s for --resume",
			 n, n == 1 ? " needs" : "s need", n == 1 ? "s" : "");
}

/* Jobs that wait; in the first round that is all. */
static int draft_jobs(const struct head *h, struct draft *d, struct hes_err *err)
{
	struct hes_job *job;

	d->jobs.v = calloc(h->q->jobs->n + 1, sizeof(*d->jobs.v));
	d->of = calloc(h->q->jobs->n + 1, sizeof(*d->of));
	if (!d->jobs.v || !d->of)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", h->q->jobs->n);
	for (size_t i = 0; i < h->q->jobs->n; i++) {
		if (!job_is_free(h, i))
			continue;
		d->of[d->jobs.n] = i;
		job = &d->jobs.v[d->jobs.n++];
		*job = h->q->jobs->v[i];
		/* The nodes do not know who called sudo here. */
		if (!job->user[0] && h->q->user)
			snprintf(job->user, sizeof(job->user), "%s", h->q->user);
	}
	return 0;
}

/* --- planned --- */

static int draft_fleet(const struct head *h, struct draft *d, struct hes_err *err)
{
	const size_t n = h->q->launcher->n;
	struct offer *up = calloc(n + 1, sizeof(*up));
	size_t n_up = 0;
	int rc;

	if (!up)
		return hes_fail(err, -ENOMEM, "out of memory for %zu nodes", n);
	for (size_t i = 0; i < n; i++)
		if (h->offers[i].good && !h->nodes[i].lost && !h->nodes[i].drained)
			up[n_up++] = h->offers[i];
	rc = n_up ? offers_fleet(NULL, up, n_up, h->q->catalogue, &d->fleet, err)
		  : hes_fail(err, -ENODEV, "no node is left");
	free(up);
	return rc;
}

/* Time until a node has carried out what it has, by its runner. */
static int64_t node_busy_us(const struct head *h, const char *node)
{
	int64_t us = 0;

	for (size_t i = 0; i < h->n_parts; i++) {
		const struct part *p = &h->parts[i];
		struct hes_run_live live;

		if (p->state == PART_OVER || strcmp(p->node, node) != 0 || !p->known ||
		    hes_run_live_load(&p->run, &live, NULL))
			continue;
		us += live.left_us;
		hes_run_live_free(&live);
	}
	return us;
}

static const struct hes_policy *round_policy(const struct head *h, const char **prefer,
					     struct hes_err *err)
{
	const struct hes_policy *p = policy_program_is(h->q->plan->policy)
					     ? NULL
					     : hes_policy_find(h->q->plan->policy, NULL);

	if (p) {
		*prefer = h->q->plan->prefer[0] ? h->q->plan->prefer : NULL;
		return p;
	}
	run_tell(&h->log, "the plan is that of %s; what is left is planned by %s",
		 h->q->plan->policy, OTHER_POLICY);
	*prefer = NULL;
	return hes_policy_find(OTHER_POLICY, err);
}

static int draft_plan(const struct head *h, struct draft *d, struct hes_err *err)
{
	const struct hes_fleet *f = &d->fleet.fleet;
	int64_t *free_at_us = calloc(f->n + 1, sizeof(*free_at_us));
	struct hes_request r = { .fleet = f,
				 .jobs = &d->jobs,
				 .free_at_us = free_at_us,
				 .seed = h->q->plan->seed,
				 .power_cap_mw = h->q->plan->power_cap_mw };
	const struct hes_policy *policy = round_policy(h, &r.prefer, err);
	const struct app_known_request from = { .app = h->q->launcher->app,
						.catalogue = h->q->catalogue,
						.fleet = f,
						.store = hes_store_path(h->q->store),
						.predictor = h->q->predictor,
						.profiles = h->q->profiles,
						.jobs = &d->jobs };
	struct app_known k = { .learnt = false };
	int rc = policy ? 0 : -ENOENT;

	if (!free_at_us)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", f->n);
	if (!rc)
		rc = app_known_load(&from, &k, err);
	for (size_t g = 0; g < f->n && !rc; g++)
		free_at_us[g] = g && strcmp(f->gpus[g].node, f->gpus[g - 1].node) == 0
					? free_at_us[g - 1]
					: node_busy_us(h, f->gpus[g].node);
	r.predictor = k.predictor;
	r.profiles = &k.profiles;
	if (!rc)
		rc = app_plan_all(policy, &r, &k, &d->plan, NULL, err);
	app_known_free(&k);
	free(free_at_us);
	return rc;
}

/* --- written down --- */

/* A part for each node with work. */
static int add_parts(struct head *h, const struct draft *d, const struct hes_plan *plan,
		     const struct hes_fleet *f, const char *path, struct hes_err *err)
{
	const size_t first = h->n_parts;
	uint64_t key;
	int rc = run_round_key(path, &key, err);

	for (size_t g = 0; g < f->n && !rc; g++) {
		const struct hes_queue *q = &plan->queues[g];
		size_t at = first;

		while (at < h->n_parts && strcmp(h->parts[at].node, f->gpus[g].node) != 0)
			at++;
		if (q->n && at == h->n_parts &&
		    !part_add(h, f->gpus[g].node, h->rounds, run_part_key(key, f->gpus[g].node)))
			rc = hes_fail(err, -ENOMEM, "out of memory for %zu nodes", at);
		for (size_t b = 0; b < q->n && !rc; b++)
			for (uint32_t k = 0; k < q->batches[b].n; k++)
				h->part_of[d->of[q->batches[b].jobs[k].job]] = at;
	}
	return rc;
}

/* The file is on the disk before a process follows from it. */
static int write_round(struct head *h, const struct draft *d, const struct hes_plan *plan,
		       const struct hes_fleet *f, struct hes_err *err)
{
	char path[HES_JOURNAL_PATH_MAX];
	int rc;

	head_path(h, NULL, h->rounds + 1, ".json", path);
	/* The round is new: what has its name is not heshare's. */
	remove(path);
	rc = hes_plan_save(path, plan, f, &d->jobs, err);
	if (rc)
		return rc;
	h->rounds++;
	return add_parts(h, d, plan, f, path, err);
}

/* Whether a GPU of the plan is there: by its UUID, else by its number and type. */
static bool gpu_is_there(const struct head *h, const struct hes_gpu *g)
{
	const long node = launcher_find(h->q->launcher, g->node);
	const char *slash = strrchr(g->name, '/');
	const struct offer *o = node < 0 ? NULL : &h->offers[node];

	for (size_t i = 0; o && slash && i < o->n; i++)
		if (g->uuid[0] ? strcmp(o->gpus[i].uuid, g->uuid) == 0
			       : o->gpus[i].index == strtoul(slash + 1, NULL, 10) &&
					 strcmp(o->gpus[i].type, g->type->name) == 0)
			return true;
	return false;
}

static bool plan_fits(const struct head *h)
{
	for (size_t g = 0; g < h->q->fleet->n; g++)
		if (h->q->plan->queues[g].n && !gpu_is_there(h, &h->q->fleet->gpus[g]))
			return false;
	return true;
}

static int plan_left(struct head *h, struct draft *d, struct hes_err *err)
{
	const bool again = h->rounds > 0;
	int rc = draft_fleet(h, d, err);

	if (!rc && again)
		leave_large(h, &d->fleet.fleet);
	if (!rc && !round_pool(h))
		return 0;
	if (!rc)
		rc = draft_jobs(h, d, err);
	if (!rc)
		rc = draft_plan(h, d, err);
	if (!rc)
		rc = write_round(h, d, &d->plan, &d->fleet.fleet, err);
	if (rc || !again)
		return rc;
	h->planned_again += d->jobs.n;
	run_tell(&h->log, "round %u: %zu job%s planned again on %zu GPU%s", h->rounds, d->jobs.n,
		 d->jobs.n == 1 ? " is" : "s are", d->fleet.fleet.n, hes_s(d->fleet.fleet.n));
	return 0;
}

int round_plan(struct head *h, struct hes_err *err)
{
	const bool first = !h->rounds, fits = first && plan_fits(h);
	struct draft d = { .of = NULL };
	int rc;

	if (first && !fits)
		run_tell(&h->log, "the plan is for other GPUs than these nodes have, so its jobs "
				  "are planned again");
	rc = fits ? draft_jobs(h, &d, err) : plan_left(h, &d, err);
	if (!rc && fits)
		rc = write_round(h, &d, h->q->plan, h->q->fleet, err);
	draft_free(&d);
	return rc;
}
