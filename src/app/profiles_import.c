/*
 * profiles_import.c - add files to the store; see profiles_import.h.
 */
#include "app/profiles_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "app/catalogue.h"
#include "app/known_folder.h"
#include "heshare/profiler.h"

struct import {
	const struct import_request *q;
	struct hes_catalogue catalogue;
	struct hes_predictor *predictor; /* NULL: none */
	struct hes_store_predictor about;
	struct hes_store *store;
};

/* Rows of a type that nobody knows could never be trained on. */
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

static bool is_points(const char *path)
{
	struct hes_csv *csv;
	bool found;

	if (hes_csv_open(path, &csv, NULL))
		return false;
	found = hes_csv_find(csv, "windows") >= 0;
	hes_csv_close(csv);
	return found;
}

/* Points come with the profiles and samples that are derived from them. */
static int import_load_rows(const struct import *im, const char *path, struct app_rows *r,
			    struct hes_points *points, struct hes_err *err)
{
	int rc;

	if (!is_points(path))
		return app_rows_load(path, r, err);
	rc = hes_points_load(path, points, err);
	if (!rc) {
		rc = hes_points_derive(points, &im->catalogue, &r->profiles, &r->samples, err);
		if (rc)
			hes_fail_in(err, "%s", path);
	}
	return rc;
}

/* Profiles of co-runners: from the same folder, else from the store. */
static int import_load_known(struct import *im, const struct hes_profiles *along,
			     struct hes_profiles *out, struct hes_err *err)
{
	struct hes_profiles stored;
	int rc = hes_store_profiles(im->store, &(struct hes_store_query){ .with_modelled = true },
				    &stored, err);

	if (rc)
		return rc;
	rc = hes_profiles_join(along, &stored, out);
	hes_profiles_free(&stored);
	return rc ? hes_fail(err, rc, "out of memory for profiles") : 0;
}

static int import_one(struct import *im, const char *path, struct hes_err *err)
{
	struct app_rows r = { 0 };
	struct hes_points points = { 0 };
	struct hes_delivery d = { .source = im->q->source,
				  .at_us = im->q->at_us,
				  .name = path,
				  .profiles = &r.profiles,
				  .samples = &r.samples,
				  .points = &points };
	struct hes_profiles known = { 0 };
	struct hes_forecast *said = NULL;
	struct hes_delivered done;
	int rc = import_load_rows(im, path, &r, &points, err);

	if (!rc)
		rc = import_check_types(im, path, &r, err);
	if (!rc && im->predictor)
		rc = import_load_known(im, &r.profiles, &known, err);
	if (!rc && im->predictor) {
		hes_profiles_hold(&known, im->catalogue.types, im->catalogue.n);
		r.samples.known = &known;
		rc = app_forecasts(im->predictor, &im->catalogue, &r.samples, &said, err);
		d.predictor = &im->about;
		d.forecasts = said;
	}
	if (!rc)
		rc = hes_store_add(im->store, &d, &done, err);
	if (!rc && im->q->each)
		im->q->each(im->q->ctx, path, &done);
	hes_profiles_free(&known);
	app_rows_free(&r);
	hes_points_free(&points);
	free(said);
	return rc;
}

static int import_open(struct import *im, struct hes_err *err)
{
	const struct import_request *q = im->q;
	int rc = app_catalogue_load(q->app, q->catalogue, true, &im->catalogue, err);

	if (!rc && q->predictor)
		rc = hes_predictor_load(q->predictor, &im->predictor, err);
	if (!rc && q->predictor)
		rc = app_store_predictor(q->predictor, im->predictor, &im->about, err);
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
	hes_predictor_free(im.predictor);
	hes_catalogue_free(&im.catalogue);
	return rc;
}
