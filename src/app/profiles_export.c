/*
 * points_out.c - write measured points as a file.
 *
 * A row also has two features of Han et al., computed from all points of its job and GPU type: the
 * throughput alone, and the throughput that one percent of the SMs adds.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "cli/cli.h"
#include "cli/profiles/profiles.h"
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

static int fill(const struct hes_points *points, const struct hes_catalogue *c, struct featured *v,
		struct hes_err *err)
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

int profiles_save_points(const char *folder, const char *catalogue, const struct hes_points *points,
			 struct hes_err *err)
{
	struct hes_row_column columns[HES_ROW_MAX_COLUMNS];
	const struct hes_row_table t = { "points", columns, hes_point_table.n_columns + N_FURTHER,
					 sizeof(struct featured) };
	struct featured *v = calloc(points->n, sizeof(*v));
	struct hes_catalogue c = { 0 };
	char *path = NULL;
	int rc = v && asprintf(&path, "%s/points.csv", folder) >= 0
			 ? 0
			 : hes_fail(err, -ENOMEM, "out of memory");

	memcpy(columns, hes_point_table.columns, hes_point_table.n_columns * sizeof(columns[0]));
	memcpy(columns + hes_point_table.n_columns, further, sizeof(further));
	if (!rc)
		rc = app_catalogue_load(cli_app(), catalogue, true, &c, err);
	if (!rc)
		rc = fill(points, &c, v, err);
	if (!rc)
		rc = hes_rows_save(&t, path, v, points->n, err);
	hes_catalogue_free(&c);
	free(path);
	free(v);
	return rc;
}
