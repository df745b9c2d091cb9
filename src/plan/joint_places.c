/*
 * joint_places.c - see joint_places.h.
 */
#include "plan/joint_places.h"

#define STRETCH   1.1 /* of a run time by company, in the mean */
#define LAST_WAIT 0.4 /* of what the board still runs, where the last place has no room at first */

static double told_at(const struct joint_walk *w, uint32_t gpu, double start_us, uint32_t behind,
		      const struct hes_flow_item *item)
{
	const struct hes_problem_job *job = &w->p->jobs[item->job];
	const uint32_t type = w->p->gpus[gpu].type;
	const uint16_t share = hes_flow_share(w->p->types[type], item);
	const struct hes_alone a = hes_paces_alone(w->paces, type, (struct hes_member){ (uint16_t)job->kind, share }, item->clock);
	const double idle_mw = w->p->types[type]->idle_power_mw;
	const double run_us = STRETCH * (double)a.us * job->iterations;
	const double part_us = run_us * share / w->p->shares_pct[type];

	return 1e-6 * (run_us * ((double)a.power_mw - idle_mw) + part_us * idle_mw) +
	       w->lambda * (start_us + run_us + behind * part_us);
}

/* When an item would be admitted. */
static double start_of(const struct joint_walk *w, const struct joint_place *place)
{
	const struct joint_board *b = &w->boards[place->gpu];
	const struct hes_flow_state *before = &b->marks[place->at];

	if (hes_flow_has_room(w->p, w->p->gpus[place->gpu].type, before, &place->item))
		return before->now_us;
	if (place->at < b->queue.n)
		return b->marks[place->at + 1].now_us;
	return before->now_us + LAST_WAIT * (b->queue.cost.last_us - before->now_us);
}

void joint_place_tell(const struct joint_walk *w, struct joint_place *place, uint32_t behind)
{
	place->told_mj = told_at(w, place->gpu, start_of(w, place), behind, &place->item);
}

double joint_place_instead(const struct joint_walk *w, uint32_t gpu, uint32_t at, const struct hes_flow_item *item)
{
	const struct joint_board *b = &w->boards[gpu];

	return told_at(w, gpu, b->marks[at + 1].now_us, b->queue.n - at - 1, item);
}
