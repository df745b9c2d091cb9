/*
 * profiles_export.c - write what the store has as files; see profiles_export.h.
 */
#include "app/profiles_export.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/known_folder.h"
#include "app/known_store.h"
#include "core/row.h"
#include "heshare/profiler.h"

struct featured {
	struct hes_point p; /* first: the columns of points are at their offsets */
	double solo_per_s;  /* iterations a second on the whole GPU at the default clock */
	double sensitivity; /* ... that each percent of the SMs adds */
};

static const struct hes_row_column further[] = {
	{ "solo_per_s", HES_ROW_MAYBE, offsetof(struct featured, solo_per_s), 0, 1e12, true },
	{ "sensitivity", HES_ROW_MAYBE, offsetof(struct featured, sensitivity), -1e12, 1e12, true },
};
#define N_FURTHER (sizeof(further) / sizeof(further[0]))

static int features_fill_in(const struct hes_points *points, const struct hes_catalogue *c,
			    struct featured *v, struct hes_err *err)
{
	for (size_t i = 0; i < points->n; i++) {
		const struct hes_gpu_type *g = hes_gpu_type_find(c, points->v[i].gpu_type, err);

		if (!g)
			return -ENOENT;
		v[i].p = points->v[i];
		hes_points_sensitivity(points, &v[i].p, g, &v[i].solo_per_s, &v[i].sensitivity);
	}
	return 0;
}

/* points.csv in a folder that is there. */
static int export_points(const struct export_request *q, const struct hes_points *points,
			 struct hes_err *err)
{
	struct hes_row_column columns[HES_ROW_MAX_COLUMNS];
	const struct hes_row_table t = { "points", columns, hes_point_table.n_columns + N_FURTHER,
					 sizeof(struct featured) };
	struct featured *v = calloc(points->n, sizeof(*v));
	struct hes_catalogue c = { 0 };
	char *path = NULL;
	int rc = v && asprintf(&path, "%s/points.csv", q->folder) >= 0
			 ? 0
			 : hes_fail(err, -ENOMEM, "out of memory");

	memcpy(columns, hes_point_table.columns, hes_point_table.n_columns * sizeof(columns[0]));
	memcpy(columns + hes_point_table.n_columns, further, sizeof(further));
	if (!rc)
		rc = app_catalogue_load(q->app, q->catalogue, true, &c, err);
	if (!rc)
		rc = features_fill_in(points, &c, v, err);
	if (!rc)
		rc = hes_rows_save(&t, path, v, points->n, err);
	hes_catalogue_free(&c);
	free(path);
	free(v);
	return rc;
}

int profiles_export(const struct export_request *q, struct exported *out, struct hes_err *err)
{
	const struct hes_store_query query = { .with_modelled = q->with_modelled };
	struct hes_profiles p = { 0 };
	struct hes_samples s = { 0 };
	struct hes_points points = { 0 };
	struct hes_store *store = NULL;
	int rc = app_store_open(q->app, q->store, HES_STORE_READ, q->wait_ms, &store, err);

	if (!rc)
		rc = hes_store_profiles(store, &query, &p, err);
	if (!rc)
		rc = hes_store_samples(store, &query, &s, err);
	if (!rc)
		rc = hes_store_points(store, &query, &points, err);
	if (!rc && p.n + s.n + points.n == 0)
		rc = hes_fail(err, -ENOENT, "the store has no such rows%s",
			      q->with_modelled ? "" : "; --with-modelled takes modelled ones too");
	if (!rc)
		rc = app_rows_save(q->folder, &p, &s, err);
	if (!rc && points.n)
		rc = export_points(q, &points, err);
	if (!rc)
		*out = (struct exported){ p.n, s.n, points.n };
	hes_points_free(&points);
	hes_profiles_free(&p);
	hes_samples_free(&s);
	hes_store_close(store);
	return rc;
}
