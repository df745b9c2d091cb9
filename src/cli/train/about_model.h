/*
 * about_model.h - what is in a predictor's file: provenance, names, units, errors on samples that
 * were held back.
 */
#ifndef HES_CLI_TRAIN_ABOUT_MODEL_H
#define HES_CLI_TRAIN_ABOUT_MODEL_H

#include <stdbool.h>

/** @return exit status */
int predictor_about(const char *path, bool json);

#endif
