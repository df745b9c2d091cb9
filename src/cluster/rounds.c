/*
 * rounds.c - plan what is left for the nodes that are up, and write it down before a runner starts;
 * see head_state.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "cli/cli.h"
#include "app/known_files.h"
#include "app/policy_program.h"
#include "cluster/head_state.h"
#include "app/run_identity.h"
#include "heshare/policy.h"

#define MAX_SHARE_SUM 100
#define OTHER_POLICY  "joint" /* where the plan's own cannot plan again */

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

static bool is_free(const struct nodes *s, size_t job)
{
	return s->state[job] == HES_RUN_JOB_WAITING && s->part_of[job] == NO_PART;
}

size_t rounds_pool(const struct nodes *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->q->jobs->n; i++)
		n += is_free(s, i);
	return n;
}

static struct hes_job with_command(const struct nodes *s, size_t i)
{
	struct hes_job job = s->q->jobs->v[i];

	job.command = s->q->commands[i];
	return job;
}

static int draft_jobs(const struct nodes *s, struct draft *d, struct hes_err *err)
{
	d->jobs.v = calloc(s->q->jobs->n + 1, sizeof(*d->jobs.v));
	d->of = calloc(s->q->jobs->n + 1, sizeof(*d->of));
	if (!d->jobs.v || !d->of)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", s->q->jobs->n);
	for (size_t i = 0; i < s->q->jobs->n; i++)
		if (is_free(s, i)) {
			d->of[d->jobs.n] = i;
			d->jobs.v[d->jobs.n++] = with_command(s, i);
		}
	return 0;
}

/* --- planned --- */

static int draft_fleet(const struct nodes *s, struct draft *d, struct hes_err *err)
{
	const size_t n = s->q->launcher->n;
	struct offer *up = calloc(n + 1, sizeof(*up));
	size_t n_up = 0;
	int rc;

	if (!up)
		return hes_fail(err, -ENOMEM, "out of memory for %zu nodes", n);
	for (size_t i = 0; i < n; i++)
		if (s->offers[i].good && !s->nodes[i].lost && !s->nodes[i].drained)
			up[n_up++] = s->offers[i];
	rc = n_up ? offers_fleet(up, n_up, s->q->catalogue, NULL, &d->fleet, err)
		  : hes_fail(err, -ENODEV, "no node is left");
	free(up);
	return rc;
}

/* Time until a node has carried out what it has, by its runner. */
static int64_t busy_us(const struct nodes *s, const char *node)
{
	int64_t us = 0;

	for (size_t i = 0; i < s->n_parts; i++) {
		const struct part *p = &s->parts[i];
		struct hes_run_live live;

		if (p->state == PART_OVER || strcmp(p->node, node) != 0 || !p->known ||
		    hes_run_live_load(&p->run, &live, NULL))
			continue;
		us += live.left_us;
		hes_run_live_free(&live);
	}
	return us;
}

static const struct hes_policy *find_policy(const struct nodes *s, const char **prefer,
					    struct hes_err *err)
{
	const struct hes_policy *p = policy_program_is(s->q->plan->policy)
					     ? NULL
					     : hes_policy_find(s->q->plan->policy, NULL);

	if (p) {
		*prefer = s->q->plan->prefer[0] ? s->q->plan->prefer : NULL;
		return p;
	}
	nodes_tell(s, "the plan is that of %s; what is left is planned by %s", s->q->plan->policy,
		   OTHER_POLICY);
	*prefer = NULL;
	return hes_policy_find(OTHER_POLICY, err);
}

static int draft_plan(const struct nodes *s, struct draft *d, struct hes_err *err)
{
	struct hes_request r = { .fleet = &d->fleet.fleet,
				 .jobs = &d->jobs,
				 .n_waiting = d->jobs.n,
				 .seed = s->q->plan->seed,
				 .power_cap_mw = s->q->plan->power_cap_mw };
	const struct hes_policy *policy = find_policy(s, &r.prefer, err);
	uint32_t *waiting = calloc(d->jobs.n + 1, sizeof(*waiting));
	int64_t *free_at_us = calloc(d->fleet.fleet.n + 1, sizeof(*free_at_us));
	const struct app_known_from from = { .app = cli_app(),
					     .store = hes_store_path(s->q->store),
					     .predictor = s->q->predictor,
					     .profiles = s->q->profiles,
					     .jobs = &d->jobs };
	struct hes_known k = { .learnt = false };
	int rc = waiting && free_at_us
			 ? 0
			 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", d->jobs.n);

	if (!rc)
		rc = app_known_load(&from, s->q->catalogue, &d->fleet.fleet, &k, err);
	for (size_t i = 0; i < d->jobs.n && !rc; i++)
		waiting[i] = (uint32_t)i;
	for (size_t g = 0; g < d->fleet.fleet.n && !rc; g++)
		free_at_us[g] = g && strcmp(d->fleet.fleet.gpus[g].node,
					    d->fleet.fleet.gpus[g - 1].node) == 0
					? free_at_us[g - 1]
					: busy_us(s, d->fleet.fleet.gpus[g].node);
	r.waiting = waiting;
	r.free_at_us = free_at_us;
	r.predictor = k.predictor;
	r.profiles = &k.profiles;
	if (!rc)
		rc = policy ? hes_policy_plan(policy, &r, &d->plan, NULL, err) : -ENOENT;
	if (!rc)
		rc = hes_plan_validate(&d->plan, &d->fleet.fleet, &d->jobs, MAX_SHARE_SUM, err);
	hes_known_free(&k);
	free(waiting);
	free(free_at_us);
	return rc;
}

