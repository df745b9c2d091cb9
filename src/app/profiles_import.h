/*
 * profiles_import.h - add files or folders with profiles, samples or points to the store.
 *
 * A file or folder is added in one transaction, completely or not at all. With a predictor, its
 * forecast of each new sample is stored in the same transaction, before anything can learn from it.
 */
#ifndef HES_APP_PROFILES_IMPORT_H
#define HES_APP_PROFILES_IMPORT_H

#include "app/known_store.h"
#include "app/profiles_files.h"

struct import_request {
	const struct app *app;
	const char *store, *catalogue, *predictor; /* files; NULL: the usual, none, none */
	int wait_ms;                               /* for other programs that write */
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

#endif
