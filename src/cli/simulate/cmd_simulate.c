/*
 * cmd_simulate.c - `heshare simulate`: plan jobs with several policies, replay the plans on the GPU
 * model, and compare the results. src/app/campaign_set.c loads and learns, campaign.c runs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "base/texts.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "cli/inputs/inputs.h"
#include "app/known.h"
#include "cli/simulate/campaign_out.h"

/* Options of the campaign, and what is shown of it. */
struct simulate_opts {
	struct campaign_request q;
	const char *csv, *per_job, *draws;
	bool json, wide, no_timing;
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
	  .name = "fleet", .letter = 'f', .kind = OPT_FILE, AT(q.fleet), .arg = "FILE",
	  .help = "fleet file; without it, the eight GPUs of the HeShare paper" },
	CLI_CATALOGUE_OPT(offsetof(struct simulate_opts, q.catalogue)),
	{ .name = "policy", .letter = 'p', .kind = OPT_TEXT, AT(q.policies), .arg = "LIST",
	  .offer = offer_policies, .many = true,
	  .help = "policies with commas, such as heshare:energy,morak:eft, or all; list prints "
		  "them; exec:PROGRAM runs a program that plans. Without it, all, or none with "
		  "--plan" },
	EXEC_LIMIT_OPT(offsetof(struct simulate_opts, q.exec_limit_s)),
	{ .name = "prefer", .kind = OPT_TEXT, AT(q.prefer), .arg = "NAME",
	  .offer = offer_preferences,
	  .help = "preference of policies that are named without one (heshare help plan)" },
	{ .name = "plan", .kind = OPT_FILE, AT(q.plan), .arg = "FILE",
	  .help = "also replay this plan; it needs no predictions. heshare plan assumes that all "
		  "jobs wait, so use --burst" },
	{ .name = "store", .kind = OPT_FILE, AT(q.store), .arg = "FILE",
	  .help = CLI_KNOWN_STORE_HELP },
	CLI_PREDICTOR_OPT(offsetof(struct simulate_opts, q.predictor)),
	CLI_PROFILES_OPT(offsetof(struct simulate_opts, q.profiles)),
	{ .name = "physics", .kind = OPT_FILE, AT(q.physics), .arg = "FILE",
	  .help = "read parameters of the GPU model from this file (data/physics.yaml, "
		"heshare-calibrate); " APP_SECOND_PHYSICS ": other equations, to test policies on "
			"GPUs that no predictor matches" },
	{ .heading = "several sets of jobs",
	  .name = "draws", .kind = OPT_TEXT, AT(draws), .arg = "N|A..B", .without = "seeds",
	  .help = "JOBS is a log or generator of heshare trace: draw 60 jobs from it with each "
		  "seed 1..N, or A..B, which plans the draw, too" },
	{ .name = "reference", .kind = OPT_TEXT, AT(q.reference), .arg = "POLICY",
	  .offer = offer_contenders,
	  .help = "compare with this policy over the sets; without it, exclusive or the first" },
	{ .name = "static-clocks", .kind = OPT_TEXT, AT(q.static_clocks), .arg = "TYPE=MHZ,...",
	  .many = true,
	  .help = "clocks of static and static-equal; without it, those of the catalogue" },
	{ .name = "power-limits", .kind = OPT_TEXT, AT(q.power_limits), .arg = "TYPE=W,...",
	  .many = true,
	  .help = "power limits of cap; without it, those of the catalogue" },
	{ .heading = "how it is replayed",
	  .name = "burst", .kind = OPT_FLAG, AT(q.burst),
	  .help = "let all jobs arrive at time 0; each job keeps the time from its arrival to its "
		  "deadline" },
	{ .name = "replan", .kind = OPT_FLAG, AT(q.replan),
	  .help = "also let joint plan again at every arrival; without it, joint plans once and "
		  "then places each new job" },
	{ .name = "seeds", .kind = OPT_TEXT, AT(q.seeds), .arg = "LIST", .def = "1",
	  .help = "seeds of policies and noise, such as 1..10 or 3,5,8" },
	{ .name = "model-draws", .kind = OPT_U64, AT(q.model_draws), .arg = "N", .def = "0",
	  .max = 1000,
	  .help = "also play all of it on N models whose uncertain parameters vary, and print the "
		  "range of each saving" },
	{ .name = "time-noise", .kind = OPT_DOUBLE, AT(q.time_noise_pct), .arg = "PCT", .def = "0",
	  .max = 100 * HES_SIM_MAX_NOISE, .help = "variation of a job's speed from run to run, %" },
	{ .name = "power-noise", .kind = OPT_DOUBLE, AT(q.power_noise_pct), .arg = "PCT",
	  .def = "0", .max = 100 * HES_SIM_MAX_NOISE,
	  .help = "variation of a batch's power above idle from run to run, %" },
	{ .name = "clock-change", .kind = OPT_DOUBLE, AT(q.clock_change_ms), .arg = "MS",
	  .def = "0", .max = 1e6, .help = "time that a GPU idles when its clock changes, ms" },
	{ .name = "threads", .letter = 't', .kind = OPT_U64, AT(q.threads), .arg = "N", .def = "0",
	  .max = 1024, .help = "runs at a time; 0: one for each processor" },
	{ .heading = "output",
	  .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ .name = "wide", .letter = 'w', .kind = OPT_FLAG, AT(wide),
	  .help = "print the table with all columns: also median, busy energy, SM use, errors of "
		  "the predictions and planning time" },
	{ .name = "csv", .kind = OPT_FILE, AT(csv), .arg = "FILE", .written = true,
	  .help = "also write a row for each policy and seed" },
	{ .name = "per-job", .kind = OPT_FILE, AT(per_job), .arg = "FILE", .written = true,
	  .help = "also write a CSV row for each job, policy and seed: times, energy, GPU, share, "
		  "clock, co-runners" },
	{ .name = "report", .letter = 'r', .kind = OPT_FILE, AT(pages.report), .arg = "FILE",
	  .written = true, .help = "also write an HTML report with figures (needs gnuplot)" },
	{ .name = "figures", .kind = OPT_FILE, AT(pages.figures), .arg = "DIR",
	  .help = "also write each figure of the report as an SVG file (needs gnuplot)" },
	{ .name = "show", .kind = OPT_TEXT, AT(q.show), .arg = "POLICY", .offer = offer_contenders,
	  .help = "draw the plan of this policy in the report; without it, the best: least average "
		  "completion time x fleet energy" },
	{ .name = "no-timing", .kind = OPT_FLAG, AT(no_timing),
	  .help = "leave out planning times, so that equal input gives equal output" },
	{ 0 }
};
/* clang-format on */

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