/* --- written down --- */

static const char *uuid_of(const struct nodes *s, const struct hes_gpu *g)
{
	const long node = launcher_find(s->q->launcher, g->node);
	const char *slash = strrchr(g->name, '/');
	const struct offer *o = node < 0 ? NULL : &s->offers[node];

	for (size_t i = 0; o && slash && i < o->n; i++)
		if (o->gpus[i].index == strtoul(slash + 1, NULL, 10))
			return o->gpus[i].uuid;
	return "";
}

static void fill_gpu(const struct nodes *s, const struct hes_gpu *g, const struct hes_queue *q,
		     struct hes_run_gpu *out)
{
	*out = (struct hes_run_gpu){ .measured = false };
	memcpy(out->gpu, g->name, sizeof(out->gpu));
	memcpy(out->gpu_type, g->type->name, sizeof(out->gpu_type));
	snprintf(out->uuid, sizeof(out->uuid), "%s", g->uuid[0] ? g->uuid : uuid_of(s, g));
	for (size_t b = 0; b < q->n; b++) {
		out->planned_mj += q->batches[b].energy_mj;
		if (!q->together)
			out->planned_busy_us += q->batches[b].end_us - q->batches[b].start_us;
		else if (q->batches[b].end_us > out->planned_busy_us)
			out->planned_busy_us = q->batches[b].end_us;
	}
}

static size_t fill_jobs(const struct hes_plan *plan, const struct hes_fleet *f,
			const struct hes_jobs *jobs, int64_t offset_us, struct hes_run_job *out)
{
	size_t n = 0;

	for (size_t g = 0; g < plan->n_gpus; g++)
		for (size_t b = 0; b < plan->queues[g].n; b++)
			for (uint32_t k = 0; k < plan->queues[g].batches[b].n; k++) {
				const struct hes_placement *p = &plan->queues[g].batches[b].jobs[k];
				struct hes_run_job *r = &out[n++];

				*r = (struct hes_run_job){ .sm_pct = p->sm_pct,
							   .planned_start_us =
								   p->start_us + offset_us,
							   .planned_end_us =
								   p->end_us + offset_us };
				memcpy(r->job, jobs->v[p->job].id, sizeof(r->job));
				memcpy(r->workload, jobs->v[p->job].workload, sizeof(r->workload));
				memcpy(r->gpu, f->gpus[g].name, sizeof(r->gpu));
			}
	return n;
}

/* Rows of a round: in a new run all of it, else what changes. */
static int note_round(const struct nodes *s, const struct hes_plan *plan, const struct hes_fleet *f,
		      const struct hes_jobs *jobs, struct hes_err *err)
{
	struct hes_run_gpu *gpus = calloc(f->n + 1, sizeof(*gpus));
	struct hes_run_job *rows = calloc(jobs->n + 1, sizeof(*rows));
	const int64_t now_us = hes_wall_us() - s->run->started_us;
	struct hes_journal *j = s->q->journal;
	int rc = gpus && rows ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", jobs->n);
	size_t n;

	for (size_t g = 0; g < f->n && !rc; g++)
		fill_gpu(s, &f->gpus[g], &plan->queues[g], &gpus[g]);
	n = rc ? 0 : fill_jobs(plan, f, jobs, s->rounds ? now_us : 0, rows);
	if (!rc)
		rc = hes_journal_begin(j, err);
	if (!rc) {
		rc = hes_journal_replan(j, s->run->id, gpus, f->n, rows, n, err);
		rc = hes_journal_end(j, rc, err);
	}
	free(gpus);
	free(rows);
	return rc;
}

