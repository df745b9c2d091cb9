/*
 * hold.h - hold a task that runs, and let it go on.
 *
 * A held task stands still (hes_guard_stop()) and keeps memory and share. Held time counts for no
 * duration, limit, deadline, point, sample or planned end. A request waits a moment for a progress
 * line, or for a GPU without work. Then the co-runners are watched: if they stall, the task goes
 * on. If they work again at once, its workload is never held again; else they paused by themselves,
 * as for a checkpoint. If all tasks of a GPU are held, the first one goes on.
 */
#ifndef HES_RUN_HOLD_H
#define HES_RUN_HOLD_H

#include "run/learner.h"
#include "run/settings.h"
#include "run/solo_point.h"
#include "run/work_count.h"

struct run_holder {
	struct run_log *log;
	struct run_tasks *tasks;
	struct run_settings *settings;
	struct run_meter *meter;
	const struct run_stop *stop;
	struct run_learner *learner; /* takes what the report says */
};

/**
 * Request that a task that runs is held: within a second.
 * @param why  a clause: "it slows job b down"
 * @return 0, also if it is held or requested already; -EBUSY it does not run, or it ends; -EPERM
 * it has a deadline, or its co-runners stalled when its workload was held
 */
int run_hold(struct run_holder *h, struct run_task *t, const char *why, struct hes_err *err);
/** Let a held task go on, or withdraw the request. Harmless if there is neither. */
void run_release(struct run_holder *h, struct run_task *t, const char *why);
/** The same for all tasks of a GPU. */
void run_release_all(struct run_holder *h, struct run_gpu *g, const char *why);

/** When to call run_hold_look(); RUN_NEVER_US: nothing is requested or watched. */
int64_t run_hold_next_us(const struct run_gpu *g);
/** Carry requests out, watch co-runners. */
void run_hold_look(struct run_holder *h, struct run_gpu *g, int64_t now);

/** What was seen of a co-runner while a task was held. */
struct run_watched {
	double before_per_s; /* its progress lines or launches a second before; 0: not known */
	bool moved;          /* one came */
	double watched_s;
	bool at_work;              /* it did not just start: an idle GPU is no start */
	bool has_activity, active; /* of the GPU: whether it was read, and ever seen at work */
};

/** Whether a co-runner stalls. Pure. */
bool run_has_stalled(const struct run_watched *w);

#endif
