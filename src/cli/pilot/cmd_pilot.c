/*
 * cmd_pilot.c - `heshare pilot`: one Slurm job that plans and runs many jobs on its nodes; watched
 * until it ends.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/profile.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "cli/run/status_out.h"
#include "cli/terminal.h"
#include "cluster/pilot.h"

#define ASK_S  10 /* Slurm is queried no more often */
#define LOOK_S 2

#define AT(member) .offset = offsetof(struct pilot_opts, member)

/* clang-format off */
static const struct opt pilot_opts[] = {
	{ .heading = "the Slurm job",
	  .name = "nodes", .letter = 'N', .kind = OPT_U64, AT(nodes), .arg = "N", .def = "1",
	  .min = 1, .max = 100000, .help = "number of nodes" },
	{ .name = "time", .letter = 't', .kind = OPT_TEXT, AT(time), .arg = "TIME",
	  .def = "1:00:00",
	  .help = "time limit as Slurm writes it: 30 (minutes), 2:00:00, 1-12:00:00" },
	{ .name = "partition", .letter = 'p', .kind = OPT_TEXT, AT(partition), .arg = "NAME",
	  .help = "partition; without it, Slurm's default" },
	{ .name = "gpus-per-node", .kind = OPT_TEXT, AT(gpus), .arg = "[TYPE:]N", .def = "1",
	  .help = "GPUs of each node" },
	{ .name = "sbatch", .kind = OPT_TEXT, AT(sbatch), .arg = "OPTIONS",
	  .help = "more options of sbatch, such as '--cpus-per-task=16 --mem=64G --account=a': all "
		  "jobs of a node share its cores and memory" },
	{ .name = "chain", .kind = OPT_U64, AT(chain), .arg = "N", .max = PILOT_CHAIN_MAX,
	  .help = "submit N more Slurm jobs, each of which starts when the one before ends and "
		  "leaves jobs, and resumes" },
	{ .name = "before-end", .kind = OPT_DOUBLE, AT(before_end_s), .arg = "S", .def = "60",
	  .max = 1e6, .help = "stop in order so long before the time limit, seconds" },
	{ .heading = "planning",
	  .name = "policy", .kind = OPT_TEXT, AT(policy), .arg = "NAME",
	  .help = "as of heshare plan" },
	{ .name = "prefer", .kind = OPT_TEXT, AT(prefer), .arg = "NAME",
	  .help = "as of heshare plan" },
	{ .name = "budget", .letter = 'b', .kind = OPT_TEXT, AT(budget), .arg = "TIME|N",
	  .help = "as of heshare plan" },
	CLI_PREDICTOR_OPT(offsetof(struct pilot_opts, predictor)),
	CLI_PROFILES_OPT(offsetof(struct pilot_opts, profiles)),
	CLI_CATALOGUE_OPT(offsetof(struct pilot_opts, catalogue)),
	{ .heading = "running",
	  .name = "early-ok", .kind = OPT_FLAG, AT(early_ok), .help = "as of heshare run" },
	{ .heading = "output",
	  .name = "dir", .letter = 'd', .kind = OPT_FILE, AT(dir), .arg = "DIR",
	  .help = "folder for script, plan, store and output of jobs, which all nodes see by this "
		  "name; without it, JOBS with .pilot in place of .csv" },
	{ .name = "print", .kind = OPT_FLAG, AT(print),
	  .help = "print the batch script, and do nothing" },
	{ .name = "no-wait", .kind = OPT_FLAG, AT(no_wait), .help = "do not wait for the end" },
	{ 0 }
};
/* clang-format on */

static void tell_submitted(const struct pilot *p)
{
	printf("Slurm job %s", p->ids[0]);
	for (uint64_t i = 1; i < p->n_ids; i++)
		printf(", then %s", p->ids[i]);
	printf("\nheshare status --store %s shows what it does; its messages are in "
	       "%s/pilot.%s.log; to end it: scancel",
	       p->store, p->folder, p->ids[0]);
	for (uint64_t i = 0; i < p->n_ids; i++)
		printf(" %s", p->ids[i]);
	putchar('\n');
	fflush(stdout);
}

/* --- watched --- */

/* @return whether every job is done */
static bool show(const struct pilot *p, const char *id, const char *state)
{
	struct run_view v = { 0 };
	const bool begun = !pilot_look(p, &v, NULL), done = begun && v.run.state == HES_RUN_DONE;

	if (terminal_is_live(STDERR_FILENO)) {
		/* The journal knows sooner. */
		fprintf(stderr, "\rSlurm job %s: %s", id,
			begun && v.run.state == HES_RUN_GOING ? "RUNNING" : state);
		if (begun)
			fprintf(stderr, "; %zu of %zu jobs done, %zu running, %zu failed", v.done,
				v.n_jobs, v.n_running, v.failed);
		fputs("\033[K", stderr);
		fflush(stderr);
	}
	run_view_free(&v);
	return done;
}

