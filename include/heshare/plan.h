/*
 * plan.h - what is to run where: for each GPU a sequence of batches, for
 * each batch a clock and jobs with SM shares.
 *
 * A GPU's queue is of one of two kinds. With a barrier, the next batch starts
 * when the last job of the one before has ended. Without one (an open queue),
 * every batch is a single job, and the next is admitted, in order, as soon as
 * the share and the memory it needs are free and fewer than the queue allows
 * are running; the GPU runs at the highest clock that any job on it has.
 * Shares of an open queue may sum to more than the GPU: each job keeps to
 * its own, and where several want the same SMs they take turns (MPS).
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
#define HES_PLAN_LONGEST_US 10000000000000000 /* 10^16, 300 years: no time is later, so that sums of a few stay within an int64_t */
#define HES_PLAN_MAX_BYTES ((size_t)1 << 30) /* of a plan's file, unpacked: two million jobs with short commands */

/** A job in a batch. Times and energy are predictions. */
struct hes_placement {
	uint32_t job;        /* index into the jobs planned for */
	uint32_t sm_pct;     /* 1..100 */
	int64_t  start_us;
	int64_t  end_us;
	uint32_t outside;     /* what of it lies outside of the samples that the predictor knows: enum hes_outside */
};

/** Jobs that start together; in an open queue, one job. */
struct hes_batch {
	uint32_t clock_mhz;
	uint32_t n;
	struct hes_placement jobs[HES_MAX_SHARING];
	int64_t  start_us;   /* predicted */
	int64_t  end_us;
	uint64_t energy_mj;  /* predicted energy of the GPU over the batch, idle part included; in an open
				queue the job's part of it, by share among those there at each moment */
};

struct hes_queue {
	struct hes_batch *batches;
	size_t            n;
	uint32_t          together; /* 0: a barrier between batches; else an open queue: so many jobs at a time at most */
	uint32_t          shares_pct; /* of an open queue: what their shares sum to at most, 100 and more; 0: 100 */
};

/** What the shares of a queue's jobs sum to at any time, at most. */
static inline uint32_t hes_queue_shares_pct(const struct hes_queue *q)
{
	return q->together && q->shares_pct ? q->shares_pct : 100;
}

/** A running job, as a planner sees it: its times are those that the last plan predicted, never measured ones. */
struct hes_running {
	uint32_t job;
	uint32_t gpu;
	uint32_t sm_pct;
	uint32_t clock_mhz;
	int64_t  start_us;   /* when it did start */
	int64_t  end_us;     /* when it should end, and after now */
	double   left;       /* part of its work that should still be to do, above 0 to 1 */
};

/** The rest of a job that already ran when a plan was made, with the co-runners that the plan adds. */
struct hes_onward {
	uint32_t job;
	int64_t  end_us;
	uint64_t energy_mj;  /* its part of the GPU's, from the plan on */
};

/** A job whose deadline no plan can meet, alone and at once on any GPU: planned as if it had none. */
struct hes_hopeless {
	uint32_t job;
	int64_t  least_us;   /* what it takes at least */
};

/** Totals of a plan or of a replay. */
struct hes_totals {
	double   avg_jct_us;      /* mean of end - arrival */
	int64_t  makespan_us;     /* end of the last job, from time 0 */
	uint64_t busy_energy_mj;  /* GPUs while they run anything */
	uint64_t fleet_energy_mj; /* plus idle power of every GPU until the last job ends */
};

struct hes_plan {
	char              policy[HES_NAME_MAX];
	char              prefer[HES_NAME_MAX]; /* "" where the policy has no preference */
	uint64_t          seed;
	struct hes_queue *queues;               /* one a GPU of the fleet */
	size_t            n_gpus;
	struct hes_onward *onward;              /* of jobs that ran when it was made, where the planner tells; not in its file */
	size_t            n_onward;
	struct hes_hopeless *hopeless;          /* where the policy plans by deadlines; not in its file */
	size_t            n_hopeless;
	struct hes_totals predicted;
	/* What is possible at best, as far as predicted and known (docs/planning.md); 0: not known. */
	uint64_t          least_energy_mj;      /* of plans that are as quick on average */
	double            least_avg_jct_us;     /* of plans that take no more busy energy */
	uint64_t          evaluations;          /* of policy joint: queues tried, and moves that came to nothing; 0: not counted. Not in its file */
	uint64_t          power_cap_mw;         /* the request's, where the policy honours it; 0: none */
	uint64_t          peak_mw;              /* with a cap: what the fleet may draw at most, each GPU at its highest */
};

