/*
 * policy.h - ways to turn waiting jobs into a plan; one file a policy in src/policy.
 *
 * A policy is a pure function of its request: no clock, file, environment or
 * log. It knows profiles and a predictor, never how boards really behave.
 */
#ifndef HESHARE_POLICY_H
#define HESHARE_POLICY_H

#include "heshare/front.h"
#include "heshare/plan.h"
#include "heshare/predict.h"

/**
 * How much of the time for planning has been spent, 0 to 1 and beyond: a clock of the caller's, for the library has none.
 * A search asks before it starts and then every 64 moves, in its last tenth every 8, and ends once all of it is spent: what
 * this says must never fall, and come to 1 by itself. Several threads ask at the same time. What the search starts from is
 * made however long it takes, and so is the bound. What it finds depends on the machine.
 */
typedef double hes_spent_fn(void *ctx);

/**
 * Called after each part of a long search is over, by any of its threads, never by two at once: @done rises by one up to @of. Parts that
 * failed are told, too.
 */
typedef void hes_progress_fn(void *ctx, size_t done, size_t of);

struct hes_request {
	const struct hes_fleet     *fleet;
	const struct hes_jobs      *jobs;
	const uint32_t             *waiting;    /* indices of the jobs to plan; all have arrived */
	size_t                      n_waiting;
	int64_t                     now_us;
	const int64_t              *free_at_us; /* per GPU: when its running jobs are predicted to end; now_us when idle */
	const struct hes_running   *running;    /* those jobs, by GPU, at most HES_MAX_SHARING on each; a policy without open queues needs free_at_us alone */
	size_t                      n_running;
	const struct hes_predictor *predictor;
	const struct hes_profiles  *profiles;
	const char                 *prefer;     /* "balanced", "energy", "jct"; ignored by policies without */
	uint64_t                    seed;
	uint64_t                    budget;     /* evaluations a search may make; 0: as many as suit the jobs */
	hes_spent_fn               *spent;      /* in place of a budget, which then does not count; may be NULL */
	void                       *spent_ctx;
	hes_progress_fn            *progress;   /* of a search in parts, as of large fleets; may be NULL */
	void                       *progress_ctx;
	bool                        bound;      /* find the plan's least_energy_mj and least_avg_jct_us, too: seconds for 60 jobs, a minute and a half
	                                           for 240, not at all for more than HES_POLICY_MOST_BOUND */
	uint64_t                    power_cap_mw; /* of the fleet, at any time; 0: none; ignored by policies that have no constraints */
};

#define HES_POLICY_MOST_BOUND 300

struct hes_policy {
	const char        *name;
	const char        *summary;   /* one line */
	const char *const *prefers;   /* NULL-terminated; NULL when it has no preference */
	bool               makes_front;
	bool               searches;  /* honours budget, spent, power_cap_mw and deadlines */
	uint64_t           max_work;  /* some minutes of planning: jobs times 100 more than there are GPUs; ignored where effort is given */
	double           (*effort)(size_t n_jobs, size_t n_gpus); /* hes_policy_effort(): above 1 for some jobs, it is for more of them; NULL: by max_work */
	/**
	 * @param out    a plan for the waiting jobs alone; written only on success
	 * @param front  the front the plan was chosen from, if the policy makes one, else empty; may be NULL
	 * @return 0; -ENOENT a workload profiled on no type; -ERANGE a batch size outside the profiled
	 *         ones, or run times beyond all reason; -ENOSPC a job fits no GPU's memory;
	 *         -E2BIG more jobs than hes_policy_most_jobs(); -EINVAL a preference it does not have, or running jobs that are
	 *         not there, out of order, or too many on a GPU; -ENOMEM
	 */
	int (*plan)(const struct hes_request *r, struct hes_plan *out, struct hes_front *front,
		    struct hes_err *err);
};

/** How long planning takes, about, in parts of what one request may: some minutes. */
double hes_policy_effort(const struct hes_policy *p, size_t n_jobs, size_t n_gpus);

/** How many jobs a policy plans at once at most: those whose effort is 1. No more than a file may hold. */
size_t hes_policy_most_jobs(const struct hes_policy *p, size_t n_gpus);

/** @return 0; -E2BIG more jobs than that */
int hes_policy_check_work(const struct hes_policy *p, size_t n_jobs, size_t n_gpus, struct hes_err *err);

extern const struct hes_policy *const hes_policies[]; /* NULL-terminated */

/** @return NULL with the names there are in @err */
const struct hes_policy *hes_policy_find(const char *name, struct hes_err *err);

/**
 * A policy as people write it: NAME, or NAME:PREFERENCE.
 * @param prefer  the policy's own copy of the preference; NULL: none was written. Untouched on failure
 * @return NULL with what there is in @err
 */
const struct hes_policy *hes_policy_parse(const char *text, const char **prefer, struct hes_err *err);

typedef bool hes_policy_is(const struct hes_policy *p);

/** Names of the policies that @is says yes to, of all when it is NULL, with commas between them. */
void hes_policy_names(hes_policy_is *is, char *out, size_t size);

/** hes_policy_is: those that honour what struct hes_policy says of searches. */
bool hes_policy_searches(const struct hes_policy *p);

/** @return the policy's own copy of a preference's name; NULL with the preferences it has in @err */
const char *hes_policy_preference(const struct hes_policy *p, const char *name, struct hes_err *err);

#endif
