/*
 * known_folder.h - profiles.csv, samples.csv and points.csv, alone or in one folder; and the tables
 * of a measured GPU next to its gpu.json.
 */
#ifndef HES_APP_KNOWN_FOLDER_H
#define HES_APP_KNOWN_FOLDER_H

#include "app/measured_points.h"
#include "heshare/point.h"
#include "heshare/profile.h"

/** Each may be empty. */
struct app_rows {
	struct hes_profiles profiles;
	struct hes_samples samples;
	struct hes_points points;
	size_t left_out[MEASURED_REASONS]; /* rows of a measured GPU that are no points */
};

/**
 * @param path  one of the first three, distinguished by their columns, or a folder with some files
 * @param c     has the types of measured GPUs
 * @return 0; -ENOENT none there; errors of reading. @out is untouched on failure
 */
int app_rows_load(const char *path, const struct hes_catalogue *c, struct app_rows *out,
		  struct hes_err *err);
void app_rows_free(struct app_rows *r);

/** Profiles alone; @path profiles.csv or the folder it lies in. */
int app_profiles_load(const char *path, struct hes_profiles *out, struct hes_err *err);
/** Points, likewise. */
int app_points_load(const char *path, struct hes_points *out, struct hes_err *err);
/** Samples, likewise; out of a folder with its profiles, if there are some: those of the
 * co-runners. */
int app_samples_load(const char *path, struct app_rows *out, struct hes_err *err);

/** Write them into a folder, which is made unless it is there; an empty table makes no file. */
int app_rows_save(const char *folder, const struct app_rows *r, struct hes_err *err);

bool app_is_folder(const char *path);

#endif
