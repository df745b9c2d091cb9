/*
 * interval.h - prediction intervals: conformal intervals of the logarithm, from samples that were
 * left out (cross_validation.h).
 *
 * Inside of the training range the half-width depends on the number of co-runners. Outside it grows
 * with the distance (range.h). Unseen settings, numbers of co-runners, workloads, types, pairs of
 * both and co-runners each have an error of their own, which add as the root of the sum of squares.
 * Those of workloads and types are learnt.
 */
#ifndef HES_PREDICT_INTERVAL_H
#define HES_PREDICT_INTERVAL_H

#include "predict/range.h"

#define INTERVAL_CROWDS  4 /* no co-runner, 1, 2, more */
#define INTERVAL_OUTPUTS 2 /* time, power */

/** Of one output; half-widths of the logarithm. */
struct interval_width {
	double within[INTERVAL_CROWDS];
	double factor[INTERVAL_CROWDS]; /* exp(within) */
	double task, type;              /* for each unit of distance and its offset: interval.c */
};

struct interval {
	double coverage; /* part of the measurements that are inside */
	struct interval_width of[INTERVAL_OUTPUTS];
};

/** A sample that was left out, and its prediction. */
struct interval_score {
	double off[INTERVAL_OUTPUTS];      /* log(measured / predicted) */
	double residual[INTERVAL_OUTPUTS]; /* of the prediction: log(predicted / baseline) */
	double weight;                     /* of the sample in training */
	bool modelled;                     /* a sample of the prior */
	bool random;                       /* left out at random */
	uint32_t group;                    /* of those that were left out together */
	struct range_distance distance;    /* to the samples of the fit */
	uint32_t co_runners;               /* how many */
};

/** The interval goes from prediction / factor to prediction * factor. */
struct interval_bound {
	double factor[INTERVAL_OUTPUTS];
	double widening; /* half-width / half-width inside of the training range, of the wider
			    output: 1 and more */
};

/** @return 0 or -ENOMEM */
int interval_learn(const struct interval_score *v, size_t n, double coverage, struct interval *out);

/** Pure, no allocation. Never narrower when a distance is larger. */
struct interval_bound interval_bound(const struct interval *i, const struct range_distance *d,
				     uint32_t co_runners);

/** Write intervals, or read them. */
void interval_io(struct model_io *io, struct interval *i);

#endif
