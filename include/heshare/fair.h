/*
 * fair.h - share the time of one GPU between tenants, fair in time and in energy.
 *
 * Energy-Time Fairness (Liang et al., SEC '23; below "the paper"). An interval of T quanta is
 * divided: each tenant gets a slice, a whole number of quanta. phi sets the balance. Each tenant is
 * guaranteed the part phi of its fair share of the time. The rest goes, quantum by quantum, to the
 * tenant with the least energy so far.
 *
 * Powers must be measured, not reported by the tenants: a tenant that reports less power than it
 * draws would get more time.
 *
 * The caller owns an array of tenants; a tenant is named by its index there. All functions are
 * pure: no clock, file or random number, the same result on every machine. Any number of threads
 * may call them at the same time.
 */
#ifndef HESHARE_FAIR_H
#define HESHARE_FAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

#define HES_FAIR_MAX_TENANTS  10000
#define HES_FAIR_MAX_INTERVAL UINT64_C(1000000000000) /* quanta */
#define HES_FAIR_MIN_NUMBER   1e-6                    /* of powers and weights */
#define HES_FAIR_MAX_NUMBER   1e6
#define HES_FAIR_BACKLOGGED   UINT64_MAX /* demand of a tenant that always has work */

/** A tenant that has work on the GPU. Leave tenants without work out of the array, since every
 * weight in it counts. */
struct hes_fair_tenant {
	double power_w;  /* P_i, W while it runs: HES_FAIR_MIN_NUMBER..HES_FAIR_MAX_NUMBER */
	double weight;   /* w_i, its part relative to the other weights; the same range; 1 unless
			    tenants differ */
	uint64_t demand; /* d_i, quanta that it can use at most; HES_FAIR_BACKLOGGED: no limit */
};

/** What a policy makes equal between tenants, each relative to its weight. */
struct hes_fair_policy {
	const char *name;
	const char *summary;
	bool equal_time; /* after the guarantee, the next quantum goes to the least time, not to the
			    least energy */
	bool takes_phi;  /* of the request; false: phi is 0. What is guaranteed is then a part of
			    equal time, with equal_time of equal energy */
};

/**
 * Policies; ends with a row whose name is NULL.
 *   time    Eq. 5: equal time for equal weights, to within a quantum; unused time goes to the
 * others in the same way energy  Eq. 3: equal energy for equal weights: Algorithm 1 with phi = 0
 *   etf     Eq. 12: Algorithm 1 with the phi of the request
 *   etf-energy  end of section 4.1, the mirror of etf: the part phi of the slice of Eq. 3 is
 * guaranteed, and so this part of equal energy; the rest goes to the tenant with the least time
 */
extern const struct hes_fair_policy hes_fair_policies[];

/** @return NULL if there is no such policy; @err then lists the names */
const struct hes_fair_policy *hes_fair_policy_find(const char *name, struct hes_err *err);

struct hes_fair_request {
	const struct hes_fair_policy *policy;
	uint64_t interval;                     /* T, quanta: 1..HES_FAIR_MAX_INTERVAL */
	double phi;                            /* 0..1; checked only where the policy takes it */
	const struct hes_fair_tenant *tenants; /* [n] */
	size_t n;                              /* 1..HES_FAIR_MAX_TENANTS */
};

/**
 * Slices of an interval (Algorithm 1).
 *
 * The guarantee of Eq. 7 is rounded down to whole quanta. A product within a few rounding errors
 * below a whole number counts as that number, so that phi = 0.7 of 30 quanta are 21. Of tenants
 * with equal energy the one with the lowest index is next. Slices sum to T, or to less if all
 * demands are met. Time is about O(n log n) and does not depend on T.
 * @param slices [n], quanta, in the order of the tenants; written only on success
 * @return 0; -EINVAL a number out of range, with the tenant's index; -ENOMEM
 */
int hes_fair_slices(const struct hes_fair_request *r, uint64_t *slices, struct hes_err *err);

/** A user, who has one or more of the tenants. */
struct hes_fair_user {
	double weight; /* that the administrator sets; the range of a tenant's weight */
	size_t n;      /* tenants; 1 at least. They follow those of the user before it */
};

/**
 * Slices of tenants that belong to users: Algorithm 1, twice. It divides the interval between the
 * users, and then the slice of each user between its tenants.
 *
 * To Algorithm 1 a user is a tenant with the user's weight, the sum of its tenants' demands, and
 * the time-weighted mean of their powers. The mean depends on the slices of the tenants, and they
 * on the slice of the user. It is taken where quanta are infinitely short. There the slices of
 * tenants that always have work are in proportion to their user's slice. So the mean does not
 * depend on it, and is computed first. With demands it does. But no tenant's slice falls when its
 * user's slice grows, so that the user's energy rises with the slice. Hence there is one level of
 * energy up to which users can be filled with the interval; bisection finds it, and the means are
 * those of the slices there (policy etf-energy: of the slices of Eq. 3).
 *
 * With one user, or with one tenant for each user, slices are those of hes_fair_slices().
 * @param users  [n_users], in the order of the tenants
 * @param slices [n] of tenants, quanta; written only on success
 * @return 0; -EINVAL a number out of range, or the users have more or fewer tenants than there are;
 * -ENOMEM
 */
int hes_fair_slices_of_users(const struct hes_fair_request *r, const struct hes_fair_user *users,
			     size_t n_users, uint64_t *slices, struct hes_err *err);

/** Energy of a slice (Eq. 13), W times quanta: joules where a quantum is a second. Not divided by
 * the weight. */
static inline double hes_fair_energy(const struct hes_fair_tenant *t, uint64_t slice)
{
	return (double)slice * t->power_w;
}

/** How equal slices are (section 6.1), 0..1, 1 is equal. Time and energy are divided by the
 * tenants' weights. */
struct hes_fairness {
	double time;   /* F_T: least time / greatest time */
	double energy; /* F_E: least energy / greatest energy */
	double system; /* F_S: the lesser of both */
};

/**
 * F_T, F_E and F_S. All tenants count, those with a small demand too. Slices that are all 0 count
 * as equal.
 * @param tenants [n], n at least 1, in the ranges of struct hes_fair_tenant
 * @param slices  [n], any
 */
void hes_fair_measure(const struct hes_fair_tenant *tenants, size_t n, const uint64_t *slices,
		      struct hes_fairness *out);

/**
 * phi_fair (Eq. 15): the greatest phi at which energy can still be equal, in (0, 1]; demands do not
 * count.
 *
 * At phi_fair, the tenant with the highest power gets only its guarantee: sum of w / (P_max * sum
 * of w / P).
 * @param tenants [n], n at least 1, in the ranges of struct hes_fair_tenant
 */
double hes_fair_phi_fair(const struct hes_fair_tenant *tenants, size_t n);

#endif
