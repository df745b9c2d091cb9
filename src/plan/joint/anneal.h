/*
 * anneal.h - simulated annealing of a plan: every job in the queue of a GPU.
 *
 * A move changes one or two queues. Only these run again: energy and completion times add up over
 * GPUs. Plans that no other plan dominates go into an archive on the way. What a queue costs, and
 * which moves there are, is the objective's: time and energy of jobs that end (moves.c), or the
 * worth of jobs that share a GPU for good (partition/groups_search.c).
 */
#ifndef HES_PLAN_ANNEAL_H
#define HES_PLAN_ANNEAL_H

#include "base/rng.h"
#include "plan/joint/plan_archive.h"

/* The queue of a GPU, and what running it showed. */
struct anneal_queue {
	struct hes_timeline_item *items;
	double *starts_us; /* when each job starts */
	uint32_t n, room;
	struct hes_timeline_cost cost;
};

/* Where a job is: a GPU, and a position in its queue. */
struct anneal_position {
	uint32_t gpu, at;
};

/* Queues that differ from the current ones. */
struct anneal_move {
	uint32_t n; /* 1 or 2 */
	uint32_t gpu[2];
	struct anneal_queue queue[2];
};

/* A part of a budget. */
struct anneal_budget {
	uint64_t evaluations; /* queues run and moves that cannot be made; not used with a clock */
	hes_spent_fn *spent;  /* the clock; NULL: none */
	void *spent_ctx;
	double from, to; /* of the clock's time */
};

struct anneal;

struct anneal_objective {
	/** Run a queue: q->cost and q->starts_us. @return false: it cannot be, or costs more than
	 * @limit_mj */
	bool (*run)(struct anneal *a, uint32_t gpu, struct anneal_queue *q, double limit_mj);
	/** Draw a move into a->move. @return 1; 0 it cannot be made; -ENOMEM */
	int (*propose)(struct anneal *a);
};

/* Jobs that end, under a request to plan. */
extern const struct anneal_objective anneal_timelines;

/* Set up by the caller: what is above the blank line, before anneal_init(); the rest is the
 * module's. */
struct anneal {
	const struct hes_problem *p; /* jobs that end: the rest up to k follows; else NULL */
	const struct anneal_objective *objective;
	void *ctx;   /* of the objective */
	size_t n, k; /* jobs, GPUs */
	struct hes_rng rng;
	double lambda;  /* the weight: mJ for a microsecond of the sum of completion times */
	double penalty; /* mJ for a unit of constraint violation */
	uint32_t look;  /* moves between two looks at the budget */
	/* Of timelines: */
	struct hes_rates *rates;
	double power_cap_mw; /* 0: none */
	bool fleet;    /* energy is the fleet's: also that of idle GPUs until the last job ends */
	bool shun_far; /* time far outside of the training range counts as late */

	struct anneal_queue *queues;         /* [k] */
	struct anneal_position *position_of; /* [n] */
	double *run_us_to;       /* [n]: sum of the least run times of all jobs up to each one */
	struct anneal_move move; /* the trial */
	struct hes_objectives at;
	double idle_mj; /* part of at.energy_mj: of idle GPUs */
	double late_us, peak_mw;
	uint64_t evaluations;
	struct plan_archive archive;
};

/** @return 0 or -ENOMEM, @a to be finished in either case */
int anneal_init(struct anneal *a);
void anneal_finish(struct anneal *a);

/** Take a plan as the current one. @return 0 or -ENOMEM */
int anneal_start(struct anneal *a, struct hes_joint_solution s);

/** The mean cost of a job in the current plan, without penalty: a scale of temperatures. */
double anneal_mean_cost(const struct anneal *a);

/**
 * Anneal until the budget is spent.
 * @param scale      of temperatures: the mean by which a move may cost more
 * @param hot, cold  first and last temperature, in parts of the scale
 * @return 0 or -ENOMEM
 */
int anneal_run(struct anneal *a, const struct anneal_budget *b, double scale, double hot,
	       double cold);

/** For propose(): a move of these GPUs, with copies of their queues. @return 0 or -ENOMEM */
int anneal_begin_move(struct anneal *a, uint32_t one, uint32_t other);
void anneal_queue_remove(struct anneal_queue *q, uint32_t at);
/** There is room for one item more than there was at anneal_begin_move(). */
void anneal_queue_insert(struct anneal_queue *q, uint32_t at, struct hes_timeline_item item);

#endif
