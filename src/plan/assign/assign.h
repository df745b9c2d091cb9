/*
 * assign.h - stage 1: which GPU each job goes to (HeShare, section III-B).
 *
 * The problem of all assignment algorithms, and its evaluation: total busy energy and the sum of
 * completion times. Each GPU runs its queue shortest first, one job at a time. GPUs of one type
 * share cost rows.
 */
#ifndef HES_ASSIGN_ASSIGN_H
#define HES_ASSIGN_ASSIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/assign/pareto.h"

/** A job alone on a GPU type: all SMs, default clock. */
struct hes_cost {
	double time_us; /* INFINITY where the job cannot run */
	double energy_mj;
};

/** What a job alone uses of a GPU type, as parts of it: means over time. */
struct hes_usage {
	double sm, bandwidth, memory;
};

struct hes_assign_gpu {
	uint32_t type;  /* row of the costs */
	double wait_us; /* from now until it is free */
};

struct hes_assign {
	size_t n, k, n_types;              /* jobs, GPUs, types */
	const struct hes_cost *cost;       /* [type * n + job]; the caller's */
	const struct hes_assign_gpu *gpus; /* [k]; the caller's */
	const struct hes_usage *usage; /* [type * n + job], or NULL: usage is the run time alone;
					  the caller's, NULL at first */
	uint32_t *rank;                /* [type * n + job]: position by run time on that type */
	uint32_t *order;               /* [type * n + rank]: the job of that rank */
	uint32_t *longest_first;       /* [n]: the jobs by their mean rank */
	/*
	 * Costs and waits rounded to multiples of a power of two, so that every sum is exact in a
	 * double, in any order. The error is 1e-9 of a job's cost with 1000 jobs.
	 */
	struct hes_cost *exact; /* [type * n + job] */
	double *exact_wait_us;  /* [k] */
};

/** Sums over one GPU's queue. */
struct hes_gpu_sum {
	double energy_mj;
	double ends_us; /* sum of the completion times, from now */
	double busy_us;
};

/** An assignment with its evaluation. */
struct hes_assignment {
	uint32_t *gpu_of;         /* [n] */
	uint32_t *queue;          /* [n]: the jobs, GPU by GPU, shortest first */
	uint32_t *first;          /* [k + 1]: start of each GPU in queue */
	double *end_us;           /* [n]: completion time of each job */
	struct hes_gpu_sum *sums; /* [k] */
	struct hes_objectives at; /* jct_us: sum of completion times from now */
};

/**
 * Checks nothing: every job must be able to run on some GPU; types of GPUs are below @n_types.
 * @param a           written on success only; hes_assign_finish it
 * @param n, k        at least 1, below UINT32_MAX
 * @param cost, gpus  must outlive @a
 * @return 0 or -ENOMEM
 */
int hes_assign_init(struct hes_assign *a, size_t n, size_t k, size_t n_types,
		    const struct hes_cost *cost, const struct hes_assign_gpu *gpus);
void hes_assign_finish(struct hes_assign *a);

static inline const struct hes_cost *hes_assign_cost(const struct hes_assign *a, size_t job,
						     size_t gpu)
{
	return &a->cost[a->gpus[gpu].type * a->n + job];
}

/** Compute everything else from gpu_of. Every job must be able to run on its GPU. No allocation. */
void hes_assign_evaluate(const struct hes_assign *a, struct hes_assignment *x);

/** Non-dominated assignments, by rising energy. */
struct hes_assign_front {
	struct hes_assignment *v; /* one block with its arrays; free() */
	size_t n;
};

/** Memory for @count assignments in one block. @return NULL out of memory; free() it */
struct hes_assignment *hes_assignments_new(const struct hes_assign *a, size_t count);

#endif
