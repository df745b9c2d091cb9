/*
 * cmd_auto.c - `heshare auto`: from a list of jobs to a measured run, by the commands that one
 * would type.
 *
 * Looks at GPUs, jobs and store to choose the commands; auto_step.c runs them. What is done is seen
 * from files in its folder: "profiling" while points are missing, then predictor, plan.json and
 * plan.run.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plural.h"
#include "cli/auto/auto_step.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/catalogue.h"
#include "cli/inputs/gpu_list.h"
#include "cli/inputs/inputs.h"
#include "cli/inputs/offers.h"
#include "cli/inputs/store_use.h"
#include "cli/profile/profile.h"
#include "cli/run/run_folder.h"
#include "cli/run/run_identity.h"
#include "heshare/draw.h"
#include "heshare/policy.h"
#include "heshare/run.h"

#define SAMPLES_EACH  10 /* for each workload, batch size and GPU type */
#define SAMPLES_LEAST 50
#define SAMPLES_MOST  1000
#define LEARNT_LEAST                                                                         \
	20 /* samples from which a predictor is trained: heshare train needs 10, and holds a \
	      quarter back */
#define SOLO_CLOCKS 3      /* at which heshare profile measures a job alone */
#define PATIENCE_S  120    /* of heshare profile, without an option */
#define MAX_RUNS    100000 /* looked through for that of the plan */
#define MAX_ARGS    4096

struct auto_opts {
	const char *gpus, *dir, *store, *catalogue, *prefer;
	uint64_t samples;
	double patience_s, power_cap_w;
	bool dry_run, resume;
};

#define AT(member) .offset = offsetof(struct auto_opts, member)

/* clang-format off */
static const struct opt auto_opts[] = {
	{ .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(gpus), .arg = "LIST",
	  .help = "use these GPUs: all, or indices, UUIDs, PCI addresses with commas; without it, "
		  "all" },
	CLI_CATALOGUE_OPT(offsetof(struct auto_opts, catalogue)),
	{ .name = "samples", .kind = OPT_U64, AT(samples), .arg = "N", .max = HES_DRAW_MAX_SAMPLES,
	  .help = "profile: samples of jobs that share a GPU; 0: 10 for each workload, batch size "
		  "and GPU type, from 50 to 1000" },
	{ .name = "patience", .kind = OPT_DOUBLE, AT(patience_s), .arg = "S", .def = "120",
	  .min = 1, .max = 1e6,
	  .help = "profile: a job without progress for this time has failed, seconds" },
	{ .name = "prefer", .kind = OPT_TEXT, AT(prefer), .arg = "NAME", .offer = offer_preferences,
	  .help = "plan: what to favour: busy energy, average completion time (jct), or both "
		  "(balanced); without it, balanced" },
	{ .name = "power-cap", .kind = OPT_DOUBLE, AT(power_cap_w), .arg = "W", .max = 1e9,
	  .help = "plan: keep the sum of the highest power of all GPUs below this, W; 0: no cap" },
	{ .name = "dir", .letter = 'd', .kind = OPT_FILE, AT(dir), .arg = "DIR",
	  .help = "folder for predictor, profiles, plan and the output of the jobs; without it, "
		  "the name of JOBS with .auto in place of .csv" },
	{ .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE", .help = "the store; without "
		"it " CLI_STORE_PLACE },
	{ .name = "resume", .kind = OPT_FLAG, AT(resume),
	  .help = "continue in the folder: what is measured, trained, planned and done stays" },
	{ .name = "dry-run", .kind = OPT_FLAG, AT(dry_run),
	  .help = "explain the steps and print their commands, run nothing" },
	{ 0 }
};
/* clang-format on */

/* What is measured: a workload at a batch size. */
struct task {
	const char *workload;
	uint32_t batch_size, memory_mib;
};

struct automatic {
	const struct auto_opts *o;
	const char *jobs_path;
	struct hes_catalogue catalogue;
	struct gpus_fleet gpus;
	struct hes_jobs jobs;
	struct task *tasks; /* sorted, each once */
	size_t n_tasks;
	bool clocks, mps;    /* some GPU can */
	size_t pairs, lacks; /* of tasks and GPU types: those that fit memory; without a profile in
				the store */
	size_t samples;   /* of tasks at shares below 100 %, on types of the fleet, in the store */
	size_t learnable; /* samples in the store, of anything */
	char line[HES_POINT_COMMAND]; /* COMMAND, for the shell; "": jobs have their own */
	char dir[PATH_MAX], predictor[PATH_MAX], rows[PATH_MAX], plan[PATH_MAX],
		profiling[PATH_MAX];
};

