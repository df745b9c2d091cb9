/*
 * head_request.h - what to carry out on several nodes; see head.h.
 */
#ifndef HES_CLUSTER_HEAD_REQUEST_H
#define HES_CLUSTER_HEAD_REQUEST_H

#include "cluster/launcher.h"
#include "heshare/gpu_type.h"
#include "heshare/run.h"

/** The caller owns everything. */
struct head_request {
	const struct launcher *launcher;
	const struct hes_catalogue *catalogue;
	const struct hes_plan *plan; /* of all nodes */
	const struct hes_fleet *fleet;
	const struct hes_jobs *jobs; /* each with its command */
	const char *user; /* for jobs without a user of their own; NULL: the user of this process */
	struct hes_store *store;
	struct hes_journal *journal;
	const char *predictor, *profiles; /* files, to plan again; NULL: modelled */
	const char *const *runner_args;   /* more options for the runners; ends with NULL */
	double stop_s;                    /* see struct hes_run_request */
	bool early_ok;                    /* the same */
	struct hes_run_listener listener;
};

#endif
