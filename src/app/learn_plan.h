/*
 * learn_plan.h - plans of a replay that learns (learn_replay.h).
 */
#ifndef HES_APP_LEARN_PLAN_H
#define HES_APP_LEARN_PLAN_H

#include "app/learn_state.h"

/** replan() of a simulation whose context is the replay. Unknown jobs are left out, but for one of
 * each workload that may begin now. */
int learn_plan(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n_waiting,
	       const int64_t *free_at_us, const struct hes_running *running, size_t n_running,
	       struct hes_plan *out, struct hes_err *err);

#endif
