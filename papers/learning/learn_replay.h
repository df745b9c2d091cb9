/*
 * learn_replay.h - a replay that begins with nothing known of any workload: src/learn decides, the
 * joint planner plans what waits, and the simulation shows what a run would measure.
 */
#ifndef PAPERS_LEARN_REPLAY_H
#define PAPERS_LEARN_REPLAY_H

#include "learn_state.h"

#define LEARN_REPLAY_POLICY "learn" /* what commands call it */

/** Whether a command's word is it, with or without a preference. */
bool learn_replay_is(const char *policy);

/** @return NULL, with @err */
struct learn_replay *learn_replay_new(const struct learn_replay_inputs *in, struct hes_err *err);
void learn_replay_free(struct learn_replay *l);

/** For the simulation, whose context is the replay. Plans leave unknown jobs out, but for one of
 * each workload that may begin now. */
int learn_replay_plan(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n_waiting,
		      const int64_t *free_at_us, const struct hes_running *running,
		      size_t n_running, struct hes_plan *out, struct hes_err *err);
int learn_replay_saw(void *ctx, const struct hes_sim_window *w, struct hes_err *err);
int learn_replay_order(void *ctx, const struct hes_sim_window *now, struct hes_sim_order *out,
		       struct hes_err *err);

const struct learn_account *learn_replay_account(const struct learn_replay *l);

#endif
