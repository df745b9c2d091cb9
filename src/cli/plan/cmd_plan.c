/*
 * cmd_plan.c - `heshare plan`: decide GPU, co-runners, SM share and clock of each job, print the
 * plan and write it to a file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/jobs_load.h"
#include "app/planner.h"
#include "base/file.h"
#include "base/plural.h"
#include "base/quantity.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "cli/terminal.h"
#include "cluster/offer.h"

#define MAX_INFEASIBLE_SHOWN 10

struct plan_opts {
	struct app_planner_options q;
	const char *output, *front, *catalogue, *program;
	bool default_clock, json;
};

static void offer_policies(opt_say_fn *say, void *ctx)
{
	offer_contenders(say, ctx);
	say(OFFER_LIST, ctx);
}

#define AT(member) .offset = offsetof(struct plan_opts, member)

/* clang-format off */
static const struct opt plan_opts[] = {
	{ .heading = "GPUs",
	  .name = "fleet", .letter = 'f', .kind = OPT_FILE, AT(q.fleet), .arg = "FILE",
	  .help = "fleet file; without it, the eight GPUs of the HeShare paper" },
	{ .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(q.gpus), .arg = "LIST",
	  .help = "plan for GPUs of this machine: all, or indices, UUIDs, PCI addresses with "
		  "commas; slurm: of all nodes of the Slurm job; ssh:HOSTFILE: of hosts" },
	{ .name = "program", .with = "gpus", .kind = OPT_FILE, AT(program), .arg = "FILE",
	  .help = "heshare on the nodes, if it is not this program's file" },
	CLI_CATALOGUE_OPT(offsetof(struct plan_opts, catalogue)),
	{ .heading = "policy",
	  .name = "policy", .letter = 'p', .kind = OPT_TEXT, AT(q.policy), .arg = "NAME",
	  .def = "joint", .offer = offer_policies,
	  .help = "policy, as NAME, NAME:PREFERENCE or NAME:VARIANT; list prints all of them; "
		  "exec:PROGRAM runs a program that plans" },
	EXEC_LIMIT_OPT(offsetof(struct plan_opts, q.exec_limit_s)),
	PREFER_OPT(offsetof(struct plan_opts, q.prefer)),
	{ .name = "seed", .letter = 's', .kind = OPT_U64, AT(q.seed), .arg = "N", .def = "1",
	  .max = 0x1p62, .help = "seed of the random choices" },
	{ .heading = "predictions",
	  .name = "store", .kind = OPT_FILE, AT(q.store), .arg = "FILE",
	  .help = CLI_KNOWN_STORE_HELP },
	CLI_PREDICTOR_OPT(offsetof(struct plan_opts, q.predictor)),
	CLI_PROFILES_OPT(offsetof(struct plan_opts, q.profiles)),
	{ .heading = "output",
	  .name = "output", .letter = 'o', .kind = OPT_FILE, AT(output), .arg = "FILE",
	  .written = true, .help = "write the plan to this JSON file; -: standard output" },
	{ .name = "front", .kind = OPT_FILE, AT(front), .arg = "FILE", .written = true,
	  .help = "write the Pareto front of the search to this CSV file; -: standard output" },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print the plan as one JSON document instead of the summary" },
	{ .heading = "limits",
	  .name = "budget", .letter = 'b', .kind = OPT_TEXT, AT(q.budget), .arg = "TIME|N",
	  .help = "joint: stop searching after TIME (200ms, 5s) or N evaluations, which give the "
		  "same plan everywhere; without it, N by the number of jobs" },
	{ .name = "power-cap", .kind = OPT_DOUBLE, AT(q.power_cap_w), .arg = "W", .max = 1e9,
	  .help = "joint: keep the sum of the highest power of all GPUs below this, W; 0: no cap" },
	{ .name = "default-clock", .kind = OPT_FLAG, AT(default_clock),
	  .help = "plan only with the default clock of each GPU type" },
	{ 0 }
};
/* clang-format on */

/* What a plan is made of. */
struct inputs {
	struct hes_catalogue catalogue;
	struct hes_jobs jobs;
	struct app_planner planner;
	bool arrivals_differed;
};

static void unload(struct inputs *in)
{
	app_planner_close(&in->planner);
	hes_jobs_free(&in->jobs);
	hes_catalogue_free(&in->catalogue);
}

