/*
 * partition_run.c - prepare the run of a split, and read what it measured; see partition_run.h.
 */
#include "app/partition_run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "app/known_store.h"
#include "app/run_identity.h"
#include "app/run_begin.h"
#include "app/run_gpus.h"

#define FOLDER     "partition.run" /* of the logs, without --logs */
#define GRACE_US   30000000        /* from requesting a job to end until it is killed */
#define NOMINAL_US 1000000         /* planned time of jobs without --for */

void partition_run_close(struct partition_run *r)
{
	hes_journal_close(r->journal);
	hes_store_close(r->store);
	hes_devices_close(r->devices);
	hes_plan_finish(&r->plan);
	gpus_fleet_free(&r->gpu);
}

static const struct hes_share_profile *profile_of(const struct partition_run *r, size_t i)
{
	return r->a->jobs[r->a->best][i];
}

static int job_make(struct partition_run *r, size_t i, const char *command, struct hes_err *err)
{
	const struct hes_share_profile *p = profile_of(r, i);
	struct hes_job *j = &r->jobs[i];
	size_t before = 0;

	for (size_t k = 0; k < i; k++)
		before += strcmp(r->jobs[k].workload, p->workload) == 0 &&
			  r->jobs[k].batch_size == p->batch_size;
	snprintf(j->workload, sizeof(j->workload), "%s", p->workload);
	snprintf(j->id, sizeof(j->id), before ? "%.40s-%u-%zu" : "%.40s-%u", p->workload,
		 p->batch_size, before + 1);
	j->batch_size = p->batch_size;
	j->measured_mib = p->memory_mib;
	j->iterations =
		(uint64_t)ceil(r->s->estimate.rate[i] * (double)r->for_us * 1e-6); /* predicted */
	j->weight = 1;
	j->command = (char *)(uintptr_t)(command ? command : p->command);
	return *j->command ? 0
			   : hes_fail(err, -ENOENT,
				      "no command is known of %s/%u; give one for each job: "
				      "heshare partition ... --run -- 'COMMAND' 'COMMAND'",
				      p->workload, p->batch_size);
}

static struct hes_batch split_batch(const struct partition_run *r)
{
	const struct partition_answer *a = r->a;
	const int64_t end_us = r->for_us ? r->for_us : NOMINAL_US;
	struct hes_batch b = { .clock_mhz = a->clocks_mhz[a->best],
			       .n = (uint32_t)a->n,
			       .end_us = end_us,
			       .unlocked = a->clocks_mhz[a->best] == a->g->clock_default_mhz };

	b.energy_mj = (uint64_t)(r->s->estimate.power_w * (double)end_us * 1e-3);
	for (uint32_t i = 0; i < b.n; i++) {
		struct hes_share_point alone;
		double activity_mw;

		hes_share_profile_at(profile_of(r, i), r->s->sm_pct[i], &alone);
		activity_mw = alone.power_w * 1e3 - a->g->idle_power_mw;
		b.jobs[i] = (struct hes_placement){
			.job = i,
			.sm_pct = r->s->sm_pct[i],
			.end_us = end_us,
			.activity_mw = activity_mw > 1 ? (uint32_t)activity_mw : 1,
		};
	}
	return b;
}

static int plan_make(struct partition_run *r, char *const *commands, struct hes_err *err)
{
	struct hes_batch b;
	int rc = hes_plan_init(&r->plan, 1);

	for (size_t i = 0; i < r->a->n && !rc; i++)
		rc = job_make(r, i, commands ? commands[i] : NULL, err);
	if (rc)
		return rc;
	b = split_batch(r);
	snprintf(r->plan.policy, sizeof(r->plan.policy), "partition");
	return hes_plan_append(&r->plan, 0, &b) ? hes_fail(err, -ENOMEM, "out of memory") : 0;
}

