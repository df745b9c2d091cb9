/*
 * problem.h - a request to plan, as arrays: waiting jobs by kind, GPUs by type, and the cost of
 * each job alone on each type.
 *
 * Jobs have numbers 0..n-1 by arrival, then by their order in the file. GPUs have the numbers of
 * the fleet. Times count from now.
 */
#ifndef HES_PLAN_PROBLEM_H
#define HES_PLAN_PROBLEM_H

#include "heshare/attribute.h"
#include "heshare/policy.h"
#include "plan/assign/assign.h"
#include "plan/rates.h"

struct hes_problem_job {
	uint32_t job; /* index into the request's jobs */
	uint32_t kind;
	uint32_t memory_mib;
	double iterations;  /* left to do */
	double started_us;  /* part of its start-up that is over; INFINITY: it works */
	double deadline_us; /* from now; INFINITY: none, or one that cannot be met */
	double least_us; /* run time of the job at least, if its deadline cannot be met; else 0 */
	double ready_us; /* from now: when it arrives */
	double keep;     /* part of its speed alone that it must have next to others; 0: none */
};

/** A job that runs already. It stays on its GPU. */
struct hes_problem_running {
	uint32_t at; /* among the problem's jobs, n or more */
	uint16_t sm_pct;
	uint16_t clock; /* the first of its type's clocks that is not below its own */
};

struct hes_problem {
	const struct hes_request *request;
	struct hes_problem_job
		*jobs; /* [n] that wait, then those that run, then room for jobs to come */
	size_t n;
	struct hes_problem_running *running; /* [n_running], by GPU */
	size_t n_running;
	size_t *first_running;       /* [k + 1]: where a GPU's begin */
	size_t n_jobs, room;         /* all that is in jobs, and may be */
	double from_us;              /* from now: when queues begin; 0 except in replans */
	bool counts_running;         /* completion times include running jobs; in replans only */
	struct hes_assign_gpu *gpus; /* [k] */
	size_t k;
	const struct hes_gpu_type *
		*types; /* [n_types], in order of first appearance in the fleet */
	size_t n_types;
	uint32_t *shares_pct;     /* [n_types]: limit of the sum of SM shares in an open queue */
	uint32_t together;        /* limit of the jobs at a time in an open queue */
	struct hes_profile *solo; /* [type * n_kinds + kind]; iteration_us 0: not profiled there */
	bool starts;              /* some profile has a start-up */
	size_t n_kinds;           /* with room for kinds to come */
	size_t n_kinds_now;
	struct hes_cost *cost;   /* [type * n + job] */
	struct hes_usage *usage; /* [type * n + job]: alone */
	struct hes_rates *rates;
};

/**
 * The kinds of all jobs of a request, and what was predicted of them. Requests with the same jobs,
 * fleet, profiles and predictor may share it, one after the other: plans stay the same, and nothing
 * is predicted twice.
 */
struct hes_kinds {
	uint32_t *of; /* [jobs] */
	size_t n;
	const struct hes_gpu_type **types; /* as struct hes_problem has them */
	struct hes_profile *solo;          /* [type * n + kind]; of kinds that were planned */
	struct hes_rates *rates;
};

/** @return NULL: out of memory, or too many kinds for one cache */
struct hes_kinds *hes_kinds_new(const struct hes_request *r);
void hes_kinds_free(struct hes_kinds *k);

/**
 * @param r  must outlive the problem
 * @return 0; -ENOENT a workload without a profile; -ERANGE a batch size outside of the profiled
 * ones, or jobs that would run for millennia; -ENOSPC a job that fits no GPU; -E2BIG too many kinds
 * of jobs; -EINVAL running jobs that do not exist, are out of order, or are too many on a GPU;
 * -ENOMEM
 */
int hes_problem_init(struct hes_problem *p, const struct hes_request *r, struct hes_err *err);
/** The same with room for jobs and kinds to come. */
int hes_problem_init_for_more(struct hes_problem *p, const struct hes_request *r, size_t more_jobs,
			      size_t more_kinds, struct hes_err *err);
void hes_problem_finish(struct hes_problem *p);

/**
 * Add a job that arrives @ready_us from now. It is not one of [0, n).
 * @param job  index into the request's jobs
 * @return its number; -EXFULL no room is left; -ENOENT not profiled; -ERANGE not at this batch size
 */
long hes_problem_add(struct hes_problem *p, uint32_t job, double ready_us, struct hes_err *err);

/** Where the workload of a job was never sampled, what it does to co-runners is not known. Jobs
 * with a whole GPU each then take turns: shares sum to less than 200 %. */
void hes_problem_limit_overlap(const struct hes_problem *p, size_t job);

/** Take over what is left of a running job, by its number in the problem: work and start-up. */
void hes_problem_continue(struct hes_problem *p, size_t number, const struct hes_running *r,
			  int64_t now_us);

/** HeShare's stage 1: assignments of jobs to GPUs that no other one dominates, by its genetic
 * algorithm. @return 0 or -ENOMEM */
int hes_problem_assign(const struct hes_problem *p, uint64_t seed, struct hes_assign_front *out);

/** Index of the first clock of a type that is not below @clock_mhz; of the highest where all are.
 */
static inline uint16_t hes_problem_clock(const struct hes_gpu_type *g, uint32_t clock_mhz)
{
	uint16_t i = 0;

	while (i + 1u < g->n_clocks && g->clocks_mhz[i] < clock_mhz)
		i++;
	return i;
}

/** The start-up of a job on a type, as far as it is to come. */
static inline double hes_problem_start_us(const struct hes_problem *p, size_t job, size_t type)
{
	double us;

	if (!p->starts)
		return 0;
	us = p->solo[type * p->n_kinds + p->jobs[job].kind].start_s * 1e6;
	return us > p->jobs[job].started_us ? us - p->jobs[job].started_us : 0;
}

/** Whether a job is slower in a co-run set than its part of its speed alone at that clock.
 * @param i  its place in the set */
bool hes_problem_breaks_floor(const struct hes_problem *p, struct hes_rates *rates, size_t job,
			      const struct hes_set *s, uint32_t i, const struct hes_set_rates *r);

/** A job alone on a whole GPU of a type, at the default clock; INFINITY where it does not run. */
struct hes_cost hes_problem_alone(const struct hes_problem *p, size_t job, uint32_t type);

/** The activity of a job of the problem, in watts: struct hes_sharer. */
static inline double hes_problem_activity_w(const struct hes_problem *p, size_t job, uint32_t type,
					    uint32_t sm_pct, uint32_t clock_mhz)
{
	return hes_activity_w(p->types[type], &p->solo[type * p->n_kinds + p->jobs[job].kind],
			      sm_pct, clock_mhz);
}

/** The memory that a job takes on a GPU type: all of it where it is not known. */
static inline uint32_t hes_problem_memory_mib(const struct hes_problem *p, size_t job, size_t type)
{
	return hes_memory_on(p->types[type], p->jobs[job].memory_mib);
}

/** @return whether a job can run on a GPU type: it was profiled there, and its memory fits */
static inline bool hes_problem_runs(const struct hes_problem *p, size_t job, size_t type)
{
	return p->jobs[job].memory_mib <= p->types[type]->memory_mib &&
	       p->solo[type * p->n_kinds + p->jobs[job].kind].iteration_us > 0;
}

#endif
