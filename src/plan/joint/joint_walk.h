/*
 * joint_walk.h - one walk of the joint search: a solution that changes one
 * or two queues at a time, at one weight of energy against completion time.
 */
#ifndef HES_PLAN_JOINT_WALK_H
#define HES_PLAN_JOINT_WALK_H

#include "base/rng.h"
#include "plan/joint/joint_archive.h"
#include "plan/joint/joint_pool.h"
#include "plan/joint/joint_queue.h"

/* A board's queue, and its states on the way. */
struct joint_board {
	struct joint_queue     queue;
	struct hes_timeline_state *marks;  /* hes_timeline_mark() */
	struct hes_timeline_taken *taken;  /* at each mark, side by side: for telling places */
	uint32_t               room;   /* of either, for so many */
	uint32_t               like;   /* the first board that queues cost the same on */
};

/** A job's board, and its place in the queue. */
struct joint_spot {
	uint32_t gpu, at;
};

struct joint_walk {
	const struct hes_problem *p;
	struct hes_paces         *paces;
	const struct hes_alone_table *alone;    /* what the paces know beforehand; theirs */
	bool                      screens;      /* moves are first judged by estimates */
	double                    lambda;       /* energy a person gives for a microsecond of the sum, mJ */
	double                    penalty;      /* energy for a unit of excess */
	double                    power_cap_mw; /* 0: none */
	bool                      shun_far;     /* time far outside of the predictor's samples counts as late */
	struct hes_rng            rng;
	struct joint_board       *boards;       /* [k] */
	struct joint_spot        *spot_of;      /* [n]: where each job is */
	double                   *weight_to;    /* [n]: sum of the least run times of the jobs up to each, us */
	struct joint_queue        trial[3];     /* what a move would make of one or two queues, and room for another try */
	bool                      stays;        /* every job where it is: shares and clocks alone change */
	double                    slack;        /* by so much the queues of a move may cost more than they do */
	struct hes_objectives     at;
	double                    late_us, peak_mw;
	uint64_t                  evaluations;  /* so far */
	struct joint_archive      archive;
	struct joint_pool        *pool;         /* of all queues that boards had, for joint_walk_recombine(); owned; NULL: none are kept */
	uint64_t                  since, budget; /* evaluations at the beginning of this part, and to make in it; unless there is a clock: */
	hes_spent_fn             *spent;
	void                     *spent_ctx;
	double                    from, to;     /* what this part has of the clock's time */
	uint32_t                  look;         /* moves between two looks at what is spent: 64 */
};

/**
 * @param paces  the caller's; nobody else asks them as long as the walk goes on
 * @return 0 or -ENOMEM
 */
int  joint_walk_init(struct joint_walk *w, const struct hes_problem *p, struct hes_paces *paces);
void joint_walk_finish(struct joint_walk *w);

/** Start from a solution. @return 0 or -ENOMEM */
int joint_walk_start(struct joint_walk *w, const struct hes_joint_solution *s);
/** Go on from the best solution kept at the present weight, if it is better than the one in hand. @return 0 or -ENOMEM */
int joint_walk_restart(struct joint_walk *w);
/** Keep what the front's members come to with other queues that boards had of the same jobs. @return 0 or -ENOMEM */
int  joint_walk_recombine(struct joint_walk *w);
/** What is spent of this part of the walk. */
double joint_walk_spent(const struct joint_walk *w);
/**
 * Anneal until so much of this part is spent.
 * @param hot, cold  first and last temperature, in parts of the mean cost of a job
 * @return 0 or -ENOMEM
 */
int joint_walk_anneal(struct joint_walk *w, double until, double hot, double cold);

/* For joint_moves.c and joint_recombine.c. */

/**
 * Run a trial of a board's queue.
 * @param limit_mj  give up once it is dearer
 * @param roughly   estimates will do
 * @return false given up
 */
bool joint_walk_try(struct joint_walk *w, size_t gpu, struct joint_queue *q, double limit_mj, bool roughly);
/** What a queue costs at the present weight, mJ. */
double joint_walk_price(const struct joint_walk *w, const struct hes_timeline_cost *c);
/** What the constraints are missed by, in microseconds and milliwatts: units do not matter, 0 does. */
double joint_walk_excess(const struct joint_walk *w, double late_us, double peak_mw);

#endif
