/*
 * verdict.h - the verdict on an attempt that has ended, and whether its task is tried again.
 *
 * What is seen of the attempt goes through the rules of failure_rules.h. Jobs that ran with others
 * when they failed are judged together, once enough is known.
 */
#ifndef HES_RUN_VERDICT_H
#define HES_RUN_VERDICT_H

#include "run/settings.h"

struct run_judge {
	const struct hes_run_request *q;
	const struct run_log *log;
	const struct run_stop *stop;
	struct run_tasks *tasks;
	struct run_settings *settings;
};

/** Judge the jobs of a GPU that ran together when one failed, once enough is known. */
void run_judge_gpu(struct run_judge *j, struct run_gpu *g);
/** Judge an ended task by itself. @return false: its co-runners must be seen, too */
bool run_judge_alone(struct run_judge *j, struct run_task *t);
/** Judge a task that cannot be started. @param again  it is tried again */
void run_judge_not_started(struct run_judge *j, struct run_task *t, bool again,
			   const struct hes_err *why);
/**
 * The verdict on a job that ended with 0: whether its work is done. If not, t->seen says what was
 * seen.
 */
enum hes_verdict run_judge_work_of(const struct run_judge *j, struct run_task *t);
/** Decide whether a judged task is tried again, and report it once. */
void run_decide(const struct run_judge *j, struct run_task *t);

#endif
