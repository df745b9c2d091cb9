/*
 * replan_state.h - the state of a replan, shared by replan.c, which inserts arriving jobs, and
 * replan_search.c, which then moves waiting jobs.
 */
#ifndef HES_PLAN_REPLAN_STATE_H
#define HES_PLAN_REPLAN_STATE_H

#include "plan/timeline.h"
#include "plan/replan.h"

#define HES_REPLAN_PENALTY 10.0 /* of a microsecond late, in microseconds of completion */

struct hes_replan_queue {
	struct hes_timeline_item *items;
	uint32_t n, room;
	struct hes_timeline_cost cost;
	double from_us; /* the queue's own time: items have not started before */
	struct hes_problem_running running[HES_MAX_SHARING]; /* at that time */
	size_t n_running;
};

struct hes_replan {
	struct hes_problem p;
	double fixed_mj_per_us; /* given by the caller; 0: see mj_per_us */
	double mj_per_us; /* energy that a microsecond of completion time is worth, at this arrival
			   */
	bool shun_far;    /* time far outside of the predictor's samples counts as late */
	struct hes_replan_queue *queues; /* [k] */
	uint32_t *number_of;             /* of a request's job among the problem's */
	size_t *first; /* [k + 1]: scratch, where the running jobs of the queue in hand begin */
	struct hes_timeline_item *trial; /* room for the longest queue and one more */
	struct hes_timeline_times *times;
	uint32_t longest;
	uint64_t arrivals; /* so far */
};

/** Make room for so many jobs in a queue and in the scratch memory. @return 0 or -ENOMEM */
int hes_replan_make_room(struct hes_replan *s, struct hes_replan_queue *q, uint32_t n);
/** Predict a queue from its own time on, with the jobs that run there. @param each, running  may be
 * NULL */
void hes_replan_run(const struct hes_replan *s, size_t gpu, const struct hes_timeline_item *items,
		    size_t n, struct hes_timeline_cost *out, struct hes_timeline_times *each,
		    struct hes_timeline_times *running);
/** Energy and delay of a queue, mJ. */
double hes_replan_value(const struct hes_replan *s, const struct hes_timeline_cost *c);

/** Improve the queues of some GPUs by local search. @return 0; -ENOMEM: nothing has changed */
int hes_replan_search(struct hes_replan *s, const size_t *gpus, size_t n, double now_us);

#endif
