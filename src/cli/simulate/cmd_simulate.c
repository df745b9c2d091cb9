/*
 * cmd_simulate.c - `heshare simulate`: plan jobs with several policies, replay the plans on the GPU
 * model, and compare the results.
 *
 * Loads jobs, fleet, profiles and predictor (known_inputs.h), runs the policies (campaign.h) and
 * prints.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/texts.h"
#include "base/visible.h"
#include "cli/simulate/campaign.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/catalogue.h"
#include "cli/inputs/inputs.h"
#include "cli/inputs/known_inputs.h"
#include "cli/inputs/offers.h"

struct simulate_opts {
	const char *fleet, *policy, *prefer, *seeds, *plan, *store, *predictor, *profiles, *physics,
		*csv, *per_job, *show, *catalogue;
	bool burst, replan, json, wide, no_timing;
	double exec_limit_s, time_noise_pct, power_noise_pct, clock_change_ms;
	uint64_t threads, model_draws;
	struct campaign_pages pages;
};

static void offer_policies(opt_say_fn *say, void *ctx)
{
	say(CAMPAIGN_ALL, ctx);
	offer_contenders(say, ctx);
	say(OFFER_LIST, ctx);
}

#define AT(member) .offset = offsetof(struct simulate_opts, member)

/* clang-format off */
static const struct opt simulate_opts[] = {
	{ .heading = "what is planned and replayed",
	  .name = "fleet", .letter = 'f', .kind = OPT_FILE, AT(fleet), .arg = "FILE",
	  .help = "fleet file; without it, the eight GPUs of the HeShare paper" },
	CLI_CATALOGUE_OPT(offsetof(struct simulate_opts, catalogue)),
	{ .name = "policy", .letter = 'p', .kind = OPT_TEXT, AT(policy), .arg = "LIST",
	  .offer = offer_policies, .many = true,
	  .help = "policies with commas, such as heshare:energy,morak:eft, or all; list prints "
		  "them; exec:PROGRAM runs a program that plans. Without it, all, or none with "
		  "--plan" },
	EXEC_LIMIT_OPT(offsetof(struct simulate_opts, exec_limit_s)),
	{ .name = "prefer", .kind = OPT_TEXT, AT(prefer), .arg = "NAME", .offer = offer_preferences,
	  .help = "preference of policies that are named without one" },
	{ .name = "plan", .kind = OPT_FILE, AT(plan), .arg = "FILE",
	  .help = "also replay this plan; it needs no predictions. heshare plan assumes that all "
		  "jobs wait, so use --burst" },
	{ .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE", .help = CLI_KNOWN_STORE_HELP },
	CLI_PREDICTOR_OPT(offsetof(struct simulate_opts, predictor)),
	CLI_PROFILES_OPT(offsetof(struct simulate_opts, profiles)),
	{ .name = "physics", .kind = OPT_FILE, AT(physics), .arg = "FILE",
	  .help = "read parameters of the GPU model from this file instead of the built-in ones "
		"(data/physics.yaml, "
		"heshare-calibrate); " CLI_SECOND_PHYSICS ": other equations, to test policies on "
			"GPUs that no predictor matches" },
	{ .heading = "how it is replayed",
	  .name = "burst", .kind = OPT_FLAG, AT(burst),
	  .help = "let all jobs arrive at time 0; each job keeps the time from its arrival to its "
		  "deadline" },
	{ .name = "replan", .kind = OPT_FLAG, AT(replan),
	  .help = "also let joint plan again at every arrival; without it, joint plans once and "
		  "then places each new job" },
	{ .name = "seeds", .kind = OPT_TEXT, AT(seeds), .arg = "LIST", .def = "1",
	  .help = "seeds of policies and noise, such as 1..10 or 3,5,8" },
	{ .name = "model-draws", .kind = OPT_U64, AT(model_draws), .arg = "N", .def = "0",
	  .max = 1000,
	  .help = "also play all of it on N models whose uncertain parameters vary, and print the "
		  "range of each saving" },
	{ .name = "time-noise", .kind = OPT_DOUBLE, AT(time_noise_pct), .arg = "PCT", .def = "0",
	  .max = 100 * HES_SIM_MAX_NOISE, .help = "variation of a job's speed from run to run, %" },
	{ .name = "power-noise", .kind = OPT_DOUBLE, AT(power_noise_pct), .arg = "PCT", .def = "0",
	  .max = 100 * HES_SIM_MAX_NOISE,
	  .help = "variation of a batch's power above idle from run to run, %" },
	{ .name = "clock-change", .kind = OPT_DOUBLE, AT(clock_change_ms), .arg = "MS", .def = "0",
	  .max = 1e6,
	  .help = "time that a GPU idles when its clock changes, ms" },
	{ .name = "threads", .letter = 't', .kind = OPT_U64, AT(threads), .arg = "N", .def = "0",
	  .max = 1024,
	  .help = "runs at a time; 0: one for each processor" },
	{ .heading = "output",
	  .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ .name = "wide", .letter = 'w', .kind = OPT_FLAG, AT(wide),
	  .help = "print the table with all columns: also median, busy energy, SM use, errors of "
		  "the predictions and planning time" },
	{ .name = "csv", .kind = OPT_FILE, AT(csv), .arg = "FILE",
	  .written = true,
	  .help = "also write a row for each policy and seed" },
	{ .name = "per-job", .kind = OPT_FILE, AT(per_job), .arg = "FILE",
	  .written = true,
	  .help = "also write a CSV row for each job, policy and seed: times, energy, GPU, share, "
		  "clock, co-runners" },
	{ .name = "report", .letter = 'r', .kind = OPT_FILE, AT(pages.report), .arg = "FILE",
	  .written = true,
	  .help = "also write an HTML report with figures (needs gnuplot)" },
	{ .name = "figures", .kind = OPT_FILE, AT(pages.figures), .arg = "DIR",
	  .help = "also write each figure of the report as an SVG file (needs gnuplot)" },
	{ .name = "show", .kind = OPT_TEXT, AT(show), .arg = "POLICY", .offer = offer_contenders,
	  .help = "draw the plan of this policy in the report; without it, the best: least average "
		  "completion time x fleet energy" },
	{ .name = "no-timing", .kind = OPT_FLAG, AT(no_timing),
	  .help = "leave out planning times, so that equal input gives equal output" },
	{ 0 }
};
/* clang-format on */

/* Everything a campaign borrows. */
struct inputs {
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_jobs jobs;
	struct hes_plan plan;
	struct hes_model *model;
	struct cli_fits fits;
	struct hes_known knowledge;
};

/* The workloads that the model does not know are fitted to their profiles. */
static struct cli_known_from known_from(const struct simulate_opts *o, const struct inputs *in)
{
	return (struct cli_known_from){ .command = "simulate",
					.store = o->store,
					.predictor = o->predictor,
					.profiles = o->profiles,
					.model = in->model,
					.jobs = &in->jobs,
					.replayed = true };
}

/* Found before any policy has planned. */
static int check_workloads(struct inputs *in, struct hes_err *err)
{
	struct hes_err cause;
	int rc = 0;

	for (size_t i = 0; i < in->jobs.n && !rc; i++) {
		const struct hes_workload *w =
			hes_model_workload(in->model, in->jobs.v[i].workload, &cause);

		rc = w ? cli_fits_own(w, &in->fits, err)
		       : hes_fail(err, -ENOENT,
				  "job %s: it was not measured (heshare profile measures it), and "
				  "%s",
				  in->jobs.v[i].id, cause.msg);
	}
	return rc;
}

static int load(const struct simulate_opts *o, const char *jobs, struct inputs *in,
		struct hes_err *err)
{
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	int rc = cli_catalogue_load(o->catalogue, false, &in->catalogue, err);

	if (!rc)
		rc = cli_fleet_load(o->fleet, &in->catalogue, &in->fleet, err);
	if (!rc)
		rc = cli_jobs_load("simulate", NULL, jobs, true, &in->jobs, err);
	if (!rc && o->burst)
		cli_arrive_at_once(&in->jobs);
	if (!rc && o->plan)
		rc = hes_plan_load(o->plan, &in->fleet, &in->jobs, &in->plan, err);
	if (!rc)
		rc = cli_model_load(o->physics, &in->catalogue, types,
				    hes_fleet_types(&in->fleet, types, HES_KNOWN_TYPES), &in->model,
				    err);
	return rc;
}

static void unload(struct inputs *in)
{
	hes_known_free(&in->knowledge);
	free(in->fits.v);
	hes_model_free(in->model);
	hes_plan_finish(&in->plan);
	hes_jobs_free(&in->jobs);
	hes_fleet_free(&in->fleet);
	hes_catalogue_free(&in->catalogue);
}

/* A plan for jobs that all wait is held up by those that are yet to come: what it promised is of
 * another case. */
static void tell_of_arrivals(const char *path, const struct hes_plan *p,
			     const struct hes_jobs *jobs)
{
	size_t early = 0;

	for (size_t g = 0; g < p->n_gpus; g++)
		for (size_t b = 0; b < p->queues[g].n; b++)
			for (uint32_t i = 0; i < p->queues[g].batches[b].n; i++) {
				const struct hes_placement *at = &p->queues[g].batches[b].jobs[i];

				early += at->start_us < jobs->v[at->job].arrival_us;
			}
	if (!early)
		return;
	fputs("heshare simulate: ", stderr);
	hes_visible_put(stderr, 0, path);
	fprintf(stderr,
		" starts %zu of %zu job%s before they arrive; with --burst it is played as it was "
		"planned, all jobs "
		"at time 0\n",
		early, jobs->n, hes_s(jobs->n));
}

static bool anyone_prefers(const struct campaign *c)
{
	for (size_t i = 0; i < c->n_who; i++)
		if (c->who[i].policy && c->who[i].policy->prefers)
			return true;
	return false;
}

static bool anyone_can_replan(const struct campaign *c)
{
	for (size_t i = 0; i < c->n_who; i++)
		if (campaign_can_replan(&c->who[i]))
			return true;
	return false;
}

static int fail_none_can_replan(struct hes_err *err)
{
	char names[200];

	hes_policy_names(hes_policy_searches, names, sizeof(names));
	return hes_fail(err, -EINVAL,
			"--replan: all of these policies plan again at every arrival; those that "
			"do not: %s",
			names);
}

static bool has_preference(const struct hes_policy *p)
{
	return p->prefers;
}

static int none_prefers(const char *prefer, struct hes_err *err)
{
	char names[200];

	hes_policy_names(has_preference, names, sizeof(names));
	return hes_fail(
		err, -EINVAL,
		"--prefer %.40s: none of these policies has a preference; those that have: %s",
		prefer, names);
}

/* The policies to run. Exit status 2 if this fails: the options are wrong. */
static int set_up(const struct simulate_opts *o, const struct inputs *in, struct campaign *c,
		  struct hes_err *err)
{
	int rc = campaign_seeds(c, o->seeds, err);

	c->exec_limit_s = o->exec_limit_s;
	if (!rc && (o->policy || !o->plan))
		rc = campaign_policies(c, o->policy ? o->policy : CAMPAIGN_ALL, o->prefer, err);
	c->replan_all = o->replan;
	if (!rc && o->replan && !anyone_can_replan(c))
		rc = fail_none_can_replan(err);
	if (!rc && o->prefer && !anyone_prefers(c))
		rc = none_prefers(o->prefer, err);
	if (!rc && o->plan)
		rc = campaign_add_plan(c, o->plan, &in->plan, err);
	if (!rc && o->show && campaign_find(c, o->show) < 0)
		rc = hes_fail(err, -ENOENT, "--show: %.64s is not one of the policies to be run",
			      o->show);
	c->keep_jobs = o->per_job;
	c->keep = o->pages.report || o->pages.figures;
	c->terms = (struct hes_sim){
		.time_noise = o->time_noise_pct / 100,
		.power_noise = o->power_noise_pct / 100,
		.clock_change_us = (int64_t)(o->clock_change_ms * 1e3),
	};
	return rc;
}

static bool plans(const struct campaign *c)
{
	for (size_t i = 0; i < c->n_who; i++)
		if (c->who[i].policy)
			return true;
	return false;
}

/* The command again, of the options that change results. */
static void command_line(const struct simulate_opts *o, const char *jobs, char *out, size_t size)
{
	const struct {
		const char *name, *value;
	} given[] = {
		{ "fleet", o->fleet },         { "policy", o->policy },
		{ "prefer", o->prefer },       { "plan", o->plan },
		{ "store", o->store },         { "predictor", o->predictor },
		{ "profiles", o->profiles },   { "physics", o->physics },
		{ "catalogue", o->catalogue }, { "seeds", strcmp(o->seeds, "1") ? o->seeds : NULL },
		{ "show", o->show },
	};

	snprintf(out, size, "heshare simulate %s%s%s", jobs, o->burst ? " --burst" : "",
		 o->replan ? " --replan" : "");
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].value)
			hes_text_add(out, size, " ", "--%s %s", given[i].name, given[i].value);
	if (o->model_draws)
		hes_text_add(out, size, " ", "--model-draws %" PRIu64, o->model_draws);
	if (o->time_noise_pct + o->power_noise_pct + o->clock_change_ms > 0)
		hes_text_add(out, size, " ", "--time-noise %g --power-noise %g --clock-change %g",
			     o->time_noise_pct, o->power_noise_pct, o->clock_change_ms);
}