static int load_fleet(const struct plan_opts *o, struct inputs *in, struct hes_err *err)
{
	int rc =
		app_catalogue_load(cli_app(), o->catalogue, o->q.gpus != NULL, &in->catalogue, err);

	if (!rc && o->default_clock)
		app_catalogue_hold_default_clocks(&in->catalogue);
	if (!rc && offers_wanted(o->q.gpus))
		rc = offers_fleet_load(cli_app(), o->q.gpus, o->program, o->catalogue,
				       &in->catalogue, &in->planner.gpus, err);
	return rc ? rc : app_planner_gpus(&in->planner, err);
}

/* The jobs wait now, all of them: later arrivals can only be planned for when they come. */
static int load_jobs(const char *path, struct inputs *in, struct hes_err *err)
{
	const bool due = in->planner.policy->external || hes_policy_searches(in->planner.policy);
	int rc = app_jobs_load(cli_app(), NULL, path, due, &in->jobs, err);

	if (!rc)
		in->arrivals_differed = app_jobs_arrive_at_once(&in->jobs);
	return rc;
}

static int save_front(const char *path, const struct hes_front *f, struct hes_err *err)
{
	struct hes_file file;
	char line[2][64] = { "", "" };
	int rc = hes_file_create(&file, path, err);

	if (rc)
		return rc;
	fputs("busy_energy_j,avg_jct_s\n", file.f);
	for (size_t i = 0; i < f->n; i++) {
		/* Of trade-offs that differ beyond what is written, one. */
		snprintf(line[i % 2], sizeof(line[0]), "%.3f,%.6f\n", f->v[i].energy_j,
			 f->v[i].avg_jct_s);
		if (strcmp(line[0], line[1]) != 0)
			fputs(line[i % 2], file.f);
	}
	return hes_file_commit(&file, err);
}

/* The clocks at which a GPU runs while a batch is on it: in an open queue the highest clock of the
 * jobs at each time. */
static void find_clocks(const struct hes_queue *q, const struct hes_batch *b, uint32_t *low,
			uint32_t *high)
{
	*low = *high = b->clock_mhz;
	if (q->together == 0)
		return;
	*low = UINT32_MAX;
	/* The clock changes only where a batch starts or ends. */
	for (size_t i = 0; i < 2 * q->n; i++) {
		const struct hes_batch *at = &q->batches[i / 2];
		const int64_t t_us = i % 2 ? at->end_us : at->start_us;
		uint32_t clock = 0;

		if (t_us < b->start_us || t_us >= b->end_us)
			continue;
		for (size_t k = 0; k < q->n; k++)
			if (q->batches[k].start_us <= t_us && q->batches[k].end_us > t_us &&
			    q->batches[k].clock_mhz > clock)
				clock = q->batches[k].clock_mhz;
		*low = clock < *low ? clock : *low;
		*high = clock > *high ? clock : *high;
	}
	*low = *low < *high ? *low : *high;
}

/* "a resnet50 30 %, b ..." @return NULL without memory; to free() */
static char *jobs_text(const struct hes_queue *q, const struct hes_batch *b,
		       const struct hes_jobs *jobs)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, &(size_t){ 0 });

	for (uint32_t i = 0; f && i < b->n; i++) {
		const struct hes_job *j = &jobs->v[b->jobs[i].job];

		fprintf(f, "%s%s %.*s", i ? ", " : "", j->id, hes_job_workload_given(j),
			j->workload);
		if (b->n > 1 || q->together > 0)
			fprintf(f, " %" PRIu32 " %%", b->jobs[i].sm_pct);
	}
	if (f)
		fclose(f);
	return text;
}

/* @param b  NULL: the GPU is idle */
static void batch_row(struct table *t, const struct hes_gpu *g, const struct hes_queue *q,
		      const struct hes_batch *b, const struct hes_jobs *jobs)
{
	char *list = b ? jobs_text(q, b, jobs) : NULL, clock[32] = "-";
	uint32_t low = 0, high = 0;

	if (b)
		find_clocks(q, b, &low, &high);
	if (b)
		snprintf(clock, sizeof(clock),
			 b->unknown   ? "unlocked"
			 : low < high ? "%" PRIu32 "-%" PRIu32
				      : "%" PRIu32,
			 low, high);
	const struct cell row[] = {
		cell_text(NULL, "GPU", g->name),
		cell_if(b, cell_time(NULL, "start", b ? (double)b->start_us : 0)),
		cell_if(b, cell_time(NULL, "end", b ? (double)b->end_us : 0)),
		cell_shown(cell_count(NULL, "MHz", 0), clock),
		cell_if(b && !b->unknown,
			cell_energy(NULL, "energy", b ? (double)b->energy_mj : 0)),
		cell_text(NULL, "jobs", b ? list : "idle"),
	};
	TABLE_ROW(t, row);
	free(list);
}

