/*
 * baseline.h - time and power as a closed form of what a query says; the
 * forests learn the deviation from it (docs/predictor.md).
 */
#ifndef HES_PREDICT_BASELINE_H
#define HES_PREDICT_BASELINE_H

#include "heshare/predict.h"

struct baseline {
	double slowdown;   /* time of an iteration, of its time alone at the profiled clock */
	double demand_w;   /* what the board would draw if it had no limit */
	double power_w;    /* what it draws */
};

/** All that is known when a job is about to join a GPU. */
struct query {
	const struct hes_gpu_type *gpu;
	const struct hes_profile  *task;
	const struct hes_setting  *setting;
	const struct hes_load     *beside;
	struct baseline            base;    /* of the above: baseline_of */
};

/** Does not read q->base. Every member is positive and finite for any query. */
struct baseline baseline_of(const struct query *q);

/** Clock the solo profile holds for. */
double baseline_clock_mhz(const struct query *q);

/** Part of the SMs a task uses while it has a kernel running. */
double baseline_width(const struct hes_profile *task);

#endif
