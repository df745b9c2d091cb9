/*
 * regressor_file.h - a regressor as part of a bigger model file.
 *
 * hes_regressor_save() writes one as a file of its own (docs/formats/model.md);
 * predictors hold several.
 */
#ifndef HES_TREES_REGRESSOR_FILE_H
#define HES_TREES_REGRESSOR_FILE_H

#include "trees/model_bytes.h"
#include "trees/regressor.h"

void regressor_put(struct block *b, const struct hes_regressor *r);

/**
 * Read what regressor_put() wrote. Nothing is believed: counts, names, every node.
 * @return 0; -EINVAL unsound; -ENOMEM
 */
int regressor_get(struct block_reader *in, struct hes_regressor **out, struct hes_err *err);

#endif