static void unload(struct automatic *a)
{
	free(a->tasks);
	hes_jobs_free(&a->jobs);
	gpus_fleet_free(&a->gpus);
	hes_catalogue_free(&a->catalogue);
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* --- what there is --- */

static int task_compare(const void *a, const void *b)
{
	const struct task *x = a, *y = b;
	int d = strcmp(x->workload, y->workload);

	return d ? d : (x->batch_size > y->batch_size) - (x->batch_size < y->batch_size);
}

static int list_tasks(struct automatic *a, struct hes_err *err)
{
	size_t n = 0;

	a->tasks = calloc(a->jobs.n, sizeof(*a->tasks));
	if (!a->tasks)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", a->jobs.n);
	for (size_t i = 0; i < a->jobs.n; i++)
		a->tasks[i] = (struct task){ a->jobs.v[i].workload, a->jobs.v[i].batch_size,
					     hes_job_memory_mib(&a->jobs.v[i]) };
	qsort(a->tasks, a->jobs.n, sizeof(*a->tasks), task_compare);
	for (size_t i = 0; i < a->jobs.n; i++)
		if (!i || task_compare(&a->tasks[n - 1], &a->tasks[i]) != 0)
			a->tasks[n++] = a->tasks[i];
	a->n_tasks = n;
	return 0;
}

/* One command for all jobs, or one for each in the file; found before anything is measured. */
static int check_commands(struct automatic *a, int n, char **words, struct hes_err *err)
{
	static const char *const unknown[] = { "{job}", "{memory}", "{{" };
	char *filled;
	int rc = n ? profile_command_join(n, words, a->line, err) : 0;

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]) && !rc; i++)
		if (strstr(a->line, unknown[i]))
			rc = hes_fail(err, -EINVAL,
				      "COMMAND: %s means something only while a plan runs, and the "
				      "command is profiled, too; use "
				      "{workload}, {batch} and {iterations}, or a script",
				      unknown[i]);
	for (size_t i = 0; i < a->jobs.n && !rc; i++) {
		if (!a->jobs.v[i].command && !n)
			rc = hes_fail(err, -ENOENT,
				      "%s: job %s has no command; give one for all after --, such "
				      "as -- ./job.sh {workload} {batch} "
				      "{iterations}",
				      a->jobs_path, a->jobs.v[i].id);
		else if (a->jobs.v[i].command && n)
			rc = hes_fail(err, -EEXIST,
				      "%s: job %s has a command of its own, and there is one for "
				      "all after --; leave one of them out",
				      a->jobs_path, a->jobs.v[i].id);
	}
	if (!rc && n && !(rc = hes_run_words(a->line, &a->jobs.v[0], &filled, err)))
		free(filled);
	return rc;
}

static bool is_first_of_type(const struct gpus_fleet *g, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (strcmp(g->types[i].name, g->types[k].name) == 0)
			return false;
	return true;
}

static bool has_profile(const struct hes_profiles *p, const struct task *t, const char *type)
{
	struct hes_profile key = { .batch_size = t->batch_size };

	snprintf(key.workload, sizeof(key.workload), "%s", t->workload);
	snprintf(key.gpu_type, sizeof(key.gpu_type), "%s", type);
	return p->n && bsearch(&key, p->v, p->n, sizeof(*p->v), hes_profile_compare);
}

static void count_profiles(struct automatic *a, const struct hes_profiles *p)
{
	for (size_t k = 0; k < a->gpus.n_types; k++)
		for (size_t i = 0; i < a->n_tasks && is_first_of_type(&a->gpus, k); i++) {
			if (a->tasks[i].memory_mib > a->gpus.types[k].memory_mib)
				continue;
			a->pairs++;
			a->lacks += !has_profile(p, &a->tasks[i], a->gpus.types[k].name);
		}
}

