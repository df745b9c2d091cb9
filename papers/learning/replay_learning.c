/*
 * replay_learning.c - `learn`: joint that knows no workload at the start, and learns while modelled
 * jobs work; see learn_replay.h.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/campaign_set.h"
#include "learn_replay.h"
#include "usage.h"

struct learn_opts {
	const char *fleet, *prefer, *per_job;
	bool burst;
};

#define AT(member) .offset = offsetof(struct learn_opts, member)

/* clang-format off */
static const struct opt learn_opts[] = {
	{ .name = "fleet", .letter = 'f', .kind = OPT_FILE, AT(fleet), .arg = "FILE",
	  .help = "fleet file; without it, the eight GPUs of the HeShare paper" },
	{ .name = "prefer", .kind = OPT_TEXT, AT(prefer), .arg = "NAME",
	  .help = "preference of joint" },
	{ .name = "burst", .kind = OPT_FLAG, AT(burst), .help = "let all jobs arrive at time 0" },
	{ .name = "per-job", .kind = OPT_FILE, AT(per_job), .arg = "FILE", .written = true,
	  .help = "also write a CSV row for each job, as heshare simulate does" },
	{ 0 }
};
/* clang-format on */

static const struct command program = {
	.name = "learn",
	.args = "JOBS",
	.min_args = 1,
	.max_args = 1,
	.text = "Replays the jobs on modelled GPUs by policy joint, which knows no workload at the "
		"start, and prints one JSON document.",
	.opts = learn_opts,
	.opts_size = sizeof(struct learn_opts),
};

/* One run of the campaign, whose policy is joint. */
static int replay(struct campaign *c, struct learn_account *account, struct hes_err *err)
{
	const struct learn_replay_inputs in = { .app = c->app,
						.catalogue = c->catalogue,
						.fleet = c->fleet,
						.jobs = c->jobs,
						.predictor = c->predictor,
						.policy = c->who[0].policy,
						.prefer = c->who[0].prefer,
						.seed = c->seeds[0] };
	struct learn_replay *l = learn_replay_new(&in, err);
	struct hes_sim s = c->terms;
	int rc;

	if (!l)
		return -ENOMEM;
	c->runs = calloc(1, sizeof(*c->runs));
	if (!c->runs) {
		learn_replay_free(l);
		return hes_fail(err, -ENOMEM, "out of memory for a replay");
	}
	c->runs->who = &c->who[0];
	c->runs->seed = in.seed;
	s.model = c->model;
	s.fleet = c->fleet;
	s.jobs = c->jobs;
	s.profiles = c->profiles;
	s.seed = in.seed;
	s.replan = learn_replay_plan;
	s.saw = learn_replay_saw;
	s.order = learn_replay_order;
	s.ctx = l;
	rc = hes_sim_run(&s, &c->runs->replay, err);
	if (!rc)
		*account = *learn_replay_account(l);
	learn_replay_free(l);
	return rc;
}

static void print(const struct campaign *c, const struct learn_account *a)
{
	const struct hes_totals *t = &c->runs->replay.totals;
	const struct learn_cost paid = learn_paid(a);
	uint32_t n = 0;

	for (size_t i = 0; i < LEARN_WHATS; i++)
		n += a->n[i];
	printf("{\"prefer\": \"%s\", \"avg_jct_s\": %.10g, \"makespan_s\": %.10g, "
	       "\"busy_energy_j\": %.10g, \"fleet_energy_j\": %.10g,\n"
	       " \"learning\": {\"experiments\": %u, \"took_s\": %.10g, \"energy_j\": %.10g, "
	       "\"iterations\": %.0f}}\n",
	       c->who[0].prefer, t->avg_jct_us * 1e-6, (double)t->makespan_us * 1e-6,
	       (double)t->busy_energy_mj * 1e-3, (double)t->fleet_energy_mj * 1e-3, n, paid.seconds,
	       paid.joules, paid.iterations);
}

/* No store, and no GPU types or workloads of the user's own. */
static const char *variable(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "HESHARE_STORE") ? NULL : "/nonexistent";
}

static int run(const struct learn_opts *o, const char *jobs, struct hes_err *err)
{
	const struct app app = { .variable = variable };
	const struct campaign_request q = { .app = &app,
					    .fleet = o->fleet,
					    .policies = "joint",
					    .prefer = o->prefer,
					    .seeds = "1",
					    .burst = o->burst,
					    .keep_jobs = true };
	struct campaign_set s = { .name = "" };
	struct learn_account account;
	int rc = campaign_set_load(&s, &q, jobs, err);

	if (!rc)
		rc = campaign_set_choose(&s, &q, err);
	if (!rc)
		rc = campaign_set_learn(&s, &q, err);
	if (!rc)
		rc = replay(&s.campaign, &account, err);
	if (!rc && o->per_job)
		rc = campaign_write_jobs(&s.campaign, o->per_job, err);
	if (!rc)
		print(&s.campaign, &account);
	campaign_set_free(&s);
	return rc;
}

int main(int argc, char **argv)
{
	struct learn_opts o = { 0 };
	struct hes_err err;
	int status;

	if (usage_parse(&program, argc, argv, &o, &status) < 0)
		return status;
	if (!run(&o, argv[1], &err))
		return 0;
	fprintf(stderr, "learn: %s\n", err.msg);
	return 1;
}
