/*
 * partition_run.h - carry a split out on a GPU of this machine with the runner of runs, and compare
 * what was measured with what was predicted.
 *
 * The split becomes a plan of one GPU with one batch. Guard, MPS, clock, joules, logs and the
 * journal are the runner's: the caller passes `request` on to it, with its journal and run.
 */
#ifndef HES_APP_PARTITION_RUN_H
#define HES_APP_PARTITION_RUN_H

#include <limits.h>

#include "app/gpus_chosen.h"
#include "app/partition_answer.h"
#include "heshare/run.h"

struct partition_run_request {
	const struct partition_request *p;
	const struct partition_answer *a; /* its split is run: that of the request, else the best */
	const struct hes_catalogue *catalogue;
	char *const *commands; /* lines for a shell in the order of the jobs; NULL: those that were
				  profiled */
	const char *logs;      /* folder; NULL: partition.run */
	double for_s;          /* the jobs end then; 0: when they end */
};

struct partition_run {
	const struct partition_answer *a;
	const struct hes_split *s;
	const struct hes_catalogue *catalogue;
	int64_t for_us; /* 0: until the jobs end */
	struct gpus_fleet gpu;
	struct hes_job jobs[HES_PARTITION_MAX_JOBS];
	struct hes_plan plan;
	struct hes_devices *devices;
	long index;
	struct hes_store *store;
	struct hes_journal *journal;
	struct hes_run run;
	char mps_folder[PATH_MAX];
	const char *user;
	struct hes_jobs list;
	struct hes_run_request request; /* for the runner; the listener is the caller's */
};

/* What was measured while all jobs ran together; NaN: it was not. */
struct partition_measured {
	double rate[HES_PARTITION_MAX_JOBS], power_w, work;
};

/**
 * Make the plan, and open store, GPU and folder.
 * @param out  partition_run_close() it in any case; it must stay where it is
 * @return 0; -EINVAL the jobs are to take turns; -ENOENT a job without command; errors of the store
 * and the GPU
 */
int partition_run_open(const struct partition_run_request *q, struct partition_run *out,
		       struct hes_err *err);
void partition_run_close(struct partition_run *r);

struct partition_measured partition_run_measured(const struct partition_run *r,
						 const struct hes_run_report *report);

#endif
