/*
 * import.c - `heshare profiles import`: add files to the store, each in one transaction, reported
 * when it is on the disk.
 *
 * With a predictor, its forecast of each new sample is stored in the same transaction, before
 * anything can learn from it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "app/catalogue.h"
#include "cli/profiles/profiles.h"
#include "app/known_folder.h"
#include "heshare/profiler.h"

struct import {
	const struct profiles_opts *o;
	enum hes_source source;
	int64_t at_us;
	struct hes_catalogue catalogue;
	struct hes_predictor *predictor; /* NULL: none */
	struct hes_store_predictor about;
	struct hes_store *store;
	json_t *reported;
};

/* Rows of a type that nobody knows could never be trained on. */
static int check_types(const struct import *im, const char *path, const struct app_rows *r,
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

static void tell(struct import *im, const char *path, const struct hes_delivered *d)
{
	if (im->o->json) {
		json_array_append_new(im->reported,
				      json_pack("{s:s, s:I, s:{s:I, s:I}, s:{s:I, s:I}, s:I, s:I}",
						"from", path, "number", (json_int_t)d->origin,
						"profiles", "new", (json_int_t)d->profiles_new,
						"known", (json_int_t)d->profiles_known, "samples",
						"new", (json_int_t)d->samples_new, "known",
						(json_int_t)d->samples_known, "named",
						(json_int_t)d->samples_named, "predicted",
						(json_int_t)d->forecasts));
		return;
	}
	printf("%s: profiles: %zu new, %zu known; samples: %zu new, %zu known", path,
	       d->profiles_new, d->profiles_known, d->samples_new, d->samples_known);
	if (d->samples_named)
		printf(", %zu of them got the names of their co-runners", d->samples_named);
	if (d->points_new + d->points_known)
		printf("; points: %zu new, %zu known", d->points_new, d->points_known);
	if (im->predictor)
		printf(", %zu predicted", d->forecasts);
	putchar('\n');
	fflush(stdout);
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
static int load_rows(const struct import *im, const char *path, struct app_rows *r,
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
static int load_known(struct import *im, const struct hes_profiles *along, struct hes_profiles *out,
		      struct hes_err *err)
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
	struct hes_delivery d = { .source = im->source,
				  .at_us = im->at_us,
				  .name = path,
				  .profiles = &r.profiles,
				  .samples = &r.samples,
				  .points = &points };
	struct hes_profiles known = { 0 };
	struct hes_forecast *said = NULL;
	struct hes_delivered done;
	int rc = load_rows(im, path, &r, &points, err);

	if (!rc)
		rc = check_types(im, path, &r, err);
	if (!rc && im->predictor)
		rc = load_known(im, &r.profiles, &known, err);
	if (!rc && im->predictor) {
		hes_profiles_hold(&known, im->catalogue.types, im->catalogue.n);
		r.samples.known = &known;
		rc = app_forecasts(im->predictor, &im->catalogue, &r.samples, &said, err);
		d.predictor = &im->about;
		d.forecasts = said;
	}
	if (!rc)
		rc = hes_store_add(im->store, &d, &done, err);
	if (!rc)
		tell(im, path, &done);
	hes_profiles_free(&known);
	app_rows_free(&r);
	hes_points_free(&points);
	free(said);
	return rc;
}

static int get_ready(struct import *im, struct hes_err *err)
{
	const struct profiles_opts *o = im->o;
	int rc = 0;

	while (strcmp(o->as, hes_source_names[im->source]))
		im->source++;
	im->at_us = hes_wall_us();
	if (o->when)
		rc = cli_parse_when("--when", o->when, &im->at_us, err);
	if (!rc)
		rc = app_catalogue_load(cli_app(), o->catalogue, true, &im->catalogue, err);
	if (!rc && o->predictor)
		rc = hes_predictor_load(o->predictor, &im->predictor, err);
	if (!rc && o->predictor)
		rc = app_store_predictor(o->predictor, im->predictor, &im->about, err);
	return rc ? rc : profiles_open(o, HES_STORE_WRITE, &im->store, err);
}

int profiles_import(const struct profiles_opts *o, int n, char **operands)
{
	struct import im = { .o = o, .reported = json_array() };
	struct hes_err err;
	int rc = get_ready(&im, &err);

	for (int i = 0; i < n && !rc; i++)
		rc = import_one(&im, operands[i], &err);
	if (o->json && (!rc || json_array_size(im.reported)))
		cli_print_json("heshare-profiles-import",
			       json_pack("{s:O}", "imports", im.reported));
	json_decref(im.reported);
	hes_store_close(im.store);
	hes_predictor_free(im.predictor);
	hes_catalogue_free(&im.catalogue);
	return rc ? cli_fail("profiles", &err) : 0;
}
