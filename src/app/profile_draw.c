/*
 * profile_draw.c - profiles and samples of modelled GPUs, with measurement noise; see profile.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "app/catalogue.h"
#include "app/known.h"
#include "app/known_folder.h"
#include "app/known_store.h"
#include "app/profile.h"
#include "base/clock.h"
#include "heshare/draw.h"

static int draw_types(const struct profile_request *q, const struct hes_catalogue *c,
		      const struct hes_gpu_type **types, struct hes_err *err)
{
	struct hes_fleet f;
	int rc;

	if (!q->fleet) {
		rc = app_types(q->types, c, types, APP_KNOWN_TYPES, err);
		return rc < 0 ? hes_fail_in(err, "--types") : rc;
	}
	rc = hes_fleet_load(q->fleet, c, &f, err);
	if (rc)
		return rc;
	rc = (int)hes_fleet_types(&f, types, APP_KNOWN_TYPES);
	hes_fleet_free(&f);
	return rc;
}

static int draw_keep(const struct profile_request *q, const struct hes_profiles *p,
		     const struct hes_samples *s, struct hes_delivered *done, struct hes_err *err)
{
	char name[64];
	struct hes_delivery d = { .source = HES_SOURCE_MODELLED,
				  .at_us = hes_wall_us(),
				  .name = name,
				  .profiles = p,
				  .samples = s };
	struct hes_store *store = NULL;
	int rc = app_store_open(q->app, q->store, HES_STORE_WRITE, HES_STORE_WAIT_MS, &store, err);

	snprintf(name, sizeof(name), "heshare profile --seed %" PRIu64, q->seed);
	if (!rc)
		rc = hes_store_add(store, &d, done, err);
	hes_store_close(store);
	return rc;
}

static void draw_progress(const struct profile_request *q, uint64_t done)
{
	if (q->progress)
		q->progress("drawing profiles and samples, part", done, 2);
}

static int draw_rows(const struct profile_request *q, const struct hes_draw *d,
		     struct profile_drawn *out, struct hes_err *err)
{
	struct hes_profiles p = { 0 };
	struct hes_samples s = { 0 };
	int rc;

	draw_progress(q, 0);
	rc = hes_draw_profiles(d, &p, err);
	draw_progress(q, 1);
	if (!rc)
		rc = hes_draw_samples(d, &p, q->samples, &s, err);
	draw_progress(q, 2);
	if (!rc && q->folder)
		rc = app_rows_save(q->folder, &p, &s, err);
	*out = (struct profile_drawn){ .profiles = p.n, .samples = s.n };
	if (!rc && q->store)
		rc = draw_keep(q, &p, &s, &out->stored, err);
	hes_profiles_free(&p);
	hes_samples_free(&s);
	return rc;
}

int profile_draw(const struct profile_request *q, struct profile_drawn *out, struct hes_err *err)
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	struct hes_draw d = { .types = types, .noise = q->noise_pct / 100, .seed = q->seed };
	struct hes_catalogue c;
	struct hes_model *model = NULL;
	int rc = app_catalogue_load(q->app, q->catalogue, false, &c, err);

	if (rc)
		return rc;
	rc = draw_types(q, &c, types, err);
	if (rc > 0) {
		d.n_types = (size_t)rc;
		rc = app_model_load(q->app, q->physics, &c, types, d.n_types, &model, err);
	}
	if (!rc) {
		d.model = model;
		rc = draw_rows(q, &d, out, err);
	}
	hes_model_free(model);
	hes_catalogue_free(&c);
	return rc;
}
