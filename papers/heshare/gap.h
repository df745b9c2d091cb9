/*
 * gap.h - trade-offs between two assignments that are neighbours on a
 * front, found by moving jobs.
 *
 * Path relinking (Glover, Laguna, Marti, Control and Cybernetics 29(3), 2000): the jobs that the two have on different
 * GPUs are moved one by one, from either end to the other. Then a Pareto local search (Paquete, Chiarandini, Stuetzle, 2004):
 * of every trade-off kept, all moves of one job and all changes of places of two are judged (marginals.h), and what nothing
 * dominates is kept. Solutions are told by their moves from an end.
 */
#ifndef HES_ASSIGN_GAP_H
#define HES_ASSIGN_GAP_H

#include "marginals.h"
#include "plan/assign/queues.h"

struct hes_gap_move {
	uint32_t job, gpu;
};

/** A solution: another one with one job moved, or two. */
struct hes_gap_node {
	uint32_t            parent;  /* of the two ends: themselves */
	uint32_t            n_moves;
	struct hes_gap_move moves[2];
	struct hes_objectives at;
};

struct hes_gap {
	const uint32_t      *ends[2];    /* [n] each: the GPU of every job; the frugal end first; borrowed */
	uint64_t             limit;      /* moves to judge */
	uint64_t             evaluations;
	struct hes_gap_node *nodes;      /* owned; the first two: the ends */
	size_t               n_nodes, room;
	struct hes_pareto    front;      /* tag: node; ends included unless dominated */
};

/** What a thread works with, gap after gap. */
struct hes_gap_room {
	const struct hes_assign *a;
	struct hes_queues       *queues;
	bool                     wide;       /* there is no room for marginals: no local search */
	struct hes_marginals     marginals;
	uint32_t                *gpu_of;     /* [n] */
	struct hes_gap_move     *wanted;     /* [n] moves that lead to the other end */
	double                  *cost;       /* [n] what each of them would change at the gap's weights */
	uint32_t                *first;      /* [k + 1] */
	uint32_t                *jobs;       /* [n] GPU by GPU */
	double                  *swap_cost;  /* [gpu * n + job]: a change of places costs what both have here, at least */
	double                  *least_swap; /* [gpu * k + other]: the least of the jobs on a GPU, to another */
};

/** @param most_marginals  more values than this are not kept, of jobs on GPUs or of pairs of GPUs. @return 0 or -ENOMEM, everything freed */
int  hes_gap_room_init(struct hes_gap_room *r, const struct hes_assign *a, size_t most_marginals);
void hes_gap_room_finish(struct hes_gap_room *r);

/** @param g  ends and limit are set, the rest 0; hes_gap_finish it either way. @return 0 or -ENOMEM */
int  hes_gap_search(struct hes_gap *g, struct hes_gap_room *r);
void hes_gap_finish(struct hes_gap *g);

/** Where every job of a solution is. @param gpu_of  [n] */
void hes_gap_assignment(const struct hes_gap *g, const struct hes_assign *a, uint32_t node, uint32_t *gpu_of);

#endif
