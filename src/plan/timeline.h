/*
 * flow.h - an open queue on one board: jobs admitted in order as soon as the
 * share and the memory they need are free; when each ends, and the energy.
 *
 * What is predicted here is what the simulator realises with its own rates
 * (sim.h): the board runs at the highest clock that any job on it has.
 */
#ifndef HES_PLAN_TIMELINE_H
#define HES_PLAN_TIMELINE_H

#include "plan/paces.h"
#include "plan/problem.h"
#include "plan/batch/sharing.h"

/** A job of an open queue. */
struct hes_timeline_item {
	uint32_t job;      /* of the problem */
	uint16_t sm_pct;
	uint16_t clock;    /* index into its type's clocks */
};

/** The share that a job gets: without MPS all of the board. */
static inline uint16_t hes_timeline_share(const struct hes_gpu_type *g, const struct hes_timeline_item *item)
{
	return g->alone ? HES_SHARE_SUM_PCT : item->sm_pct;
}

struct hes_timeline_cost {
	double ends_us;    /* sum of the jobs' completion times, from now; of those that run where the problem counts them */
	double energy_mj;  /* of the board from now on, what runs already included */
	double last_us;    /* when the board is free */
	double late_us;    /* sum of what ends after its deadline */
	double peak_mw;    /* most power at any time */
	double rough_us;   /* time in sets that were only estimated */
	double far_us;     /* time with a setting far outside of the predictor's samples: struct hes_pace */
};

struct hes_timeline_times {
	double start_us, end_us; /* from now */
	double energy_mj;        /* the job's part of the board's, by share */
	uint32_t outside;         /* what of it is outside of the predictor's samples at any time: enum hes_outside */
};

/**
 * Run a queue on a GPU after, and beside, what runs there.
 * @param rates  memo to ask; it belongs to the calling thread
 * @param each   of the items; may be NULL
 */
void hes_timeline_run(const struct hes_problem *p, struct hes_rates *rates, size_t gpu, const struct hes_timeline_item *items,
		  size_t n, struct hes_timeline_cost *out, struct hes_timeline_times *each);

/** The same; when those that run already end, and their energy, too, in the problem's order of them. */
void hes_timeline_run_all(const struct hes_problem *p, struct hes_rates *rates, size_t gpu, const struct hes_timeline_item *items,
		      size_t n, struct hes_timeline_cost *out, struct hes_timeline_times *each, struct hes_timeline_times *running);

/** A job on the board. */
struct hes_timeline_live {
	struct hes_member member;
	uint32_t          job;   /* of the problem */
	uint32_t          at;    /* among the items; HES_TIMELINE_RAN and more: among those that ran before */
	uint16_t          clock;
	double            left;  /* iterations */
};

#define HES_TIMELINE_RAN (UINT32_C(1) << 31)

/** A queue part-way. Its last member is copied and read no further than it goes. */
struct hes_timeline_state {
	uint32_t             n;
	uint32_t             shares_pct;
	uint64_t             memory_mib;
	double               now_us;
	size_t               ended; /* jobs that count and have */
	struct hes_timeline_cost cost;  /* so far */
	struct hes_timeline_live v[HES_MAX_SHARING]; /* [n] in the order of their set */
};

/** What is taken of a board, and when: whether it admits a job hangs on that alone. */
struct hes_timeline_taken {
	double   now_us;
	uint64_t memory_mib;
	uint32_t shares_pct;
	uint32_t n;
};

static inline struct hes_timeline_taken hes_timeline_taken_of(const struct hes_timeline_state *s)
{
	return (struct hes_timeline_taken){ .now_us = s->now_us, .memory_mib = s->memory_mib, .shares_pct = s->shares_pct, .n = s->n };
}

/** @return whether an item would be admitted. Without a branch: nobody can foretell it. */
static inline bool hes_timeline_has_room(const struct hes_problem *p, uint32_t type, const struct hes_timeline_taken *taken,
				     const struct hes_timeline_item *item)
{
	const struct hes_problem_job *job = &p->jobs[item->job];

	return (taken->n < HES_SHARE_MOST) & (job->ready_us <= taken->now_us) &
	       (taken->shares_pct + hes_timeline_share(p->types[type], item) <= p->shares_pct[type]) &
	       (taken->memory_mib + job->memory_mib <= p->types[type]->memory_mib);
}

/** When to give a queue up: once energy and priced completion times cannot stay below a limit. */
struct hes_timeline_stop {
	double lambda;     /* mJ for a microsecond of the sum of completion times */
	double limit_mj;
	bool   roughly;    /* estimates will do */
};

/**
 * What items that differ from the @same-th on come to, as long as it may pay.
 * @param marks  the states that hes_timeline_mark() left of the queue they are the same as up to there; NULL where @same is 0
 * @return false given up, @out is as far as it came
 */
bool hes_timeline_try(const struct hes_problem *p, struct hes_paces *paces, size_t gpu, const struct hes_timeline_item *items,
		  size_t n, const struct hes_timeline_state *marks, size_t same, const struct hes_timeline_stop *stop,
		  struct hes_timeline_cost *out);

/**
 * Note what the board was like when each item was first looked at, and after the last one was admitted: in marks[i]
 * the first i are admitted.
 * @param marks  [n + 1]; the first @same + 1 are of these items already, none where @same is 0
 */
void hes_timeline_mark(const struct hes_problem *p, struct hes_paces *paces, size_t gpu, const struct hes_timeline_item *items,
		   size_t n, size_t same, struct hes_timeline_state *marks);

#endif