/* What was not given, and how the jobs are known, in one line. */
static void print_known(const struct plan_opts *o, const struct inputs *in,
			const struct hes_plan *p)
{
	if (!o->q.fleet && !o->q.gpus)
		fputs("Fleet: the eight GPUs of the HeShare paper (--fleet, --gpus). ", stdout);
	cli_known_print(stdout, p->known);
	if (p->known[HES_KNOWN_UNKNOWN])
		fputs(" heshare run measures unknown jobs; their times are guesses.", stdout);
	puts(in->planner.known.learnt ? ""
				      : " The predictor learnt from modelled samples, not from "
					"measurements (heshare profile).");
}

/* Which jobs were predicted outside of the samples, on which GPU, and why. */
static void print_extrapolated(const struct inputs *in, const struct hes_plan *p)
{
	char why[HES_OUTSIDE_TEXT];
	size_t n = 0;

	for (size_t g = 0; g < p->n_gpus; g++)
		for (size_t b = 0; b < p->queues[g].n; b++)
			for (uint32_t i = 0; i < p->queues[g].batches[b].n; i++) {
				const struct hes_placement *at = &p->queues[g].batches[b].jobs[i];
				const struct hes_job *j = &in->jobs.v[at->job];

				if (!at->outside)
					continue;
				if (n++ == 0)
					puts("extrapolated, outside of what the predictor was "
					     "trained on:");
				hes_outside_text(at->outside, why);
				printf("  %s %s on %s, %s: %s\n", j->id, j->workload,
				       in->planner.fleet->gpus[g].name,
				       in->planner.fleet->gpus[g].type->name, why);
			}
}

static void print_totals(const struct inputs *in, const struct hes_plan *p)
{
	const struct hes_totals *t = &p->predicted;
	const uint32_t unknown = p->known[HES_KNOWN_UNKNOWN];
	char first[HES_QUANTITY_MAX], second[HES_QUANTITY_MAX];

	if (unknown == in->jobs.n)
		return;
	printf("predicted%s: average completion %s, last job %s, ",
	       unknown ? ", without unknown jobs" : "", hes_time_text(first, t->avg_jct_us),
	       hes_time_text(second, (double)t->makespan_us));
	printf("busy energy %s, fleet energy %s\n",
	       hes_energy_text(first, (double)t->busy_energy_mj),
	       hes_energy_text(second, (double)t->fleet_energy_mj));
}

/* " (4 T4, 2 V100-PCIe-32)" */
static void print_types(const struct hes_fleet *f)
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	const size_t n = hes_fleet_types(f, types, APP_KNOWN_TYPES);

	for (size_t i = 0; i < n; i++) {
		size_t gpus = 0;

		for (size_t g = 0; g < f->n; g++)
			gpus += f->gpus[g].type == types[i];
		printf("%s%zu %s", i ? ", " : " (", gpus, types[i]->name);
	}
	puts(")");
}

static void print_plan(const struct plan_opts *o, const struct inputs *in, const struct hes_plan *p)
{
	char first[HES_QUANTITY_MAX];
	struct table t = { 0 };

	for (size_t g = 0; g < p->n_gpus; g++) {
		const struct hes_queue *q = &p->queues[g];
		const struct hes_gpu *gpu = &in->planner.fleet->gpus[g];

		if (!q->n)
			batch_row(&t, gpu, q, NULL, &in->jobs);
		for (size_t b = 0; b < q->n; b++)
			batch_row(&t, gpu, q, &q->batches[b], &in->jobs);
	}
	cli_print_table(&t, stdout, 0);
	printf("\n%s%s%s: %zu job%s on %zu GPU%s", p->policy,
	       !*p->prefer                    ? ""
	       : in->planner.policy->variants ? ":"
					      : ", prefers ",
	       p->prefer, in->jobs.n, hes_s(in->jobs.n), in->planner.fleet->n,
	       hes_s(in->planner.fleet->n));
	print_types(in->planner.fleet);
	print_totals(in, p);
	if (p->evaluations)
		printf("searched: %" PRIu64 " evaluation%s; planned in %s\n", p->evaluations,
		       hes_s(p->evaluations), hes_time_text(first, in->planner.planned_s * 1e6));
	if (p->peak_mw && p->peak_mw <= p->power_cap_mw)
		printf("highest power %.1f W of %g W, predicted\n", (double)p->peak_mw * 1e-3,
		       o->q.power_cap_w);
	print_extrapolated(in, p);
	if (in->arrivals_differed)
		puts("The jobs' arrival times differ; they are planned as if all waited now. "
		     "heshare simulate plans them as they arrive.");
	print_known(o, in, p);
}

