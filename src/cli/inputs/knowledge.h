/*
 * knowledge.h - the profiles and the predictor of a planner: from files, or drawn from the GPU
 * model and trained.
 */
#ifndef HES_CLI_INPUTS_KNOWLEDGE_H
#define HES_CLI_INPUTS_KNOWLEDGE_H

#include "heshare/fleet.h"
#include "heshare/model.h"
#include "heshare/predict.h"

#define CLI_SAMPLES     1000  /* the paper's number */
#define CLI_NOISE       0.017 /* coefficient of variation that was measured on a V100 */
#define CLI_MAX_TYPES   64
#define CLI_SAMPLE_SEED 1

struct cli_knowledge {
	struct hes_profiles profiles;
	struct hes_predictor *predictor;
};

/**
 * Profiles and predictor for every GPU type of a fleet. The same on every
 * run: what is drawn and trained here has a fixed seed.
 * @param predictor  file of `heshare train`; NULL: train on CLI_SAMPLES drawn ones
 * @param profiles   file or folder of `heshare profile`; NULL: draw
 * @param model      to draw from; NULL: the built-in one, which tells of derived types
 * @return 0; -EINVAL a predictor or profiles that lack a type of the fleet; errors of reading
 */
int cli_knowledge_load(const char *predictor, const char *profiles, const struct hes_model *model,
		       const struct hes_catalogue *c, const struct hes_fleet *f,
		       struct cli_knowledge *out, struct hes_err *err);
/** The same for types by themselves. */
int cli_knowledge_load_types(const char *predictor, const char *profiles,
			     const struct hes_model *model, const struct hes_catalogue *c,
			     const struct hes_gpu_type *const *types, size_t n_types,
			     struct cli_knowledge *out, struct hes_err *err);
/**
 * Fit types to what was measured: their default clock is the one that GPUs held without a lock;
 * clocks that @measured predictor never saw are not offered.
 */
void cli_knowledge_fit(const struct cli_knowledge *k, bool measured, struct hes_gpu_type *types,
		       size_t n);
void cli_knowledge_free(struct cli_knowledge *k);

/**
 * GPU types by name, commas between them.
 * @return how many were written to @out; -ENOENT, -E2BIG, -EEXIST
 */
int cli_types(const char *list, const struct hes_catalogue *c, const struct hes_gpu_type **out,
	      size_t max, struct hes_err *err);

#endif
