/*
 * known_files.h - load what is known of workloads for a command: the store, the files that take
 * its place, and the GPU model.
 */
#ifndef HES_APP_KNOWN_FILES_H
#define HES_APP_KNOWN_FILES_H

#include <jansson.h>
#include <stdio.h>

#include "app/known.h"
#include "app/known_store.h"

/* A row of an option table each. @param where  offset of a const char * */
#define CLI_PREDICTOR_OPT(where)                                                              \
	{                                                                                     \
		.name = "predictor", .kind = OPT_FILE, .offset = (where), .arg = "FILE",      \
		.help = "predictor of heshare train; without it, one trained on the store's " \
			"samples, or on modelled ones where the store has none"               \
	}
#define CLI_PROFILES_OPT(where)                                                         \
	{                                                                               \
		.name = "profiles", .kind = OPT_FILE, .offset = (where), .arg = "FILE", \
		.help = "profiles.csv or its folder, in place of the store's profiles"  \
	}
#define CLI_KNOWN_STORE_HELP "store with what was measured; without it, " CLI_STORE_PLACE

/** Where to load from. NULL: the usual place. */
struct cli_known_from {
	const char *command;         /* that loads: for messages */
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
int cli_known_load(const struct cli_known_from *from, const struct hes_catalogue *c,
		   const struct hes_fleet *f, struct hes_known *out, struct hes_err *err);
/** The same for types by themselves. */
int cli_known_load_types(const struct cli_known_from *from, const struct hes_catalogue *c,
			 const struct hes_gpu_type *const *types, size_t n_types,
			 struct hes_known *out, struct hes_err *err);

/**
 * Fit types to what was measured: their default clock is the one that GPUs held without a lock;
 * clocks that the predictor of a file never saw are not offered.
 * @param file  whether the predictor comes from a file
 */
void cli_known_fit(const struct hes_known *k, bool file, struct hes_gpu_type *types, size_t n);

/** "Jobs: 12 measured, 47 known networks, 1 derived." without an end of line. */
void cli_known_print(FILE *f, const uint32_t known[HES_KNOWN_SOURCES]);
/** @return {"measured": 12, "known": 47, "derived": 1, "unknown": 0} */
json_t *cli_known_json(const uint32_t known[HES_KNOWN_SOURCES]);

/**
 * GPU types by name, commas between them.
 * @return how many were written to @out; -ENOENT, -E2BIG, -EEXIST
 */
int cli_types(const char *list, const struct hes_catalogue *c, const struct hes_gpu_type **out,
	      size_t max, struct hes_err *err);

#endif
