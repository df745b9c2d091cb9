/*
 * delays.h - where a job delays the others least, found without walking every
 * queue; what HeShare's migration asks most.
 *
 * What a job adds to the completion times on a GPU is the GPU's wait, its own run time t, and of each job there the
 * lesser of its run time and t. That sum is a concave function of t, so between two run times
 * at which it is known, the knots, it lies above its chord. A row of known values a GPU is kept
 * while jobs come and go; only the queues that no chord rules out are walked.
 */
#ifndef HES_ASSIGN_DELAYS_H
#define HES_ASSIGN_DELAYS_H

#include "plan/assign/queues.h"

/* A job's run time on a type and where it lies among the type's knots. */
struct hes_delay_spot {
	double   time_us;
	float    part;  /* of the way from the knot below to the next, or less by rounding */
	uint32_t knot;  /* the one below */
};

struct hes_delays {
	const struct hes_assign *a;
	size_t                   n_knots;  /* the first is 0, the last the longest run time */
	double                  *knots_us; /* [type * n_knots + knot] */
	struct hes_delay_spot   *spots;    /* [job * n_types + type] */
};

/** @return 0 or -ENOMEM, everything freed */
int  hes_delays_init(struct hes_delays *d, const struct hes_assign *a);
void hes_delays_finish(struct hes_delays *d);

/** How many doubles rows take, with the room to search in. */
size_t hes_delays_rows(const struct hes_assign *a);

/** Rows of the queues as they are. */
void hes_delays_fill(const struct hes_delays *d, const struct hes_queues *x, double *rows);
/** Rows after a job was moved from one GPU to another. */
void hes_delays_moved(const struct hes_delays *d, double *rows, uint32_t job, uint32_t from, uint32_t gpu);
/** The GPU where hes_queues_delay_us is least, the job's own included; of equals any, but always the same. */
uint32_t hes_delays_least(const struct hes_delays *d, const struct hes_queues *x, double *rows, uint32_t job);

#endif
