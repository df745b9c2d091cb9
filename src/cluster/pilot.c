/*
 * pilot.c - the files of a pilot, its jobs in Slurm, and its run; see pilot.h.
 */
#include "cluster/pilot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/catalogue.h"
#include "app/jobs_file.h"
#include "app/jobs_load.h"
#include "app/planner.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cluster/slurm.h"
#include "heshare/job.h"
#include "heshare/plan.h"

#define STORE_WAIT_MS 2000
#define IDS_MAX_BYTES 65536
#define NOT_IN_WORDS  " '\"\\#" /* of a directive of sbatch */

/* --- what it is made for --- */

static bool has_control(const char *text)
{
	for (; *text; text++)
		if (hes_utf8_is_control(text))
			return true;
	return false;
}

static int check_file(const char *option, const char *name, struct hes_err *err)
{
	return !name || !access(name, R_OK)
		       ? 0
		       : hes_fail(err, -errno, "--%s: %.200s: %s", option, name, strerror(errno));
}

static int check_planning(const struct pilot_opts *o, struct hes_err *err)
{
	const struct app_planner_options options = { .policy = o->policy,
						     .prefer = o->prefer,
						     .budget = o->budget };
	struct app_planner planner = { .o = &options };
	int rc = app_planner_check(&planner, err);

	app_planner_close(&planner);
	if (!rc)
		rc = check_file("predictor", o->predictor, err);
	if (!rc)
		rc = check_file("profiles", o->profiles, err);
	return rc ? rc : check_file("catalogue", o->catalogue, err);
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

int pilot_check(const struct pilot_opts *o, struct hes_err *err)
{
	int rc = check_words(o, err);

	return rc ? rc : check_planning(o, err);
}

/* --- its jobs --- */

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

static int pilot_check_plan(struct pilot *p, const struct hes_jobs *jobs, struct hes_err *err)
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
		rc = app_catalogue_load(p->app, p->o->catalogue, true, &catalogue, err);
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
int pilot_check_jobs(struct pilot *p, struct hes_err *err)
{
	struct hes_jobs jobs = { 0 };
	int rc = hes_jobs_load(p->jobs, &jobs, err);

	for (size_t i = 0; i < jobs.n && !rc && !p->command; i++)
		if (!jobs.v[i].command)
			rc = hes_fail(err, -ENOENT,
				      "job %s has no command: give the jobs a column command, or "
				      "name it: heshare pilot JOBS -- COMMAND",
				      jobs.v[i].id);
	if (!rc)
		rc = pilot_check_plan(p, &jobs, err);
	if (!rc)
		rc = app_jobs_fill_commands(p->app, &jobs, NULL, p->command, err);
	hes_jobs_free(&jobs);
	return rc;
}

/* --- its files --- */

int pilot_name(struct pilot *p, const char *jobs, struct hes_err *err)
{
	const char *dot = strrchr(jobs, '.');
	const size_t stem = dot && !strchr(dot, '/') ? (size_t)(dot - jobs) : strlen(jobs);
	char name[PATH_MAX];
	int length;

	app_program_file(p->program);
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

static void put_name(FILE *f, const char *variable, const char *value)
{
	fprintf(f, "%s=", variable);
	app_put_quoted(f, value);
	fputc('\n', f);
}

static void put_option(FILE *f, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(f, " %s ", name);
	app_put_quoted(f, value);
}

static void put_directives(FILE *f, const struct pilot_opts *o, const char *folder)
{
	fputs("#!/bin/bash\n#SBATCH --job-name=heshare\n", f);
	fprintf(f,
		"#SBATCH --nodes=%llu\n#SBATCH --ntasks-per-node=1\n#SBATCH "
		"--gpus-per-node=%s\n#SBATCH --time=%s\n",
		(unsigned long long)o->nodes, o->gpus, o->time);
	if (o->partition)
		fprintf(f, "#SBATCH --partition=%s\n", o->partition);
	/* The nodes that are left go on without one that fails. */
	fputs("#SBATCH --no-kill\n#SBATCH --requeue\n#SBATCH --open-mode=append\n", f);
	/* sbatch makes no folder: a script that is printed has its messages where it is submitted.
	 */
	fprintf(f, "#SBATCH --output=%s%spilot.%%j.log\n", o->print ? "" : folder,
		o->print ? "" : "/");
	if (o->sbatch)
		fprintf(f, "#SBATCH %s\n", o->sbatch);
}

static void put_plan(FILE *f, const struct pilot_opts *o, const char *jobs)
{
	fputs("[ -e \"$folder/plan.json\" ] || \"$heshare\" plan ", f);
	app_put_quoted(f, jobs);
	fputs(" --gpus slurm -o \"$folder/plan.json\"", f);
	put_option(f, "--policy", o->policy);
	put_option(f, "--prefer", o->prefer);
	put_option(f, "--budget", o->budget);
	put_option(f, "--predictor", o->predictor);
	put_option(f, "--profiles", o->profiles);
	put_option(f, "--catalogue", o->catalogue);
	fputs(" || exit\n", f);
}

/*
 * Slurm starts the script again from its beginning after a requeue: what is there is not done
 * again. A head that was killed is followed by another one, which goes on. Names are absolute.
 */
void pilot_print(const struct pilot *p, FILE *f)
{
	const struct pilot_opts *o = p->o;

	put_directives(f, o, p->folder);
	fputs("\n# Made by heshare pilot. Slurm may start it several times: it goes on with what "
	      "is left.\n",
	      f);
	put_name(f, "heshare", p->program);
	put_name(f, "folder", p->folder);
	fputs("cd ", f);
	app_put_quoted(f, p->here);
	fputs(" || exit\nmkdir -p \"$folder\" || exit\n", f);
	put_plan(f, o, p->jobs);
	fputs("\nrun=\nstopped=\n"
	      "trap 'stopped=1; [ -z \"$run\" ] || kill -s TERM \"$run\"' TERM\n"
	      "for try in 1 2 3; do\n"
	      "\t\"$heshare\" run \"$folder/plan.json\" --resume-if-begun --launcher slurm --store "
	      "\"$folder/store.db\"",
	      f);
	fprintf(f, " --before-end %g", o->before_end_s);
	if (o->early_ok)
		fputs(" --early-ok", f);
	put_option(f, "--command", p->command);
	put_option(f, "--predictor", o->predictor);
	put_option(f, "--profiles", o->profiles);
	put_option(f, "--catalogue", o->catalogue);
	/* A signal that came before there was a head is passed on. */
	fputs(" &\n\trun=$!\n"
	      "\t[ -z \"$stopped\" ] || kill -s TERM \"$run\"\n"
	      "\twhile wait \"$run\"; status=$?; kill -s 0 \"$run\" 2>/dev/null; do :; done\n"
	      "\twait \"$run\"; status=$?\n"
	      "\t# Killed: another one goes on.\n"
	      "\t[ \"$status\" -gt 128 ] && [ -z \"$stopped\" ] || break\n"
	      "done\n"
	      "exit \"$status\"\n",
	      f);
}

/* The store is there from now on, for heshare status. */
int pilot_write(const struct pilot *p, struct hes_err *err)
{
	struct hes_store *store = NULL;
	struct hes_file file;
	int rc = hes_folder_create(p->folder, err);

	if (!rc)
		rc = hes_store_open(p->store, HES_STORE_WRITE, STORE_WAIT_MS, &store, err);
	hes_store_close(store);
	if (!rc)
		rc = hes_file_create_own(&file, p->script, err);
	if (rc)
		return rc;
	pilot_print(p, file.f);
	return hes_file_commit(&file, err);
}

/* --- in Slurm --- */

int pilot_check_submitted(const struct pilot *p, struct hes_err *err)
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
static int pilot_submit_one(const struct pilot *p, uint64_t n_before, char id[24],
			    struct hes_err *err)
{
	char text[512] = "", dependency[(PILOT_CHAIN_MAX + 1) * 40] = "--dependency=";
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

int pilot_submit(struct pilot *p, struct hes_err *err)
{
	uint64_t n = 0;
	int rc = 0;

	while (n <= p->o->chain && !rc) {
		rc = pilot_submit_one(p, n, p->ids[n], err);
		n += !rc;
		if (!rc)
			rc = note_submitted(p, n, err);
	}
	p->n_ids = n;
	return rc;
}

bool pilot_has_ended(const char *id, char state[64])
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

/* --- its run --- */

int pilot_look(const struct pilot *p, struct run_view *v, struct hes_err *err)
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
