/*
 * jobs_file.c - load a jobs file that is run without a plan of its own; see jobs_file.h.
 */
#include "app/jobs_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/hash_map.h"
#include "app/jobs_load.h"
#include "app/run_identity.h"

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

/* Whether the plan in a run's folder is of another jobs file, whose run is not done. */
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
		app_say(app, "%s has changed since its run began: %s", path, what);
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
