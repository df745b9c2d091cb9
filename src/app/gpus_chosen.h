/*
 * gpus_chosen.h - the GPUs of this machine: what they lack, those that a list names, a fleet of
 * them to plan for, and what else changes what jobs get there.
 */
#ifndef HES_APP_GPUS_CHOSEN_H
#define HES_APP_GPUS_CHOSEN_H

#include <stdbool.h>

#include "app/app.h"
#include "heshare/activity.h"
#include "heshare/capabilities.h"
#include "heshare/device.h"
#include "heshare/fleet.h"

/** A GPU as it is now, and what it lacks of what heshare sets and reads. */
struct gpus_seen {
	size_t index;
	struct hes_device_info info;
	struct hes_reading reading;
	enum hes_activity_from activity;
	struct hes_missing_capability lacks[HES_CAPABILITIES];
	long n_lacks;
};

/** @return 0; errors of hes_device_info(), hes_device_read(), hes_capabilities_missing() */
int gpus_look(const struct hes_devices *d, size_t i, const struct hes_mps_status *mps,
	      struct gpus_seen *out, struct hes_err *err);

#define GPUS_LIST_MAX 400 /* bytes of a list of GPUs; what does not fit is left out */
/** @param gpus  "GPUs 0-3, 6": those that lack it */
typedef void gpus_lack_fn(void *ctx, const char *gpus, const struct hes_missing_capability *l);
/** Call @each once for each lack. */
void gpus_lacks(const struct gpus_seen *v, size_t n, gpus_lack_fn *each, void *ctx);

/**
 * The GPU that an option names by index, UUID or PCI address.
 * @return its index; -ENOENT a GPU that is not there; errors of hes_device_info() for one that
 * cannot be used
 */
long gpus_find(const struct hes_devices *d, const char *option, const char *name,
	       struct hes_err *err);

/** What GPUs are chosen for. */
enum gpus_use {
	GPUS_READ,  /* to be looked at: any that answers */
	GPUS_RUN,   /* to run jobs on */
	GPUS_SHARE, /* to be shared by turns, without MPS */
};

/** Refuse a list that is wrong on every machine, before GPUs are opened. @return 0; -EINVAL */
int gpus_check(const char *list, struct hes_err *err);

/**
 * The GPUs that a list names, by index, UUID or PCI address with commas; "all" or NULL: all that
 * can be used. A sentence names each that is left out.
 * @param out  to free(); set on success with @n
 * @return 0; as gpus_find() for those that are named, -EEXIST one named twice; -EPERM one
 * that cannot be used like this; of all, why the first cannot be used if none can
 */
int gpus_choose(const struct app *app, const struct hes_devices *d, const char *list,
		enum gpus_use use, size_t **out, size_t *n, struct hes_err *err);

/** GPUs of this machine as a fleet to plan for. */
struct gpus_fleet {
	struct hes_fleet fleet;     /* GPUs are called HOST/INDEX, with NVML's index */
	struct hes_gpu_type *types; /* the catalogue's, without the capabilities that GPUs lack */
	size_t n_types;
};

/**
 * Make a fleet of GPUs: a list as gpus_choose takes it. A GPU whose clock this user cannot lock has
 * its default clock alone, one without MPS takes one job at a time. Of all, those that cannot be
 * planned for are left out, and a sentence says why.
 * @param notes  say each capability that is done without
 * @return 0; -ENODEV, -ENOENT, -EEXIST; -ENOTSUP a GPU of no type of @c that NVML cannot describe;
 * -EPERM one on which no job can run
 */
int gpus_fleet_load(const struct app *app, const char *list, const struct hes_catalogue *c,
		    bool notes, struct gpus_fleet *out, struct hes_err *err);
void gpus_fleet_free(struct gpus_fleet *b);

/** An empty fleet with room for @n GPUs. @return 0; -ENOMEM */
int gpus_fleet_make(struct gpus_fleet *b, const char *name, size_t n, struct hes_err *err);
/** Add GPU number @index of a node, without the capabilities that it lacks.
 * @param limit_mw  its power limit; 0: the type's */
void gpus_fleet_put(struct gpus_fleet *b, const char *node, size_t index, const char *uuid,
		    const struct hes_gpu_type *g, uint32_t limit_mw, bool clocks, bool mps);

/**
 * Report what outside of heshare changes what jobs get: variables, and an MPS daemon on one of
 * @gpus.
 * @param gpus     indices; those below 0 are passed over
 * @param inherit  jobs inherit the environment of this process
 */
void gpus_environment_tell(const struct app *app, const struct hes_devices *d, const long *gpus,
			   size_t n, bool inherit);

#endif
