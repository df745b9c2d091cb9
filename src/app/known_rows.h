/*
 * known_rows.h - rows of what is known while they are collected. Private to src/app.
 */
#ifndef HES_APP_KNOWN_ROWS_H
#define HES_APP_KNOWN_ROWS_H

#include "app/known.h"
#include "heshare/draw.h"

struct known_row {
	struct hes_profile profile; /* first: hes_profile_compare() orders rows, too */
	struct app_known_row about;
};

/** Everything that a load has in hand. */
struct known_load {
	const struct app_known_request *q;
	struct hes_store *store;   /* NULL: there is none, or it is not needed */
	struct hes_profiles given; /* of the file that takes the place of its profiles */
	struct hes_model *model;   /* the request's, or the built-in one, which is owned */
	const struct hes_gpu_type *planned[APP_KNOWN_TYPES];
	size_t n_types;
	struct hes_gpu_type standard[APP_KNOWN_TYPES]; /* the types at their default power limits */
	const struct hes_gpu_type *types[APP_KNOWN_TYPES]; /* pointers to these */
	struct hes_draw draw;
	struct hes_profiles drawn; /* the known networks */
	struct known_row *rows;    /* in no order; no two of one workload, batch size and type */
	size_t n;
};

/** Derive rows for the jobs of the request that were measured elsewhere. */
int known_derive(struct known_load *l, struct app_known *k, struct hes_err *err);

/** How long the unknown jobs of the request may run. */
int known_runs(struct known_load *l, struct app_known *k, struct hes_err *err);

/** The predictor of the request. */
int known_predictor(struct known_load *l, struct app_known *k, struct hes_err *err);

#endif
