/*
 * profiles_files.c - import and export; see profiles_files.h.
 */
#include "app/profiles_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/catalogue.h"
#include "app/known_folder.h"
#include "app/known_store.h"
#include "heshare/profiler.h"

/* A lock at the clock that the job held without one is none. */
static uint32_t sample_lock(const struct hes_sample *s)
{
	return s->clock_mhz == s->task.clock_mhz ? 0 : s->clock_mhz;
}

static int sample_compare(const void *a, const void *b)
{
	const struct hes_sample *x = *(const struct hes_sample *const *)a,
				*y = *(const struct hes_sample *const *)b;
	int d = hes_profile_compare(&x->task, &y->task);

	if (!d)
		d = (x->sm_pct > y->sm_pct) - (x->sm_pct < y->sm_pct);
	if (!d)
		d = (sample_lock(x) > sample_lock(y)) - (sample_lock(x) < sample_lock(y));
	if (!d)
		d = (x->co_runners.jobs > y->co_runners.jobs) -
		    (x->co_runners.jobs < y->co_runners.jobs);
	return d ? d : strcmp(x->co_runner_names, y->co_runner_names);
}

/* Append the samples of settings that @to does not have. @return 0 or -ENOMEM */
static int samples_add(struct hes_samples *to, const struct hes_samples *more)
{
	const size_t n = to->n;
	const struct hes_sample **sorted = calloc(n + 1, sizeof(*sorted));
	struct hes_sample *grown =
		sorted ? reallocarray(to->v, n + more->n + 1, sizeof(*grown)) : NULL;

	if (grown)
		to->v = grown;
	for (size_t i = 0; grown && i < n; i++)
		sorted[i] = &grown[i];
	if (grown && n)
		qsort(sorted, n, sizeof(*sorted), sample_compare);
	for (size_t i = 0; grown && i < more->n; i++) {
		const struct hes_sample *s = &more->v[i];

		if (!n || !bsearch(&s, sorted, n, sizeof(*sorted), sample_compare))
			grown[to->n++] = *s;
	}
	free(sorted);
	return grown ? 0 : -ENOMEM;
}

static int rows_add(struct app_rows *to, const struct app_rows *more, struct hes_err *err)
{
	struct hes_profiles all;

	if (hes_profiles_join(&to->profiles, &more->profiles, &all))
		return hes_fail(err, -ENOMEM, "out of memory for profiles");
	hes_profiles_free(&to->profiles);
	to->profiles = all;
	return samples_add(&to->samples, &more->samples)
		       ? hes_fail(err, -ENOMEM, "out of memory for samples")
		       : 0;
}

/* Profiles and samples that follow from the points. */
static int import_derive(const char *path, const struct hes_catalogue *c, struct import_files *f,
			 struct hes_err *err)
{
	struct app_rows derived = { 0 };
	int rc;

	if (!f->rows.points.n)
		return 0;
	rc = hes_points_derive(&f->rows.points, c, &derived.profiles, &derived.samples, err);
	if (rc)
		return hes_fail_in(err, "%s", path);
	rc = rows_add(&f->rows, &derived, err);
	app_rows_free(&derived);
	return rc;
}

