/*
 * profiles_import.c - add files to the store; see profiles_import.h.
 */
#include "app/profiles_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"

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
	struct import_files f = { 0 };
	struct hes_delivery d = { .source = im->q->source,
				  .at_us = im->q->at_us,
				  .name = path,
				  .profiles = &f.rows.profiles,
				  .samples = &f.rows.samples,
				  .points = &f.points };
	struct hes_profiles known = { 0 };
	struct hes_forecast *said = NULL;
	struct hes_delivered done;
	int rc = import_files_load(path, &im->catalogue, &f, err);

	if (!rc)
		rc = import_check_types(im, path, &f.rows, err);
	if (!rc && im->predictor)
		rc = import_load_known(im, &f.rows.profiles, &known, err);
	if (!rc && im->predictor) {
		hes_profiles_hold(&known, im->catalogue.types, im->catalogue.n);
		f.rows.samples.known = &known;
		rc = app_forecasts(im->predictor, &im->catalogue, &f.rows.samples, &said, err);
		d.predictor = &im->about;
		d.forecasts = said;
	}
	if (!rc)
		rc = hes_store_add(im->store, &d, &done, err);
	if (!rc && im->q->each)
		im->q->each(im->q->ctx, path, &f, &done);
	hes_profiles_free(&known);
	import_files_free(&f);
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
