/*
 * model_about.h - what is in a predictor's file: provenance, names, units, errors on samples that were held back.
 */
#ifndef HES_CLI_MODEL_ABOUT_H
#define HES_CLI_MODEL_ABOUT_H

#include <stdbool.h>

/** @return exit status */
int predictor_about(const char *path, bool json);

#endif
