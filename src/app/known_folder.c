/*
 * known_folder.c - read and write profiles.csv and samples.csv, alone or in one folder; see
 * known_folder.h.
 */
#include "app/known_folder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "base/file.h"

static int load_file(const char *path, struct app_rows *r, struct hes_err *err)
{
	struct hes_csv *csv;
	bool samples;
	int rc = hes_csv_open(path, &csv, err);

	if (rc)
		return rc;
	samples = hes_csv_find(csv, "sm_pct") >= 0;
	hes_csv_close(csv);
	if (samples ? r->samples.v != NULL : r->profiles.v != NULL)
		return hes_fail(err, -EINVAL, "%s: %s, which another file of the folder holds",
				path, samples ? "samples" : "profiles");
	return samples ? hes_samples_load(path, &r->samples, err)
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
		rc = load_file(path, r, err);
	free(path);
	return rc ? rc : 1;
}

static int load_folder(const char *path, struct app_rows *r, struct hes_err *err)
{
	int profiles, samples;

	profiles = load_within(path, "profiles.csv", r, err);
	if (profiles < 0)
		return profiles;
	samples = load_within(path, "samples.csv", r, err);
	if (samples < 0)
		return samples;
	return profiles || samples
		       ? 0
		       : hes_fail(err, -ENOENT, "%s: neither profiles.csv nor samples.csv in it",
				  path);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int app_rows_load(const char *path, struct app_rows *out, struct hes_err *err)
{
	struct app_rows r = { 0 };
	int rc = is_folder(path) ? load_folder(path, &r, err) : load_file(path, &r, err);

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
	const bool within = is_folder(path);
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

int app_samples_load(const char *path, struct app_rows *out, struct hes_err *err)
{
	struct app_rows r = { 0 };
	char *file;
	int rc = file_of(path, "samples.csv", &file, err);

	if (!rc)
		rc = hes_samples_load(file, &r.samples, err);
	if (!rc && is_folder(path))
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
	*r = (struct app_rows){ 0 };
}

int app_rows_save(const char *folder, const struct hes_profiles *p, const struct hes_samples *s,
		  struct hes_err *err)
{
	char *profiles = NULL, *samples = NULL;
	int rc = hes_folder_create(folder, err);

	if (!rc && (asprintf(&profiles, "%s/profiles.csv", folder) < 0 ||
		    asprintf(&samples, "%s/samples.csv", folder) < 0))
		rc = hes_fail(err, -ENOMEM, "out of memory");
	if (!rc && p->n)
		rc = hes_profiles_save(profiles, p, err);
	if (!rc && s->n)
		rc = hes_samples_save(samples, s, err);
	free(profiles);
	free(samples);
	return rc;
}
