/*
 * policy.h - ways to turn waiting jobs into a plan.
 *
 * A policy is a pure function of its request: no clock, file, environment or log. It uses profiles
 * and a predictor, never the GPU model.
 */
#ifndef HESHARE_POLICY_H
#define HESHARE_POLICY_H

#include "heshare/front.h"
#include "heshare/plan.h"
#include "heshare/predict.h"

/**
 * The caller's clock: the part of the planning time that is spent, 0 to 1 or more. It must never
 * fall and must reach 1 by itself; several threads call it at the same time. A search calls it at
 * its start, then every 64 moves, in its last tenth every 8 moves, and ends at 1. Initial solutions
 * are always completed. With a clock, the plan depends on the machine.
 */
typedef double hes_spent_fn(void *ctx);

/** Called after each part of a long search, failed ones included, by one thread at a time: @done
 * rises by one up to @of. */
typedef void hes_progress_fn(void *ctx, size_t done, size_t of);

struct hes_kinds; /* src/plan/problem.h */

struct hes_request {
	const struct hes_fleet *fleet;
	const struct hes_jobs *jobs;
	const uint32_t *waiting; /* indices of the jobs to plan; all have arrived */
	size_t n_waiting;
	int64_t now_us;
	const int64_t *free_at_us; /* for each GPU: predicted end of its running jobs; now_us if it
				      is idle */
	const struct hes_running *running; /* the running jobs, by GPU, at most HES_MAX_SHARING on
					      each; only joint needs them */
	size_t n_running;
	const struct hes_predictor *predictor;
	const struct hes_profiles *profiles;
	const char *prefer; /* "balanced", "energy", "jct", or a variant; ignored by policies that
			       have neither */
	uint64_t seed;
	uint64_t budget; /* evaluations a search may make; 0: the default for this number of jobs */
	hes_spent_fn *spent; /* replaces the budget; may be NULL */
	void *spent_ctx;
	hes_progress_fn *progress; /* of a search in parts, as for large fleets; may be NULL */
	void *progress_ctx;
	struct hes_kinds *kinds; /* of a caller that plans the same jobs again and again
				    (src/plan/problem.h); NULL: none */
	uint64_t power_cap_mw;   /* of the fleet, at any time; 0: none; ignored by policies that do
				    not search */
};

struct hes_problem; /* src/plan/problem.h: the request, ready to search */

/** A policy's decision: fill an empty plan; @front may be NULL. @return 0; -ENOMEM; -ERANGE a GPU
 * busy for 300 years */
typedef int hes_decide_fn(const struct hes_problem *p, struct hes_plan *plan,
			  struct hes_front *front);

struct hes_cost; /* src/plan/assign/assign.h: time and energy of a job */
/** A job alone on a type that it runs on, as a policy would run it. */
typedef struct hes_cost hes_alone_fn(const struct hes_problem *p, size_t job, uint32_t type);

/**
 * A decision made outside of the library, such as a program's. Only GPUs, order, shares and clocks
 * of its plan count; hes_policy_plan() checks them and predicts times and energies.
 * @param waiting  the waiting jobs of the request; the plan has indices into these
 * @param out      hes_plan_finish() is the caller's; written only on success
 * @return 0; or a negative errno, with a sentence in @err
 */
typedef int hes_external_fn(void *ctx, const struct hes_request *r, const struct hes_jobs *waiting,
			    struct hes_plan *out, struct hes_err *err);

/**
 * A policy is a row of hes_policies[]. To add one: write its decide function in src/policy/NAME.c,
 * declare it in src/policy/decide.h, add its row to hes_policies[] in src/policy/policies.c, and
 * its section to docs/policies.md.
 */
struct hes_policy {
	const char *name;
	const char *summary; /* one line */
	hes_decide_fn *decide;
	hes_external_fn *external; /* in place of decide; in no row of hes_policies[] */
	void *external_ctx;
	const char *const
		*prefers; /* NULL-terminated, the default first; NULL when it has no preference */
	const char *const *variants; /* NULL-terminated: rules for order and GPU in place of the
					paper's, the strongest last; NULL: none */
	/* Of a policy, and of its variants, that take jobs in an order, so that a batch depends on
	 * the jobs before it and on so many from its first one on in its GPU's queue; 0: another
	 * kind. */
	uint32_t looks_ahead, variant_looks_ahead;
	hes_alone_fn *alone; /* by which variants sort jobs */
	bool makes_front;
	bool searches;     /* honours budget, spent, power_cap_mw and deadlines */
	bool static_clock; /* runs every job at hes_gpu_type_static_clock() */
	bool limits_power; /* plans for GPUs whose power limit is lowered by the caller, to one part
			      of the default */
	uint64_t max_work; /* some minutes of planning: jobs times (100 + GPUs); ignored where
			      effort is given */
	double (*effort)(
		size_t n_jobs,
		size_t n_gpus); /* rises with jobs; see hes_policy_effort(); NULL: by max_work */
};

/**
 * Plan the waiting jobs.
 * @param out    a plan for the waiting jobs alone; written only on success
 * @param front  the front that the plan was chosen from, if the policy makes one, else empty; may
 * be NULL
 * @return 0; -ENOENT a workload profiled on no type; -ERANGE a batch size outside the profiled
 * ones, or run times above 300 years; -ENOSPC a job fits no GPU's memory; -E2BIG more jobs than
 * hes_policy_most_jobs(); -EINVAL a preference or variant that the policy does not have, or running
 * jobs that are not there, out of order, or too many on a GPU; what an external decision or
 * hes_plan_validate() of it fails with; -ENOMEM
 */
int hes_policy_plan(const struct hes_policy *policy, const struct hes_request *r,
		    struct hes_plan *out, struct hes_front *front, struct hes_err *err);

/** The estimated planning time as a part of the limit for one request, which is some minutes. */
double hes_policy_effort(const struct hes_policy *p, size_t n_jobs, size_t n_gpus);

/** The most jobs that a policy plans at once: as many as give an effort of 1, but at most
 * HES_MAX_JOBS. */
size_t hes_policy_most_jobs(const struct hes_policy *p, size_t n_gpus);

/** @return 0; -E2BIG more jobs than that */
int hes_policy_check_work(const struct hes_policy *p, size_t n_jobs, size_t n_gpus,
			  struct hes_err *err);

extern const struct hes_policy hes_policies[]; /* ends with a row without a name */

/** @return NULL with the known names in @err */
const struct hes_policy *hes_policy_find(const char *name, struct hes_err *err);

/**
 * A policy as NAME, NAME:PREFERENCE or NAME:VARIANT.
 * @param prefer  the policy's own copy of the preference or variant; NULL: none was given.
 * Untouched on failure
 * @return NULL with the known names in @err
 */
const struct hes_policy *hes_policy_parse(const char *text, const char **prefer,
					  struct hes_err *err);

typedef bool hes_policy_is(const struct hes_policy *p);

/** Names of the policies for which @is is true, of all when it is NULL, separated by commas. */
void hes_policy_names(hes_policy_is *is, char *out, size_t size);

/** hes_policy_is: policies that search. */
bool hes_policy_searches(const struct hes_policy *p);

/** @return the policy's own copy of the name of a preference or variant; NULL with those it has in
 * @err */
const char *hes_policy_preference(const struct hes_policy *p, const char *name,
				  struct hes_err *err);

#endif
