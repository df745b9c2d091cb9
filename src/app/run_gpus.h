/*
 * run_gpus.h - the GPUs of this machine that a run uses: those of its plan, matched by UUID, else
 * by type, number and order.
 */
#ifndef HES_APP_RUN_GPUS_H
#define HES_APP_RUN_GPUS_H

#include "app/app.h"
#include "heshare/device.h"
#include "heshare/journal.h"
#include "heshare/plan.h"
#include "heshare/run.h"

/** A plan and the GPUs that are there. */
struct run_gpus {
	const struct app *app;
	struct hes_fleet *fleet; /* of the plan */
	const struct hes_plan *plan;
	const char *node; /* whose part is carried out; NULL: all */
	const struct hes_devices *devices;
	long *gpus; /* one a GPU of the fleet: see fit_gpus() */
};

/** Find the GPUs of the plan, and warn of power limits that changed.
 * @param others  others of the same types may stand for those that the plan names
 * @param resume  a GPU may be lost
 * @return as fit_gpus() */
int run_gpus_fit(const struct run_gpus *u, bool others, bool resume, struct hes_err *err);

/** A run that goes on has the GPUs that it began with: the fleet gets their UUIDs. @return 0;
 * errors of the journal */
int run_gpus_bind(const struct run_gpus *u, struct hes_journal *j, int64_t run,
		  struct hes_err *err);

/** Two runs on one GPU would take the clock from one another. @return 0; -EBUSY another run than
 * @run has one of the GPUs; errors of the journal */
int run_gpus_check(const struct run_gpus *u, struct hes_journal *j, int64_t run,
		   struct hes_err *err);

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

/** Whether a GPU of the fleet is on a node. */
bool fit_has_node(const struct hes_fleet *f, const char *name);

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

#endif
