/*
 * jobs_file.c - load a jobs file that is run without a plan of its own, and compare it with
 * the plan that was made from it; see jobs_file.h.
 */
#include "app/jobs_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/jobs_load.h"
#include "app/run_identity.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "base/plural.h"
#include "base/texts.h"
#include "base/visible.h"

#define LOOKED_AT 512 /* bytes */

static bool ends_with(const char *path, const char *end)
{
	const size_t n = strlen(path), m = strlen(end);

	return n > m && strcmp(path + n - m, end) == 0;
}

/* A file that cannot be read is taken for a plan, whose reader says why. */
bool jobs_file_is(const char *path)
{
	char text[LOOKED_AT];
	size_t i = 0;
	ssize_t n;
	int fd;

	if (ends_with(path, ".csv") || ends_with(path, ".yaml") || ends_with(path, ".yml") ||
	    ends_with(path, ".csv.gz"))
		return true;
	fd = ends_with(path, ".json") ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	while (n > 0 && i < (size_t)n && isspace((unsigned char)text[i]))
		i++;
	return n > 0 && i < (size_t)n && text[i] != '{' && text[i] != '\x1f';
}

int jobs_file_check(const char *path, struct hes_err *err)
{
	struct stat st;

	if (stat(path, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return 0;
	return hes_fail(
		err, -EINVAL,
		"%s: a pipe or a device; write the jobs into a file, by which --resume finds "
		"their run",
		path);
}

uint64_t jobs_file_key(const char *path)
{
	char real[HES_JOURNAL_PATH_MAX];

	run_plan_path(path, real);
	return hes_hash_text(hes_hash_text(HES_HASH_START, "jobs file"), real);
}

bool jobs_file_has_run(const struct hes_run *run)
{
	return run->plan_key ==
	       hes_hash_text(hes_hash_text(HES_HASH_START, "jobs file"), run->plan);
}

void jobs_file_plan(const struct hes_run *run, char out[JOBS_FILE_PLAN_MAX])
{
	snprintf(out, JOBS_FILE_PLAN_MAX, "%s/plan.json", run->folder);
}

void jobs_file_plan_next(const struct hes_run *run, char out[JOBS_FILE_PLAN_MAX])
{
	snprintf(out, JOBS_FILE_PLAN_MAX, "%s/.plan.json.next", run->folder);
}

void jobs_file_plan_begun(const struct hes_run *run, char out[JOBS_FILE_PLAN_MAX])
{
	char next[JOBS_FILE_PLAN_MAX];
	struct stat st;

	jobs_file_plan(run, out);
	jobs_file_plan_next(run, next);
	/* One that is younger than the run is of a start that came to nothing. */
	if (!stat(next, &st) &&
	    st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000 <= run->started_us)
		rename(next, out);
}

/* Whether a plan in a run's folder is of another jobs file, whose run is not done. */
static bool other_resumes(struct hes_journal *j, const struct hes_run *run,
			  const struct hes_catalogue *c, const char *path, struct hes_run *other)
{
	struct hes_fleet fleet = { 0 };
	struct hes_jobs jobs = { 0 };
	bool resumes = !hes_plan_subjects(path, c, &fleet, &jobs, NULL) && jobs.file &&
		       !hes_journal_last_run(j, jobs_file_key(jobs.file), other, NULL) &&
		       other->plan_key != run->plan_key &&
		       strcmp(other->folder, run->folder) == 0 && other->state != HES_RUN_DONE;

	hes_jobs_free(&jobs);
	hes_fleet_free(&fleet);
	return resumes;
}

int jobs_file_save_plan(struct hes_journal *j, const struct hes_run *run,
			const struct hes_catalogue *c, const struct hes_plan *plan,
			const struct hes_fleet *fleet, struct hes_jobs *jobs, struct hes_err *err)
{
	char path[JOBS_FILE_PLAN_MAX];
	struct hes_run other;

	/* It may have been killed before its plan got its name. */
	jobs_file_plan_next(run, path);
	if (other_resumes(j, run, c, path, &other))
		jobs_file_plan_begun(&other, path);
	jobs_file_plan(run, path);
	if (other_resumes(j, run, c, path, &other))
		return hes_fail(err, -EEXIST,
				"%s has the plan of run %" PRId64
				" of %s, which is %s; name another folder with --jobs",
				run->folder, other.id, other.plan,
				hes_run_state_names[other.state]);
	free(jobs->file);
	jobs->file = strdup(run->plan);
	jobs_file_plan_next(run, path);
	return hes_plan_save(path, plan, fleet, jobs, err);
}

/* --- rows without an id --- */

/* Rows of a file, and the planned jobs that they are. */
struct rows {
	const struct hes_jobs *planned;
	struct hes_jobs *now;
	struct hes_text_map ids; /* of the planned */
	bool *used;              /* [planned] a row is it */
	size_t *job;             /* [now] index among the planned; HES_HASH_NONE: none yet */
	size_t last;             /* that was found: rows mostly keep their order */
};

static bool is_same_job(const struct hes_job *a, const struct hes_job *b)
{
	return strcmp(a->workload, b->workload) == 0 && a->batch_size == b->batch_size &&
	       a->iterations == b->iterations &&
	       (!a->command || !b->command || strcmp(a->command, b->command) == 0);
}

static bool row_takes(struct rows *r, size_t row, size_t at, bool changed)
{
	if (at == HES_HASH_NONE || r->used[at] ||
	    (!changed && !is_same_job(&r->planned->v[at], &r->now->v[row])))
		return false;
	r->used[at] = true;
	r->job[row] = r->last = at;
	return true;
}

/* @param changed  whether rows may differ from their jobs */
static void rows_match(struct rows *r, bool changed)
{
	const size_t n = r->planned->n;

	for (size_t i = 0; i < r->now->n; i++)
		if (r->job[i] == HES_HASH_NONE)
			row_takes(r, i, hes_text_map_find(&r->ids, r->now->v[i].id), changed);
	for (size_t i = 0; i < r->now->n; i++)
		for (size_t k = 1; k <= n && r->job[i] == HES_HASH_NONE; k++)
			row_takes(r, i, (r->last + k) % n, changed);
}

/* A row that moved keeps its job, so that no job counts as another one. Rows that were changed are
 * the jobs that are left. */
static int keep_numbers(const struct hes_jobs *planned, struct hes_jobs *now, struct hes_err *err)
{
	struct rows r = { .planned = planned,
			  .now = now,
			  .used = calloc(planned->n + 1, sizeof(*r.used)),
			  .job = calloc(now->n + 1, sizeof(*r.job)) };
	int rc = r.used && r.job
			 ? hes_text_map_make(&r.ids, planned->v, sizeof(*planned->v), planned->n)
			 : -ENOMEM;
	size_t number = planned->n;

	for (size_t i = 0; i < now->n && !rc; i++) {
		r.job[i] = HES_HASH_NONE;
		if (!hes_job_is_numbered(&now->v[i], i))
			row_takes(&r, i, hes_text_map_find(&r.ids, now->v[i].id), true);
	}
	if (!rc) {
		rows_match(&r, false);
		rows_match(&r, true);
	}
	for (size_t i = 0; i < now->n && !rc; i++) {
		if (r.job[i] != HES_HASH_NONE)
			strcpy(now->v[i].id, planned->v[r.job[i]].id);
		else if (hes_job_is_numbered(&now->v[i], i))
			snprintf(now->v[i].id, sizeof(now->v[i].id), "%zu", ++number);
	}
	hes_hash_map_finish(&r.ids.map);
	free(r.used);
	free(r.job);
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs", now->n) : 0;
}

/* --- what was planned --- */

static int compare(const struct app *app, const char *path, const struct hes_jobs *planned,
		   const struct hes_jobs *now, const struct jobs_begun *begun, struct hes_err *err)
{
	char *what = NULL;
	bool others = false;
	int rc = jobs_changed(planned, now, begun, &what, &others, err);

	if (!rc && others)
		rc = hes_fail(err, -ESTALE,
			      "%s has other jobs than its run: %s. Keep the rows of the run's "
			      "jobs; heshare add gives it more; --restart runs the file as it is",
			      path, what);
	else if (what)
		app_say(app, "%s: since its run began, jobs or commands have changed: %s", path,
			what);
	free(what);
	return rc;
}

int jobs_file_load(const struct app *app, const char *path, const struct jobs_file_commands *c,
		   const struct hes_jobs *planned, const struct jobs_begun *begun,
		   struct hes_jobs *out, struct hes_err *err)
{
	struct hes_jobs jobs = { 0 };
	int rc = app_jobs_load(app, c->pattern, path, true, &jobs, err);

	if (!rc && c->progress)
		rc = hes_jobs_set_progress(jobs.v, jobs.n, "--progress", c->progress, err);
	if (!rc && planned && jobs.made_ids)
		rc = keep_numbers(planned, &jobs, err);
	if (!rc && planned)
		rc = jobs_keep(
			planned, &jobs,
			JOBS_KEEP_PROGRESS | (c->list || c->pattern ? 0 : JOBS_KEEP_COMMANDS), err);
	if (!rc)
		rc = app_jobs_fill_commands(app, &jobs, c->list, c->pattern, err);
	if (!rc && planned)
		rc = compare(app, path, planned, &jobs, begun, err);
	if (rc) {
		hes_jobs_free(&jobs);
		return rc;
	}
	app_jobs_arrive_at_once(&jobs);
	*out = jobs;
	return 0;
}

#define MOST 10 /* jobs that are named */

struct difference {
	FILE *f;
	size_t n;
	bool others; /* jobs are new or gone */
};

static void put_job(struct difference *d, const char *id, const char *what, bool other)
{
	d->others |= other;
	if (d->n++ >= MOST)
		return;
	fputs(d->n > 1 ? "; job " : "job ", d->f);
	hes_visible_put(d->f, 0, id);
	fprintf(d->f, " %s", what);
}

static const char *text_of(const char *text)
{
	return text ? text : "";
}

/* @param done  it does not run again */
static void compare_job(struct difference *d, const struct hes_job *a, const struct hes_job *b,
			bool done)
{
	const struct {
		const char *name;
		bool differs;
	} fields[] = {
		{ "workload", strcmp(a->workload, b->workload) != 0 },
		{ "batch_size", a->batch_size != b->batch_size },
		{ "iterations", a->iterations != b->iterations || a->whole_run != b->whole_run },
		{ "memory_mib", a->memory_mib != b->memory_mib },
		{ "user", strcmp(a->user, b->user) != 0 },
		{ "command", strcmp(text_of(a->command), text_of(b->command)) != 0 },
		{ "progress", strcmp(text_of(a->progress), text_of(b->progress)) != 0 },
	};
	char what[256] = "";

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].differs)
			hes_text_add(what, sizeof(what), ", ", "%s%s",
				     *what  ? ""
				     : done ? "is done and does not run again (--restart runs all "
					      "jobs again), though it differs in "
					    : "differs in ",
				     fields[i].name);
	if (*what)
		put_job(d, b->id, what, false);
}

