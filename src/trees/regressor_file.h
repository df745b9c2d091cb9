/*
 * regressor_file.h - a regressor as part of a model file (docs/formats/model.md).
 */
#ifndef HES_TREES_REGRESSOR_FILE_H
#define HES_TREES_REGRESSOR_FILE_H

#include "trees/model_bytes.h"
#include "trees/regressor.h"

void regressor_put(struct model_writer *w, const struct hes_regressor *r);

/**
 * Read what regressor_put() wrote. Every count, name and node is checked.
 * @return 0; -EINVAL unsound; -ENOTSUP a kind that this version does not have; -ENOMEM
 */
int regressor_get(struct model_reader *in, struct hes_regressor **out, struct hes_err *err);

#endif