static void await_job(const struct pilot *p, const char *id)
{
	const struct timespec pause = { .tv_sec = LOOK_S };
	char state[64] = "submitted", said[64] = "";
	double queried_s = 0;
	bool done = false;

	/* The journal may know of the end before Slurm is queried; the report follows within
	 * moments. */
	while (!done) {
		if (queried_s <= 0 || hes_monotonic_s() - queried_s >= ASK_S) {
			queried_s = hes_monotonic_s();
			if (pilot_has_ended(id, state))
				break;
			if (strncmp(state, "PENDING (", 9) == 0 && strcmp(state, said) != 0 &&
			    !terminal_is_live(STDERR_FILENO))
				fprintf(stderr, "heshare pilot: Slurm job %s: %s\n", id,
					strcpy(said, state));
		}
		done = show(p, id, state);
		nanosleep(&pause, NULL);
	}
	if (terminal_is_live(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* @return exit status; -errno */
static int watch(const struct pilot *p, struct hes_err *err)
{
	struct run_view v = { 0 };
	struct table t = { 0 };
	int rc = 0, status = 1;

	for (uint64_t i = 0; i <= p->o->chain; i++) {
		run_view_free(&v);
		await_job(p, p->ids[i]);
		rc = pilot_look(p, &v, err);
		if (!rc && v.run.state == HES_RUN_DONE)
			break;
	}
	if (rc)
		hes_fail(err, rc,
			 "Slurm job %s ended before its run began; %s/pilot.%s.log says why",
			 p->ids[0], p->folder, p->ids[0]);
	if (!rc) {
		status_row(&t, &v);
		cli_print_table(&t, stdout, 0);
		printf("report: %s/report.json\n", v.run.folder);
		status = v.run.state != HES_RUN_DONE;
		if (status)
			printf("messages: %s/pilot.*.log; the same heshare pilot command goes on "
			       "with the jobs that are not done\n",
			       p->folder);
	}
	run_view_free(&v);
	return rc ? rc : status;
}

/* @return whether all is done already */
static bool is_done(const struct pilot *p)
{
	struct run_view v = { 0 };
	struct table t = { 0 };
	const bool done = p->begun && !access(p->store, F_OK) && !pilot_look(p, &v, NULL) &&
			  v.run.state == HES_RUN_DONE;

	if (done) {
		fputs("every job is done, so nothing is submitted\n", stdout);
		status_row(&t, &v);
		cli_print_table(&t, stdout, 0);
	}
	run_view_free(&v);
	return done;
}

/* @return exit status; -errno */
static int carry_out(struct pilot *p, struct hes_err *err)
{
	int rc;

	if (is_done(p))
		return 0;
	rc = pilot_check_submitted(p, err);
	if (!rc && p->begun)
		fprintf(stderr,
			"heshare pilot: %s is there: the pilot goes on with it, and options of "
			"planning change nothing\n",
			p->plan);
	if (!rc)
		rc = pilot_write(p, err);
	if (!rc)
		rc = pilot_submit(p, err);
	if (p->n_ids)
		tell_submitted(p);
	if (rc)
		return rc;
	return p->o->no_wait ? 0 : watch(p, err);
}

static int run_pilot(const struct call *call, struct hes_err *err)
{
	struct pilot *p;
	int rc;

	if (pilot_check(call->opts, err))
		return OPT_USAGE;
	p = calloc(1, sizeof(*p));
	if (!p)
		return hes_fail(err, -ENOMEM, "out of memory");
	p->app = cli_app();
	p->o = call->opts;
	rc = pilot_name(p, call->args[0], err);
	if (!rc && call->n > 1) {
		rc = profile_command_join(call->n - 1, call->args + 1, p->line, err);
		p->command = p->line;
	}
	if (!rc)
		rc = pilot_check_jobs(p, err);
	if (!rc && p->o->print)
		pilot_print(p, stdout);
	else if (!rc)
		rc = carry_out(p, err);
	free(p);
	return rc;
}

const struct command cmd_pilot = {
	.name = "pilot",
	.args = "JOBS [-- COMMAND]",
	.min_args = 1,
	.max_args = INT_MAX,
	.max_before = 1,
	.summary = "submit one Slurm job that plans and runs many jobs on its nodes",
	.text = "Writes a batch script, submits it by sbatch, and waits until the Slurm job has "
		"ended. In the Slurm job, heshare plan --gpus slurm plans the jobs of the file "
		"JOBS for the GPUs of all its nodes. Then heshare run carries the plan out by one "
		"runner on each node. COMMAND is the command of jobs without one of their own, "
		"with {workload}, {batch}, {iterations}, {memory} and {job}. The format of JOBS is "
		"in docs/formats/jobs.md; heshare trace makes such files.\n\n"
		"All nodes must see the folder --dir, heshare itself and what the jobs need by the "
		"same names. Before the time limit the run stops in order. After a requeue, in a "
		"job of --chain, or when the command is given again, it goes on with the jobs that "
		"are left. Ctrl-C ends the waiting alone; scancel of all Slurm jobs, with those of "
		"--chain, ends the pilot.\n\n"
		"The exit status is 0 when every job is done.",
	.example =
		"  heshare pilot jobs.csv --nodes 3 --time 2:00:00 -- ./train.sh {workload} "
		"{batch} {iterations}\n"
		"  heshare pilot jobs.csv --nodes 3 --partition gpu --gpus-per-node 4 --chain 2\n"
		"  heshare pilot jobs.csv --nodes 3 --print >pilot.sh",
	.opts = pilot_opts,
	.opts_size = sizeof(struct pilot_opts),
	.run = run_pilot,
};
