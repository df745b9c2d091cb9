/*
 * auction.h - stage 1 at fixed weights, solved to within a proven gap: for
 * GPUs by the thousand that all differ, where slots.h takes minutes.
 *
 * The same assignment of jobs to positions from the end of each GPU's queue, as an auction (Bertsekas, Annals of Operations
 * Research 14, 1988): every position has a price, from 0 on; a job without a place takes the position where cost and price
 * are least, and raises its price until the next best would be better by @step; whoever had it looks for another. In the end no job could do
 * better by more than the step, and what has a price is taken: n steps are the most that an optimum costs less.
 * The bound comes from the prices alone, summed in doubles, and holds whatever happened on the way.
 */
#ifndef HES_ASSIGN_AUCTION_H
#define HES_ASSIGN_AUCTION_H

#include "plan/assign/assign.h"
#include "plan/assign/slots.h"

struct hes_auction;

/** Costs by job, for any number of threads to share. @return NULL out of memory. @a must outlive it */
struct hes_auction *hes_auction_new(const struct hes_assign *a);
void hes_auction_free(struct hes_auction *x);

/**
 * Solve at weights. Threads may solve at the same time.
 * @param part    the step, as a part of what a job costs in the mean; above 0
 * @param gpu_of  [n]; anything on failure
 * @param bound   no assignment costs less, in the unit of hes_slots_solve()
 * @param bids    made
 * @return 0 or -ENOMEM; bound and bids are written on success only
 */
int hes_auction_solve(const struct hes_auction *x, const struct hes_weights *w, double part, uint32_t *gpu_of, double *bound,
		      uint64_t *bids);

#endif
