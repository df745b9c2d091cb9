/*
 * solo_point.h - measure a job while it has its GPU to itself; what is seen becomes a point
 * (heshare/point.h) of the store.
 *
 * Time counts while no other job and no other process is on the GPU. A point is kept at the first
 * steady progress, at least each minute, and at the end of the attempt, however that ends. The
 * later row replaces the earlier one. There is a point for each clock at which the job ran. A job
 * without progress lines is measured as a whole, if it ends well.
 */
#ifndef HES_RUN_SOLO_POINT_H
#define HES_RUN_SOLO_POINT_H

#include "learn/learn.h"
#include "run/account.h"
#include "run/run_samples.h"

/** The attempt of a job has begun. If it is alone on its GPU its start is measured. */
void run_observe_begin(struct run_samples *w, struct run_task *t);
/** When to look at a job's start; RUN_NEVER_US: with the others. */
int64_t run_observe_next_us(const struct run_task *t);
/** Look at the job of a GPU, after run_look(). */
void run_observe(struct run_samples *w, struct run_gpu *g, int64_t now);
/** What it does until the next look is not measured: it is held, or was. */
void run_observe_disturb(struct run_task *t);
/** Look as often as at a start, for short windows; or no longer. */
void run_observe_closely(struct run_task *t, bool close);
/** What the job did at its GPU's clock, by whole windows that began from @since_us on. @return
 * false: there is none */
bool run_observe_window(const struct run_task *t, int64_t since_us, struct learn_window *out);
/** The event of its process's end has come, and its progress was read. */
void run_observe_end(struct run_samples *w, struct run_task *t);
/**
 * Keep what was measured of a job, if it is time.
 * @param over  its attempt has a verdict
 * @return 0; errors of the store that may pass
 */
int run_observe_keep(struct run_samples *w, struct run_task *t, bool over, struct hes_err *err);
/** Forget what was measured. NULL is harmless. */
void run_observe_free(struct run_observed *o);

#endif
