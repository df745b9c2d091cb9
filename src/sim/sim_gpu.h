/*
 * sim_gpu.h - one GPU of the simulation: its jobs, their progress, and its current segment of
 * constant state.
 *
 * Between two events of a GPU its rates are constant. Times are whole
 * microseconds; progress is in iterations, as a double.
 */
#ifndef HES_SIM_SIM_GPU_H
#define HES_SIM_SIM_GPU_H

#include "heshare/sim.h"

#define SIM_LONGEST_US \
	10000000000000000 /* 10^16, 300 years; sums of a few stay within an int64_t */

/** A job that has started and not ended. */
struct sim_task {
	const struct hes_workload *workload;
	uint32_t job;
	uint32_t batch_size;
	uint32_t sm_pct;
	uint32_t clock_mhz;
	uint32_t memory_mib;
	int64_t start_us;
	int64_t begins_us;       /* when its start-up is over */
	int64_t predicted_at_us; /* when a plan last predicted it: its start, or the moment of that
				    plan */
	int64_t end_us;          /* its predicted end */
	double part;             /* the part of its work after predicted_at_us */
	double energy_mj;        /* the predicted energy of that part */
	double left;             /* iterations */
	double rate;             /* iterations a second, with its co-runners */
	double pace;             /* this run's speed against the mean: noise */
	bool held;
	struct hes_rate seen; /* in the open segment; zeros while it does not work */
};

enum sim_gpu_state {
	SIM_IDLE,
	SIM_SWITCHING, /* to the clock of the jobs that start next */
	SIM_RUNNING,
};

struct sim_gpu {
	enum sim_gpu_state state;
	const struct hes_gpu_type *type;
	size_t next_batch;        /* of its queue in the current plan */
	uint32_t clock_mhz;       /* last set; while jobs run, the highest of theirs */
	uint32_t ordered_mhz;     /* in place of that; 0: none */
	int64_t free_us;          /* predicted end of the last job there; valid unless idle */
	double predicted_busy_us; /* so far */
	double power_factor;      /* of the power above idle, since the GPU last began: noise */
	struct sim_task tasks[HES_MAX_SHARING];
	uint32_t n;
	struct hes_segment now; /* open, since start_us; valid while running */
};

/** Update rates and power for the jobs that run. @return 0, or what hes_model_instant failed with
 */
int sim_gpu_refresh(struct sim_gpu *b, const struct hes_model *m, struct hes_err *err);

/**
 * When the next job ends, or its start-up is over.
 * @return microseconds after the last settling, at least 1; -ERANGE never, or in over 300 years
 */
int64_t sim_gpu_next_us(const struct sim_gpu *b);

/** Account the work done until @now_us; the open segment is closed, its copy goes to @out. */
void sim_gpu_settle(struct sim_gpu *b, int64_t now_us, struct hes_segment *out);

/** Whether a task's work is done, to within a nanosecond's work. */
bool sim_task_done(const struct sim_task *t);

#endif
