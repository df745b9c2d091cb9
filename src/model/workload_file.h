/*
 * workload_file.h - write workloads so that hes_model_add_file() reads them.
 */
#ifndef HES_MODEL_WORKLOAD_FILE_H
#define HES_MODEL_WORKLOAD_FILE_H

#include <stdio.h>

#include "heshare/model.h"

/** The lines before the first workload. */
void hes_workloads_write_head(FILE *f);
void hes_workload_write(const struct hes_workload *w, FILE *f);

#endif
