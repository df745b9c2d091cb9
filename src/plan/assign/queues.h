/*
 * queues.h - an assignment that changes one job at a time.
 *
 * Each GPU's queue is a linked list through its jobs, shortest first. Moving a job walks two queues
 * and allocates nothing. Costs are the rounded ones of struct hes_assign, so the objectives do not
 * depend on the order of moves.
 *
 * The struct is one block of bytes without pointers into itself; memcpy copies it.
 */
#ifndef HES_ASSIGN_QUEUES_H
#define HES_ASSIGN_QUEUES_H

#include "plan/assign/assign.h"

#define HES_QUEUES_END UINT32_MAX

struct hes_gpu_queue {
	struct hes_gpu_sum sum; /* ends_us includes the GPU's wait */
	uint32_t head;          /* the shortest job, or HES_QUEUES_END */
	uint32_t n;
};

struct hes_queues {
	struct hes_objectives at; /* jct_us: sum of completion times */
	struct hes_gpu_queue v[]; /* [k]; followed by gpu_of[n] and next[n] */
};

static inline size_t hes_queues_size(const struct hes_assign *a)
{
	size_t bytes = sizeof(struct hes_queues) + a->k * sizeof(struct hes_gpu_queue) +
		       2 * a->n * sizeof(uint32_t);

	return (bytes + 63) / 64 * 64;
}

/** The GPU of each job: [n]. After writing to it, call hes_queues_build(). */
static inline uint32_t *hes_queues_gpu_of(const struct hes_assign *a, struct hes_queues *x)
{
	return (uint32_t *)(void *)(x->v + a->k);
}

static inline const uint32_t *hes_queues_gpus(const struct hes_assign *a,
					      const struct hes_queues *x)
{
	return (const uint32_t *)(const void *)(x->v + a->k);
}

/** The next longer job on the same GPU: [n]. */
static inline const uint32_t *hes_queues_next(const struct hes_assign *a,
					      const struct hes_queues *x)
{
	return hes_queues_gpus(a, x) + a->n;
}

/** Compute everything from gpu_of. Every job must be able to run on its GPU. */
void hes_queues_build(const struct hes_assign *a, struct hes_queues *x);
/** Move a job to a GPU that can run it. */
void hes_queues_move(const struct hes_assign *a, struct hes_queues *x, uint32_t job, uint32_t gpu);
/**
 * Move a job as one of many moves: faster on long queues. Completion times and objectives are valid
 * only after hes_queues_settle(); energy, busy times and queue lengths are always valid.
 */
void hes_queues_shift(const struct hes_assign *a, struct hes_queues *x, uint32_t job, uint32_t gpu);
void hes_queues_settle(const struct hes_assign *a, struct hes_queues *x);
/** Take over another assignment, by moves or by a rebuild, whichever is less work. */
void hes_queues_become(const struct hes_assign *a, struct hes_queues *x, const uint32_t *gpu_of);
/**
 * What moving @job to @gpu adds to the sum of completion times there: its own, and the delay of the
 * longer jobs. On its own GPU: what it adds now.
 */
double hes_queues_delay_us(const struct hes_assign *a, const struct hes_queues *x, uint32_t job,
			   uint32_t gpu);

#endif
