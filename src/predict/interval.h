/*
 * interval.h - how far off a prediction may be: conformal intervals of the
 * logarithm, from samples predicted without having been seen (folds.h).
 *
 * Within the samples the half-width depends on the number of neighbours.
 * Outside of them it grows with the distance (support.h): settings beyond the
 * sampled ones, more neighbours, a workload, a type, the one on the other and a
 * neighbour never sampled each add an error of their own, and errors add by the
 * root of their squares.
 */
#ifndef HES_PREDICT_INTERVAL_H
#define HES_PREDICT_INTERVAL_H

#include "trees/model_bytes.h"
#include "predict/support.h"

#define INTERVAL_CROWDS  4 /* no neighbour, 1, 2, more */
#define INTERVAL_OUTPUTS 2 /* time, power */

/** Of one output; half-widths of the logarithm. */
struct interval_width {
	double within[INTERVAL_CROWDS];
	double factor[INTERVAL_CROWDS]; /* exp(within) */
	double setting, crowd, task, type, pair, strange; /* for each unit of distance and its offset: interval.c */
};

struct interval {
	double                coverage; /* part of measurements that lie within it */
	struct interval_width of[INTERVAL_OUTPUTS];
};

/** A sample predicted without it. */
struct interval_score {
	double                  off[INTERVAL_OUTPUTS]; /* log(measured / predicted) */
	double                  rest[INTERVAL_OUTPUTS]; /* of the prediction: log(predicted / baseline) */
	bool                    by_lot;                /* left out by lot: like those that were seen */
	struct support_distance distance;              /* from the samples that were seen */
	uint32_t                residents;             /* beside it */
};

/** What bounds a prediction: it lies between prediction / factor and prediction * factor. */
struct interval_bound {
	double factor[INTERVAL_OUTPUTS];
	double novelty;  /* the wider one's half-width, of that within the samples: 1 and more */
};

/** @return 0 or -ENOMEM */
int  interval_learn(const struct interval_score *v, size_t n, double coverage, struct interval *out);

/** Pure, no allocation. Never narrower where a distance is larger. */
struct interval_bound interval_bound(const struct interval *i, const struct support_distance *d, uint32_t residents);

void interval_put(struct model_writer *b, const struct interval *i);
/** Sets r->bad where it is unsound. */
void interval_get(struct model_reader *r, struct interval *out);

#endif