static bool is_of_fleet(const struct automatic *a, const struct hes_profile *solo)
{
	const struct task key = { .workload = solo->workload, .batch_size = solo->batch_size };
	bool here = false;

	for (size_t k = 0; k < a->gpus.n_types && !here; k++)
		here = strcmp(a->gpus.types[k].name, solo->gpu_type) == 0;
	return here && bsearch(&key, a->tasks, a->n_tasks, sizeof(key), task_compare);
}

static void count_samples(struct automatic *a, const struct hes_samples *s)
{
	a->learnable = s->n;
	a->samples = 0;
	for (size_t i = 0; i < s->n; i++)
		a->samples += s->v[i].sm_pct < 100 && is_of_fleet(a, &s->v[i].task);
}

/* No store yet is an empty one. */
static int look_into_store(struct automatic *a, bool profiles, struct hes_err *err)
{
	const struct hes_store_query all = { 0 };
	struct hes_profiles p = { 0 };
	struct hes_samples s = { 0 };
	struct hes_store *store = NULL;
	int rc = cli_store_open(a->o->store, HES_STORE_READ, HES_STORE_WAIT_MS, &store, err);
	bool none = rc == -ENOENT;

	if (!rc)
		rc = hes_store_profiles(store, &all, &p, err);
	if (!rc)
		rc = hes_store_samples(store, &all, &s, err);
	hes_store_close(store);
	if (profiles && (!rc || none))
		count_profiles(a, &p);
	if (!rc)
		count_samples(a, &s);
	hes_profiles_free(&p);
	hes_samples_free(&s);
	return none ? 0 : rc;
}

static int name_files(struct automatic *a, struct hes_err *err)
{
	const char *slash = strrchr(a->jobs_path, '/'), *dot = strrchr(a->jobs_path, '.');
	const bool ends = dot && dot > (slash ? slash + 1 : a->jobs_path);
	int n;

	if (a->o->dir)
		n = snprintf(a->dir, sizeof(a->dir), "%s", a->o->dir);
	else
		n = snprintf(a->dir, sizeof(a->dir), "%.*s.auto",
			     ends ? (int)(dot - a->jobs_path) : INT_MAX, a->jobs_path);
	if (n + 16 >= PATH_MAX)
		return hes_fail(err, -ENAMETOOLONG, "%.80s...: the name of the folder is too long",
				a->dir);
	snprintf(a->predictor, sizeof(a->predictor), "%.*s/predictor", n, a->dir);
	snprintf(a->rows, sizeof(a->rows), "%.*s/rows", n, a->dir);
	snprintf(a->plan, sizeof(a->plan), "%.*s/plan.json", n, a->dir);
	snprintf(a->profiling, sizeof(a->profiling), "%.*s/profiling", n, a->dir);
	return 0;
}

/* What was begun goes on by --resume alone; and where jobs run as other users, the folder is
 * refused now. */
static int choose_folder(struct automatic *a, struct hes_err *err)
{
	char output[HES_JOURNAL_PATH_MAX];
	int rc = name_files(a, err);

	if (rc)
		return rc;
	if (a->o->resume && !is_there(a->dir))
		return hes_fail(err, -ENOENT, "%s: no such folder, so there is nothing to resume",
				a->dir);
	if (!a->o->resume && (is_there(a->predictor) || is_there(a->plan)))
		return hes_fail(
			err, -EEXIST,
			"%s was begun before; --resume goes on with it, --dir names another folder",
			a->dir);
	if (is_there(a->predictor))
		rc = hes_file_check_plain(a->predictor, err);
	if (!rc && is_there(a->plan))
		rc = hes_file_check_plain(a->plan, err);
	if (rc || a->o->dry_run)
		return rc;
	rc = hes_folder_create(a->dir, err);
	if (!rc && run_has_other_users(&a->jobs, run_user_behind_sudo()))
		rc = run_folder_choose(NULL, a->plan, true, output, err);
	return rc;
}

static int check_prefer(const struct auto_opts *o, struct hes_err *err)
{
	const char *prefer = NULL;
	const struct hes_policy *joint = hes_policy_parse("joint", &prefer, err);

	if (!joint || (o->prefer && !hes_policy_preference(joint, o->prefer, err)))
		return hes_fail_in(err, "--prefer");
	return 0;
}

