/*
 * auction.h - stage 1 at fixed weights, solved to within a proven gap: for thousands of different
 * GPUs, where lap.h takes minutes.
 *
 * An auction (Bertsekas, Annals of Operations Research 14, 1988) of the positions from the end of
 * each GPU's queue. A job without a position takes the one where cost plus price is least. It
 * raises that price until the next best would be better by @step. The job that held the position
 * bids again. At the end no job can improve by more than the step. The bound is computed from the
 * prices alone.
 */
#ifndef HES_ASSIGN_AUCTION_H
#define HES_ASSIGN_AUCTION_H

#include "plan/assign/assign.h"
#include "plan/assign/lap.h"

struct hes_auction;

/** Costs by job, shared by all threads. @return NULL out of memory. @a must outlive it */
struct hes_auction *hes_auction_new(const struct hes_assign *a);
void hes_auction_free(struct hes_auction *x);

/**
 * Threads may solve at the same time.
 * @param part    the step, as a part of a job's mean cost; above 0
 * @param gpu_of  [n]; undefined on failure
 * @param bound   no assignment costs less, in the unit of hes_lap_solve()
 * @param bids    number of bids
 * @return 0 or -ENOMEM; bound and bids are written on success only
 */
int hes_auction_solve(const struct hes_auction *x, const struct hes_weights *w, double part,
		      uint32_t *gpu_of, double *bound, uint64_t *bids);

#endif
