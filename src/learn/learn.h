/*
 * learn.h - decisions while jobs work: what a window showed, which clock a job alone tries next,
 * whether a co-run set does better than taking turns, and what all this may cost.
 *
 * Pure: no clock, process, GPU or log. The replay (papers/learning) and the runner give it
 * what they saw and carry out what it says. Rates are compared only with rates of the same job.
 */
#ifndef HES_LEARN_LEARN_H
#define HES_LEARN_LEARN_H

#include "heshare/gpu_type.h"
#include "heshare/plan.h"

#define LEARN_EXPLORE_PCT 2 /* of the GPU time worked so far: what experiments may cost */
#define LEARN_CLOCK_TRIES 6 /* clocks at which a job alone runs, at most */

/** A job in a window. */
struct learn_member {
	uint32_t kind;   /* the caller's number of its workload at its batch size */
	uint32_t sm_pct; /* its share */
	bool held;       /* it did not run */
	double rate;     /* iterations or launches a second; NaN: it shows none */
	double rate_se;  /* standard error, as a part of the rate; 0: not known */
};

/** A time in which nothing changed on a GPU. */
struct learn_window {
	uint32_t clock_mhz; /* 0: none was set */
	double seconds;
	double joules; /* of the GPU, idle power included; NaN: not measured */
	uint32_t n;
	struct learn_member members[HES_MAX_SHARING];
};

/** What a preference wants: least joules^energy x seconds^time, and no job slowed down further. */
struct learn_preference {
	const char *name;
	double energy, time;
	double slowest; /* time of an iteration / that at the default clock, at most */
};

/** @return the row of "balanced", "energy", "jct" or "fleet"; of another name, that of "balanced"
 */
const struct learn_preference *learn_preference(const char *name);

/* --- the clock of a job alone --- */

struct learn_clock_try {
	uint32_t clock_mhz;
	double seconds, joules, iterations; /* sums of its windows */
};

/** Clocks of one job, or of one kind on one GPU type. Begin with zeros and a first clock. */
struct learn_clocks {
	uint32_t expected_mhz;                           /* probably the best; 0: not known */
	struct learn_clock_try tries[LEARN_CLOCK_TRIES]; /* the first is the default clock */
	uint32_t n;
};

/** Add a window of the job alone. One without a rate or joules is left out. */
void learn_clocks_saw(struct learn_clocks *c, const struct learn_window *w);

/**
 * The clock for the next window: the default one, the expected one, then the next ones to the best
 * so far.
 * @param over  set to whether it is the best one: nothing is left to try
 * @return a clock of @g; where none can be set, the default one at once
 */
uint32_t learn_clocks_next(const struct learn_clocks *c, const struct hes_gpu_type *g,
			   const struct learn_preference *p, bool *over);

/** The clock that suits @p best so far; 0: no window was seen. */
uint32_t learn_clocks_best(const struct learn_clocks *c, const struct learn_preference *p);

/** What so many seconds at a clock cost at most, in seconds of the GPU. */
double learn_clocks_cost_s(const struct hes_gpu_type *g, const struct learn_preference *p,
			   uint32_t clock_mhz, double seconds);

/** A job's figures alone on a GPU type. */
struct learn_alone {
	double rate, rate_se; /* in the unit of its windows */
	double power_w;       /* of the GPU; NaN: not known */
};

/** At the tried clock nearest to @p clock_mhz. @return false: no window was seen */
bool learn_clocks_alone(const struct learn_clocks *c, uint32_t clock_mhz, double rate_se,
			struct learn_alone *out);

/** Alone with a share of the GPU, divided by alone with all of it; 0: not known. */
struct learn_share {
	double time, power;
};

/** Alone with a share, as a model has it. A job keeps its share as long as it runs: it is this in
 * its turn. */
struct learn_alone learn_alone_with(const struct learn_alone *whole, const struct learn_share *s);

/* --- sets --- */

/** A set against its members one after the other. Below 1 the set is better. */
struct learn_gain {
	double time, energy; /* energy NaN: not known */
	double se;           /* standard error of time, as a part of it */
};

