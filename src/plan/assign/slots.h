/*
 * slots.h - stage 1 at fixed weights, solved exactly: an assignment of jobs
 * to slots.
 *
 * A job in position p from the end of its GPU's queue delays itself and the
 * p - 1 jobs behind it: with weights on energy and on the sum of completion
 * times it costs w.energy * e + w.jct * (wait + p * t), whoever the others
 * are. GPUs of one type and wait form a group; a group of m GPUs has m slots of
 * each position. A column is a group and a position; positions are opened as they are needed.
 *
 * Dual: a price on each column, none negative, and every job where cost plus
 * price is least. Optimal once no column holds more jobs than it has slots
 * and none with a price has a slot free. From any prices, which makes for warm starts,
 * the solver gets there by shortest augmenting paths between columns
 * (Jonker and Volgenant 1987, where a column is one slot). The bound it returns is
 * computed from the prices alone and holds whatever happened on the way.
 */
#ifndef HES_ASSIGN_SLOTS_H
#define HES_ASSIGN_SLOTS_H

#include "plan/assign/assign.h"

struct hes_weights {
	double energy;  /* of a mJ */
	double jct;     /* of a us of the sum of completion times; both above 0 */
};

/** Where a solve ended: what later ones start from. */
struct hes_slots_end {
	double   *price;     /* [(group << room_bits) + position]; owned, free() */
	uint32_t *column_of; /* [n] into price; owned, free() */
	uint32_t  room_bits;
	/* What jobs pay at least anywhere, [n], and in each group at least more than that, [n * groups + group]; or NULL. */
	double   *least;
	uint16_t *excess;
};

/**
 * Prices x * p + y * q, at weights x * wp + y * wq, neither x nor y below 0: there they are optimal where
 * p's and q's solutions agree.
 */
struct hes_slots_start {
	const struct hes_slots_end *p, *q; /* NULL: start from nothing */
	double                      x, y;
};

/** What solves work in: for one thread at a time, solve after solve. */
struct hes_slots;

/** @return NULL out of memory. @a must outlive it; several may have one */
struct hes_slots *hes_slots_new(const struct hes_assign *a);
void              hes_slots_free(struct hes_slots *s);

/**
 * Solve at weights.
 * @param start   where from; p NULL: from nothing
 * @param gpu_of  [n]: an assignment of least cost
 * @param bound   no assignment costs less: w->energy * mJ + w->jct * us of the sum of completion times
 * @return 0 or -ENOMEM; both are written on success only
 */
int  hes_slots_solve(struct hes_slots *s, const struct hes_weights *w, const struct hes_slots_start *start,
		     uint32_t *gpu_of, double *bound);
/** Of the last solve. @return 0 or -ENOMEM */
int  hes_slots_save(const struct hes_slots *s, struct hes_slots_end *out);
void hes_slots_end_free(struct hes_slots_end *e);

#endif
