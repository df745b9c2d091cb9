/*
 * model_files.h - regressors in the files people bring: ours, and
 * LightGBM's text models.
 */
#ifndef HES_CLI_TRAIN_MODEL_FILES_H
#define HES_CLI_TRAIN_MODEL_FILES_H

#include "heshare/regressor.h"

/**
 * @param list  a file of `heshare train --csv`, or LightGBM's text models, an output each, commas between them
 * @return 0; -EINVAL damaged or foreign; -errno
 */
int cli_regressor_load(const char *list, struct hes_regressor **out, struct hes_err *err);

/** Write every output as LightGBM's text model, PREFIX.OUTPUT.txt. @return 0; -EINVAL an output's name; -errno */
int cli_regressor_export(const char *prefix, const struct hes_regressor *r, struct hes_err *err);

#endif