static int index_jobs(const struct hes_jobs *jobs, struct hes_text_map *out)
{
	return hes_text_map_make(out, jobs->v, sizeof(*jobs->v), jobs->n);
}

int jobs_changed(const struct hes_jobs *planned, const struct hes_jobs *now,
		 const struct jobs_begun *begun, char **out, bool *others, struct hes_err *err)
{
	struct hes_text_map ids = { 0 }, ids_now = { 0 }, ids_begun = { 0 };
	char *text = NULL;
	size_t size;
	struct difference d = { .f = open_memstream(&text, &size) };
	bool failed = !d.f || index_jobs(planned, &ids) || index_jobs(now, &ids_now) ||
		      hes_text_map_make(&ids_begun, begun->v, sizeof(*begun->v), begun->n);

	for (size_t i = 0; i < now->n && !failed; i++) {
		const uint32_t at = hes_text_map_find(&ids, now->v[i].id),
			       run = hes_text_map_find(&ids_begun, now->v[i].id);
		const bool done = run != HES_HASH_NONE && begun->v[run].state == HES_RUN_JOB_DONE;

		if (at == HES_HASH_NONE)
			put_job(&d, now->v[i].id, "is new", true);
		else
			compare_job(&d, &planned->v[at], &now->v[i], done);
	}
	for (size_t i = 0; i < planned->n && !failed; i++)
		if (hes_text_map_find(&ids_now, planned->v[i].id) == HES_HASH_NONE)
			put_job(&d, planned->v[i].id, "is gone", true);
	if (d.n > MOST)
		fprintf(d.f, "; and %zu more job%s", d.n - MOST, hes_s(d.n - MOST));
	failed = (d.f && fclose(d.f)) || failed;
	hes_hash_map_finish(&ids.map);
	hes_hash_map_finish(&ids_now.map);
	hes_hash_map_finish(&ids_begun.map);
	if (failed || !d.n) {
		free(text);
		text = NULL;
	}
	if (failed)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", now->n);
	*out = text;
	*others = d.others;
	return 0;
}