/* The job that ends the longest after its deadline. @return NULL where none does */
static const struct hes_job *latest_job(const struct inputs *in, const struct hes_plan *p,
					int64_t *late_us)
{
	const struct hes_job *latest = NULL;

	*late_us = 0;
	for (size_t g = 0; g < p->n_gpus; g++)
		for (size_t b = 0; b < p->queues[g].n; b++)
			for (uint32_t i = 0; i < p->queues[g].batches[b].n; i++) {
				const struct hes_placement *at = &p->queues[g].batches[b].jobs[i];
				const struct hes_job *j = &in->jobs.v[at->job];

				if (j->has_deadline && at->end_us - j->deadline_us > *late_us) {
					*late_us = at->end_us - j->deadline_us;
					latest = j;
				}
			}
	return latest;
}

/* Deadlines that were left out, some of them by name. */
static void warn_of_infeasible(const struct inputs *in, const struct hes_plan *p)
{
	for (size_t i = 0; i < p->n_infeasible && i < MAX_INFEASIBLE_SHOWN; i++) {
		const struct hes_job *j = &in->jobs.v[p->infeasible[i].job];

		fprintf(stderr,
			"heshare plan: deadline of job %s cannot be met on any of these GPUs: it "
			"needs at least %.1f s and has %.1f s; "
			"it is planned without\n",
			j->id, (double)p->infeasible[i].least_us * 1e-6,
			(double)j->deadline_us * 1e-6);
	}
	if (p->n_infeasible > MAX_INFEASIBLE_SHOWN)
		fprintf(stderr, "heshare plan: %zu more deadlines cannot be met, either\n",
			p->n_infeasible - MAX_INFEASIBLE_SHOWN);
}

/* Constraints are kept where that can be found, and broken as little as can be found where not. */
static void warn_of_broken(const struct plan_opts *o, const struct inputs *in,
			   const struct hes_plan *p)
{
	int64_t late_us;
	const struct hes_job *latest = latest_job(in, p, &late_us);
	const size_t due = hes_jobs_due(&in->jobs);

	if (p->peak_mw > p->power_cap_mw)
		fprintf(stderr,
			"heshare plan: --power-cap: no plan was found within %g W; with this one "
			"the GPUs may draw %.1f W\n",
			o->q.power_cap_w, (double)p->peak_mw * 1e-3);
	if (latest)
		fprintf(stderr,
			"heshare plan: %zu of %zu deadline%s would be missed; the latest job, %s, "
			"ends %.1f s after its deadline\n",
			hes_plan_missed(p, &in->jobs), due, hes_s(due), latest->id,
			(double)late_us * 1e-6);
}

static bool is_standard_output(const char *file)
{
	return file && strcmp(file, "-") == 0;
}

static int write_out(const struct plan_opts *o, const struct inputs *in, const struct hes_plan *p,
		     const struct hes_front *front, struct hes_err *err)
{
	int rc = 0;

	if (o->front)
		rc = save_front(o->front, front, err);
	if (!rc && o->output)
		rc = hes_plan_save(o->output, p, in->planner.fleet, &in->jobs, err);
	if (!rc && o->json)
		rc = hes_plan_save("-", p, in->planner.fleet, &in->jobs, err);
	/* The summary gives way to a document on standard output. */
	if (!rc && !o->json && !is_standard_output(o->output) && !is_standard_output(o->front))
		print_plan(o, in, p);
	return rc;
}

/* Standard output has room for one document. */
static int check_outputs(const struct plan_opts *o, struct hes_err *err)
{
	const bool plan = is_standard_output(o->output), front = is_standard_output(o->front);

	if (o->json + plan + front > 1)
		return hes_fail(err, -EINVAL, "%s%s%s: standard output takes one of them",
				o->json ? "--json" : "--output -",
				o->json && plan ? " and --output -" : "",
				front ? " and --front -" : "");
	return 0;
}

