/*
 * compose.h - decisions written down as a plan, with predicted times.
 */
#ifndef HES_PLAN_BATCH_COMPOSE_H
#define HES_PLAN_BATCH_COMPOSE_H

#include "plan/batch/sharing.h"
#include "plan/timeline.h"

/** Append a batch to a GPU's queue. @return 0; -ENOMEM; -ERANGE when it would end in more than 300
 * years */
int hes_compose_batch(const struct hes_problem *p, struct hes_plan *plan, size_t gpu,
		      uint32_t clock_mhz, const struct hes_group *g);
/** An open queue of a GPU, and what becomes of those that run there. @return 0; -ENOMEM; -ERANGE as
 * above */
int hes_compose_open(const struct hes_problem *p, struct hes_plan *plan, size_t gpu,
		     const struct hes_timeline_item *items, size_t n);
/** The plan of stage 1: every queue shortest first, one job at a time on a whole GPU, at the
 * default clock. */
int hes_compose_assignment(const struct hes_problem *p, const struct hes_assignment *x,
			   struct hes_plan *plan);
/** When a GPU's queue ends: absolute, as in the plan. */
int64_t hes_compose_free_us(const struct hes_problem *p, const struct hes_plan *plan, size_t gpu);
/** Fill in the plan's predicted totals. */
void hes_compose_totals(const struct hes_problem *p, struct hes_plan *plan);

#endif
