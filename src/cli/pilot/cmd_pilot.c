/*
 * cmd_pilot.c - `heshare pilot`: one Slurm job that plans and runs many jobs on its nodes; watched
 * until it ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "app/jobs_changed.h"
#include "app/known_files.h"
#include "app/policy_program.h"
#include "app/known_store.h"
#include "cluster/launcher.h"
#include "cluster/pilot_script.h"
#include "app/profile.h"
#include "app/jobs_commands.h"
#include "cli/run/status_out.h"
#include "cli/terminal.h"
#include "heshare/job.h"
#include "heshare/plan.h"
#include "heshare/policy.h"

#define MOST_CHAINED  100
#define ASK_S         10 /* Slurm is queried no more often */
#define LOOK_S        2
#define STORE_WAIT_MS 2000
#define IDS_MAX_BYTES 65536
#define NOT_IN_WORDS  " '\"\\#" /* of a directive of sbatch */

#define AT(member) .offset = offsetof(struct pilot_opts, member)

/* clang-format off */
static const struct opt pilot_opts[] = {
	{ .heading = "the Slurm job",
	  .name = "nodes", .letter = 'N', .kind = OPT_U64, AT(nodes), .arg = "N", .def = "1",
	  .min = 1, .max = 100000,
	  .help = "number of nodes" },
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
	{ .name = "chain", .kind = OPT_U64, AT(chain), .arg = "N", .max = MOST_CHAINED,
	  .help = "submit N more Slurm jobs, each of which starts when the one before ends and "
		  "leaves jobs, and resumes" },
	{ .name = "before-end", .kind = OPT_DOUBLE, AT(before_end_s), .arg = "S", .def = "60",
	  .max = 1e6,
	  .help = "stop in order so long before the time limit, seconds" },
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
	  .name = "early-ok", .kind = OPT_FLAG, AT(early_ok),
	  .help = "as of heshare run" },
	{ .heading = "output",
	  .name = "dir", .letter = 'd', .kind = OPT_FILE, AT(dir), .arg = "DIR",
	  .help = "folder for script, plan, store and the output of jobs, which all nodes see by "
		  "this name; without it, the name of JOBS with .pilot in place of .csv" },
	{ .name = "print", .kind = OPT_FLAG, AT(print),
	  .help = "print the batch script, and do nothing" },
	{ .name = "no-wait", .kind = OPT_FLAG, AT(no_wait), .help = "do not wait for the end" },
	{ 0 }
};
/* clang-format on */

struct pilot {
	const struct pilot_opts *o;
	char here[PATH_MAX], jobs[PATH_MAX], folder[PATH_MAX], script[PATH_MAX + 16],
		store[PATH_MAX + 16], plan[PATH_MAX + 16], program[PATH_MAX];
	char submitted[PATH_MAX + 16]; /* a file: the numbers of the Slurm jobs */
	bool begun;                    /* there is a plan */
	char line[HES_POINT_COMMAND];
	const char *command; /* a pattern, in line; NULL: jobs have their own */
	char ids[MOST_CHAINED + 1][24];
};

/* --- jobs --- */

/* Whether the plan that the pilot goes on with has these jobs. */
static int compare_jobs(const char *plan, const char *file, const struct hes_jobs *planned,
			const struct hes_jobs *jobs, struct hes_err *err)
{
	char *what = NULL;
	bool others;
	int rc = jobs_changed(planned, jobs, &(struct jobs_begun){ NULL, 0 }, &what, &others, err);

	if (what)
		rc = hes_fail(err, -ESTALE,
			      "%s has changed since %s, with which this pilot began: %s; name "
			      "another folder by --dir for a new one",
			      file, plan, what);
	free(what);
	return rc;
}