static bool makes_front(const struct hes_policy *p)
{
	return p->makes_front;
}

static int check_front(const struct hes_policy *p, struct hes_err *err)
{
	char able[200];

	if (makes_front(p))
		return 0;
	hes_policy_names(makes_front, able, sizeof(able));
	return hes_fail(err, -EINVAL, "--front: policy %s makes no front; those that do: %s",
			p->name, able);
}

/* Wrong names and combinations are wrong usage, found before any work. */
static int check(const struct plan_opts *o, struct inputs *in, struct hes_err *err)
{
	int rc;

	in->planner = (struct app_planner){ .o = &o->q, .catalogue = &in->catalogue };
	rc = check_outputs(o, err);
	if (!rc)
		rc = app_planner_check(&in->planner, err);
	return rc || !o->front ? rc : check_front(in->planner.policy, err);
}

static int run_plan(const struct call *call, struct hes_err *err)
{
	struct plan_opts *o = call->opts;
	struct inputs in = { 0 };
	struct hes_plan plan = { 0 };
	struct hes_front front = { 0 };
	int rc;

	if (strcmp(o->q.policy, OFFER_LIST) == 0)
		return offer_print_policies();
	if (call->n < 1)
		return opt_usage(err, "missing operand; usage: heshare plan JOBS");
	o->q.app = cli_app();
	o->q.progress = cli_plan_progress;
	if (check(o, &in, err)) {
		unload(&in);
		return OPT_USAGE;
	}
	rc = load_fleet(o, &in, err);
	if (!rc)
		rc = load_jobs(call->args[0], &in, err);
	if (!rc)
		rc = app_plan(&in.planner, &in.jobs, &plan, &front, err);
	if (!rc) {
		warn_of_infeasible(&in, &plan);
		warn_of_broken(o, &in, &plan);
		rc = write_out(o, &in, &plan, &front, err);
	}
	hes_plan_finish(&plan);
	free(front.v);
	unload(&in);
	return rc;
}

const struct command cmd_plan = {
	.name = "plan",
	.args = "JOBS",
	.min_args = 0,
	.max_args = 1,
	.summary = "plan jobs: which GPU, co-runners, SM share and clock each gets",
	.text = "Plans jobs that all wait now; their deadlines count from their arrival. Prints "
		"the batches of each GPU: start, end, the clock at which the GPU runs meanwhile, "
		"energy, and the jobs with their SM shares. Busy energy is the energy of GPUs "
		"while they run jobs; fleet energy adds idle GPUs until the last job ends. All "
		"values are predicted; heshare simulate replays a plan.\n\n"
		"Jobs of a batch start together, and the next batch starts when all have ended. "
		"Plans of joint have no batches: a job starts when its share and memory are free. "
		"Shares may overlap. The GPU runs at the highest clock of its jobs. The clock of a "
		"job is then a range, if a co-runner raises it. A job that is unknown and has a "
		"command runs alone at the GPU's own clock, before the others of its GPU.\n\n"
		"With --gpus: plans for the GPUs of this machine as this user can use them. "
		"Without the right to lock clocks, it plans at the default clock; without MPS, one "
		"job at a time. --gpus slurm asks each node of the Slurm job what it has, by one "
		"srun, and makes one plan for all of them (docs/slurm.md).\n\n"
		"Jobs whose predictions are outside of the training range are printed with GPU and "
		"reason. Plans avoid shares, clocks and co-runners far outside of it. More jobs "
		"than can be planned in minutes are refused; --policy list prints the limits.\n\n"
		"The exit status is 0 if there is a plan. If it breaks the power cap or deadlines, "
		"standard error says so; power_cap_w, peak_w and deadlines_missed in the plan "
		"show by how much.",
	.example = "  heshare plan jobs.csv -o plan.json\n"
		   "  heshare plan jobs.csv --fleet fleet.yaml --prefer energy --front front.csv\n"
		   "  heshare plan jobs.csv --policy joint:energy --budget 200ms\n"
		   "  heshare plan jobs.csv --policy exec:./mine\n"
		   "  heshare plan --policy list",
	.opts = plan_opts,
	.opts_size = sizeof(struct plan_opts),
	.run = run_plan,
};
