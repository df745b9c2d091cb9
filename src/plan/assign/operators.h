/*
 * operators.h - the paper's operators on assignments (HeShare, section III-B2): ranked
 * initialisation, elitist inheritance of GPU segments, priority mutation. Assignments are struct
 * hes_queues; genetic.c runs the operators.
 *
 * Evaluations: each finished assignment is one. A migrating job that looks for the GPU of least
 * degradation compares all k queues, which counts as one more.
 */
#ifndef HES_ASSIGN_OPERATORS_H
#define HES_ASSIGN_OPERATORS_H

#include "base/rng.h"
#include "plan/assign/delays.h"
#include "plan/assign/queues.h"

struct hes_operators {
	const struct hes_assign *a;
	double mutation_gap; /* mean distance of jobs that migrate */
	bool no_recovery;    /* migrants leave the target's jobs where they are; false at first */
	double *least_energy_mj; /* [n]: over the types */
	uint32_t *cheapest_type; /* [n]: the first type of that energy */
	struct hes_delays delays;
	uint32_t *ranked_types;  /* [job * n_types + i]: types of best average rank, shortest time
				    first */
	uint32_t *n_ranked;      /* [n] */
	uint32_t *by_type;       /* [k]: the GPUs, type by type */
	uint32_t *first_of_type; /* [n_types + 1]: into by_type */
};

/** Scratch memory of one thread. */
struct hes_operator_room {
	uint32_t *gpu_of;    /* [2 * n] */
	double *end_us;      /* [2 * n] */
	double *delays;      /* [hes_delays_rows()] */
	uint32_t *moving;    /* [n]: jobs that migrate */
	uint8_t *moves;      /* [n]: whether a job migrates */
	uint8_t *from_first; /* [k] */
};

/**
 * @param mutation  probability that a job migrates
 * @return 0 or -ENOMEM
 */
int hes_operators_init(struct hes_operators *ops, const struct hes_assign *a, double mutation);
void hes_operators_finish(struct hes_operators *ops);
size_t hes_operator_room_size(const struct hes_assign *a);
struct hes_operator_room hes_operator_room_in(const struct hes_assign *a, void *bytes);

void hes_ranked_draw(const struct hes_operators *ops, struct hes_rng *r, struct hes_queues *x);
void hes_inherit(const struct hes_operators *ops, struct hes_rng *r, struct hes_operator_room *room,
		 const struct hes_queues *p, const struct hes_queues *q, struct hes_queues *child);
/** Choose the jobs that migrate in both children of two parents. @return how many */
size_t hes_choose_migrants(const struct hes_operators *ops, struct hes_rng *r,
			   struct hes_operator_room *room);
/** @return evaluations */
uint64_t hes_migrate(const struct hes_operators *ops, const struct hes_operator_room *room,
		     size_t n_moving, bool for_energy, struct hes_queues *x);
/**
 * The job on @gpu whose usage is nearest to @usage and that can run on @to; among equals the one
 * that runs first. Distance: the sum of the differences in SMs, bandwidth and memory.
 * @param moves  [n]: jobs to skip
 * @return n: none
 */
size_t hes_most_similar(const struct hes_assign *a, const uint8_t *moves,
			const struct hes_queues *x, const struct hes_usage *usage, uint32_t gpu,
			uint32_t to);

#endif