static int check_plan(struct pilot *p, const struct hes_jobs *jobs, struct hes_err *err)
{
	struct hes_catalogue catalogue = { 0 };
	struct hes_fleet fleet = { 0 };
	struct hes_jobs planned = { 0 };
	int rc;

	if (access(p->plan, F_OK))
		return 0;
	p->begun = true;
	rc = hes_file_check_plain(p->plan, err);
	if (!rc)
		rc = app_catalogue_load(cli_app(), p->o->catalogue, true, &catalogue, err);
	if (!rc)
		rc = hes_plan_subjects(p->plan, &catalogue, &fleet, &planned, err);
	/* A GPU type that only the nodes know. */
	if (rc == -ENOENT)
		rc = 0;
	else if (!rc)
		rc = compare_jobs(p->plan, p->jobs, &planned, jobs, err);
	hes_jobs_free(&planned);
	hes_fleet_free(&fleet);
	hes_catalogue_free(&catalogue);
	return rc;
}

/* What would else be found when the Slurm job has begun. */
static int check_jobs(struct pilot *p, struct hes_err *err)
{
	struct hes_jobs jobs = { 0 };
	char **lines = NULL;
	int rc = hes_jobs_load(p->jobs, &jobs, err);

	for (size_t i = 0; i < jobs.n && !rc && !p->command; i++)
		if (!jobs.v[i].command)
			rc = hes_fail(err, -ENOENT,
				      "job %s has no command: give the jobs a column command, or "
				      "name it: heshare pilot JOBS -- COMMAND",
				      jobs.v[i].id);
	if (!rc)
		rc = run_commands_load(cli_app(), &jobs, NULL, p->command, &lines, err);
	if (!rc)
		rc = check_plan(p, &jobs, err);
	run_commands_free(lines, jobs.n);
	hes_jobs_free(&jobs);
	return rc;
}

/* --- made --- */

static int check_file(const char *option, const char *name, struct hes_err *err)
{
	return !name || !access(name, R_OK)
		       ? 0
		       : hes_fail(err, -errno, "--%s: %.200s: %s", option, name, strerror(errno));
}

static int check_planning(const struct pilot_opts *o, struct hes_err *err)
{
	const char *name = o->policy ? o->policy : "joint", *prefer;
	const struct hes_policy *policy =
		policy_program_is(name) ? NULL : hes_policy_parse(name, &prefer, err);
	int rc = policy || policy_program_is(name) ? 0 : -ENOENT;

	if (policy && o->prefer && !hes_policy_preference(policy, o->prefer, err))
		rc = hes_fail_in(err, "--prefer");
	if (!rc)
		rc = check_file("predictor", o->predictor, err);
	if (!rc)
		rc = check_file("profiles", o->profiles, err);
	return rc ? rc : check_file("catalogue", o->catalogue, err);
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if (hes_utf8_is_control(text))
			return true;
	return false;
}

/* Slurm takes a directive up to the end of its line, or to # after which nothing counts. */
static int check_words(const struct pilot_opts *o, struct hes_err *err)
{
	const char *colon = strrchr(o->gpus, ':'), *gpus = colon ? colon + 1 : o->gpus;
	const struct {
		const char *name, *text;
	} v[] = { { "partition", o->partition },
		  { "gpus-per-node", o->gpus },
		  { "sbatch", o->sbatch } };

	if (slurm_parse_time(o->time) <= 0)
		return hes_fail(
			err, -EINVAL,
			"--time: \"%.40s\" is no time such as 30 (minutes), 2:00:00 or 1-12:00:00",
			o->time);
	if (slurm_parse_time(o->time) <= o->before_end_s)
		return hes_fail(err, -EINVAL,
				"--time: %.40s is over before a job can start: the run stops %g s "
				"earlier (--before-end)",
				o->time, o->before_end_s);
	if (strspn(gpus, "0") == strlen(gpus))
		return hes_fail(err, -EINVAL, "--gpus-per-node: \"%.60s\" is no GPU", o->gpus);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (v[i].text && has_control(v[i].text))
			return hes_fail(err, -EINVAL,
					"--%s: \"%.60s\" has a line end or another control "
					"character in it",
					v[i].name, v[i].text);
		else if (i < 2 && v[i].text && strpbrk(v[i].text, NOT_IN_WORDS))
			return hes_fail(err, -EINVAL,
					"--%s: \"%.60s\" has a space, quote, backslash or # in it",
					v[i].name, v[i].text);
	return 0;
}

