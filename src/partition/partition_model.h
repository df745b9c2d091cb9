/*
 * partition_model.h - the part of a trained model that belongs to one GPU type.
 */
#ifndef HES_PARTITION_PARTITION_MODEL_H
#define HES_PARTITION_PARTITION_MODEL_H

#include "partition/type_model.h"

/** @return owned by @m; NULL: @m was not trained for @g */
const struct type_model *partition_type_model(const struct hes_partition_model *m,
					      const struct hes_gpu_type *g);

#endif
