/*
 * train.h - train a predictor on samples of a file or of the store, and test it on samples that it
 * has not seen.
 *
 * Few samples are all fitted on, with modelled ones as a prior, and left out in turn for the test.
 * A result owns what it points to; train_free() takes one that failed anywhere, too.
 */
#ifndef HES_APP_TRAIN_H
#define HES_APP_TRAIN_H

#include "app/app.h"
#include "app/known_folder.h"
#include "heshare/predict.h"

struct train_request {
	const struct app *app;
	void (*progress)(const char *what, uint64_t done, uint64_t total); /* NULL: none */
	const char *samples;           /* samples.csv or its folder; NULL: those of the store */
	const char *store;             /* file; NULL: the usual one */
	bool with_modelled;            /* those of the store that are modelled, too */
	const char *catalogue;         /* file with more GPU types; NULL: none */
	const char *out;               /* file for the predictor; NULL: none */
	uint64_t trees, seed, threads; /* 0: the default */
	double validate_pct;           /* samples to hold back */
	double coverage_pct;
	bool left_out, left_out_types; /* also train without each workload, each GPU type */
};

/** What is left out of the samples, one name after the other. */
enum { TRAIN_WORKLOADS, TRAIN_TYPES, TRAIN_LEFT_OUT };

struct train_left_out {
	char (*names)[HES_NAME_MAX]; /* the predictor's */
	uint32_t n;                  /* 0: not requested */
	struct hes_test *tests;      /* time.rows 0: there were no samples */
};

struct train_result {
	struct hes_catalogue catalogue;
	struct app_rows rows;
	struct hes_samples all, fit, test; /* all: those of rows; fit and test: copies */
	struct hes_estimate *predicted;    /* of test, unseen */
	struct app_rows prior;             /* modelled samples; none where there are enough */
	struct hes_predictor *predictor;
	struct hes_test unseen;
	double fit_s, row_s; /* row_s: of one prediction */
	struct train_left_out left_out[TRAIN_LEFT_OUT];
};

/** Train, test, and write what the request names. @return 0 or a negative errno */
int train_run(const struct train_request *q, struct train_result *out, struct hes_err *err);
void train_free(struct train_result *r);

#endif