static int find_names(struct pilot *p, const char *jobs, struct hes_err *err)
{
	const char *dot = strrchr(jobs, '.');
	const size_t stem = dot && !strchr(dot, '/') ? (size_t)(dot - jobs) : strlen(jobs);
	ssize_t n = readlink("/proc/self/exe", p->program, sizeof(p->program) - 1);
	char name[PATH_MAX];
	int length;

	p->program[n > 0 ? n : 0] = '\0';
	if (!getcwd(p->here, sizeof(p->here)) || !realpath(jobs, p->jobs))
		return hes_fail(err, -errno, "%s: %s", jobs, strerror(errno));
	if (p->o->dir)
		snprintf(name, sizeof(name), "%s", p->o->dir);
	else
		snprintf(name, sizeof(name), "%.*s.pilot", (int)stem, jobs);
	length = snprintf(p->folder, sizeof(p->folder), "%s%s%s", *name == '/' ? "" : p->here,
			  *name == '/' ? "" : "/", name);
	if (length < 0 || length > HES_JOURNAL_PATH_MAX / 2 || has_control(p->folder) ||
	    strpbrk(p->folder, NOT_IN_WORDS "%"))
		return hes_fail(err, -EINVAL,
				"%.80s: the name of the folder is too long, or has a space, %%, "
				"#, quote, backslash or control character in it, which sbatch does "
				"not take; "
				"name another by --dir",
				p->folder);
	snprintf(p->script, sizeof(p->script), "%s/pilot.sh", p->folder);
	snprintf(p->store, sizeof(p->store), "%s/store.db", p->folder);
	snprintf(p->plan, sizeof(p->plan), "%s/plan.json", p->folder);
	snprintf(p->submitted, sizeof(p->submitted), "%s/slurm-jobs", p->folder);
	return 0;
}

static void print_script(const struct pilot *p, FILE *f)
{
	pilot_script(f, p->o, p->program, p->here, p->jobs, p->folder, p->command);
}

/* The store is there from now on, for heshare status. */
static int write_script(const struct pilot *p, struct hes_err *err)
{
	struct hes_store *store = NULL;
	struct hes_file file;
	int rc = hes_folder_create(p->folder, err);

	if (!rc && p->begun)
		fprintf(stderr,
			"heshare pilot: %s is there: the pilot goes on with it, and options of "
			"planning change nothing\n",
			p->plan);
	if (!rc)
		rc = hes_store_open(p->store, HES_STORE_WRITE, STORE_WAIT_MS, &store, err);
	hes_store_close(store);
	if (!rc)
		rc = hes_file_create_own(&file, p->script, err);
	if (rc)
		return rc;
	print_script(p, file.f);
	return hes_file_commit(&file, err);
}

/* --- submitted --- */

/* Two Slurm jobs cannot carry out one run. Where Slurm does not answer, sbatch will say so. */
static int check_submitted(const struct pilot *p, struct hes_err *err)
{
	char *text = NULL, ids[IDS_MAX_BYTES + 8] = "--jobs=", user[32], active[4096] = "";
	const char *const argv[] = { "squeue", "--noheader", "--states=PENDING,RUNNING,SUSPENDED",
				     user,     ids,          "--format=%i",
				     NULL };
	size_t n = 0, others = 0;

	if (hes_file_check_plain(p->submitted, NULL) ||
	    hes_file_slurp(p->submitted, IDS_MAX_BYTES, &text, &n, NULL))
		return 0;
	strcat(ids, text);
	free(text);
	snprintf(user, sizeof(user), "--user=%u", (unsigned)getuid());
	if (slurm_call(argv, active, sizeof(active), NULL) || !*active)
		return 0;
	for (const char *c = strchr(active, '\n'); c && c[1]; c = strchr(c + 1, '\n'))
		others++;
	active[strcspn(active, "\n")] = '\0';
	return hes_fail(err, -EBUSY,
			"Slurm job %.40s and %zu more are there for this pilot already; heshare "
			"status --store %.200s shows what they "
			"do; to end them, give scancel the numbers in %.200s",
			active, others, p->store, p->submitted);
}