static int write_report(const struct simulate_opts *o, const char *jobs, const struct campaign *c,
			struct hes_err *err)
{
	char command[1024];

	command_line(o, jobs, command, sizeof(command));
	return campaign_write_report(c, &o->pages, o->show, command, err);
}

static int simulate(const struct simulate_opts *o, const char *jobs, struct inputs *in,
		    struct campaign *c, struct hes_err *err)
{
	struct cli_known_from from = known_from(o, in);
	int rc;

	from.profiles_only = !plans(c);
	rc = cli_known_load(&from, &in->catalogue, &in->fleet, &in->knowledge, err);
	in->fits = (struct cli_fits){ in->knowledge.fits, in->knowledge.n_fits };
	in->knowledge.fits = NULL;
	if (!rc)
		rc = check_workloads(in, err);
	if (rc)
		return rc;
	hes_known_count_jobs(&in->knowledge, &in->fleet, &in->jobs, c->known);
	c->model = in->model;
	c->fits = &in->fits;
	c->fleet = &in->fleet;
	c->jobs = &in->jobs;
	c->profiles = &in->knowledge.profiles;
	c->predictor = in->knowledge.predictor;
	rc = campaign_run_all(c, (int)o->threads, err);
	if (!rc && o->csv)
		rc = campaign_write_csv(c, o->csv, !o->no_timing, err);
	if (!rc && o->per_job)
		rc = campaign_write_jobs(c, o->per_job, err);
	if (!rc && c->keep)
		rc = write_report(o, jobs, c, err);
	if (!rc && o->model_draws)
		rc = campaign_run_draws(c, &(struct campaign_files){ from, &in->catalogue },
					o->model_draws, (int)o->threads, err);
	return rc;
}

