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
	const char *command, *commands, *progress, *store, *catalogue;
	bool no_wait, json;
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
	CLI_CATALOGUE_OPT(offsetof(struct add_opts, catalogue)),
	{ .name = "no-wait", .kind = OPT_FLAG, AT(no_wait),
	  .help = "do not wait until the run has taken the jobs" },
	{ .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE",
	  .help = "store with the journal of the run; without it, " CLI_STORE_PLACE },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print the jobs as one JSON document" },
	{ 0 }
};
/* clang-format on */

static int print_json(const struct app_add *a)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < a->new.n; i++)
		json_array_append_new(jobs, json_pack("{s:s, s:s}", "job", a->new.v[i].id,
						      "workload", a->new.v[i].workload));
	return cli_print_json("heshare-add",
			      json_pack("{s:I, s:b, s:o}", "run", (json_int_t)a->view.run.id,
					"taken", a->taken == APP_TAKEN, "jobs", jobs));
}

static int print_text(const struct app_add *a)
{
	const struct hes_run *run = &a->view.run;

	printf("%zu job%s %s run %" PRId64, a->new.n, hes_s(a->new.n),
	       a->taken == APP_TAKEN ? "added to" : "written for", run->id);
	if (a->taken == APP_TAKEN_AT_RESUME)
		printf(", which is interrupted: heshare run %s%s%s --resume, with the options of "
		       "its start, starts %s",
		       run->plan, a->o->store ? " --store " : "", a->o->store ? a->o->store : "",
		       a->new.n == 1 ? "it" : "them");
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

static int run_add(const struct call *call, struct hes_err *err)
{
	const struct add_opts *o = call->opts;
	char template[HES_POINT_COMMAND];
	struct app_add_options q = {
		.app = cli_app(),
		.jobs = call->args[1],
		.commands = { o->commands, call->n > 2 ? template : o->command, o->progress },
		.catalogue = o->catalogue,
		.store = o->store,
	};
	struct app_add a = { 0 };
	int rc;

	if (check_use(o, call->n, call->args, template, &q.run, err))
		return OPT_USAGE;
	rc = app_jobs_add(&a, &q, err);
	if (!rc && !o->no_wait)
		rc = app_jobs_await(&a, err);
	if (!rc)
		rc = o->json ? print_json(&a) : print_text(&a);
	app_add_close(&a);
	return rc;
}

const struct command cmd_add = {
	.name = "add",
	.args = "RUN JOBS [-- COMMAND [ARGUMENT]...]",
	.min_args = 2,
	.max_args = CLI_MAX_ARGS,
	.before = offsetof(struct add_opts, before),
	.takes_run = true,
	.summary = "add jobs to a run that goes on",
	.text = "Hands the jobs of the file JOBS to run RUN. heshare status prints the numbers of "
		"runs. COMMAND is for jobs without a command of their own, as for heshare run.\n\n"
		"The run plans all jobs that wait again, by its own policy, --predictor and "
		"--profiles. Jobs that run stay where they are. A job of which nothing is known "
		"runs alone, and so do new jobs behind the plan of a program.\n\n"
		"The jobs are on the disk before the command returns, and it returns when the run "
		"has taken them, within about a second. To a run that is interrupted or stopped "
		"they are added at --resume. A run that is over takes no jobs.",
	.example = "  heshare status\n"
		   "  heshare add 3 more.csv -- ./train.sh {workload} {batch} {iterations}",
	.opts = add_opts,
	.opts_size = sizeof(struct add_opts),
	.run = run_add,
};
