/*
 * model_add.h - networks that the GPU model does not know: fit them to profiles, list how well, and
 * keep them in a file.
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

struct app_fits {
	struct hes_model_fit *v; /* owned: free() it */
	size_t n;
};

/**
 * Fit the workloads of profiles that the model does not know.
 * @param profiles  file or folder
 * @return 0, or what reading them or hes_model_add_workload() returns
 */
int app_fits_all(struct hes_model *m, const struct hes_catalogue *c, const char *profiles,
		 struct app_fits *fits, struct hes_err *err);

/** Also list the workload if its user added it. @return 0; -ENOMEM */
int app_fits_own(const struct hes_workload *w, struct app_fits *fits, struct hes_err *err);

#endif
