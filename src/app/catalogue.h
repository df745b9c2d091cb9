/*
 * catalogue.h - the GPU types of a command, the GPU model for them, and types of this machine's
 * GPUs.
 */
#ifndef HES_APP_CATALOGUE_H
#define HES_APP_CATALOGUE_H

#include "heshare/device.h"
#include "heshare/model.h"

/** A row of an option table. @param where  offset of a const char * */
#define CLI_CATALOGUE_OPT(where)                                                                 \
	{                                                                                        \
		.name = "catalogue", .kind = OPT_FILE, .offset = (where), .arg = "FILE",         \
		.help = "add the GPU types and workloads of this YAML file; a row replaces the " \
			"one of the same name"                                                   \
	}

/**
 * The built-in GPU types, then those of /etc/heshare/gpu_types.yaml, of heshare/gpu_types.yaml
 * below XDG_CONFIG_HOME or
 * ~/.config, and of @path unless it is NULL. Later rows replace earlier ones of the same name.
 * @param present  also a row for each type of this machine's GPUs that none of these names, from
 * what NVML reports
 */
int cli_catalogue_load(const char *path, bool present, struct hes_catalogue *out,
		       struct hes_err *err);

/** The type of GPU @i. @param c  with the types of the GPUs present. @return NULL with the reason
 */
const struct hes_gpu_type *cli_gpu_type(const struct hes_devices *d, size_t i,
					const struct hes_catalogue *c, struct hes_err *err);

/** One line on stderr that names the types whose parameters are derived; none where there are none.
 */
void cli_model_tell_derived(const struct hes_model *m, const struct hes_gpu_type *const *types,
			    size_t n);

#define CLI_SECOND_PHYSICS \
	"second" /* in place of a file: the built-in parameters with hes_model_second() */

/**
 * Load the GPU model, with derived parameters for types of @c that it has none for, and tell of
 * those in @use. Add the workloads of workloads.yaml in the folders of cli_catalogue_load() and of
 * the file that @c was loaded with.
 * @param physics  file, or CLI_SECOND_PHYSICS; NULL: the built-in one
 */
int cli_model_load(const char *physics, const struct hes_catalogue *c,
		   const struct hes_gpu_type *const *use, size_t n_use, struct hes_model **out,
		   struct hes_err *err);

#endif
