/*
 * delays.h - the GPU where a job delays the others least. HeShare's migration needs this most.
 *
 * A job with run time t adds to the sum of completion times: the GPU's wait, t, and min(t, run
 * time) of each job there. The sum over the jobs is concave in t. Each GPU keeps its values at
 * fixed run times, the knots; between two knots the chord is a lower bound. Only queues that the
 * bound does not exclude are walked.
 */
#ifndef HES_ASSIGN_DELAYS_H
#define HES_ASSIGN_DELAYS_H

#include "plan/assign/queues.h"

/* A job's run time on a type, and its place among the knots. */
struct hes_delay_spot {
	double time_us;
	float part;    /* of the way to the next knot, rounded down */
	uint32_t knot; /* the knot below */
};

struct hes_delays {
	const struct hes_assign *a;
	size_t n_knots;               /* the first is 0, the last is the longest run time */
	double *knots_us;             /* [type * n_knots + knot] */
	struct hes_delay_spot *spots; /* [job * n_types + type] */
};

/** @return 0 or -ENOMEM, everything freed */
int hes_delays_init(struct hes_delays *d, const struct hes_assign *a);
void hes_delays_finish(struct hes_delays *d);

/** Doubles that the rows take, with scratch memory. */
size_t hes_delays_rows(const struct hes_assign *a);

/** Compute all rows. */
void hes_delays_fill(const struct hes_delays *d, const struct hes_queues *x, double *rows);
/** Update the rows after a job moved. */
void hes_delays_moved(const struct hes_delays *d, double *rows, uint32_t job, uint32_t from,
		      uint32_t gpu);
/** The GPU of least hes_queues_delay_us(), the job's own included; deterministic among equals. */
uint32_t hes_delays_least(const struct hes_delays *d, const struct hes_queues *x, double *rows,
			  uint32_t job);

#endif
