/*
 * catalogue.h - the GPU types of a request, the GPU model for them, types of this machine's GPUs,
 * and fleets of them.
 */
#ifndef HES_APP_CATALOGUE_H
#define HES_APP_CATALOGUE_H

#include "app/app.h"
#include "heshare/device.h"
#include "heshare/fleet.h"
#include "heshare/model.h"

/**
 * The built-in GPU types, then those of /etc/heshare/gpu_types.yaml, of heshare/gpu_types.yaml
 * below XDG_CONFIG_HOME or
 * ~/.config, and of @path unless it is NULL. Later rows replace earlier ones of the same name.
 * @param present  also a row for each type of this machine's GPUs that none of these names, from
 * what NVML reports
 */
int app_catalogue_load(const struct app *app, const char *path, bool present,
		       struct hes_catalogue *out, struct hes_err *err);

/** Leave each type its default clock alone. */
void app_catalogue_hold_default_clocks(struct hes_catalogue *c);

/** The type of GPU @i. @param c  with the types of the GPUs present. @return NULL with the reason
 */
const struct hes_gpu_type *app_gpu_type(const struct hes_devices *d, size_t i,
					const struct hes_catalogue *c, struct hes_err *err);

/** A sentence that names the types whose parameters are derived; none where there are none. */
void app_model_tell_derived(const struct app *app, const struct hes_model *m,
			    const struct hes_gpu_type *const *types, size_t n);

#define APP_SECOND_PHYSICS \
	"second" /* in place of a file: the built-in parameters with hes_model_second() */

/**
 * Load the GPU model, with derived parameters for types of @c that it has none for, and tell of
 * those in @use. Add the workloads of workloads.yaml in the folders of app_catalogue_load() and of
 * the file that @c was loaded with.
 * @param physics  file, or APP_SECOND_PHYSICS; NULL: the built-in one
 */
int app_model_load(const struct app *app, const char *physics, const struct hes_catalogue *c,
		   const struct hes_gpu_type *const *use, size_t n_use, struct hes_model **out,
		   struct hes_err *err);

/** A fleet file; @path NULL: the HeShare paper's eight GPUs. */
int app_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out,
		   struct hes_err *err);
/** Refuse a power cap below what an idle fleet draws: no plan can keep it. @param cap_w  W; 0:
 * none. @return 0; -ERANGE */
int app_cap_check(double cap_w, const struct hes_fleet *f, struct hes_err *err);

/**
 * GPU types by name, commas between them.
 * @return how many were written to @out; -ENOENT, -E2BIG, -EEXIST
 */
int app_types(const char *list, const struct hes_catalogue *c, const struct hes_gpu_type **out,
	      size_t max, struct hes_err *err);

#endif