static int print_json(const struct campaign *c, const struct simulate_opts *o)
{
	json_t *doc = campaign_json(c, !o->no_timing);

	if (o->physics)
		json_object_set_new(doc, "physics", json_string(o->physics));
	return cli_print_json(doc);
}

static int run_simulate(const void *opts, int n_args, char **args)
{
	const struct simulate_opts *o = opts;
	struct inputs in = { 0 };
	struct campaign c = { 0 };
	struct hes_err err = { 0 };
	int status = 0;

	if (o->policy && strcmp(o->policy, OFFER_LIST) == 0)
		return offer_print_policies();
	if (n_args < 1) {
		fputs("heshare simulate: missing operand; usage: heshare simulate JOBS\n", stderr);
		return 2;
	}
	if (load(o, args[0], &in, &err))
		status = 1;
	else if (set_up(o, &in, &c, &err))
		status = 2;
	else if (simulate(o, args[0], &in, &c, &err))
		status = 1;
	if (!status && o->plan && !in.plan.unpredicted)
		tell_of_arrivals(o->plan, &in.plan, &in.jobs);
	if (status)
		status = cli_fail("simulate", &err) == 2 ? 2 : status;
	else if (o->json)
		status = print_json(&c, o);
	else
		status = campaign_print_table(&c, o->wide, !o->no_timing, &err) ||
					 (c.n_draws && campaign_print_draws(&c, &err))
				 ? cli_fail("simulate", &err)
				 : 0;
	campaign_free(&c);
	unload(&in);
	return status;
}

