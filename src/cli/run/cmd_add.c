/*
 * cmd_add.c - `heshare add`: add jobs to a run that goes on (src/app/jobs_add.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/jobs_add.h"
#include "app/run_identity.h"
#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "app/profile.h"

struct add_opts {
	const char *command, *commands, *progress, *predictor, *profiles, *store, *catalogue;
	bool default_clock, no_wait, json;
	int before; /* operands before "--" */
};

#define AT(member) .offset = offsetof(struct add_opts, member)

/* clang-format off */
static const struct opt add_opts[] = {
	{ .name = "command", .letter = 'c', .kind = OPT_TEXT, AT(command), .arg = "PATTERN",
	  .help = "command of jobs without one of their own, with {workload}, {batch}, "
		  "{iterations}, {memory} and {job}" },
	{ .name = "commands", .kind = OPT_FILE, AT(commands), .arg = "FILE",
	  .help = "CSV file with the columns workload and command: a pattern for each workload" },
	CLI_PROGRESS_OPT(offsetof(struct add_opts, progress)),
	CLI_PREDICTOR_OPT(offsetof(struct add_opts, predictor)),
	CLI_PROFILES_OPT(offsetof(struct add_opts, profiles)),
	CLI_CATALOGUE_OPT(offsetof(struct add_opts, catalogue)),
	{ .name = "default-clock", .kind = OPT_FLAG, AT(default_clock),
	  .help = "plan only with the default clock of each GPU type" },
	{ .name = "no-wait", .kind = OPT_FLAG, AT(no_wait),
	  .help = "do not wait until the run has taken the jobs" },
	{ .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE",
	  .help = "store with the journal of the run and with what was measured; without it, "
		  CLI_STORE_PLACE },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print the placements as one JSON document" },
	{ 0 }
};
/* clang-format on */

static struct table jobs_table(const struct hes_app_add *a)
{
	struct table t = { 0 };

	for (size_t i = 0; i < a->new.n; i++) {
		const struct hes_run_added *j = &a->rows[i];
		const bool placed = *j->gpu;
		const struct cell row[] = {
			cell_text("job", "job", j->job.id),
			cell_text("workload", NULL, j->job.workload),
			cell_text("gpu", "GPU", placed ? j->gpu : NULL),
			cell_if(placed, cell_count("sm_pct", "SM %", j->sm_pct)),
			cell_if(j->clock_mhz, cell_count("clock_mhz", "MHz", j->clock_mhz)),
			cell_if(placed, cell_time("planned_start_s", "planned start",
						  (double)j->planned_start_us)),
			cell_if(placed,
				cell_time("planned_end_s", "end", (double)j->planned_end_us)),
			cell_if(placed, cell_energy("planned_j", "energy", (double)j->planned_mj)),
		};

		TABLE_ROW(&t, row);
	}
	return t;
}

static int print_out(const struct hes_app_add *a, bool json)
{
	const struct hes_run *run = &a->view.run;
	struct table jobs = jobs_table(a);

	if (json)
		return cli_print_json("heshare-add",
				      json_pack("{s:I, s:b, s:o}", "run", (json_int_t)run->id,
						"taken", a->taken == HES_APP_TAKEN, "jobs",
						table_json(&jobs)));
	cli_print_table(&jobs, stdout, 0);
	printf("%zu job%s %s run %" PRId64, a->new.n, hes_s(a->new.n),
	       a->taken == HES_APP_TAKEN ? "added to" : "written for", run->id);
	if (a->taken == HES_APP_TAKEN_AT_RESUME)
		printf(", which is interrupted: heshare run %s --resume starts %s",
		       run_plan_name(run), a->new.n == 1 ? "it" : "them");
	putchar('\n');
	return 0;
}

/* @return 0; -EINVAL wrong usage */
static int check_use(const struct add_opts *o, int n_args, char **args,
		     char template[HES_POINT_COMMAND], int64_t *run, struct hes_err *err)
{
	int rc = run_parse_id(args[0], run, err);

	if (!rc && o->progress)
		rc = hes_jobs_set_progress(NULL, 0, "--progress", o->progress, err);
	if (!rc && n_args > 2 && (o->before != 2 || o->command))
		rc = hes_fail(err, -EINVAL,
			      "name one run, one jobs file, and the command of the jobs once, "
			      "after -- or with --command");
	return rc || n_args <= 2 ? rc : profile_command_join(n_args - 2, args + 2, template, err);
}

static int run_add(const void *opts, int n_args, char **args)
{
	const struct add_opts *o = opts;
	char template[HES_POINT_COMMAND];
	struct hes_app_add_options q = {
		.app = cli_app(),
		.jobs = args[1],
		.commands = { o->commands, n_args > 2 ? template : o->command, o->progress },
		.catalogue = o->catalogue,
		.store = o->store,
		.predictor = o->predictor,
		.profiles = o->profiles,
		.default_clock = o->default_clock,
	};
	struct hes_app_add a = { 0 };
	struct hes_err err;
	int rc;

	if (check_use(o, n_args, args, template, &q.run, &err))
		return cli_fail("add", &err), 2;
	rc = hes_app_jobs_add(&a, &q, &err);
	if (!rc && !o->no_wait)
		rc = hes_app_jobs_await(&a, &err);
	if (rc)
		rc = cli_fail("add", &err);
	else
		rc = print_out(&a, o->json);
	hes_app_add_close(&a);
	return rc;
}

const struct command cmd_add = {
	.name = "add",
	.args = "RUN JOBS [-- COMMAND [ARGUMENT]...]",
	.min_args = 2,
	.max_args = CLI_MAX_ARGS,
	.before = offsetof(struct add_opts, before),
	.summary = "add jobs to a run that goes on: they are placed among those that wait",
	.text = "Hands the jobs of the file JOBS to run RUN. heshare status prints the numbers of "
		"runs. COMMAND is for jobs without a command of their own, as for heshare run.\n\n"
		"A run of a jobs file plans all jobs that wait again. In a run of a plan, jobs "
		"that "
		"run or wait stay where they are, and the new ones are planned here. In a plan of "
		"joint each new job goes to the best GPU, position, "
		"SM share and clock. In plans with batches, the plan's policy plans the new jobs "
		"behind those that wait. Give the --predictor and --profiles of heshare "
		"plan, if any.\n\n"
		"The jobs are on the disk before the command returns, and it returns when the run "
		"has taken them, within about a second. To a run that is interrupted or stopped "
		"they are added at --resume. A run that is over takes no jobs.",
	.example = "  heshare status\n"
		   "  heshare add 3 more.csv -- ./train.sh {workload} {batch} {iterations}",
	.opts = add_opts,
	.opts_size = sizeof(struct add_opts),
	.run = run_add,
};