static bool is_read(const char *folder, const char *name)
{
	static const char *const names[] = { "profiles.csv", "samples.csv", "points.csv",
					     "gpu.json",     "solo.csv",    "pairs.csv",
					     "groups.csv" };
	const size_t n = measured_is_there(folder) ? sizeof(names) / sizeof(names[0]) : 3;

	for (size_t i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int by_entry(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int name_not_read(const char *folder, struct import_files *f, struct hes_err *err)
{
	struct dirent **list;
	int n = scandir(folder, &list, NULL, by_entry);
	bool room;

	if (n < 0)
		return hes_fail(err, -errno, "%s: %s", folder, strerror(errno));
	f->not_read = calloc((size_t)n + 1, sizeof(*f->not_read));
	room = f->not_read;
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		char path[PATH_MAX + NAME_MAX + 2], *entry;

		snprintf(path, sizeof(path), "%s/%s", folder, name);
		if (room && strcmp(name, ".") && strcmp(name, "..") && !is_read(folder, name)) {
			room = asprintf(&entry, "%s%s", name, app_is_folder(path) ? "/" : "") >= 0;
			if (room)
				f->not_read[f->n_not_read++] = entry;
		}
		free(list[i]);
	}
	free(list);
	return room ? 0 : hes_fail(err, -ENOMEM, "out of memory");
}

static void import_files_free(struct import_files *f)
{
	app_rows_free(&f->rows);
	for (size_t i = 0; i < f->n_not_read; i++)
		free(f->not_read[i]);
	free(f->not_read);
}

struct import {
	const struct import_request *q;
	struct hes_catalogue catalogue;
	struct hes_store *store;
};

/* Rows of an unknown type could never be trained on. */
static int import_check_types(const struct import *im, const char *path, const struct app_rows *r,
			      struct hes_err *err)
{
	const char *last = "";

	for (size_t i = 0; i < r->profiles.n + r->samples.n; i++) {
		const char *type = i < r->profiles.n
					   ? r->profiles.v[i].gpu_type
					   : r->samples.v[i - r->profiles.n].task.gpu_type;

		if (strcmp(type, last) == 0)
			continue;
		if (!hes_gpu_type_find(&im->catalogue, type, err)) {
			hes_fail_in(err, "%s", path);
			return -ENOENT;
		}
		last = type;
	}
	return 0;
}

static int import_one(struct import *im, const char *path, struct hes_err *err)
{
	struct import_files f = { 0 };
	struct hes_delivery d = { .source = im->q->source,
				  .at_us = im->q->at_us,
				  .name = path,
				  .profiles = &f.rows.profiles,
				  .samples = &f.rows.samples,
				  .points = &f.rows.points };
	struct hes_delivered done;
	int rc = app_rows_load(path, &im->catalogue, &f.rows, err);

	if (!rc && app_is_folder(path))
		rc = name_not_read(path, &f, err);
	if (!rc)
		rc = import_derive(path, &im->catalogue, &f, err);
	if (!rc)
		rc = import_check_types(im, path, &f.rows, err);
	if (!rc)
		rc = hes_store_add(im->store, &d, &done, err);
	if (!rc && im->q->each)
		im->q->each(im->q->ctx, path, &f, &done);
	import_files_free(&f);
	return rc;
}

static int import_open(struct import *im, struct hes_err *err)
{
	const struct import_request *q = im->q;
	int rc = app_catalogue_load(q->app, q->catalogue, true, &im->catalogue, err);

	return rc ? rc
		  : app_store_open(q->app, q->store, HES_STORE_WRITE, q->wait_ms, &im->store, err);
}

int profiles_import(const struct import_request *q, size_t n, char *const *paths,
		    struct hes_err *err)
{
	struct import im = { .q = q };
	int rc = import_open(&im, err);

	for (size_t i = 0; i < n && !rc; i++)
		rc = import_one(&im, paths[i], err);
	hes_store_close(im.store);
	hes_catalogue_free(&im.catalogue);
	return rc;
}

int profiles_export(const struct export_request *q, struct exported *out, struct hes_err *err)
{
	const struct hes_store_query query = { .with_modelled = q->with_modelled };
	struct app_rows r = { 0 };
	struct hes_store *store = NULL;
	int rc = app_store_open(q->app, q->store, HES_STORE_READ, q->wait_ms, &store, err);

	if (!rc)
		rc = hes_store_profiles(store, &query, &r.profiles, err);
	if (!rc)
		rc = hes_store_samples(store, &query, &r.samples, err);
	if (!rc)
		rc = hes_store_points(store, &query, &r.points, err);
	if (!rc && r.profiles.n + r.samples.n + r.points.n == 0)
		rc = hes_fail(err, -ENOENT, "the store has no such rows%s",
			      q->with_modelled ? "" : "; --with-modelled takes modelled ones too");
	if (!rc)
		rc = app_rows_save(q->folder, &r, err);
	if (!rc)
		*out = (struct exported){ r.profiles.n, r.samples.n, r.points.n };
	app_rows_free(&r);
	hes_store_close(store);
	return rc;
}