static int look_around(struct automatic *a, int n_words, char **words, struct hes_err *err)
{
	int rc = check_prefer(a->o, err);

	if (!rc)
		rc = cli_jobs_load("auto", a->jobs_path, true, &a->jobs, err);
	if (!rc)
		rc = check_commands(a, n_words, words, err);
	if (!rc)
		rc = cli_catalogue_load(a->o->catalogue, true, &a->catalogue, err);
	if (!rc)
		rc = gpus_fleet_load(a->o->gpus, &a->catalogue, NULL, &a->gpus, err);
	if (!rc)
		rc = cli_cap_check(a->o->power_cap_w, &a->gpus.fleet, err);
	if (!rc)
		rc = list_tasks(a, err);
	for (size_t k = 0; k < a->gpus.n_types && !rc; k++) {
		a->clocks |= a->gpus.types[k].n_clocks > 1;
		a->mps |= !a->gpus.types[k].alone;
	}
	if (!rc)
		rc = look_into_store(a, true, err);
	return rc ? rc : choose_folder(a, err);
}

/* --- the steps, each with its exit status --- */

/* A GPU that cannot be used is shown, and the others do. */
static int show_gpus(struct automatic *a)
{
	struct auto_command c = { .n = 0 };
	int status;

	auto_explain("Step 1 of 5, gpus: shows what GPUs there are, and which settings cannot be "
		     "used and why.");
	auto_add(&c, "gpus");
	auto_add_option(&c, "--catalogue", a->o->catalogue);
	status = auto_run(&c, a->o->dry_run);
	return status == 1 ? 0 : status;
}

static size_t samples_wanted(const struct automatic *a)
{
	size_t n = SAMPLES_EACH * a->pairs;

	if (!a->mps)
		return 0;
	if (a->o->samples)
		return a->o->samples;
	return n < SAMPLES_LEAST ? SAMPLES_LEAST : n > SAMPLES_MOST ? SAMPLES_MOST : n;
}

static int run_profile(struct automatic *a, size_t samples, bool estimate)
{
	struct auto_command c = { .n = 0 };
	char number[24], patience[32];

	snprintf(number, sizeof(number), "%zu", samples);
	snprintf(patience, sizeof(patience), "%.10g", a->o->patience_s);
	auto_add(&c, "profile");
	auto_add_option(&c, "--jobs", a->jobs_path);
	auto_add_option(&c, "--gpus", a->o->gpus);
	auto_add_option(&c, "--catalogue", a->o->catalogue);
	auto_add_option(&c, "--samples", number);
	auto_add_option(&c, "--patience", a->o->patience_s != PATIENCE_S ? patience : NULL);
	auto_add_option(&c, "--clocks", a->clocks ? NULL : "default");
	auto_add_option(&c, "--store", a->o->store);
	if (estimate)
		auto_add(&c, "--dry-run");
	auto_add_option(&c, "--", *a->line ? a->line : NULL);
	return auto_run(&c, a->o->dry_run);
}

