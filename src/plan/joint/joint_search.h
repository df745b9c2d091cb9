/*
 * joint_search.h - GPU, position, SM share and clock of every job searched together, on open queues
 * (timeline.h).
 *
 * Simulated annealing (anneal.h) at a number of weights of completion time against energy, in
 * rounds: each weight starts from the best plan that is known for it, first of greedy
 * assignments and of HeShare's own plans, then of all rounds before. The weights of a round are
 * independent of each other, so the result does not depend on the number of threads.
 */
#ifndef HES_PLAN_JOINT_SEARCH_H
#define HES_PLAN_JOINT_SEARCH_H

#include "plan/assign/pareto.h"
#include "plan/joint/plan_archive.h"

/** Which member of the front is wanted: the last round searches for this one alone. */
enum hes_joint_wanted {
	/*
	 * The member that gains most over HeShare's balanced plan in both objectives alike: of the
	 * relative gains in energy and completion time, the smaller one counts (Kalai and
	 * Smorodinsky's bargaining solution). With a clock, and for more than 128 jobs, the knee of
	 * Algorithm 1's front on the greedy assignments stands in.
	 */
	HES_JOINT_BALANCED,
	HES_JOINT_ENERGY, /* least energy */
	HES_JOINT_JCT,    /* least completion time */
	HES_JOINT_FLEET,  /* least energy of the fleet: that of idle GPUs until the last job ends
			     counts, for the whole front */
};

struct hes_joint_options {
	uint64_t seed;
	enum hes_joint_wanted wanted;
	uint64_t evaluations; /* queues run, and moves that cannot be made; 0:
				 hes_joint_evaluations() */
	hes_spent_fn *spent;  /* a clock, instead of evaluations; NULL: none */
	void *spent_ctx;
	uint32_t threads;    /* 0: all processors */
	double power_cap_mw; /* on the sum of the GPUs' highest power, idle GPUs included; 0: none
			      */
	hes_progress_fn *progress; /* NULL: none */
	void *progress_ctx;
};

struct hes_joint;

/**
 * The default number of evaluations: 240,000 for fewer than 8 jobs, 72,000 up to 52, then n^3 / 2
 * up to 1,451,520 from 143 jobs on; at least 500 a job, of which 50 a GPU count.
 */
uint64_t hes_joint_evaluations(size_t n_jobs, size_t n_gpus);

/** How long a search of the default length takes, in parts of some minutes, for a policy's
 * hes_policy_effort(). */
double hes_joint_effort(size_t n_jobs, size_t n_gpus);

/**
 * What the search starts from.
 * @param reference  energy and sum of completion times of HeShare's balanced plan
 * @param plans      zeroed; to be finished in either case
 * @return 0 or -ENOMEM
 */
int hes_joint_starts(const struct hes_problem *p, const struct hes_joint_options *o,
		     struct hes_objectives *reference, bool shun_far, struct plan_archive *plans);

/**
 * @param p    must outlive @out; one search at a time may use its rate cache
 * @param out  untouched on failure. Where constraints cannot be kept: plans with the smallest
 * violation
 * @return 0 or -ENOMEM
 */
int hes_joint_search(const struct hes_problem *p, const struct hes_joint_options *o,
		     struct hes_joint **out);
void hes_joint_free(struct hes_joint *j);

/** The front; energy as wanted, jct_us is the sum of completion times from now. */
const struct hes_pareto *hes_joint_front(const struct hes_joint *j);
/** The member that the options wanted. */
size_t hes_joint_wanted(const struct hes_joint *j);
/** Member of the front, owned by @j. */
struct hes_joint_solution hes_joint_member(const struct hes_joint *j, size_t member);
/** The sum of the GPUs' highest power, mW: what a power cap limits. */
double hes_joint_peak_mw(const struct hes_joint *j, size_t member);
/** Call @each for the co-run sets that the search met; a set may come several times. */
void hes_joint_each_set(const struct hes_joint *j, hes_rates_set_fn *each, void *ctx);
/** Evaluations made. */
uint64_t hes_joint_evaluated(const struct hes_joint *j);

#endif
