/*
 * jobs_changed.c - compare a jobs file with the plan that was made from it; see jobs_changed.h.
 */
#include "app/jobs_changed.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash_map.h"
#include "base/plural.h"
#include "base/texts.h"
#include "base/visible.h"

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
