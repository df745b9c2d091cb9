/*
 * plan.h - plans: for each GPU a sequence of batches, for each batch a clock
 * and placements.
 *
 * There are two kinds of queue. With a barrier, the next batch starts when all
 * jobs of the one before have ended. An open queue has no barrier: each batch is
 * one job, and jobs start in order. The next job starts when its share and memory
 * are free and fewer jobs run than the queue allows. The GPU runs at the highest
 * clock of its jobs. In both kinds, shares may sum to more than 100 %: jobs then
 * take turns on the SMs that several of them use (MPS).
 */
#ifndef HESHARE_PLAN_H
#define HESHARE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/training_range.h"
#include "heshare/fleet.h"
#include "heshare/job.h"

#define HES_MAX_SHARING 8 /* jobs of one batch */
/* 10^16 us, 300 years: the latest time, so that sums of a few fit an int64_t */
#define HES_PLAN_LONGEST_US 10000000000000000
/* of a plan's file, unpacked: two million jobs with short commands */
#define HES_PLAN_MAX_BYTES ((size_t)1 << 30)

/** A job in a batch. Times and energy are predictions. */
struct hes_placement {
	uint32_t job;    /* index into the jobs planned for */
	uint32_t sm_pct; /* 1..100 */
	int64_t start_us;
	int64_t end_us;
	uint32_t outside;     /* what is outside of the training range: enum hes_outside */
	uint32_t activity_mw; /* alone at its share and clock: power above idle
				 (heshare/attribute.h); 0: not known */
	uint64_t energy_mj;   /* its part of the GPU's energy by activity; 0: not known */
	/* In no file; 0: not known. */
	double time_error; /* its time may differ by this part of it */
	/* Alone with its share, divided by alone with the whole GPU: time of an iteration, power of
	 * the GPU. */
	double share_time, share_power;
};

/** Jobs that start together; in an open queue, one job. */
struct hes_batch {
	uint32_t clock_mhz; /* to lock; without a lock, the clock that the predictions assume */
	uint32_t n;
	struct hes_placement jobs[HES_MAX_SHARING];
	int64_t start_us; /* predicted */
	int64_t end_us;
	uint64_t energy_mj; /* predicted energy of the GPU over the batch, idle power included; in
			       an open queue the job's part of it */
	bool unlocked;      /* nothing is locked: the GPU chooses its clock */
	bool unknown;       /* nothing is known of its only job, which runs alone: times are a guess
			     */
};

struct hes_queue {
	struct hes_batch *batches;
	size_t n;
	uint32_t together; /* 0: a barrier between batches; else an open queue with at most so many
			      jobs at a time */
	uint32_t shares_pct; /* highest sum of the shares at a time, 100 or more; 0: 100 */
};

/** Highest sum of the shares of a queue's jobs at any time. */
static inline uint32_t hes_queue_shares_pct(const struct hes_queue *q)
{
	return q->shares_pct ? q->shares_pct : 100;
}

/** Planned time with jobs: those of an open queue overlap, batches do not. */
int64_t hes_queue_busy_us(const struct hes_queue *q);

/** A running job, as a planner sees it: its times are those that the last plan predicted, never
 * measured ones. */
struct hes_running {
	uint32_t job;
	uint32_t gpu;
	uint32_t sm_pct;
	uint32_t clock_mhz;
	int64_t start_us; /* actual start */
	int64_t end_us;   /* predicted end, later than now */
	double left;      /* predicted part of its work that is left, above 0, at most 1 */
	bool starting;    /* in its start-up: it has not begun to work */
};

/** The rest of a job that already ran when a plan was made, with the co-runners that the plan adds.
 */
struct hes_remainder {
	uint32_t job;
	int64_t end_us;
	uint64_t energy_mj; /* its part of the GPU's energy from now on */
};

/** A job that misses its deadline even alone and at once on any GPU. It is planned as if it had
 * none. */
struct hes_infeasible {
	uint32_t job;
	int64_t least_us; /* its shortest run time */
};

/** Totals of a plan or of a replay. */
struct hes_totals {
	double avg_jct_us;        /* mean of end - arrival */
	int64_t makespan_us;      /* end of the last job, from time 0 */
	uint64_t busy_energy_mj;  /* GPUs while they run anything */
	uint64_t fleet_energy_mj; /* plus idle power of every GPU until the last job ends */
};

/** How a workload is known at a batch size on a GPU type, from the most certain to the least
 * certain. */
enum hes_known_source {
	HES_KNOWN_MEASURED, /* heshare measured it, or it was imported */
	HES_KNOWN_NETWORK,  /* a network of the GPU model, not measured */
	HES_KNOWN_DERIVED,  /* measured on other GPU types or at other batch sizes only */
	HES_KNOWN_UNKNOWN,
	HES_KNOWN_SOURCES,
};

/** "measured", "known", "derived", "unknown", then NULL. */
extern const char *const hes_known_sources[HES_KNOWN_SOURCES + 1];

