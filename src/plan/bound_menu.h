/*
 * bound_menu.h - the sets that a bound (bound.h) is over: those that memos hold rates of, less those
 * that another one of the same jobs outdoes, being as quick for each of them at no more power.
 */
#ifndef HES_PLAN_BOUND_MENU_H
#define HES_PLAN_BOUND_MENU_H

#include "plan/problem.h"
#include "plan/batch/sharing.h"

struct bound_set {
	uint32_t type, n;
	uint16_t kind[HES_SHARE_MOST];
	double   rate[HES_SHARE_MOST];  /* iterations in a unit of time */
	double   power;                 /* units of energy in one of time */
};

struct bound_menu {
	struct bound_set *v;
	size_t            n, room;
	uint32_t         *first;  /* [kinds + 1]: where a kind's jobs begin */
	uint32_t         *jobs;   /* [n] by kind */
	double           *least;  /* [n] time of each job at its quickest */
};

/** @return 0 or -ENOMEM; to be finished either way */
int  bound_menu_init(struct bound_menu *m, const struct hes_problem *p, struct hes_rates *const *memos, size_t n_memos,
		     double time_unit_us, double energy_unit_mj);
/** One more set. @return 0 or -ENOMEM */
int  bound_menu_add(struct bound_menu *m, const struct bound_set *set);
void bound_menu_finish(struct bound_menu *m);

#endif