static int keep_text(bool wanted, const char *planned, char **now)
{
	if (!wanted || *now || !planned)
		return 0;
	*now = strdup(planned);
	return *now ? 0 : -ENOMEM;
}

static int keep_job(const struct hes_job *planned, struct hes_job *now, unsigned what)
{
	if (planned->batch_size == now->batch_size && strcmp(planned->workload, now->workload) == 0)
		now->measured_mib = planned->measured_mib;
	return keep_text(what & JOBS_KEEP_COMMANDS, planned->command, &now->command) ||
			       keep_text(what & JOBS_KEEP_PROGRESS, planned->progress,
					 &now->progress)
		       ? -ENOMEM
		       : 0;
}

int jobs_keep(const struct hes_jobs *planned, struct hes_jobs *now, unsigned what,
	      struct hes_err *err)
{
	struct hes_text_map ids = { 0 };
	int rc = index_jobs(planned, &ids);

	for (size_t i = 0; i < now->n && !rc; i++) {
		const size_t at = hes_text_map_find(&ids, now->v[i].id);

		rc = at == HES_HASH_NONE ? 0 : keep_job(&planned->v[at], &now->v[i], what);
	}
	hes_hash_map_finish(&ids.map);
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs", now->n) : 0;
}

/* The file that the plan names: as it is, or from the plan's folder. @return false: not there, or
 * no plain file */
