/*
 * joint_archive.h - the solutions that none met dominates, with what they are.
 *
 * Where there are more of them than there is memory for, those are left out that are missed least.
 *
 * Constraints come first: of solutions that are late or over the power cap, only
 * those least so are kept.
 */
#ifndef HES_PLAN_JOINT_ARCHIVE_H
#define HES_PLAN_JOINT_ARCHIVE_H

#include "plan/joint/joint_search.h"

struct joint_archive {
	size_t                n, k;      /* jobs, GPUs */
	struct hes_pareto     front;     /* tag: slot */
	double                excess;    /* violation of the constraints by all members */
	struct hes_timeline_item *items;     /* [slot * n] */
	uint32_t             *first;     /* [slot * (k + 1)] */
	size_t                used, room; /* slots */
};

void joint_archive_finish(struct joint_archive *a);
/** Forget all members; memory stays. */
void joint_archive_clear(struct joint_archive *a);

/**
 * A slot to write a solution to, if nobody in the archive is at least as good.
 * @return 1 with @slot; 0; -ENOMEM
 */
int joint_archive_offer(struct joint_archive *a, const struct hes_objectives *at, double excess, size_t *slot);

/** Offer all of @from. @return 0 or -ENOMEM */
int joint_archive_merge(struct joint_archive *a, const struct joint_archive *from);

#endif