static int gpu_open(const struct partition_run_request *q, struct partition_run *r,
		    struct hes_err *err)
{
	const struct run_gpus use = {
		q->p->from.app, &r->gpu.fleet, &r->plan, NULL, NULL, &r->index
	};
	struct run_gpus open = use;
	int rc = gpus_fleet_load(q->p->from.app, q->p->gpu, r->catalogue, false, &r->gpu, err);

	if (!rc)
		rc = app_devices_open(q->p->from.app, r->catalogue, &r->devices, err);
	open.devices = r->devices;
	if (!rc)
		rc = run_gpus_fit(&open, false, false, err);
	return rc ? rc : run_gpus_check(&open, r->journal, 0, err);
}

/* Commands come from the store: only one that others cannot change may start programs. */
static int store_open(const struct partition_run_request *q, struct partition_run *r, bool stored,
		      struct hes_err *err)
{
	int rc = app_store_open(q->p->from.app, q->p->from.store, HES_STORE_WRITE,
				RUN_STORE_WAIT_MS, &r->store, err);

	if (!rc && stored && !q->p->from.points) {
		rc = app_store_check_trust(r->store, r->user, err);
		if (rc)
			hes_fail_in(err, "commands of a store that other users can change are not "
					 "run; give them after --");
	}
	return rc ? rc : hes_journal_open(r->store, &r->journal, err);
}

static int folder_open(const struct partition_run_request *q, struct partition_run *r,
		       struct hes_err *err)
{
	const bool others = !geteuid() && r->user;
	int rc =
		run_folder_choose(q->logs ? q->logs : FOLDER, "", others, r->run.folder, NULL, err);

	if (!rc)
		rc = run_folder_choose_mps(r->run.folder, others, r->mps_folder, err);
	memcpy(r->run.plan, r->run.folder, sizeof(r->run.plan));
	gethostname(r->run.host, sizeof(r->run.host) - 1);
	r->run.host[strcspn(r->run.host, ".")] = '\0';
	return rc;
}

static void run_request(struct partition_run *r)
{
	r->list = (struct hes_jobs){ .v = r->jobs, .n = r->a->n };
	r->request = (struct hes_run_request){
		.plan = &r->plan,
		.fleet = &r->gpu.fleet,
		.jobs = &r->list,
		.devices = r->devices,
		.gpus = &r->index,
		.folder = r->run.folder,
		.mps_folder = r->mps_folder,
		.user = r->user,
		.open_ended = true,
		.for_us = r->for_us,
		.grace_us = GRACE_US,
	};
}

int partition_run_open(const struct partition_run_request *q, struct partition_run *r,
		       struct hes_err *err)
{
	int rc;

	*r = (struct partition_run){ .a = q->a,
				     .catalogue = q->catalogue,
				     .for_us = (int64_t)(q->for_s * 1e6),
				     .s = partition_chosen(q->a),
				     .user = run_user_behind_sudo(q->p->from.app) };
	if (!r->s)
		return hes_fail(err, -EINVAL,
				"nothing was run: the jobs are to take turns, one at a time "
				"without MPS; --split SHARES shares the GPU all the same");
	rc = plan_make(r, q->commands, err);
	if (!rc)
		rc = store_open(q, r, !q->commands, err);
	if (!rc)
		rc = gpu_open(q, r, err);
	if (!rc)
		rc = folder_open(q, r, err);
	run_request(r);
	return rc;
}

struct partition_measured partition_run_measured(const struct partition_run *r,
						 const struct hes_run_report *report)
{
	const struct hes_run_together *t = &report->together;
	const bool all = t->n == r->a->n;
	double alone[HES_PARTITION_MAX_JOBS];
	struct partition_measured m = { .power_w = all ? t->energy_j / t->seconds : NAN };

	for (size_t i = 0; i < r->a->n; i++) {
		m.rate[i] = NAN;
		alone[i] = profile_of(r, i)->alone_rate;
		for (size_t k = 0; all && k < t->n; k++)
			if (t->job[k] == i)
				m.rate[i] = t->per_s[k];
	}
	m.work = hes_partition_work(r->a->objective, m.rate, alone, r->a->n);
	return m;
}
