/*
 * slices.h - what the files of this folder share: the check of a request, the guarantee, slices in
 * memory of the caller's, and how equal tenants are.
 */
#ifndef HES_FAIR_SLICES_H
#define HES_FAIR_SLICES_H

#include "base/clamp.h"
#include "heshare/fair.h"

/** @param whose  "tenant" or "user" @i. @return 0; -EINVAL out of range */
int fair_weight_check(const char *whose, size_t i, double weight, struct hes_err *err);

/** @return 0; -EINVAL its power or weight is out of range */
int fair_tenant_check(size_t tenant, const struct hes_fair_tenant *t, struct hes_err *err);

/** @return 0; -EINVAL a number out of range */
int fair_request_check(const struct hes_fair_request *r, struct hes_err *err);

/** Line 1 of Algorithm 1: slices that are guaranteed, demands kept; [n]. They sum to T at most. */
void fair_guarantee(const struct hes_fair_request *r, uint64_t *slices);

/** What a guarantee is in proportion to: the weight; where equal energy is guaranteed, the time
 * that it takes the tenant. */
static inline double fair_claim(const struct hes_fair_policy *p, const struct hes_fair_tenant *t)
{
	return p->takes_phi && p->equal_time ? t->weight / t->power_w : t->weight;
}

/** Sum of all claims. */
double fair_claim_sum(const struct hes_fair_request *r);

/** The part of the claims that is guaranteed. */
static inline double fair_phi(const struct hes_fair_request *r)
{
	return r->policy->takes_phi ? r->phi : 0;
}

/** Quanta that an energy of 1 buys, divided by the weight; a time of 1 where the policy equalises
 * that. */
static inline double fair_rate(const struct hes_fair_request *r, const struct hes_fair_tenant *t)
{
	return t->weight / (r->policy->equal_time ? 1 : t->power_w);
}

/** Lines 2 and 7: energy of a slice divided by the weight; time where the policy equalises that. */
static inline double fair_energy(const struct hes_fair_request *r, size_t i, uint64_t slice)
{
	const struct hes_fair_tenant *t = &r->tenants[i];

	return (r->policy->equal_time ? (double)slice : hes_fair_energy(t, slice)) / t->weight;
}

/** Bytes that fair_slices_fill() needs for @n tenants. */
size_t fair_slices_room(size_t n);

/**
 * As hes_fair_slices() for a request that was checked, without allocating.
 * @param room fair_slices_room(r->n) bytes, aligned as malloc() does
 */
void fair_slices_fill(const struct hes_fair_request *r, void *room, uint64_t *slices);

/**
 * Mean power of the tenants in a slice of @slice quanta, W, where quanta are infinitely short: no
 * slice is rounded. The interval of @r does not count.
 * @param room fair_slices_room(r->n) bytes
 */
double fair_mean_power(const struct hes_fair_request *r, double slice, void *room);

/** The number in the middle of the doubles between two that are not negative. */
double fair_middle(double low, double high);

/** Bytes that fair_users_fill() needs for @n tenants of @n_users users. */
size_t fair_users_room(size_t n, size_t n_users);

/**
 * As hes_fair_slices_of_users() for a request that was checked, without allocating.
 * @param room        fair_users_room(r->n, n_users) bytes, aligned as malloc() does
 * @param user_slices [n_users]
 */
void fair_users_fill(const struct hes_fair_request *r, const struct hes_fair_user *users,
		     size_t n_users, void *room, uint64_t *user_slices, uint64_t *slices);

/** The least and the greatest of what tenants had (section 6.1). */
struct spread {
	double least, greatest;
};

#define SPREAD_NONE      \
	{                \
		1e300, 0 \
	}

static inline void spread_add(struct spread *s, double x)
{
	s->least = lesser(s->least, x);
	s->greatest = greater(s->greatest, x);
}

static inline struct hes_fairness spread_fairness(const struct spread *time,
						  const struct spread *energy)
{
	const double t = time->greatest > 0 ? time->least / time->greatest : 1,
		     e = energy->greatest > 0 ? energy->least / energy->greatest : 1;

	return (struct hes_fairness){ t, e, lesser(t, e) };
}

#endif