static int print_json(const struct campaign *c, const struct simulate_opts *o)
{
	json_t *doc = campaign_json(c, !o->no_timing);

	if (o->q.physics)
		json_object_set_new(doc, "physics", json_string(o->q.physics));
	return cli_print_json("heshare-simulate", doc);
}

/* The command again, of the options that change results. */
static void command_line(const struct campaign_request *q, const char *jobs, char *out, size_t size)
{
	const struct {
		const char *name, *value;
	} given[] = {
		{ "fleet", q->fleet },
		{ "policy", q->policies },
		{ "prefer", q->prefer },
		{ "plan", q->plan },
		{ "store", q->store },
		{ "predictor", q->predictor },
		{ "profiles", q->profiles },
		{ "physics", q->physics },
		{ "catalogue", q->catalogue },
		{ "seeds", strcmp(q->seeds, "1") ? q->seeds : NULL },
		{ "show", q->show },
		{ "static-clocks", q->static_clocks },
		{ "power-limits", q->power_limits },
	};

	snprintf(out, size, "heshare simulate %s%s%s", jobs, q->burst ? " --burst" : "",
		 q->replan ? " --replan" : "");
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].value)
			hes_text_add(out, size, " ", "--%s %s", given[i].name, given[i].value);
	if (q->model_draws)
		hes_text_add(out, size, " ", "--model-draws %" PRIu64, q->model_draws);
	if (q->time_noise_pct + q->power_noise_pct + q->clock_change_ms > 0)
		hes_text_add(out, size, " ", "--time-noise %g --power-noise %g --clock-change %g",
			     q->time_noise_pct, q->power_noise_pct, q->clock_change_ms);
}

/* Write the files that options name. */
static int write_files(const struct campaign *c, const struct simulate_opts *o, const char *jobs,
		       struct hes_err *err)
{
	char command[1024];
	int rc = o->csv ? campaign_write_csv(c, o->csv, !o->no_timing, err) : 0;

	if (!rc && o->per_job)
		rc = campaign_write_jobs(c, o->per_job, err);
	if (!rc && c->keep) {
		command_line(&o->q, jobs, command, sizeof(command));
		rc = campaign_write_report(c, &o->pages, o->q.show, command, err);
	}
	return rc;
}

static int run_one(struct campaign_set *s, const struct simulate_opts *o, const char *jobs,
		   struct hes_err *err)
{
	int rc = campaign_set_learn(s, &o->q, err);

	if (!rc)
		rc = campaign_run_all(&s->campaign, (int)o->q.threads, err);
	if (!rc)
		rc = write_files(&s->campaign, o, jobs, err);
	if (!rc && o->q.model_draws)
		rc = campaign_set_draw(s, &o->q, err);
	if (!rc && o->q.plan && !s->plan.unpredicted)
		tell_of_arrivals(o->q.plan, &s->plan, &s->jobs);
	return rc;
}

