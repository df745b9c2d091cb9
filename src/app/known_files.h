/*
 * known_files.h - load what is known of workloads from files: the store, what takes its
 * place, and the GPU model.
 */
#ifndef HES_APP_KNOWN_FILES_H
#define HES_APP_KNOWN_FILES_H

#include "app/known.h"
#include "app/known_store.h"

/** Where to load from. NULL: the usual place. */
struct app_known_from {
	const struct hes_app *app;
	const char *store;           /* file; there may be none at the usual place */
	const char *predictor;       /* file in place of the store's samples */
	const char *profiles;        /* file or folder in place of the store's profiles */
	struct hes_model *model;     /* NULL: the built-in one, which tells of derived types */
	const struct hes_jobs *jobs; /* to be planned */
	bool replayed;               /* on the model: it needs every workload of the jobs */
	bool profiles_only;          /* no predictor is needed */
	bool again;                  /* it was loaded before: nothing is said of it */
};

/**
 * What is known for the GPU types of a fleet.
 * @return as hes_known_load(); -EPERM another user can write the store; errors of reading
 */
int app_known_load(const struct app_known_from *from, const struct hes_catalogue *c,
		   const struct hes_fleet *f, struct hes_known *out, struct hes_err *err);
/** The same for types by themselves. */
int app_known_load_types(const struct app_known_from *from, const struct hes_catalogue *c,
			 const struct hes_gpu_type *const *types, size_t n_types,
			 struct hes_known *out, struct hes_err *err);

/**
 * Fit types to what was measured: their default clock is the one that GPUs held without a lock;
 * clocks that the predictor of a file never saw are not offered.
 * @param file  whether the predictor comes from a file
 */
void app_known_fit(const struct hes_known *k, bool file, struct hes_gpu_type *types, size_t n);

#endif
