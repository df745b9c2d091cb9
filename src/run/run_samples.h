/*
 * run_samples.h - what a run measures, on its way into the store: samples of jobs that ran together
 * or alone, and the points of solo_point.h.
 */
#ifndef HES_RUN_RUN_SAMPLES_H
#define HES_RUN_RUN_SAMPLES_H

#include "run/account.h"
#include "run/run_log.h"

struct run_samples {
	const struct run_log *log;
	const struct run_gpus *gpus;
	struct run_meter *meter;
	struct hes_store *store;             /* NULL: nothing is kept */
	const struct hes_profiles *profiles; /* of the request */
	struct hes_profiles own; /* of jobs that were unknown, by what this session measured */
	struct hes_samples v;    /* measured in this session */
	size_t kept;             /* of these, in the store */
	int64_t look_us;         /* when to look for samples */
	int64_t origin; /* of points and samples of this session in the store; 0: none yet */
};

/** Put rows into the store, as measured in this run; @d has the rows. What the store refuses is
 * reported and left out. @return 0; errors of the store that may pass */
int run_deliver(struct run_samples *s, struct hes_delivery *d, struct hes_err *err);
/** A job was measured alone at its GPU's own clock: samples of it need that. */
void run_samples_know(struct run_samples *s, const struct hes_point *p);
/** Find samples of jobs that ran together or alone, and keep them in the store. @return 0; -ENOMEM;
 * errors of the store */
int run_learn(struct run_samples *s, struct hes_err *err);

#endif
