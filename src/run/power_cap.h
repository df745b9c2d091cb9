/*
 * power_cap.h - keep the power cap of a plan while it is carried out.
 *
 * A job is not started while the predicted highest power of what runs and of the job exceeds the
 * cap. Reality differs from the plan: jobs are late, so others run together than were planned to.
 * Where no job runs one starts in any case.
 */
#ifndef HES_RUN_POWER_CAP_H
#define HES_RUN_POWER_CAP_H

#include "heshare/plan.h"
#include "run/run_gpu.h"

struct run_cap {
	double cap_w;     /* for the GPUs here; 0: none */
	double scale;     /* predicted watts for a watt of activity where jobs share, at most 1 */
	int64_t limit_us; /* jobs that are planned to start later wait for one that waits for the
			     cap */
	int64_t next_us;  /* the same, of this round */
	size_t delayed;   /* jobs that had to wait */
	int64_t earlier_over_us; /* of earlier sessions: struct hes_run */
	uint64_t earlier_peak_mw;
};

/**
 * @param here  one a GPU of the fleet; negative: not of this machine, which leaves the others less
 * of the cap
 * @param gpus  those of this machine: planned_most_w is set
 */
void run_cap_init(struct run_cap *c, const struct hes_plan *p, const struct hes_fleet *f,
		  const long *here, struct run_gpu *gpus);

/** The same for a plan of the jobs that wait. */
void run_cap_replan(struct run_cap *c, const struct hes_plan *p, const struct hes_fleet *f,
		    const long *here, struct run_gpu *gpus);

/** A round of starts begins. */
void run_cap_round(struct run_cap *c);

/**
 * Whether a job must wait.
 * @param now_w  measured power of the GPUs; 0: not known
 * @param out_w  the power with the job
 */
bool run_cap_delays(struct run_cap *c, const struct run_gpu *gpus, size_t n,
		    const struct run_task *t, double now_w, double *out_w);

#endif
