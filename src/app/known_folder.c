/*
 * known_folder.c - read and write profiles.csv, samples.csv and points.csv, alone or in one
 * folder; see known_folder.h.
 */
#include "app/known_folder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "base/file.h"
#include "core/row.h"

static const char points_file[] = "points.csv";

/* @param points  it is called points.csv */
static int load_file(const char *path, bool points, struct app_rows *r, struct hes_err *err)
{
	struct hes_csv *csv;
	bool samples, measured;
	int rc = hes_csv_open(path, &csv, err);

	if (rc)
		return rc;
	measured = hes_csv_find(csv, "mechanism") >= 0;
	points |= hes_csv_find(csv, "windows") >= 0;
	samples = hes_csv_find(csv, "sm_pct") >= 0;
	hes_csv_close(csv);
	if (measured)
		return hes_fail(err, -EINVAL,
				"%s: a table of a measured GPU; give its folder, with gpu.json",
				path);
	if (points ? r->points.v != NULL : samples ? r->samples.v != NULL : r->profiles.v != NULL)
		return hes_fail(err, -EINVAL, "%s: %s, which another file of the folder holds",
				path,
				points    ? "points"
				: samples ? "samples"
					  : "profiles");
	return points    ? hes_points_load(path, &r->points, err)
	       : samples ? hes_samples_load(path, &r->samples, err)
			 : hes_profiles_load(path, &r->profiles, err);
}

/* @return 1 loaded; 0 the folder has no such file; negative errno */
static int load_within(const char *folder, const char *name, struct app_rows *r,
		       struct hes_err *err)
{
	struct stat st;
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return hes_fail(err, -ENOMEM, "out of memory");
	if (stat(path, &st)) {
		free(path);
		return 0;
	}
	rc = hes_file_check_plain(path, err);
	if (!rc)
		rc = load_file(path, !strcmp(name, points_file), r, err);
	free(path);
	return rc ? rc : 1;
}

static int load_folder(const char *path, const struct hes_catalogue *c, struct app_rows *r,
		       struct hes_err *err)
{
	const char *const names[] = { "profiles.csv", "samples.csv", points_file };
	const bool measured = measured_is_there(path);
	bool any = false;
	int rc;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		rc = load_within(path, names[i], r, err);
		if (rc < 0)
			return rc;
		any |= rc;
	}
	rc = measured ? measured_points_load(path, c, &r->points, r->left_out, err) : 0;
	if (rc < 0 || rc || any)
		return rc < 0 ? rc : 0;
	return hes_fail(err, -ENOENT,
			measured ? "%s: no rows in solo.csv, pairs.csv or groups.csv"
				 : "%s: no profiles.csv, samples.csv, points.csv or gpu.json in it",
			path);
}

bool app_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int app_rows_load(const char *path, const struct hes_catalogue *c, struct app_rows *out,
		  struct hes_err *err)
{
	struct app_rows r = { 0 };
	int rc = app_is_folder(path) ? load_folder(path, c, &r, err)
				     : load_file(path, false, &r, err);

	if (rc)
		app_rows_free(&r);
	else
		*out = r;
	return rc;
}

/* The file that @path stands for: itself, or @name in the folder that it is. free() it. @return 0;
 * -ENOENT, -EINVAL the folder has no such plain file; -ENOMEM */
static int file_of(const char *path, const char *name, char **out, struct hes_err *err)
{
	const bool within = app_is_folder(path);
	int rc;

	*out = NULL;
	if (asprintf(out, "%s%s%s", path, within ? "/" : "", within ? name : "") < 0)
		return hes_fail(err, -ENOMEM, "out of memory");
	rc = within ? hes_file_check_plain(*out, err) : 0;
	if (rc) {
		free(*out);
		*out = NULL;
	}
	return rc;
}

int app_profiles_load(const char *path, struct hes_profiles *out, struct hes_err *err)
{
	char *file;
	int rc = file_of(path, "profiles.csv", &file, err);

	if (!rc)
		rc = hes_profiles_load(file, out, err);
	free(file);
	return rc;
}

int app_points_load(const char *path, struct hes_points *out, struct hes_err *err)
{
	char *file;
	int rc = file_of(path, points_file, &file, err);

	if (!rc)
		rc = hes_points_load(file, out, err);
	free(file);
	return rc;
}

int app_samples_load(const char *path, struct app_rows *out, struct hes_err *err)
{
	struct app_rows r = { 0 };
	char *file;
	int rc = file_of(path, "samples.csv", &file, err);

	if (!rc)
		rc = hes_samples_load(file, &r.samples, err);
	if (!rc && app_is_folder(path))
		rc = load_within(path, "profiles.csv", &r, err);
	free(file);
	if (rc < 0)
		app_rows_free(&r);
	else
		*out = r;
	return rc < 0 ? rc : 0;
}

void app_rows_free(struct app_rows *r)
{
	hes_profiles_free(&r->profiles);
	hes_samples_free(&r->samples);
	hes_points_free(&r->points);
	*r = (struct app_rows){ 0 };
}

static int save_within(const char *folder, const char *name, const struct hes_row_table *t,
		       const void *rows, size_t n, struct hes_err *err)
{
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return hes_fail(err, -ENOMEM, "out of memory");
	rc = n ? hes_rows_save(t, path, rows, n, err) : 0;
	free(path);
	return rc;
}

int app_rows_save(const char *folder, const struct app_rows *r, struct hes_err *err)
{
	int rc = hes_folder_create(folder, err);

	if (!rc)
		rc = save_within(folder, "profiles.csv", &hes_profile_table, r->profiles.v,
				 r->profiles.n, err);
	if (!rc)
		rc = save_within(folder, "samples.csv", &hes_sample_table, r->samples.v,
				 r->samples.n, err);
	return rc ? rc
		  : save_within(folder, points_file, &hes_point_table, r->points.v, r->points.n,
				err);
}
