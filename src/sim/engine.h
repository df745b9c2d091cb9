/*
 * engine.h - state of one simulation, shared by sim.c (the events) and
 * orders.c (plans: checked, then carried out batch by batch).
 */
#ifndef HES_SIM_ENGINE_H
#define HES_SIM_ENGINE_H

#include "base/rng.h"
#include "sim/sim_gpu.h"

/** A job's state, in addition to its outcome. */
struct sim_job {
	const struct hes_workload *workload;
	uint32_t gpu;     /* where the current plan puts it */
	uint32_t planned; /* number of the last plan that names it */
	bool started;
};

struct sim_arrival {
	int64_t at_us;
	uint32_t job;
};

struct sim {
	const struct hes_sim *in;
	struct sim_job *jobs;         /* one a job */
	struct sim_gpu *gpus;         /* one a GPU */
	struct sim_arrival *arrivals; /* by time and then index */
	size_t n_arrived;
	uint32_t *waiting; /* arrived and not started; exact after sim_replan */
	size_t n_waiting;
	int64_t *free_at_us;         /* one a GPU; scratch of sim_replan */
	struct hes_running *running; /* HES_MAX_SHARING a GPU; scratch of sim_replan */
	uint32_t *freed;             /* GPUs on which jobs ended at now_us */
	size_t n_freed;
	int64_t *next_us;            /* one a GPU: when it changes next; INT64_MAX: never */
	struct hes_plan own;         /* the plan in force when replanning; else empty */
	const struct hes_plan *plan; /* the plan in force */
	uint32_t plan_no;            /* from 1 */
	size_t n_unplanned;          /* waiting jobs that it leaves out; only with in->more */
	struct hes_plan carried_out; /* batches started so far, if wanted */
	struct hes_rng noise;
	double predicted_mj; /* busy energy so far, by the last prediction of each job */
	int64_t now_us;
	size_t n_ended;
	bool plan_again;       /* the one that learns wants it */
	struct hes_replay out; /* what is known so far */
};

/** Check the plan given from outside and put it in force. */
int sim_adopt(struct sim *s, const struct hes_plan *p, size_t n_expected, struct hes_err *err);
/** Plan the waiting jobs and put the plan in force. */
int sim_replan(struct sim *s, struct hes_err *err);
/** Start the next batch of a GPU's queue if it can; of an open queue the next jobs. */
int sim_start(struct sim *s, uint32_t gpu, struct hes_err *err);
/** The clock is set: start the jobs that wait for it. */
int sim_begin(struct sim *s, uint32_t gpu, struct hes_err *err);
/** Schedule the next end of a job on a running GPU. */
int sim_schedule(struct sim *s, uint32_t gpu, struct hes_err *err);
/** What a GPU does now, or did since its open segment began. */
void sim_window(const struct sim *s, uint32_t gpu, struct hes_sim_window *out);
/** Account what a running GPU did until now_us, and keep the segment. */
int sim_settle(struct sim *s, uint32_t gpu, struct hes_err *err);

#endif
