/*
 * fair_request.h - shared by both versions of Algorithm 1: the check of a request, the guarantee, a
 * tenant's energy.
 */
#ifndef HES_FAIR_FAIR_REQUEST_H
#define HES_FAIR_FAIR_REQUEST_H

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

#endif
