/*
 * profiles_import.c - `heshare profiles import`: files into the store, each
 * in one transaction, told when it is on the disk.
 *
 * A predictor that is named says what it expects of each sample before
 * anybody can learn from it; both go into the store together.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "cli/cli.h"
#include "cli/profiles.h"

struct import {
	const struct profiles_opts *o;
	enum hes_source             source;
	int64_t                     at_us;
	struct hes_catalogue        catalogue;
	struct hes_predictor       *predictor; /* NULL: none */
	struct hes_store_predictor  about;
	struct hes_store           *store;
	json_t                     *told;
};

/* One operand's rows. */
struct rows {
	struct hes_profiles  profiles;
	struct hes_samples   samples;
	struct hes_forecast *forecasts;
};

static int load_file(const char *path, struct rows *r, struct hes_err *err)
{
	struct hes_csv *csv;
	bool samples;
	int rc = hes_csv_open(path, &csv, err);

	if (rc)
		return rc;
	samples = hes_csv_find(csv, "sm_pct") >= 0;
	hes_csv_close(csv);
	return samples ? hes_samples_load(path, &r->samples, err) : hes_profiles_load(path, &r->profiles, err);
}

/* @return 1 loaded; 0 the folder has no such file; negative errno */
static int load_within(const char *folder, const char *name, struct rows *r, struct hes_err *err)
{
	struct stat st;
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return hes_fail(err, -ENOMEM, "out of memory");
	rc = stat(path, &st) ? 0 : load_file(path, r, err);
	if (!rc)
		rc = stat(path, &st) == 0;
	free(path);
	return rc;
}

static int load_operand(const char *path, struct rows *r, struct hes_err *err)
{
	struct stat st;
	int profiles, samples;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return load_file(path, r, err);
	profiles = load_within(path, "profiles.csv", r, err);
	if (profiles < 0)
		return profiles;
	samples = load_within(path, "samples.csv", r, err);
	if (samples < 0)
		return samples;
	return profiles || samples ? 0 : hes_fail(err, -ENOENT, "%s: neither profiles.csv nor samples.csv in it", path);
}

/* Rows of a type that nobody knows could never be trained on. */
static int check_types(const struct import *im, const char *path, const struct rows *r, struct hes_err *err)
{
	const char *last = "";

	for (size_t i = 0; i < r->profiles.n + r->samples.n; i++) {
		const char *type = i < r->profiles.n ? r->profiles.v[i].gpu_type
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
		json_array_append_new(im->told, json_pack(
			"{s:s, s:I, s:{s:I, s:I}, s:{s:I, s:I}, s:I}", "from", path, "number", (json_int_t)d->origin,
			"profiles", "new", (json_int_t)d->profiles_new, "known", (json_int_t)d->profiles_known,
			"samples", "new", (json_int_t)d->samples_new, "known", (json_int_t)d->samples_known,
			"predicted", (json_int_t)d->forecasts));
		return;
	}
	printf("%s: profiles: %zu new, %zu known; samples: %zu new, %zu known", path, d->profiles_new,
	       d->profiles_known, d->samples_new, d->samples_known);
	if (im->predictor)
		printf(", %zu predicted", d->forecasts);
	putchar('\n');
	fflush(stdout);
}

static int import_one(struct import *im, const char *path, struct rows *r, struct hes_err *err)
{
	struct hes_delivery d = { im->source, im->at_us, path, &r->profiles, &r->samples, NULL, NULL };
	struct hes_delivered done;
	int rc = load_operand(path, r, err);

	if (!rc)
		rc = check_types(im, path, r, err);
	if (!rc && im->predictor) {
		rc = cli_forecasts(im->predictor, &im->catalogue, &r->samples, &r->forecasts, err);
		d.predictor = &im->about;
		d.forecasts = r->forecasts;
	}
	if (!rc)
		rc = hes_store_add(im->store, &d, &done, err);
	if (!rc)
		tell(im, path, &done);
	return rc;
}

static int get_ready(struct import *im, struct hes_err *err)
{
	const struct profiles_opts *o = im->o;
	int rc = 0;

	while (strcmp(o->as, hes_source_names[im->source]))
		im->source++;
	im->at_us = cli_now_us();
	if (o->when)
		rc = cli_parse_when("--when", o->when, &im->at_us, err);
	if (!rc)
		rc = hes_catalogue_load(NULL, &im->catalogue, err);
	if (!rc && o->predictor)
		rc = hes_predictor_load(o->predictor, &im->predictor, err);
	if (!rc && o->predictor)
		rc = cli_store_predictor(o->predictor, im->predictor, &im->about, err);
	return rc ? rc : profiles_open(o, HES_STORE_WRITE, &im->store, err);
}

int profiles_import(const struct profiles_opts *o, int n, char **operands)
{
	struct import im = { .o = o, .told = json_array() };
	struct hes_err err;
	int rc = get_ready(&im, &err);

	for (int i = 0; i < n && !rc; i++) {
		struct rows r = { 0 };

		rc = import_one(&im, operands[i], &r, &err);
		hes_profiles_free(&r.profiles);
		hes_samples_free(&r.samples);
		free(r.forecasts);
	}
	if (o->json && (!rc || json_array_size(im.told)))
		cli_print_json(json_pack("{s:O}", "imports", im.told));
	json_decref(im.told);
	hes_store_close(im.store);
	hes_predictor_free(im.predictor);
	hes_catalogue_free(&im.catalogue);
	return rc ? cli_fail("profiles", &err) : 0;
}
