/*
 * joint_places.c - see joint_places.h.
 */
#include "plan/joint/joint_places.h"

#define STRETCH   1.1 /* of a run time by company, in the mean */
#define LAST_WAIT 0.4 /* of what the board still runs, where the last place has no room at first */

static struct hes_member member_of(const struct joint_walk *w, uint32_t type, const struct hes_timeline_item *item)
{
	return (struct hes_member){ (uint16_t)w->p->jobs[item->job].kind, hes_timeline_share(w->p->types[type], item) };
}

static double told_at(const struct joint_walk *w, uint32_t gpu, double start_us, uint32_t behind,
		      const struct hes_timeline_item *item)
{
	const uint32_t type = w->p->gpus[gpu].type;
	const struct hes_member m = member_of(w, type, item);
	const struct hes_alone *known = hes_alone_find(w->alone, type, m, item->clock);
	const struct hes_alone a = known ? *known : hes_paces_alone(w->paces, type, m, item->clock);
	const double idle_mw = w->p->types[type]->idle_power_mw;
	const double run_us = STRETCH * (double)a.us * w->p->jobs[item->job].iterations;
	const double part_us = run_us * m.sm_pct / w->p->shares_pct[type];

	return 1e-6 * (run_us * ((double)a.power_mw - idle_mw) + part_us * idle_mw) +
	       w->lambda * (start_us + run_us + behind * part_us);
}

/* When an item would be admitted. */
static double start_of(const struct joint_walk *w, const struct joint_place *place)
{
	const struct joint_board *b = &w->boards[place->gpu];
	const struct hes_timeline_taken *before = &b->taken[place->mark];
	const double behind_all_us = before->now_us + LAST_WAIT * (b->queue.cost.last_us - before->now_us);
	const double next_us = place->mark < b->queue.n ? b->taken[place->mark + 1].now_us : behind_all_us;

	return hes_timeline_has_room(w->p, w->p->gpus[place->gpu].type, before, &place->item) ? before->now_us : next_us;
}

struct joint_place joint_place_in(const struct joint_walk *w, uint32_t gpu, const struct joint_queue *q, uint32_t at,
				  const struct hes_timeline_item *item)
{
	const bool behind_taken = q != &w->boards[gpu].queue && at >= q->same;

	return (struct joint_place){ .gpu = gpu, .at = at, .mark = behind_taken ? at + 1 : at, .behind = q->n - at, .item = *item };
}

void joint_place_want(const struct joint_walk *w, uint32_t gpu, const struct hes_timeline_item *item)
{
	const uint32_t type = w->p->gpus[gpu].type;

	__builtin_prefetch(hes_alone_find(w->alone, type, member_of(w, type, item), item->clock));
}

void joint_place_tell(const struct joint_walk *w, struct joint_place *place)
{
	place->told_mj = told_at(w, place->gpu, start_of(w, place), place->behind, &place->item);
}

double joint_place_instead(const struct joint_walk *w, uint32_t gpu, uint32_t at, const struct hes_timeline_item *item)
{
	const struct joint_board *b = &w->boards[gpu];

	return told_at(w, gpu, b->taken[at + 1].now_us, b->queue.n - at - 1, item);
}