/** An empty plan: an empty queue for each GPU. What @p holds is not freed. @return 0, to be hes_plan_finish()ed; -ENOMEM, @p untouched */
int  hes_plan_init(struct hes_plan *p, size_t n_gpus);
/** Free what a plan holds and clear it; a plan of zeros is one. */
void hes_plan_finish(struct hes_plan *p);
/** Append a copy of @b to the queue of GPU number @gpu, below n_gpus. @return 0; -ENOMEM, the plan as it was */
int  hes_plan_append(struct hes_plan *p, size_t gpu, const struct hes_batch *b);
/** What becomes of one more job that runs. @return 0; -ENOMEM, the plan as it was */
int  hes_plan_append_onward(struct hes_plan *p, const struct hes_onward *o);

/**
 * Check a plan against what it is for: every job exactly once, shares 1..100
 * and at most @max_share_sum percent in a batch of several, or what an open queue allows at any
 * predicted time, clocks that the type has, memory never oversubscribed.
 * @return 0; -EEXIST a job that is planned twice; -ENOENT one that is left out; -ERANGE a share, a sum of shares or a
 *         number of jobs out of its range; -ENOSPC too little memory; -EINVAL another number of GPUs, a job that is
 *         not there, a clock that the type does not have, predicted times out of order; -ENOMEM
 */
int hes_plan_validate(const struct hes_plan *p, const struct hes_fleet *f,
		      const struct hes_jobs *jobs, uint32_t max_share_sum, struct hes_err *err);

/** How many jobs end after their deadline, as planned. */
size_t hes_plan_missed(const struct hes_plan *p, const struct hes_jobs *jobs);

/**
 * Write JSON (docs/formats/plan.schema.json); jobs and GPUs are named, not numbered. @path "-" is standard output. The
 * file appears whole or not at all.
 * @param p  numbers its jobs as @jobs does and its GPUs as @f: hes_plan_validate() makes sure
 * @return 0; -EINVAL the fleet has another number of GPUs; -ERANGE a seed above 2^63 - 1; -ENOMEM; -errno of creating
 *         or writing the file
 */
int hes_plan_save(const char *path, const struct hes_plan *p, const struct hes_fleet *f,
		  const struct hes_jobs *jobs, struct hes_err *err);
/**
 * Read a plan back, for the jobs and the fleet that it names; hes_plan_validate() then says whether it can be carried out.
 * @param out  written on success only; what it holds before is not freed. hes_plan_finish it
 * @return 0; -EINVAL not JSON, with file and line, or a wrong or missing member, with file and JSON path; -ENOENT a job
 *         or GPU that is not among @jobs or in @f; -EFBIG above 4 GiB; -ENOMEM; -errno of reading the file
 */
int hes_plan_load(const char *path, const struct hes_fleet *f, const struct hes_jobs *jobs,
		  struct hes_plan *out, struct hes_err *err);

/**
 * The GPUs and the jobs that a plan's file is about, as far as it tells of them: of a GPU name, type and, before the
 * last slash of its name, the node; of a job what running it takes. Jobs arrive at time 0. hes_plan_load takes both.
 * @param c     must outlive @fleet
 * @param fleet, jobs  written on success only: hes_fleet_free, hes_jobs_free
 * @param jobs  none where the file has no jobs of its own
 * @return 0; -EINVAL not JSON, with file and line, or a wrong or missing member, with file and JSON path; -ERANGE a name
 *         that is too long; -ENOENT a GPU type that is not in @c; -EEXIST a job that is there twice; -E2BIG too many jobs;
 *         -EFBIG above 4 GiB; -ENOMEM; -errno of reading the file
 */
int hes_plan_subjects(const char *path, const struct hes_catalogue *c, struct hes_fleet *fleet, struct hes_jobs *jobs,
		      struct hes_err *err);

#endif