/* Mark that points are missing until none are. */
static int mark_profiling(const struct automatic *a)
{
	int fd = open(a->profiling, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
	struct hes_err err;

	if (fd < 0) {
		hes_fail(&err, -errno, "%s: %s", a->profiling, strerror(errno));
		return cli_fail("auto", &err);
	}
	close(fd);
	return 0;
}

static int measure(struct automatic *a)
{
	const size_t samples = samples_wanted(a);
	struct hes_err err;
	int status;

	/* Points with the same shares are one, so there may be fewer than were wanted. */
	if (!a->lacks && 2 * a->samples >= samples && !is_there(a->profiling)) {
		auto_explain("Step 2 of 5, profile: not needed. The store has all %zu profiles "
			     "(workload, batch size, GPU type), and %zu samples "
			     "of these jobs at SM shares below 100 %%.",
			     a->pairs, a->samples);
		return 0;
	}
	auto_explain("Step 2 of 5, profile: the store lacks %zu of %zu profiles (workload, batch "
		     "size, GPU type) and has %zu samples of these "
		     "jobs at SM shares below 100 %%. So each job runs alone%s%s. First, how long "
		     "this takes:",
		     a->lacks, a->pairs, a->samples,
		     a->mps ? ", then random ones share a GPU"
			    : "; they cannot share GPUs without MPS",
		     a->clocks ? ", at several clocks"
			       : ", at the default clock, because clocks cannot be set here");
	if (!a->o->dry_run && mark_profiling(a))
		return 1;
	status = run_profile(a, samples, true);
	if (!status)
		status = run_profile(a, samples, false);
	if (status || a->o->dry_run)
		return status;
	unlink(a->profiling);
	return look_into_store(a, false, &err) ? cli_fail("auto", &err) : 0;
}

/* Whether there is enough to train on; a rehearsal counts what step 2 would add. */
static bool can_learn(const struct automatic *a)
{
	const size_t more =
		a->o->dry_run ? a->lacks * (a->clocks ? SOLO_CLOCKS : 1) + samples_wanted(a) : 0;

	return a->learnable + more >= LEARNT_LEAST;
}

static int train(struct automatic *a)
{
	struct auto_command c = { .n = 0 };

	if (!can_learn(a)) {
		auto_explain("Step 3 of 5, train: not possible. The store has %zu sample%s, and "
			     "fewer than %d teach little. The plan uses a "
			     "predictor of modelled GPUs with your profiles.",
			     a->learnable, hes_s(a->learnable), LEARNT_LEAST);
		return 0;
	}
	auto_explain("Step 3 of 5, train: learns from the store how long jobs take and what GPUs "
		     "draw, for every share, clock and set of "
		     "co-runners. The errors are those on samples that were held back.");
	auto_add(&c, "train");
	auto_add(&c, "--from-store");
	auto_add_option(&c, "--store", a->o->store);
	auto_add_option(&c, "--catalogue", a->o->catalogue);
	auto_add_option(&c, "-o", a->predictor);
	return auto_run(&c, a->o->dry_run);
}

static int export_rows(struct automatic *a)
{
	struct auto_command c = { .n = 0 };

	auto_add(&c, "profiles");
	auto_add(&c, "export");
	auto_add(&c, a->rows);
	auto_add_option(&c, "--store", a->o->store);
	auto_add_option(&c, "--catalogue", a->o->catalogue);
	return auto_run(&c, a->o->dry_run);
}

static int plan(struct automatic *a)
{
	struct auto_command c = { .n = 0 };
	char cap[32];
	int status;

	auto_explain("Step 4 of 5, plan: decides where and in which order jobs run, with which "
		     "co-runners, shares and clocks. It needs the "
		     "profiles as a file.");
	status = export_rows(a);
	if (status)
		return status;
	snprintf(cap, sizeof(cap), "%.10g", a->o->power_cap_w);
	auto_add(&c, "plan");
	auto_add(&c, a->jobs_path);
	auto_add_option(&c, "--gpus", a->o->gpus ? a->o->gpus : "all");
	auto_add_option(&c, "--catalogue", a->o->catalogue);
	auto_add_option(&c, "--policy", "joint");
	auto_add_option(&c, "--prefer", a->o->prefer);
	auto_add_option(&c, "--power-cap", a->o->power_cap_w > 0 ? cap : NULL);
	auto_add_option(&c, "--predictor",
			is_there(a->predictor) || (a->o->dry_run && can_learn(a)) ? a->predictor
										  : NULL);
	auto_add_option(&c, "--profiles", a->rows);
	auto_add_option(&c, "-o", a->plan);
	return auto_run(&c, a->o->dry_run);
}

/* The last run of the plan in this folder; an equal plan elsewhere has runs of its own. @return 0;
 * -ENOENT none */
static int find_run(const struct automatic *a, struct hes_run *out)
{
	char path[HES_JOURNAL_PATH_MAX];
	struct hes_store *store = NULL;
	struct hes_journal *journal = NULL;
	struct hes_run *v = NULL;
	struct hes_err err;
	size_t n = 0;
	int rc = cli_store_open(a->o->store, HES_STORE_READ, HES_STORE_WAIT_MS, &store, &err);

	if (!rc)
		rc = hes_journal_open(store, &journal, &err);
	if (!rc)
		rc = hes_journal_recent(journal, MAX_RUNS, &v, &n, &err);
	run_plan_path(a->plan, path);
	rc = rc ? rc : -ENOENT;
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].plan, path) == 0) {
			*out = v[i];
			rc = 0;
		}
	free(v);
	hes_journal_close(journal);
	hes_store_close(store);
	return rc;
}