static bool find_file(const char *plan, const char *file, char out[PATH_MAX])
{
	const char *slash = strrchr(plan, '/');

	if (snprintf(out, PATH_MAX, "%s", file) < PATH_MAX && !hes_file_check_plain(out, NULL))
		return true;
	return slash && *file != '/' &&
	       snprintf(out, PATH_MAX, "%.*s/%s", (int)(slash - plan), plan, file) < PATH_MAX &&
	       !hes_file_check_plain(out, NULL);
}

/* Another file may have the name. */
static bool has_one_of(const struct hes_jobs *planned, const struct hes_jobs *now)
{
	struct hes_text_map ids = { 0 };
	bool found = false;
	const int rc = index_jobs(planned, &ids);

	for (size_t i = 0; !rc && i < now->n && !found; i++)
		found = hes_text_map_find(&ids, now->v[i].id) != HES_HASH_NONE;
	hes_hash_map_finish(&ids.map);
	return found;
}

int jobs_changed_warn(const struct app *app, const char *plan, const struct hes_jobs *planned,
		      const char *file, struct hes_err *err)
{
	struct hes_jobs now = { 0 };
	char path[PATH_MAX], *what = NULL;
	struct hes_err why;
	bool others = false;
	int rc = 0;

	if (!planned->n || (!file && (!planned->file || !find_file(plan, planned->file, path))))
		return 0;
	if (hes_jobs_load(file ? file : path, &now, &why)) {
		if (!file)
			app_say(app,
				"the jobs file has changed since %s was made, and "
				"cannot be read (%s); the plan's jobs count",
				plan, why.msg);
		return 0;
	}
	if (file || has_one_of(planned, &now))
		rc = jobs_changed(planned, &now, &(struct jobs_begun){ NULL, 0 }, &what, &others,
				  err);
	if (file && others)
		rc = hes_fail(err, -ESTALE,
			      "%s has other jobs than %s: %s. Keep the rows of the plan's jobs; "
			      "heshare add places new jobs; or plan again",
			      file, plan, what);
	else if (what && file)
		app_say(app,
			"%s differs from %s: %s. The file counts; times are those of "
			"the plan",
			file, plan, what);
	else if (what)
		app_say(app,
			"%s has changed since %s was made: %s. The plan's jobs count: "
			"name the file (heshare run %s %s) for what it says of them now; heshare "
			"add places new jobs; plan again for all else",
			path, plan, what, plan, path);
	free(what);
	hes_jobs_free(&now);
	return rc;
}