/* @param n  jobs of the chain that there are */
static int note_submitted(const struct pilot *p, uint64_t n, struct hes_err *err)
{
	struct hes_file file;
	int rc = hes_file_create_own(&file, p->submitted, err);

	if (rc)
		return rc;
	for (uint64_t i = 0; i < n; i++)
		fprintf(file.f, "%s%s", i ? "," : "", p->ids[i]);
	return hes_file_commit(&file, err);
}

/* @param n_before  those that must have ended and failed; with one that succeeds it is cancelled */
static int submit(const struct pilot *p, uint64_t n_before, char id[24], struct hes_err *err)
{
	char text[512] = "", dependency[(MOST_CHAINED + 1) * 40] = "--dependency=";
	const char *argv[6] = { "sbatch", "--parsable" };
	size_t n = 2;
	int rc;

	for (uint64_t i = 0; i < n_before; i++)
		snprintf(dependency + strlen(dependency), 40, "%safternotok:%s", i ? "," : "",
			 p->ids[i]);
	if (n_before) {
		argv[n++] = dependency;
		argv[n++] = "--kill-on-invalid-dep=yes";
	}
	argv[n++] = p->script;
	argv[n] = NULL;
	rc = slurm_call(argv, text, sizeof(text), err);
	if (!rc && (*text < '1' || *text > '9'))
		rc = hes_fail(err, -EIO, "sbatch: \"%.100s\" is no number of a job", text);
	if (!rc)
		snprintf(id, 24, "%.*s", (int)strspn(text, "0123456789"), text);
	return rc;
}

static void tell_submitted(const struct pilot *p, uint64_t n)
{
	printf("Slurm job %s", p->ids[0]);
	for (uint64_t i = 1; i < n; i++)
		printf(", then %s", p->ids[i]);
	printf("\nheshare status --store %s shows what it does; its messages are in "
	       "%s/pilot.%s.log; to end it: scancel",
	       p->store, p->folder, p->ids[0]);
	for (uint64_t i = 0; i < n; i++)
		printf(" %s", p->ids[i]);
	putchar('\n');
	fflush(stdout);
}

/* Also a chain that could not be submitted as a whole is noted and reported. */
static int submit_all(struct pilot *p, struct hes_err *err)
{
	uint64_t n = 0;
	int rc = 0;

	while (n <= p->o->chain && !rc) {
		rc = submit(p, n, p->ids[n], err);
		n += !rc;
		if (!rc)
			rc = note_submitted(p, n, err);
	}
	if (n)
		tell_submitted(p, n);
	return rc;
}

/* --- watched --- */

/* @return whether the job has ended; where Slurm does not answer it has not */
static bool has_ended(const char *id, char state[64])
{
	static const char *const ends[] = {
		"COMPLETED", "FAILED",        "CANCELLED", "TIMEOUT",
		"NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE",  "BOOT_FAIL"
	};
	char text[512] = "", name[24];
	const char *const argv[] = { "squeue", "--noheader", "--states=all",
				     "--jobs", name,         "--format=%T (%r)",
				     NULL };
	struct hes_err err;

	snprintf(name, sizeof(name), "%s", id);
	if (slurm_call(argv, text, sizeof(text), &err))
		return strstr(err.msg, "Invalid job id") != NULL;
	text[strcspn(text, "\n")] = '\0';
	if (strstr(text, " (None)"))
		*strstr(text, " (None)") = '\0';
	snprintf(state, 64, "%.63s", text);
	text[strcspn(text, " ")] = '\0';
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(text, ends[i]) == 0)
			return true;
	return !*text;
}