const struct command cmd_simulate = {
	.name = "simulate",
	.args = "JOBS",
	.min_args = 0,
	.max_args = 1,
	.summary = "replay plans on modelled GPUs and compare policies",
	.text = "Plans the jobs with each policy and replays the plans on a model of the GPUs. "
		"When jobs arrive, all waiting jobs are planned again; joint places only the new "
		"jobs (--replan: plans again). Policies see profiles and predictions. The replay "
		"uses the physics of the GPU model: jobs on a GPU slow each other, and a batch "
		"ends with its last job.\n\n"
		"The table has the average and the 95th percentile of completion times (JCT), the "
		"end of the last job, and fleet energy: of GPUs that run jobs, and of idle ones "
		"until the last job ends. Next to each is its difference in % from exclusive, or "
		"from the first policy. --wide adds the median, busy energy (of GPUs while they "
		"run jobs), util (mean part of the SMs that is busy) and how far the predictions "
		"are off. On a terminal the best value of a column is bold, without NO_COLOR.\n\n"
		"The sentence below the table compares the best policy, by the product of average "
		"completion time and fleet energy, with the best one of another method, then with "
		"one job per GPU (exclusive).\n\n"
		"Workloads, plans and policies of your own: --profiles, --plan, --policy "
		"exec:PROGRAM; --per-job writes what became of each job. docs/tutorial.md shows "
		"them.",
	.example = "  heshare simulate jobs.csv --policy heshare:energy,heshare:jct,morak\n"
		   "  heshare simulate jobs.csv --policy exec:./mine,joint --per-job rows.csv\n"
		   "  heshare simulate jobs.csv --burst --seeds 1..10 --csv runs.csv\n"
		   "  heshare simulate --policy list",
	.opts = simulate_opts,
	.opts_size = sizeof(struct simulate_opts),
	.run = run_simulate,
};