/** @param alone  one a member of @w. Where no member moves, the set is far worse than turns.
 * @return false: a member shows no rate, or has none alone */
bool learn_set_gain(const struct learn_window *w, const struct learn_alone *alone,
		    struct learn_gain *out);
/** seconds^time x joules^energy against taking turns; below 1 the set is what @p wants. */
double learn_set_score(const struct learn_gain *g, const struct learn_preference *p);

enum learn_verdict {
	LEARN_UNCLEAR,  /* within its error, or too short: look longer */
	LEARN_KEEP,     /* better than taking turns, or within its error for long */
	LEARN_SEPARATE, /* worse than taking turns */
};

/** @param seconds  of the set so far */
enum learn_verdict learn_set_judge(const struct learn_gain *g, const struct learn_preference *p,
				   double seconds);

/** The clock of a set: the lowest one at which each member was tried alone, not below the best one
 * of any member. @return the default one if there is none */
uint32_t learn_set_clock(const struct learn_clocks *const *c, uint32_t n,
			 const struct hes_gpu_type *g, const struct learn_preference *p);

/** Sets that were worse than turns on a GPU type, by kinds alone. */
struct learn_refused {
	uint32_t type; /* the caller's number */
	uint32_t n;
	uint32_t kinds[HES_MAX_SHARING]; /* ascending */
};

struct learn_refusals {
	struct learn_refused *v; /* owned */
	size_t n;
};

/** @return 0 or -ENOMEM */
int learn_refuse(struct learn_refusals *r, uint32_t type, const uint32_t *kinds, uint32_t n);
/** Whether the set, or a part of it, was refused on the type. */
bool learn_is_refused(const struct learn_refusals *r, uint32_t type, const uint32_t *kinds,
		      uint32_t n);
/** The same of sets with the first kind alone: may it join the others? */
bool learn_join_is_refused(const struct learn_refusals *r, uint32_t type, const uint32_t *kinds,
			   uint32_t n);
/**
 * Which member to hold next so that no refused set runs: the last one without which the rest is
 * not refused, else the last one. Members come in the order in which they started.
 * @param held, may_hold  a bit a member, the lowest for the first
 * @return its index; @p n: the rest is not refused, or no member may be held
 */
uint32_t learn_set_to_hold(const struct learn_refusals *r, uint32_t type, const uint32_t *kinds,
			   uint32_t n, uint32_t held, uint32_t may_hold);
void learn_refusals_finish(struct learn_refusals *r);

/* --- the account --- */

enum learn_what {
	LEARN_OF_CLOCK,    /* a window at a clock */
	LEARN_OF_NEWCOMER, /* a job alone while its co-runners are held */
	LEARN_OF_SET,      /* a set without evidence, or one that was separated */
	LEARN_WHATS,
};

/** "clock", "newcomer", "set". */
extern const char *const learn_whats[LEARN_WHATS];

/** What something took more than what would have been done otherwise; negative: it gained. */
struct learn_cost {
	double seconds, joules; /* of a GPU */
	double iterations;      /* done meanwhile */
};

/** A window in which a set did the work of taking turns. */
struct learn_cost learn_cost_of(const struct learn_window *w, const struct learn_alone *alone);

struct learn_account {
	double explore_pct; /* of worked_s and start_s */
	double start_s;     /* time that is still to be worked, but pays for a first experiment */
	double worked_s;    /* of all GPUs with jobs */
	double going_s;     /* what experiments that go on may cost */
	uint32_t n[LEARN_WHATS];
	struct learn_cost cost[LEARN_WHATS];
};

/** Book an experiment. A gain counts as nothing: the budget does not grow by it. */
void learn_pay(struct learn_account *a, enum learn_what what, const struct learn_cost *c);
/** All experiments together. */
struct learn_cost learn_paid(const struct learn_account *a);
/** Whether an experiment that may cost so many seconds is within the budget. */
bool learn_may(const struct learn_account *a, double cost_s);

#endif
