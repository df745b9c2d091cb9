/*
 * paper_model.h - the GPU model with more workloads.
 */
#ifndef PAPERS_PARTITION_PAPER_MODEL_H
#define PAPERS_PARTITION_PAPER_MODEL_H

#include "heshare/model.h"

/**
 * Load the built-in GPU model with the workloads of a YAML file after its own. The file's only key
 * is `workloads`, with entries as in data/physics.yaml.
 * @return as hes_model_load; -errno of reading the file
 */
int paper_model_load(const char *path, struct hes_model **out, struct hes_err *err);

#endif