/* A part for each node with work. @param of  indices of the jobs in the request; NULL: the same */
static int add_parts(struct nodes *s, const struct hes_plan *plan, const struct hes_fleet *f,
		     const size_t *of, const char *path, struct hes_err *err)
{
	const size_t first = s->n_parts;
	uint64_t key;
	int rc = run_round_key(path, &key, err);

	for (size_t g = 0; g < f->n && !rc; g++) {
		const struct hes_queue *q = &plan->queues[g];
		size_t at = first;

		while (at < s->n_parts && strcmp(s->parts[at].node, f->gpus[g].node) != 0)
			at++;
		if (q->n && at == s->n_parts) {
			struct part *p = parts_add(s, f->gpus[g].node, s->rounds);

			if (p)
				p->key = run_part_key(key, p->node);
			else
				rc = hes_fail(err, -ENOMEM, "out of memory for %zu nodes",
					      s->n_parts);
		}
		for (size_t b = 0; b < q->n && !rc; b++)
			for (uint32_t k = 0; k < q->batches[b].n; k++)
				s->part_of[of ? of[q->batches[b].jobs[k].job]
					      : q->batches[b].jobs[k].job] = at;
	}
	return rc;
}

/* The file is on the disk before a row or a process follows from it. */
static int write_round(struct nodes *s, const struct hes_plan *plan, const struct hes_fleet *f,
		       const struct hes_jobs *jobs, const size_t *of, struct hes_err *err)
{
	char path[HES_JOURNAL_PATH_MAX];
	int rc;

	nodes_path(s, NULL, s->rounds + 1, ".json", path);
	/* The round is new: what has its name is not heshare's. */
	unlink(path);
	rc = hes_plan_save(path, plan, f, jobs, err);
	if (!rc)
		rc = note_round(s, plan, f, jobs, err);
	if (rc)
		return rc;
	s->rounds++;
	return add_parts(s, plan, f, of, path, err);
}

/* --- the first round --- */

/* Whether every GPU with work is there, by its UUID, else by its number and type. */
static bool plan_fits(const struct nodes *s)
{
	for (size_t g = 0; g < s->q->fleet->n; g++) {
		const struct hes_gpu *gpu = &s->q->fleet->gpus[g];
		const long node = launcher_find(s->q->launcher, gpu->node);
		const char *slash = strrchr(gpu->name, '/');
		const struct offer *o = node < 0 ? NULL : &s->offers[node];
		bool there = !s->q->plan->queues[g].n;

		for (size_t i = 0; o && slash && i < o->n && !there; i++)
			there = gpu->uuid[0]
					? strcmp(o->gpus[i].uuid, gpu->uuid) == 0
					: o->gpus[i].index == strtoul(slash + 1, NULL, 10) &&
						  strcmp(o->gpus[i].type, gpu->type->name) == 0;
		if (!there)
			return false;
	}
	return true;
}

static int first_as_planned(struct nodes *s, struct hes_err *err)
{
	struct hes_jobs jobs = { .v = calloc(s->q->jobs->n + 1, sizeof(*jobs.v)),
				 .n = s->q->jobs->n };
	int rc = jobs.v ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", jobs.n);

	for (size_t i = 0; i < jobs.n && !rc; i++)
		jobs.v[i] = with_command(s, i);
	if (!rc)
		rc = write_round(s, s->q->plan, s->q->fleet, &jobs, NULL, err);
	free(jobs.v);
	return rc;
}

int rounds_begin(struct nodes *s, struct hes_err *err)
{
	if (plan_fits(s))
		return first_as_planned(s, err);
	nodes_tell(
		s,
		"the plan is for other GPUs than these nodes have, so its jobs are planned again");
	return rounds_again(s, err);
}

int rounds_again(struct nodes *s, struct hes_err *err)
{
	struct draft d = { .of = NULL };
	const bool again = s->rounds > 0;
	int rc = draft_fleet(s, &d, err);

	if (!rc)
		rc = draft_jobs(s, &d, err);
	if (!rc && d.jobs.n)
		rc = draft_plan(s, &d, err);
	if (!rc && d.jobs.n) {
		rc = write_round(s, &d.plan, &d.fleet.fleet, &d.jobs, d.of, err);
		s->planned_again += again ? d.jobs.n : 0;
	}
	if (!rc && d.jobs.n && again)
		nodes_tell(s, "round %u: %zu job%s planned again on %zu GPU%s", s->rounds, d.jobs.n,
			   d.jobs.n == 1 ? " is" : "s are", d.fleet.fleet.n,
			   hes_s(d.fleet.fleet.n));
	draft_free(&d);
	return rc;
}
