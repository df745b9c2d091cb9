/*
 * about_model.h - what is in a model file: kind, provenance, names, units,
 * errors on what was held back.
 */
#ifndef HES_CLI_TRAIN_ABOUT_MODEL_H
#define HES_CLI_TRAIN_ABOUT_MODEL_H

#include <stdbool.h>

/** @param list  as of cli_regressor_load(). @return exit status */
int regressor_about(const char *list, bool json);

/** A file of `heshare train SAMPLES`. @return exit status */
int predictor_about(const char *path, bool json);

#endif