struct hes_plan {
	char policy[HES_NAME_MAX];
	char prefer[HES_NAME_MAX]; /* "" if the policy has no preference */
	uint64_t seed;
	struct hes_queue *queues; /* one a GPU of the fleet */
	size_t n_gpus;
	struct hes_remainder *remainders; /* of jobs that ran when it was made, if the policy
				      predicts them; not in its file */
	size_t n_remainders;
	struct hes_infeasible *infeasible; /* if the policy plans by deadlines; not in its file */
	size_t n_infeasible;
	struct hes_totals predicted;
	bool unpredicted;      /* its file has no predictions: all times and energies of it are 0 */
	uint64_t evaluations;  /* of policy joint: queues that were tried, and moves without effect;
				  0: not counted. Not in its file */
	uint64_t power_cap_mw; /* of the request, if the policy uses it; 0: none */
	uint64_t peak_mw;      /* with a cap: the sum of the highest power of each GPU */
	uint32_t known[HES_KNOWN_SOURCES]; /* jobs by how they are known where they are placed; all
					      0: not reported */
};

/** Make an empty plan: an empty queue for each GPU. Does not free what @p held. @return 0, then
 * hes_plan_finish() it; -ENOMEM */
int hes_plan_init(struct hes_plan *p, size_t n_gpus);
/** Free what a plan holds and clear it. A plan of zeros is allowed. */
void hes_plan_finish(struct hes_plan *p);
/** Append a copy of @b to the queue of GPU number @gpu, below n_gpus. @return 0; -ENOMEM, the plan
 * as it was */
int hes_plan_append(struct hes_plan *p, size_t gpu, const struct hes_batch *b);
/** Append the prediction of one more running job. @return 0; -ENOMEM, the plan as it was */
int hes_plan_append_remainder(struct hes_plan *p, const struct hes_remainder *o);

/**
 * Check a plan: it has every job exactly once; shares are 1..100; shares of a batch of several jobs
 * sum to at most
 * @max_share_sum percent, and those of an open queue to what it allows at each predicted time; the
 * type has the clocks; the jobs fit the memory.
 * @return 0; -EEXIST a job that is planned twice; -ENOENT one that is left out; -ERANGE a share, a
 * sum of shares or a number of jobs out of its range; -ENOSPC too little memory; -EINVAL another
 * number of GPUs, a job that is not there, a clock that the type does not have, predicted times out
 * of order; -ENOMEM
 */
int hes_plan_validate(const struct hes_plan *p, const struct hes_fleet *f,
		      const struct hes_jobs *jobs, uint32_t max_share_sum, struct hes_err *err);

/** Number of jobs whose predicted end is after their deadline. */
size_t hes_plan_missed(const struct hes_plan *p, const struct hes_jobs *jobs);

/**
 * Write JSON (docs/formats/plan.schema.json); jobs and GPUs are named, not numbered. @path "-" is
 * standard output. The file is written completely or not at all.
 * @param p  its jobs and GPUs are indices into @jobs and @f; hes_plan_validate() checks that
 * @return 0; -EINVAL the fleet has another number of GPUs; -ERANGE a seed above 2^63 - 1; -ENOMEM;
 * -errno of creating or writing the file
 */
int hes_plan_save(const char *path, const struct hes_plan *p, const struct hes_fleet *f,
		  const struct hes_jobs *jobs, struct hes_err *err);
/**
 * Read a plan back, for the jobs and the fleet that it names; hes_plan_validate() then checks
 * whether it can run. A file without predicted totals gives a plan that is unpredicted: its times
 * and energies are not read.
 * @param out  written on success only; its old content is not freed. hes_plan_finish it
 * @return 0; -EINVAL not JSON, with file and line, or a wrong or missing member, with file and JSON
 * path; -ENOENT a job or GPU that is not among @jobs or in @f; -EFBIG above 4 GiB; -ENOMEM; -errno
 * of reading the file
 */
int hes_plan_load(const char *path, const struct hes_fleet *f, const struct hes_jobs *jobs,
		  struct hes_plan *out, struct hes_err *err);

/**
 * Read the GPUs and the jobs of a plan's file, for hes_plan_load(). A GPU has a name and a type;
 * its node is the name up to the last slash. A job has what is needed to run it; it arrives at time
 * 0.
 * @param c     must outlive @fleet
 * @param fleet, jobs  written on success only: hes_fleet_free, hes_jobs_free
 * @param jobs  empty if the file has no jobs
 * @return 0; -EINVAL not JSON, with file and line, or a wrong or missing member, with file and JSON
 * path; -ERANGE a name that is too long; -ENOENT a GPU type that is not in @c; -EEXIST a job that
 * occurs twice; -E2BIG too many jobs; -EFBIG above 4 GiB; -ENOMEM; -errno of reading the file
 */
int hes_plan_subjects(const char *path, const struct hes_catalogue *c, struct hes_fleet *fleet,
		      struct hes_jobs *jobs, struct hes_err *err);

#endif
