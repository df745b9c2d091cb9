/*
 * account.h - joules of the GPUs of a run, split among the jobs; progress of the jobs.
 */
#ifndef HES_RUN_ACCOUNT_H
#define HES_RUN_ACCOUNT_H

#include "run/run_gpu.h"

struct run_meter {
	const struct run_clock *clock;
	struct hes_meter *meter;
	struct hes_window *window;
	double longest_gap_s;
	unsigned left_out; /* enum hes_left_out, of any GPU */
	uint32_t session;  /* see struct hes_run_meter */
	int64_t keep_us;   /* when to write joules into the journal */
};

int run_meter_start(struct run_meter *m, const struct hes_devices *devices, struct run_gpu *gpus,
		    size_t n, struct hes_err *err);
/** Charge the joules since the last call to the jobs that ran; call it before jobs or clock of the
 * GPU change. */
void run_account(struct run_meter *m, struct run_gpu *g);
/** The same while nothing changes. Without a reading it does nothing: a later call charges the
 * time, too. */
void run_account_so_far(struct run_meter *m, struct run_gpu *g);
/** Jobs or clock of the GPU have changed. */
void run_segment_begin(const struct run_meter *m, struct run_gpu *g);
/** Forget what jobs did until all of them make progress: they start and load data. End a segment
 * that is an hour long. */
void run_segment_settle(struct run_meter *m, struct run_gpu *g);
/** Time from the first to the last line of progress, us. */
double run_rate_us(const struct run_rate *p);
/** Read the progress that a job has printed. */
void run_look(const struct run_meter *m, struct run_task *t);

/** The start-up of a job by its profile, us; 0: not known. */
int64_t run_start_up_us(const struct hes_profiles *profiles, const struct hes_gpu_type *type,
			const struct hes_job *job);
/** Watts above idle that a job causes by its profile; 0: not known. */
double run_activity(const struct hes_profiles *profiles, const struct hes_gpu_type *type,
		    const struct hes_job *job, uint32_t sm_pct, uint32_t clock_mhz);

#endif
