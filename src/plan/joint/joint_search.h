/*
 * joint_search.h - place, company, SM share and clock of every job searched
 * together, on open queues (flow.h).
 *
 * Walks of simulated annealing, from weight to weight of energy against
 * completion time, start from Algorithm 1's plans of the exact front
 * (exact.h, configure.h); moves are screened on estimates (estimate.h). What none of
 * all solutions met dominates is kept. Walks are independent but for what they
 * exchange at one point, so that the result does not depend on the number of threads.
 *
 * From 512 jobs and 16 GPUs on hes_joint_search() cuts the fleet into cells of 256 jobs and 8 boards at least, no more cells than there
 * are boards of any type, and searches each by itself (joint_cells.c); all else is in joint_search.c and joint_result.c.
 */
#ifndef HES_PLAN_JOINT_SEARCH_H
#define HES_PLAN_JOINT_SEARCH_H

#include "plan/bound.h"
#include "plan/assign/pareto.h"

/** Which member of the front it is all for: a part of the search is spent about it. */
enum hes_joint_wanted {
	/*
	 * The one that gains most over HeShare's balanced plan (with a clock, of more than 128 jobs, and in cells: over the
	 * knee of Algorithm 1's front on the exact assignments) in both objectives alike: of each member the lesser of its relative gains in energy and
	 * completion time counts (Kalai and Smorodinsky's bargain from there).
	 */
	HES_JOINT_BALANCED,
	HES_JOINT_FRUGAL,   /* of least energy */
	HES_JOINT_QUICK,    /* of least completion time */
};

struct hes_joint_options {
	uint64_t seed;
	enum hes_joint_wanted wanted;
	uint64_t evaluations;     /* queues run, on estimates or predictions, and moves that came to nothing, all walks together; some hundreds
				     more may be made, in each cell; 0: hes_joint_evaluations(), or of a large fleet 2400 a job (of 50 a GPU at
				     most) where that is more. Not looked at where there is a clock */
	hes_spent_fn *spent;      /* a clock in place of a count; NULL: none */
	void    *spent_ctx;
	uint32_t threads;         /* 0: all processors */
	double   power_cap_mw;    /* on the sum of the boards' peaks and idle powers; 0: none */
	bool     for_cell;        /* HeShare's own search is not made, however few jobs there are */
	hes_progress_fn *progress; /* of a search in cells; NULL: none */
	void    *progress_ctx;
};

/** A solution: the queue of each GPU. */
struct hes_joint_solution {
	struct hes_timeline_item *items;  /* [n], GPU by GPU */
	uint32_t             *first;  /* [k + 1] */
};

struct hes_joint;

/**
 * What one call searches by default: 240,000 for fewer than 8 jobs, 72,000 up to 24, from there on as their third power up to
 * 1,008,000 for 60, then in proportion to them up to 2,419,200.
 */
uint64_t hes_joint_evaluations(size_t n_jobs);

/** How long a search of the default's length takes, in parts of some minutes, for a policy's hes_policy_effort(). */
double hes_joint_effort(size_t n_jobs, size_t n_gpus);

/**
 * @param p    must outlive @out; its memo of rates is asked, so that one search at a time may use it
 * @param out  what hes_joint_free() gives back; untouched on failure. Where a cap or deadlines cannot be kept, what breaks them least
 * @return 0 or -ENOMEM
 */
int  hes_joint_search(const struct hes_problem *p, const struct hes_joint_options *o, struct hes_joint **out);
/** The same on all GPUs at once, however many: what is done with each cell. */
int  hes_joint_search_whole(const struct hes_problem *p, const struct hes_joint_options *o, struct hes_joint **out);
void hes_joint_free(struct hes_joint *j);

/** What none dominates; jct_us is the sum of completion times from now. */
const struct hes_pareto *hes_joint_front(const struct hes_joint *j);
/** The member that the options wanted. */
size_t hes_joint_wanted(const struct hes_joint *j);
/** Member of the front, owned by @j. */
struct hes_joint_solution hes_joint_member(const struct hes_joint *j, size_t member);
/**
 * What is possible at best at a member's completion times, and at its energy. Only where nothing runs yet; what a search in cells asked the
 * predictor about is not known any more, and time grows with the third power of jobs. @return 0 or -ENOMEM
 */
int hes_joint_bounds(const struct hes_joint *j, size_t member, struct hes_bounds *out);
/** The sum of what each board draws at most, mW: what a power cap is held against. */
double hes_joint_peak_mw(const struct hes_joint *j, size_t member);
/** Queues tried, and moves that came to nothing. */
uint64_t hes_joint_evaluated(const struct hes_joint *j);

#endif
