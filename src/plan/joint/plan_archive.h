/*
 * plan_archive.h - plans of a search that no other plan dominates, with their queues.
 *
 * Constraints come first: of plans that violate them, only those with the smallest violation stay.
 * The memory is bounded: when there are too many members, half of them go, those that add least to
 * the front first.
 */
#ifndef HES_PLAN_PLAN_ARCHIVE_H
#define HES_PLAN_PLAN_ARCHIVE_H

#include "plan/assign/pareto.h"
#include "plan/timeline.h"

/** The queue of each GPU. */
struct hes_joint_solution {
	struct hes_timeline_item *items; /* [n], GPU by GPU */
	uint32_t *first;                 /* [k + 1]: where in items a GPU's queue begins */
};

struct plan_archive {
	size_t n, k;                     /* jobs, GPUs */
	struct hes_pareto front;         /* tag: slot */
	double excess;                   /* violation of the constraints by all members */
	struct hes_joint_solution slots; /* [room] of [n] items and [k + 1] firsts */
	size_t used, room;
};

void plan_archive_finish(struct plan_archive *a);

/**
 * A slot for a plan that is not dominated by a member.
 * @return 1 with @slot, which the caller writes; 0 dominated; -ENOMEM
 */
int plan_archive_offer(struct plan_archive *a, const struct hes_objectives *at, double excess,
		       struct hes_joint_solution *slot);

/** Offer all members of @from. @return 0 or -ENOMEM */
int plan_archive_merge(struct plan_archive *a, const struct plan_archive *from);

/** The plan of a member of the front, owned by @a. */
struct hes_joint_solution plan_archive_member(const struct plan_archive *a, size_t member);

/** The member with the least energy + lambda * completion time; there must be one. */
size_t plan_archive_best(const struct plan_archive *a, double lambda);

#endif
