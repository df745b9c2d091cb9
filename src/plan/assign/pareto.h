/*
 * pareto.h - a set of trade-offs, none of which is at least as good as
 * another in both energy and completion time.
 *
 * Kept sorted by rising energy, hence by falling completion time. Of equal
 * points the first stays, so the set depends on the order of insertion only
 * in which tag stands for a point.
 */
#ifndef HES_ASSIGN_PARETO_H
#define HES_ASSIGN_PARETO_H

#include <stddef.h>
#include <stdint.h>

/** What stage 1 and stage 2 minimise. */
struct hes_objectives {
	double energy_mj;  /* busy energy */
	double jct_us;     /* sum or mean over the jobs, as the owner of the set has it */
};

struct hes_pareto_point {
	struct hes_objectives at;
	uint64_t              tag; /* the owner's: which solution this is */
};

struct hes_pareto {
	struct hes_pareto_point *v;
	size_t                   n, room;
};

void hes_pareto_free(struct hes_pareto *p);
/** @return 1 inserted, and what it dominates removed; 0 a member is at least as good in both; -ENOMEM */
int hes_pareto_insert(struct hes_pareto *p, const struct hes_objectives *at, uint64_t tag);
/**
 * Leave out again and again the member that is missed least, the ends never, until @most are left, 2 or more: that without
 * which the least area is lost up to its neighbours' greater energy and time; of equal ones the first.
 * @return 0; -ENOMEM: the set is as it was
 */
int hes_pareto_thin(struct hes_pareto *p, size_t most);
/**
 * The members that are best at some weight: the corners of the lower convex hull.
 * @param out  their places, room for n
 * @return how many
 */
size_t hes_pareto_hull(const struct hes_pareto *p, size_t *out);
/** The member nearest the ideal point once both objectives are scaled to the set's range; n > 0. */
size_t hes_pareto_knee(const struct hes_pareto *p);
/**
 * Area dominated up to a reference point, as a fraction of the rectangle from the origin to it: 0 to 1, of no member 0.
 * A member at or beyond the reference in either objective adds nothing.
 * @param reference  both above 0; members are not below 0
 */
double hes_pareto_hypervolume(const struct hes_pareto *p, const struct hes_objectives *reference);

#endif
