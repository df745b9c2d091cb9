/*
 * queues.h - an assignment that changes one job at a time.
 *
 * Each GPU's queue is kept shortest first, as a chain through its jobs, so that
 * putting a job in or taking one out costs a walk along that queue and no
 * allocation. Costs are those of struct hes_assign, rounded there to a grid on which
 * every sum is exact: whatever the order of the moves, the objectives are, to
 * the last bit, those of building the same assignment anew.
 *
 * The whole is one block of bytes without a pointer into itself: memcpy
 * copies it. Its owner is whoever made the block.
 */
#ifndef HES_ASSIGN_QUEUES_H
#define HES_ASSIGN_QUEUES_H

#include "plan/assign/assign.h"

#define HES_QUEUES_END UINT32_MAX

struct hes_gpu_queue {
	struct hes_gpu_sum sum;   /* ends_us counts the GPU's wait */
	uint32_t           head;  /* the shortest job, or HES_QUEUES_END */
	uint32_t           n;
};

struct hes_queues {
	struct hes_objectives at;   /* jct_us: sum of completion times */
	struct hes_gpu_queue  v[];  /* [k]; behind them gpu_of[n] and next[n] */
};

static inline size_t hes_queues_size(const struct hes_assign *a)
{
	size_t bytes = sizeof(struct hes_queues) + a->k * sizeof(struct hes_gpu_queue) + 2 * a->n * sizeof(uint32_t);

	return (bytes + 63) / 64 * 64;
}

/** Which GPU each job is on: [n]. After writing it directly, hes_queues_build. */
static inline uint32_t *hes_queues_gpu_of(const struct hes_assign *a, struct hes_queues *x)
{
	return (uint32_t *)(void *)(x->v + a->k);
}

static inline const uint32_t *hes_queues_gpus(const struct hes_assign *a, const struct hes_queues *x)
{
	return (const uint32_t *)(const void *)(x->v + a->k);
}

/** The next longer job on the same GPU: [n]. */
static inline const uint32_t *hes_queues_next(const struct hes_assign *a, const struct hes_queues *x)
{
	return hes_queues_gpus(a, x) + a->n;
}

/** Everything anew from gpu_of. Every job must be able to run where it is. */
void hes_queues_build(const struct hes_assign *a, struct hes_queues *x);
/** Move one job to another GPU, where it must be able to run. */
void hes_queues_move(const struct hes_assign *a, struct hes_queues *x, uint32_t job, uint32_t gpu);
/**
 * The same as one of many moves. Where queues are long it takes no longer for that, but completion times and the whole's
 * objectives need not be right until hes_queues_settle(); energy, busy times and lengths of queues are.
 */
void hes_queues_shift(const struct hes_assign *a, struct hes_queues *x, uint32_t job, uint32_t gpu);
void hes_queues_settle(const struct hes_assign *a, struct hes_queues *x);
/** Put every job where @gpu_of has it, by moves or anew, whichever is less work. */
void hes_queues_become(const struct hes_assign *a, struct hes_queues *x, const uint32_t *gpu_of);
/**
 * What moving @job to @gpu would add to the sum of completion times there: its own, and its
 * delay of the longer jobs behind it. Where it already is, what it adds now.
 */
double hes_queues_delay_us(const struct hes_assign *a, const struct hes_queues *x, uint32_t job, uint32_t gpu);

#endif
