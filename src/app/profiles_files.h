/*
 * profiles_files.h - add files to the store, and write what the store has as files.
 *
 * A folder may have profiles.csv, samples.csv, points.csv, and the tables of a measured GPU next to
 * its gpu.json. Points come with the profiles and samples that are derived from them; where
 * profiles.csv or samples.csv have the same, theirs count.
 */
#ifndef HES_APP_PROFILES_FILES_H
#define HES_APP_PROFILES_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "app/app.h"
#include "app/known_folder.h"
#include "app/known_store.h"

/** What was read. */
struct import_files {
	struct app_rows rows;
	char **not_read; /* names in the folder, of folders with a / */
	size_t n_not_read;
};

struct import_request {
	const struct app *app;
	const char *store, *catalogue; /* files; NULL: the usual, none */
	int wait_ms;                   /* for other programs that write */
	enum hes_source source;
	int64_t at_us; /* of the measurement */
	/* Called when a file or folder is on the disk; NULL: never. */
	void (*each)(void *ctx, const char *path, const struct import_files *f,
		     const struct hes_delivered *d);
	void *ctx;
};

/** Import the files in their order, up to the first that fails. */
int profiles_import(const struct import_request *q, size_t n, char *const *paths,
		    struct hes_err *err);

struct export_request {
	const struct app *app;
	const char *store;  /* file; NULL: the usual */
	const char *folder; /* is made unless it is there */
	int wait_ms;
	bool with_modelled;
};

/** Rows that were written. */
struct exported {
	size_t profiles, samples, points;
};

/** @return 0; -ENOENT the store has no such rows; errors of reading and writing */
int profiles_export(const struct export_request *q, struct exported *out, struct hes_err *err);

#endif
