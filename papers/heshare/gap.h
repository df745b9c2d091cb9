/*
 * gap.h - trade-offs between two adjacent assignments of a front, found by moving jobs.
 *
 * Path relinking (Glover, Laguna, Marti, Control and Cybernetics 29(3), 2000): from each end to the
 * other, move one by one the jobs on different GPUs. Then Pareto local search (Paquete,
 * Chiarandini, Stuetzle, 2004): from each trade-off, judge all moves of one job and all swaps of
 * two (marginals.h), and keep what is not dominated. A solution is stored as its moves from an end.
 */
#ifndef HES_ASSIGN_GAP_H
#define HES_ASSIGN_GAP_H

#include "marginals.h"
#include "plan/assign/queues.h"

struct hes_gap_move {
	uint32_t job, gpu;
};

/** A solution: its parent with one or two jobs moved. */
struct hes_gap_node {
	uint32_t parent; /* the two ends: themselves */
	uint32_t n_moves;
	struct hes_gap_move moves[2];
	struct hes_objectives at;
};

struct hes_gap {
	const uint32_t
		*ends[2]; /* [n] each: the GPU of every job; the low-energy end first; borrowed */
	uint64_t limit;   /* moves to judge */
	uint64_t evaluations;
	struct hes_gap_node *nodes; /* owned; the first two: the ends */
	size_t n_nodes, room;
	struct hes_pareto front; /* tag: node; ends included unless dominated */
};

/** Memory of one thread. */
struct hes_gap_room {
	const struct hes_assign *a;
	struct hes_queues *queues;
	bool wide; /* too large for marginals: no local search */
	struct hes_marginals marginals;
	uint32_t *gpu_of;            /* [n] */
	struct hes_gap_move *wanted; /* [n] moves that lead to the other end */
	double *cost;                /* [n] what each of them would change at the gap's weights */
	uint32_t *first;             /* [k + 1] */
	uint32_t *jobs;              /* [n] GPU by GPU */
	double *swap_cost;  /* [gpu * n + job]: a swap costs at least the sum of both values */
	double *least_swap; /* [gpu * k + other]: the least over the jobs on a GPU, to another */
};

/** @param most_marginals  limit of jobs times GPUs, and of pairs of GPUs. @return 0 or -ENOMEM,
 * everything freed */
int hes_gap_room_init(struct hes_gap_room *r, const struct hes_assign *a, size_t most_marginals);
void hes_gap_room_finish(struct hes_gap_room *r);

/** @param g  ends and limit set, the rest 0; always call hes_gap_finish(). @return 0 or -ENOMEM */
int hes_gap_search(struct hes_gap *g, struct hes_gap_room *r);
void hes_gap_finish(struct hes_gap *g);

/** The assignment of a solution. @param gpu_of  [n] */
void hes_gap_assignment(const struct hes_gap *g, const struct hes_assign *a, uint32_t node,
			uint32_t *gpu_of);

#endif
