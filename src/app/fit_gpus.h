/*
 * fit_gpus.h - match the GPUs of a plan with those of this machine: by UUID, else by type, number
 * and order.
 */
#ifndef HES_APP_FIT_GPUS_H
#define HES_APP_FIT_GPUS_H

#include "heshare/plan.h"
#include "heshare/run.h"

/** How the GPUs of a plan may differ from those of this machine: bits. */
enum fit_how {
	FIT_OTHERS = 1 << 0, /* others of the same types stand for those that are named by UUID */
	FIT_LOST = 1 << 1,   /* a GPU that is named by UUID may be missing, if another is there */
};

/** A GPU of this machine. */
struct fit_gpu {
	const char *type; /* in the catalogue; "": not in it */
	const char *uuid; /* "": not known */
};

/**
 * Those that are named by UUID to the same; the others to GPUs of their types, NODE/NUMBER to the
 * GPU of that number, the rest in order. Pure.
 * @param node  carry out this node's part alone; NULL: all of the plan
 * @param how   bits of enum fit_how
 * @param out   one a GPU of @f: a GPU's index; HES_RUN_GPU_LOST; HES_RUN_NO_GPU for one that is not
 * ours to run, or that has nothing to do and no GPU
 * @return 0; -ENODEV too few GPUs of a type, or a GPU that the plan names by UUID is not there;
 * -ENOENT the plan has no such node
 */
int fit_gpus(const struct hes_fleet *f, const struct hes_plan *p, const char *node, unsigned how,
	     const struct fit_gpu *gpus, size_t n_gpus, long *out, struct hes_err *err);

/** The same with the GPUs of a machine. */
int fit_devices(const struct hes_fleet *f, const struct hes_plan *p, const char *node, unsigned how,
		const struct hes_devices *d, long *out, struct hes_err *err);

#endif
