/*
 * known_folder.h - profiles.csv and samples.csv, alone or in one folder.
 */
#ifndef HES_APP_KNOWN_FOLDER_H
#define HES_APP_KNOWN_FOLDER_H

#include "heshare/profile.h"

/** Either may be empty. */
struct app_rows {
	struct hes_profiles profiles;
	struct hes_samples samples;
};

/**
 * @param path  profiles.csv or samples.csv, distinguished by their columns, or a folder with one or
 * both
 * @return 0; -ENOENT none there; errors of reading. @out is untouched on failure
 */
int app_rows_load(const char *path, struct app_rows *out, struct hes_err *err);
void app_rows_free(struct app_rows *r);

/** Profiles alone; @path profiles.csv or the folder it lies in. */
int app_profiles_load(const char *path, struct hes_profiles *out, struct hes_err *err);
/** Samples, likewise; out of a folder with its profiles, if there are some: those of the
 * co-runners. */
int app_samples_load(const char *path, struct app_rows *out, struct hes_err *err);

/** Write both into a folder, which is made unless it is there; an empty table makes no file. */
int app_rows_save(const char *folder, const struct hes_profiles *p, const struct hes_samples *s,
		  struct hes_err *err);

#endif
