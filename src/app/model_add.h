/*
 * model_add.h - add a network that the GPU model does not know, and keep it in a file.
 */
#ifndef HES_APP_MODEL_ADD_H
#define HES_APP_MODEL_ADD_H

#include "heshare/model.h"
#include "model/fit_profile.h"

/**
 * hes_model_add_workload() with profiles of a file or folder.
 * @param facts     of the network; those of which nothing is known are 0
 * @param profiles  NULL: none
 */
int model_add(struct hes_model *m, const struct hes_catalogue *c, const char *name,
	      const struct hes_workload_facts *facts, const char *profiles,
	      struct hes_model_fit *fit, struct hes_err *err);

/**
 * Add a workload to a file, in place of the one of its name. Another program that adds at the same
 * time waits.
 * @param path  "-": standard output
 * @return 0; -EBUSY another program does not end; -EEXIST the file has GPU types, too; errors of
 * reading and writing
 */
int model_add_to_file(const struct hes_workload *added, const char *path, struct hes_err *err);

#endif
