/*
 * pareto.h - a set of trade-offs: no member is at least as good as another in both energy and
 * completion time.
 *
 * Sorted by rising energy, so by falling completion time. Among equal points the first stays.
 */
#ifndef HES_ASSIGN_PARETO_H
#define HES_ASSIGN_PARETO_H

#include <stddef.h>
#include <stdint.h>

/** The two objectives of planning. */
struct hes_objectives {
	double energy_mj; /* busy energy */
	double jct_us;    /* sum or mean over the jobs, as the owner of the set defines */
};

struct hes_pareto_point {
	struct hes_objectives at;
	uint64_t tag; /* the owner's name of the solution */
};

struct hes_pareto {
	struct hes_pareto_point *v;
	size_t n;
};

void hes_pareto_free(struct hes_pareto *p);
/** @return 1 inserted, and what it dominates removed; 0 a member is at least as good in both;
 * -ENOMEM */
int hes_pareto_insert(struct hes_pareto *p, const struct hes_objectives *at, uint64_t tag);
/**
 * Remove members until @most are left, 2 or more. Each time the member goes whose removal loses the
 * least area, up to the energy and the time of the members next to it; among equals the first. The
 * ends stay.
 */
void hes_pareto_thin(struct hes_pareto *p, size_t most);
/** The member nearest the ideal point, both objectives scaled to the set's range; n > 0. */
size_t hes_pareto_knee(const struct hes_pareto *p);
/**
 * Area dominated up to a reference point, as a fraction of the rectangle from the origin to it. A
 * member at or above the reference in either objective adds nothing.
 * @param reference  both above 0; members are not below 0
 */
double hes_pareto_hypervolume(const struct hes_pareto *p, const struct hes_objectives *reference);

#endif