/* The last run in the pilot's store. @return 0; -ENOENT none yet */
static int look(const struct pilot *p, struct run_view *v, struct hes_err *err)
{
	struct hes_store *store = NULL;
	struct hes_journal *j = NULL;
	struct hes_run *runs = NULL;
	size_t n = 0;
	int rc = hes_store_open(p->store, HES_STORE_READ, STORE_WAIT_MS, &store, err);

	if (!rc)
		rc = hes_journal_open(store, &j, err);
	if (!rc)
		rc = hes_journal_recent(j, 1, &runs, &n, err);
	if (!rc)
		rc = n ? run_view_load(j, &runs[n - 1], v, err) : -ENOENT;
	free(runs);
	hes_journal_close(j);
	hes_store_close(store);
	return rc;
}

/* @return whether every job is done */
static bool show(const struct pilot *p, const char *id, const char *state)
{
	struct run_view v = { 0 };
	const bool begun = !look(p, &v, NULL), done = begun && v.run.state == HES_RUN_DONE;

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
			if (has_ended(id, state))
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

/* @return exit status */
static int watch(const struct pilot *p, struct hes_err *err)
{
	struct run_view v = { 0 };
	struct table t = { 0 };
	int rc = 0, status = 1;

	for (uint64_t i = 0; i <= p->o->chain; i++) {
		run_view_free(&v);
		await_job(p, p->ids[i]);
		rc = look(p, &v, err);
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
	return rc ? cli_fail("pilot", err) : status;
}

/* @return whether all is done already */
static bool is_done(const struct pilot *p)
{
	struct run_view v = { 0 };
	struct table t = { 0 };
	const bool done = p->begun && !access(p->store, F_OK) && !look(p, &v, NULL) &&
			  v.run.state == HES_RUN_DONE;

	if (done) {
		fputs("every job is done, so nothing is submitted\n", stdout);
		status_row(&t, &v);
		cli_print_table(&t, stdout, 0);
	}
	run_view_free(&v);
	return done;
}

/* @return exit status */
static int carry_out(struct pilot *p, struct hes_err *err)
{
	int rc;

	if (is_done(p))
		return 0;
	rc = check_submitted(p, err);
	if (!rc)
		rc = write_script(p, err);
	if (!rc)
		rc = submit_all(p, err);
	if (rc)
		return cli_fail("pilot", err);
	return p->o->no_wait ? 0 : watch(p, err);
}

static int run_pilot(const void *opts, int n_args, char **args)
{
	struct pilot *p = calloc(1, sizeof(*p));
	struct hes_err err = { 0 };
	int rc = p ? 0 : hes_fail(&err, -ENOMEM, "out of memory"), status = 1;

	if (!rc) {
		p->o = opts;
		rc = check_words(p->o, &err);
		if (!rc)
			rc = check_planning(p->o, &err);
		status = rc ? 2 : 1;
	}
	if (!rc)
		rc = find_names(p, args[0], &err);
	if (!rc && n_args > 1)
		rc = profile_command_join(n_args - 1, args + 1, p->line, &err);
	if (!rc && n_args > 1)
		p->command = p->line;
	if (!rc)
		rc = check_jobs(p, &err);
	if (!rc && p->o->print) {
		print_script(p, stdout);
		status = 0;
	} else if (!rc) {
		status = carry_out(p, &err);
	}
	if (rc)
		status = cli_fail("pilot", &err) == 2 ? 2 : status;
	free(p);
	return status;
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
		"JOBS for the GPUs of all its nodes, and heshare run carries the plan out by one "
		"runner on each node. COMMAND is the command of jobs without one of their own, "
		"with {workload}, {batch}, {iterations}, {memory} and {job}. The format of JOBS is "
		"in docs/formats/jobs.md; heshare trace makes such files.\n\n"
		"All nodes must see the folder --dir, heshare itself and what the jobs need by the "
		"same names. Before the time limit the run stops in order. After a requeue, in a "
		"job of --chain, or when the same command is given again, it goes on with the jobs "
		"that are left, also on other GPUs. Ctrl-C ends the waiting alone; scancel of all "
		"Slurm jobs, with those of --chain, ends the pilot.\n\n"
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
