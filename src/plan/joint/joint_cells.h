/*
 * joint_cells.h - cells of a large fleet: what each has, and the best plans found for it.
 */
#ifndef HES_PLAN_JOINT_CELLS_H
#define HES_PLAN_JOINT_CELLS_H

#include "plan/joint/joint_result.h"

/* A plan of a cell. */
struct joint_corner {
	struct hes_objectives at;
	struct hes_timeline_item *items; /* [n] of the cell, GPU by GPU; jobs numbered as in the whole */
	uint32_t             *first; /* [k + 1] */
};

struct joint_cell {
	uint32_t             *jobs, *gpus; /* numbers in the whole, rising; the owner's */
	size_t                n, k;
	struct joint_corner  *corners;     /* of the lower convex hull of its front, by rising energy */
	size_t                n_corners;
	struct hes_timeline_item *items;       /* of all corners */
	uint32_t             *first;
	double                excess;      /* what its plans miss the constraints by, as in struct joint_archive */
	struct hes_objectives knee;        /* what is balanced gains over, as in struct hes_joint; sum of completion times */
	uint64_t              evaluations;
};

/** Keep what a search of the cell found. @return 0 or -ENOMEM, the cell to be finished in either case */
int  joint_cell_keep(struct joint_cell *c, const struct hes_joint *found);
void joint_cell_finish(struct joint_cell *c);

/**
 * Plans of all cells together, a hundred or so from the most frugal to the quickest, each the best of them at its weight, the balanced one among them.
 * @param v    whose boards are all there are
 * @param out  whose archive is empty, but for the numbers of jobs and boards, and whose knee and evaluations are 0; on failure it is in part written
 * @return 0 or -ENOMEM
 */
int joint_cells_join(const struct joint_cell *v, size_t n, struct hes_joint *out);

#endif
