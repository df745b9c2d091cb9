/*
 * sim.h - replay a plan on the GPU model, as a simulation of discrete events.
 *
 * Jobs of a batch start together and slow each other down as long as they run. The next batch of a
 * GPU starts when the last of them has ended and all its own jobs have arrived. In an open queue
 * the next job starts as soon as its share and memory are free. In its start-up a job puts no load
 * on the GPU. The simulation keeps the order of a
 * plan, not its predicted times.
 *
 * Pure: no clock, file, environment or log; the same request gives the same
 * replay. It has no predictor: the caller plans, and sees its own predictions of running jobs,
 * never the GPU model.
 */
#ifndef HESHARE_SIM_H
#define HESHARE_SIM_H

#include "heshare/fleet.h"
#include "heshare/job.h"
#include "heshare/model.h"
#include "heshare/plan.h"
#include "heshare/profile.h"
#include "heshare/replay.h"

#define HES_SIM_MAX_NOISE 0.5

/** A job on a GPU, as one that watches it sees it. */
struct hes_sim_member {
	uint32_t job, sm_pct;
	uint32_t clock_mhz;   /* planned */
	bool starting;        /* in its start-up */
	bool held;            /* it does not run, and keeps its memory */
	struct hes_rate rate; /* in a window: mean */
};

/** A time in which nothing changed on a GPU, or a moment: then from_us is until_us. */
struct hes_sim_window {
	uint32_t gpu;
	int64_t from_us, until_us;
	uint32_t clock_mhz; /* requested */
	uint32_t power_mw;
	uint32_t n;
	struct hes_sim_member members[HES_MAX_SHARING];
};

/** What a GPU does from now on. */
struct hes_sim_order {
	uint32_t clock_mhz; /* 0: the highest one that is planned for its jobs */
	uint32_t held;      /* a bit for each member, the lowest for the first; not all of those
			       that work, unless look_us is set */
	int64_t look_us;    /* call again then at the latest; 0: when something changes */
};

/** What to simulate. The caller owns everything. Either plan or replan is set. */
struct hes_sim {
	const struct hes_model *model;
	const struct hes_fleet *fleet;
	const struct hes_jobs *jobs;
	const struct hes_plan *plan; /* of all jobs, made beforehand */
	/**
	 * Plan the waiting jobs; called at each moment at which jobs arrive. Running
	 * batches stay; batches that have not started are replaced.
	 * @param waiting     indices into jobs, by arrival and then index
	 * @param free_at_us  for each GPU: predicted end of its last running job, later than
	 * now_us; now_us if it is idle. From the plan that started the job, counted from its real
	 * start, or from a later plan (hes_remainder)
	 * @param running     the jobs that run, by GPU and then start; an open queue's jobs may
	 * join them
	 * @param out         a plan for the waiting jobs alone, numbered as in jobs; with more,
	 * jobs may be missing
	 * @return 0, or a negative errno that ends the simulation
	 */
	int (*replan)(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n_waiting,
		      const int64_t *free_at_us, const struct hes_running *running,
		      size_t n_running, struct hes_plan *out, struct hes_err *err);
	/**
	 * The plan of the last replan with more jobs in it: its batches in the same order, then
	 * others. Called when a GPU without work has no batch left while jobs wait that are in no
	 * plan. NULL: replan plans all jobs.
	 * @return 0, or a negative errno that ends the simulation
	 */
	int (*more)(void *ctx, struct hes_plan *out, struct hes_err *err);
	/**
	 * One that learns while jobs work; NULL: none. Its plans may leave out jobs.
	 * saw() gets each window that is over. order() is called whenever something has changed on
	 * a GPU with jobs.
	 * @return 0; 1: plan again now; a negative errno that ends the simulation
	 */
	int (*saw)(void *ctx, const struct hes_sim_window *w, struct hes_err *err);
	int (*order)(void *ctx, const struct hes_sim_window *now, struct hes_sim_order *out,
		     struct hes_err *err);
	void *ctx;
	const struct hes_profiles *profiles; /* start-ups of jobs whose workload in the model has
						none; may be NULL */
	int64_t clock_change_us;             /* time that a GPU idles when its clock changes */
	double time_noise;  /* run-to-run variation (cv) of a job's speed, 0 .. HES_SIM_MAX_NOISE */
	double power_noise; /* of a batch's power above idle */
	uint64_t seed;      /* of the noise; a job's draw does not depend on the plan */
	struct hes_plan *carried_out; /* if set: the batches as they were started, with the
					 predictions of the plans that started them; written only on
					 success, hes_plan_finish it */
};

/**
 * Simulate until the last job has ended.
 * @param out  written only on success; hes_replay_free it
 * @return 0; -EINVAL a plan that names a job twice, leaves one out or needs what a
 *         GPU cannot do; -ENOSPC a batch larger than its GPU's memory; -ENOENT a workload
 *         or GPU type without physics; -ERANGE a job that would never end; -ENOMEM;
 *         or what replan returned
 */
int hes_sim_run(const struct hes_sim *s, struct hes_replay *out, struct hes_err *err);

#endif
