/*
 * train.h - inside of `heshare train`: its options and parts.
 */
#ifndef HES_CLI_TRAIN_TRAIN_H
#define HES_CLI_TRAIN_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "app/known_folder.h"
#include "heshare/predict.h"

struct train_opts {
	const char *out;
	uint64_t trees;
	uint64_t seed;
	uint64_t threads;
	const char *recipe;
	double validate_pct;
	double noise_pct;
	double coverage_pct;
	bool left_out;
	bool left_out_types;
	const char *features_csv;
	bool from_store;
	const char *store;
	const char *catalogue;
	bool with_modelled;
	bool json;
};

extern const char *const train_recipes[]; /* by enum hes_recipe; NULL-terminated */

/** @return the place of a name that is there */
int train_choice(const char *const *names, const char *name);

/** Threads that work when --threads asks for @threads. */
uint32_t train_threads(uint64_t threads);

/** A predictor from samples; @path a samples.csv or its folder, NULL: the store. @return exit
 * status */
int train_samples(const struct train_opts *o, const char *path);

/** Modelled samples, with the profiles of their co-runners. */
struct train_prior {
	struct hes_profiles profiles;
	struct hes_samples samples;
};

/**
 * Draw them for the GPU types of samples; a type that @c lacks is left to the training to report.
 * @param out  must outlive its use, where it is; train_prior_free() it, also on failure
 */
int train_prior_draw(const struct hes_samples *s, const struct hes_catalogue *c,
		     struct train_prior *out, struct hes_err *err);
void train_prior_free(struct train_prior *p);

/** The store's samples and profiles, modelled ones only if requested. */
int train_store_load(const struct train_opts *o, struct app_rows *out, struct hes_err *err);

/** Let the store keep what is said of samples held back from the predictor in the file o->out. */
int train_store_keep(const struct train_opts *o, const struct hes_predictor *p,
		     const struct hes_samples *held_back, const struct hes_estimate *said,
		     struct hes_err *err);

/** Write the features of samples as @p sees them, what was measured and the word of its baseline.
 */
int train_write_features(const char *path, const struct hes_samples *s,
			 const struct hes_catalogue *c, const struct hes_predictor *p,
			 struct hes_err *err);

#endif
