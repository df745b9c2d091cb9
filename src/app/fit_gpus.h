/*
 * fit_gpus.h - match the GPUs of a plan with those of this machine: by UUID, else by type, number
 * and order. Pure.
 */
#ifndef HES_RUN_FIT_GPUS_H
#define HES_RUN_FIT_GPUS_H

#include "heshare/plan.h"
#include "heshare/run.h"

#define RUN_NO_GPU (-1)

/** A GPU of this machine. */
struct run_fit_type {
	const char *type; /* in the catalogue; "": not in it */
	const char *uuid; /* "": not known */
};

/**
 * @param node  carry out this node's part alone; NULL: all of the plan
 * @param how   bits of enum hes_fit
 * @param out   one a GPU of @f: a GPU's index; HES_RUN_GPU_LOST; RUN_NO_GPU for one that is not
 * ours to run, or that has nothing to do and no GPU
 * @return 0; -ENODEV too few GPUs of a type, or a GPU that the plan names by UUID is not there;
 * -ENOENT the plan has no such node
 */
int run_fit(const struct hes_fleet *f, const struct hes_plan *p, const char *node, unsigned how,
	    const struct run_fit_type *gpus, size_t n_gpus, long *out, struct hes_err *err);

/** @return whether the plan has GPUs of the node @name */
bool run_has_node(const struct hes_fleet *f, const char *name);

#endif