static int simulate_one(const struct simulate_opts *o, const char *jobs, struct hes_err *err)
{
	struct campaign_set s = { .name = "" };
	const struct campaign *c = &s.campaign;
	int rc = campaign_set_load(&s, &o->q, jobs, err);

	if (!rc)
		rc = campaign_set_choose(&s, &o->q, err) ? OPT_USAGE : run_one(&s, o, jobs, err);
	if (!rc && o->json)
		rc = print_json(c, o);
	else if (!rc)
		rc = campaign_print_table(c, o->wide, !o->no_timing, err);
	if (!rc && !o->json && c->n_draws)
		rc = campaign_print_draws(c, err);
	campaign_set_free(&s);
	return rc;
}

/* Options that are for one set of jobs. */
static int refuse_others(const struct simulate_opts *o, struct hes_err *err)
{
	const char *given = "";
	const struct {
		const char *name, *value;
	} single[] = {
		{ "--plan", o->q.plan },
		{ "--csv", o->csv },
		{ "--per-job", o->per_job },
		{ "--report", o->pages.report },
		{ "--figures", o->pages.figures },
		{ "--wide", o->wide ? given : NULL },
		{ "--model-draws", o->q.model_draws && !o->json ? given : NULL },
	};

	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
		if (single[i].value)
			return hes_fail(err, -EINVAL,
					"%s: it goes with one jobs file; --json has every set's "
					"results",
					single[i].name);
	return 0;
}

static int simulate_sets(struct simulate_opts *o, size_t n_args, char **args, struct hes_err *err)
{
	struct campaign_sets s = { 0 };
	int rc;

	if (refuse_others(o, err))
		return OPT_USAGE;
	rc = campaign_sets_load(&s, &o->q, o->draws, n_args, args, err);
	if (!rc && campaign_sets_choose(&s, &o->q, err))
		rc = OPT_USAGE;
	if (!rc)
		rc = campaign_sets_run(&s, &o->q, err);
	if (!rc)
		rc = o->json ? cli_print_json("heshare-simulate-sets",
					      sets_json(&s, &o->q, !o->no_timing))
			     : sets_print(&s, o->q.reference, err);
	campaign_sets_free(&s);
	return rc;
}

static int run_simulate(const struct call *call, struct hes_err *err)
{
	struct simulate_opts *o = call->opts;

	if (o->q.policies && strcmp(o->q.policies, OFFER_LIST) == 0)
		return offer_print_policies();
	if (call->n < 1)
		return opt_usage(err, "missing operand; usage: heshare simulate JOBS");
	o->q.app = cli_app();
	o->q.progress = cli_progress;
	o->q.keep_jobs = o->per_job;
	o->q.keep = o->pages.report || o->pages.figures;
	if (call->n > 1 || o->draws)
		return simulate_sets(o, (size_t)call->n, call->args, err);
	if (o->q.reference)
		return opt_usage(err, "--reference: it goes with several jobs files or --draws");
	return simulate_one(o, call->args[0], err);
}

const struct command cmd_simulate = {
	.name = "simulate",
	.args = "JOBS...",
	.min_args = 0,
	.max_args = CLI_MAX_ARGS,
	.summary = "replay plans on modelled GPUs and compare policies",
	.text = "Plans the jobs with each policy and replays the plans on a model of the GPUs. "
		"When jobs arrive, all waiting jobs are planned again; joint places only the new "
		"jobs (--replan: plans again). Policies see profiles and predictions. The replay "
		"uses the physics of the GPU model: jobs on a GPU slow each other, and a batch "
		"ends with its last job.\n\n"
		"The table has the average and the 95th percentile of completion times (JCT), and "
		"the end of the last job. Fleet energy is that of GPUs that run jobs, and of idle "
		"ones until the last job ends. Next to each is its difference in % from exclusive, "
		"or from the first policy. --wide adds the median, busy energy (of GPUs while they "
		"run jobs) and util (mean part of the SMs that is busy). It also adds how far the "
		"predictions are off. On a terminal the best value of a column is bold, without "
		"NO_COLOR.\n\n"
		"The best policy is that with the least product of average completion time and "
		"fleet energy. The sentence below the table compares it with the best of another "
		"method, one job per GPU (exclusive), and one clock a GPU type (static).\n\n"
		"Several jobs files, or --draws of a log or generator, give means over the sets, "
		"and the difference from a reference with its 95 % interval. They also tell on how "
		"many sets a policy needs no more energy and time.\n\n"
		"Workloads, plans and policies of your own: --profiles, --plan, --policy "
		"exec:PROGRAM; --per-job writes what became of each job. docs/tutorial.md shows "
		"them.",
	.example = "  heshare simulate jobs.csv --policy heshare:energy,heshare:jct,morak\n"
		   "  heshare simulate jobs.csv --policy exec:./mine,joint --per-job rows.csv\n"
		   "  heshare simulate jobs.csv --burst --seeds 1..10 --csv runs.csv\n"
		   "  heshare simulate log.csv.gz --draws 10 --burst --policy all\n"
		   "  heshare simulate --policy list",
	.opts = simulate_opts,
	.opts_size = sizeof(struct simulate_opts),
	.run = run_simulate,
};
