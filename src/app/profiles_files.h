/*
 * profiles_files.h - what `heshare profiles import` reads of a file or a folder.
 *
 * A folder may have profiles.csv, samples.csv, points.csv, and the tables of a measured GPU next to
 * its gpu.json. Points come with the profiles and samples that are derived from them; where
 * profiles.csv or samples.csv have the same, theirs count.
 */
#ifndef HES_APP_PROFILES_FILES_H
#define HES_APP_PROFILES_FILES_H

#include "app/known_folder.h"
#include "app/measured_points.h"

struct import_files {
	struct app_rows rows;
	struct hes_points points;
	size_t left_out[MEASURED_REASONS]; /* rows of a measured GPU that are no points */
	char **not_read;                   /* names in the folder, of folders with a / */
	size_t n_not_read;
};

/** @return 0; -ENOENT nothing there to read; errors of reading. @out is written only on success */
int import_files_load(const char *path, const struct hes_catalogue *c, struct import_files *out,
		      struct hes_err *err);
void import_files_free(struct import_files *f);

#endif
