/*
 * problem.h - a request to plan, made ready to search: the waiting jobs by
 * kind, the GPUs by type, and what each job costs alone on each type.
 *
 * Everything a planner asks about time and power goes through here: jobs are
 * numbered 0..n-1 in first-come order (arrival, then place in the file), GPUs as in
 * the fleet, times counted from now.
 */
#ifndef HES_PLAN_PROBLEM_H
#define HES_PLAN_PROBLEM_H

#include "heshare/policy.h"
#include "plan/assign/assign.h"
#include "plan/rates.h"

struct hes_problem_job {
	uint32_t job;         /* index into the request's jobs */
	uint32_t kind;
	uint32_t memory_mib;
	double   iterations;  /* left to do */
	double   deadline_us; /* from now; INFINITY: none, or one that cannot be met */
	double   least_us;    /* of one that cannot be met: what the job takes at least, alone; else 0 */
	double   ready_us;    /* from now: when it arrives */
};

/** A job that runs already, where it is. */
struct hes_problem_running {
	uint32_t at;          /* among the problem's jobs, n or more */
	uint16_t sm_pct;
	uint16_t clock;       /* the first of its type's clocks that is not below its own */
};

struct hes_problem {
	const struct hes_request    *request;
	struct hes_problem_job      *jobs;     /* [n], behind them those that run, and room for some to come */
	size_t                       n;
	struct hes_problem_running  *running;  /* [n_running], by GPU */
	size_t                       n_running;
	size_t                      *first_running; /* [k + 1]: where a GPU's begin */
	size_t                       n_jobs, room;  /* all that is in jobs, and may be */
	double                       from_us;  /* from now: when queues are run from, and what runs has what is left of it; 0 but in replans */
	bool                         counts_running; /* an open queue's completion times are also those of what runs; false but in replans */
	struct hes_assign_gpu       *gpus;     /* [k] */
	size_t                       k;
	const struct hes_gpu_type  **types;    /* [n_types], in order of first appearance in the fleet */
	size_t                       n_types;
	uint32_t                    *shares_pct; /* [n_types]: what shares may sum to in an open queue: as far as it was sampled */
	struct hes_profile          *solo;     /* [type * n_kinds + kind]; iteration_us 0: never profiled there */
	size_t                       n_kinds;  /* those to come included */
	size_t                       n_kinds_now;
	struct hes_cost             *cost;     /* [type * n + job] */
	struct hes_rates            *rates;
};

/**
 * @param r  must outlive the problem
 * @return 0; -ENOENT a workload without profile on any type; -ERANGE a batch size outside of the profiled ones
 *         on every type that the workload was profiled on, or jobs that would run for millennia; -ENOSPC a job
 *         that fits no GPU; -E2BIG too many kinds of jobs; -EINVAL running jobs that are not there, out of order, or too many on a GPU; -ENOMEM
 */
int  hes_problem_init(struct hes_problem *p, const struct hes_request *r, struct hes_err *err);
/** The same with room for jobs to come, and for kinds that none of today's jobs is of. */
int  hes_problem_init_for_more(struct hes_problem *p, const struct hes_request *r, size_t more_jobs, size_t more_kinds,
			       struct hes_err *err);
void hes_problem_finish(struct hes_problem *p);

/**
 * Some jobs on some GPUs, as a problem of its own: with its own numbers of jobs, GPUs, kinds and types. Several threads may
 * take parts of a whole at a time.
 * @param part   to be finished; it must not outlive the request of @whole
 * @param jobs   [n] of those that wait, in rising order, so that they stay first come first
 * @param gpus   [k] in any order, whose running jobs come along
 * @return 0 or -ENOMEM, @part then empty
 */
int hes_problem_part(struct hes_problem *part, const struct hes_problem *whole, const uint32_t *jobs, size_t n, const uint32_t *gpus,
		     size_t k);

/**
 * Add a job that arrives @ready_us from now, into the room left for more; it is no part of [0, n). Whether its deadline can
 * be met is decided now, as it is for the others when a problem is made.
 * @param job  index into the request's jobs
 * @return its number; -EXFULL no room is left; -ENOENT never profiled; -ERANGE not at this batch size; errors name
 *         the job
 */
long hes_problem_add(struct hes_problem *p, uint32_t job, double ready_us, struct hes_err *err);

/** A job alone on a type's whole board, at its default clock; INFINITY where it does not run. */
struct hes_cost hes_problem_alone(const struct hes_problem *p, size_t job, uint32_t type);

/** @return whether the job can run on GPUs of that type: profiled there, and its memory fits */
static inline bool hes_problem_runs(const struct hes_problem *p, size_t job, size_t type)
{
	return p->jobs[job].memory_mib <= p->types[type]->memory_mib &&
	       p->solo[type * p->n_kinds + p->jobs[job].kind].iteration_us > 0;
}

#endif