static int carry_out(struct automatic *a)
{
	struct auto_command c = { .n = 0 };
	struct hes_run run = { .id = 0 };
	const bool begun = a->o->resume && is_there(a->plan) && !find_run(a, &run);

	if (begun && run.state == HES_RUN_DONE) {
		auto_explain("Step 5 of 5, run: not needed. Run %" PRId64
			     " has done all jobs; %s/report.json has the figures.",
			     run.id, run.folder);
		return 0;
	}
	auto_explain("Step 5 of 5, run: carries the plan out on the GPUs and measures joules. The "
		     "output of the jobs is in %s/plan.run. "
		     "heshare status shows how far it is.",
		     a->dir);
	auto_add(&c, "run");
	auto_add(&c, a->plan);
	auto_add_option(&c, "--catalogue", a->o->catalogue);
	auto_add_option(&c, "--store", a->o->store);
	if (begun)
		auto_add(&c, "--resume");
	auto_add_option(&c, "--command", *a->line ? a->line : NULL);
	return auto_run(&c, a->o->dry_run);
}

static int skip_step(int step, const char *name, const char *file)
{
	auto_explain("Step %d of 5, %s: not needed, because there is %s.", step, name, file);
	return 0;
}

/* @return exit status; *step is the last that began */
static int take_steps(struct automatic *a, int *step)
{
	const bool planned = a->o->resume && is_there(a->plan),
		   trained = planned || (a->o->resume && is_there(a->predictor));
	const char *file = planned ? a->plan : a->predictor;
	int status = 0;

	for (*step = 1; !status; ++*step) {
		if (*step > 1)
			putchar('\n');
		switch (*step) {
		case 1:
			status = show_gpus(a);
			break;
		case 2:
			status = trained ? skip_step(2, "profile", file) : measure(a);
			break;
		case 3:
			status = trained ? skip_step(3, "train", file) : train(a);
			break;
		case 4:
			status = planned ? skip_step(4, "plan", file) : plan(a);
			break;
		default:
			return carry_out(a);
		}
	}
	--*step;
	return status;
}

static int run_auto(const void *opts, int n_args, char **args)
{
	struct automatic a = { .o = opts, .jobs_path = args[0] };
	struct hes_err err;
	int step = 0, status;

	if (look_around(&a, n_args - 1, args + 1, &err)) {
		status = cli_fail("auto", &err);
	} else {
		auto_watch();
		status = take_steps(&a, &step);
		fflush(stdout);
		if (status)
			fprintf(stderr,
				"heshare auto: step %d of 5 ended with exit status %d; the same "
				"command with --resume goes on from there\n",
				step, status);
	}
	unload(&a);
	return status;
}

const struct command cmd_auto = {
	.name = "auto",
	.args = "JOBS [-- COMMAND [ARGUMENT]...]",
	.min_args = 1,
	.max_args = MAX_ARGS,
	.max_before = 1,
	.summary = "profile, train, plan and run in one go, each step explained",
	.text = "Runs the jobs of JOBS on the GPUs of this machine, from nothing: shows the GPUs, "
		"measures what the store does not know of the jobs (profile), trains a predictor "
		"(train), plans (plan), and carries the plan out (run). Before each step it prints "
		"what the step does and why, and the heshare command that does it; then that "
		"command runs. The first command that fails ends auto, with its exit status.\n\n"
		"COMMAND is for all jobs, with {workload}, {batch} and {iterations} in it; without "
		"it, each job has its own in JOBS. It must print \"heshare: N iterations\" from "
		"time to time, with N counted from its start. If COMMAND is one word, the shell "
		"runs it; else it is a program and its arguments.\n\n"
		"Ctrl-C or a closed terminal stops the step that runs, and the GPUs are left as "
		"they were. --resume goes on in the same folder. Overnight, start it in tmux, by "
		"nohup or by systemd-run --user.\n\n"
		"Without the right to set clocks, everything is at the default clock. Without MPS, "
		"jobs run one at a time on a GPU.",
	.example = "  heshare auto jobs.csv -- ./job.sh {workload} {batch} {iterations}\n"
		   "  heshare auto jobs.csv --dry-run -- ./job.sh {workload} {batch} {iterations}\n"
		   "  heshare auto jobs.csv --gpus 0,1 --prefer energy --resume -- ./job.sh "
		   "{workload} {batch} {iterations}",
	.opts = auto_opts,
	.opts_size = sizeof(struct auto_opts),
	.run = run_auto,
};
