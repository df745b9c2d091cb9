/*
 * learner.h - what a run learns of its jobs while they work (src/learn decides): kinds of jobs, the
 * account of experiments, and the clock of a job that has its GPU to itself (job_clock.c).
 *
 * A kind is a workload at its batch size on a GPU type. An experiment changes the place of a task;
 * settings.c carries it out as any other clock.
 */
#ifndef HES_RUN_LEARNER_H
#define HES_RUN_LEARNER_H

#include "learn/learn.h"
#include "run/account.h"
#include "run/run_log.h"

struct run_kind {
	const struct hes_job *job; /* one of them */
	const struct hes_gpu_type *type;
	bool measured; /* nothing is tried: its clocks were known when the run met it */
	struct learn_clocks clocks;
};

struct run_learner {
	const struct hes_run_request *q;
	struct run_log *log;
	struct run_gpus *gpus;
	struct run_meter *meter;
	const struct learn_preference *prefer; /* NULL: nothing is learnt */
	struct learn_account account;
	double joules;                   /* taken from jobs */
	struct hes_run_learning earlier; /* of sessions before */
	size_t without_progress;         /* jobs that were alone for long and showed none */
	struct hes_store_set *sets;      /* that earlier runs judged */
	size_t n_sets;
	/* Sets that did worse than turns with the whole GPU, and with the shares that their jobs
	 * had; sets that did no worse in earlier runs. */
	struct learn_refusals refused_whole, refused_shares, measured;
	struct run_kind *kinds;
	size_t n_kinds;
	char **notes; /* what was learnt, a sentence each */
	size_t n_notes;
};

/** Learn by the preference of the request's plan, or nothing. */
void run_learner_begin(struct run_learner *l);
void run_learner_free(struct run_learner *l);

/** @return index of the kind of a task; -1: there is no memory */
long run_learner_kind(struct run_learner *l, const struct run_task *t);
/** The kinds of some tasks. @return how many */
uint32_t run_learner_kinds(struct run_learner *l, struct run_task *const *v, uint32_t n,
			   uint32_t out[HES_MAX_SHARING]);
/** Whether the first of some tasks is to have the whole GPU in its turn: with the others, or a part
 * of them, it did worse. */
bool run_learner_refuses(struct run_learner *l, struct run_task *const *v, uint32_t n);
/** What a job does alone on its GPU's type, as it was measured at the nearest clock. @return false:
 * it was not */
bool run_learner_alone_whole(struct run_learner *l, struct run_task *t, struct learn_alone *out);
/** The same with the share that it has as long as it runs, measured or modelled: what it would do
 * in its turn. */
bool run_learner_alone(struct run_learner *l, struct run_task *t, struct learn_alone *out);
/** The clocks of a task: those of its kind, or its own where it has a share, or no lines or
 * iterations. @return NULL: there is no memory */
struct learn_clocks *run_learner_clocks(struct run_learner *l, struct run_task *t);
/** Whether lines show a task's speed, or launches where no line came for long. */
bool run_learner_shows_work(const struct run_task *t, int64_t now);
/** What the running jobs of a GPU did since they or the clock changed last, by their lines, else by
 * launches. @return false: one shows neither, or not long enough */
bool run_learner_window(struct run_learner *l, struct run_gpu *g, struct learn_window *out);
/** Begin another window on a GPU. */
void run_learner_restart(struct run_learner *l, struct run_gpu *g);
/** Book an experiment on a GPU: its joules are not those of the jobs that run there. */
void run_learner_pay(struct run_learner *l, enum learn_what what, const struct learn_cost *c,
		     struct run_gpu *g);
/** Keep in the store what the set that runs on a GPU does against taking turns. */
void run_learner_judged(struct run_learner *l, const struct run_gpu *g,
			const struct learn_gain *gain);
/** Count a task, once, that shows neither progress nor launches. */
void run_learner_no_progress(struct run_learner *l, struct run_task *t);
/** Tell what was learnt, in the journal and in the report. @gpu, @job: names; NULL where there is
 * none */
void run_learner_note(struct run_learner *l, const char *gpu, const char *job, const char *fmt, ...)
	HES_PRINTF(4, 5);
/** Whether an experiment on a GPU that may cost so many seconds is within the budget, next to those
 * that go on elsewhere. Then it goes on until run_learner_pay(), or until that is set to 0. */
bool run_learner_may(struct run_learner *l, struct run_gpu *g, double cost_s);
/** What experiments took, those of sessions before included. */
struct hes_run_learning run_learner_sum(const struct run_learner *l);

/**
 * Look for the best clock of the job that has @g to itself, in windows of some seconds, within the
 * budget. It stays at the best one. Where clocks cannot be set, nothing happens.
 */
void run_learn_clock(struct run_learner *l, struct run_gpu *g, int64_t now);
/** A job has ended, or has co-runners now: a clock that was being tried is paid for. */
void run_learn_clock_over(struct run_learner *l, struct run_task *t);

#endif
