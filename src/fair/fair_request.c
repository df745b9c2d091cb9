/*
 * fair_request.c - check a request, and the guaranteed slices; see fair_request.h.
 */
#include "fair/fair_request.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#define ROUNDING 1e-14 /* relative error of a guarantee as computed, and more */

static int number_check(const char *whose, size_t i, const char *what, double x,
			struct hes_err *err)
{
	if (x >= HES_FAIR_MIN_NUMBER && x <= HES_FAIR_MAX_NUMBER)
		return 0;
	return hes_fail(err, -EINVAL, "%s %zu: %s %g is outside %g to %g", whose, i, what, x,
			HES_FAIR_MIN_NUMBER, HES_FAIR_MAX_NUMBER);
}

int fair_weight_check(const char *whose, size_t i, double weight, struct hes_err *err)
{
	return number_check(whose, i, "weight", weight, err);
}

int fair_tenant_check(size_t tenant, const struct hes_fair_tenant *t, struct hes_err *err)
{
	int rc = number_check("tenant", tenant, "power", t->power_w, err);

	return rc ? rc : fair_weight_check("tenant", tenant, t->weight, err);
}

int fair_request_check(const struct hes_fair_request *r, struct hes_err *err)
{
	if (!r->policy)
		return hes_fail(err, -EINVAL, "no policy");
	if (r->interval < 1 || r->interval > HES_FAIR_MAX_INTERVAL)
		return hes_fail(err, -EINVAL,
				"an interval of %" PRIu64 " quanta is outside 1 to %" PRIu64,
				r->interval, HES_FAIR_MAX_INTERVAL);
	if (r->policy->takes_phi && !(r->phi >= 0 && r->phi <= 1))
		return hes_fail(err, -EINVAL, "phi %g is outside 0 to 1", r->phi);
	if (r->n < 1 || r->n > HES_FAIR_MAX_TENANTS)
		return hes_fail(err, -EINVAL, "%zu tenants are outside 1 to %d", r->n,
				HES_FAIR_MAX_TENANTS);
	for (size_t i = 0; i < r->n; i++) {
		int rc = fair_tenant_check(i, &r->tenants[i], err);

		if (rc)
			return rc;
	}
	return 0;
}

/* By Neumaier's compensated summation: a million claims that differ widely lose no digits. */
double fair_claim_sum(const struct hes_fair_request *r)
{
	double sum = 0, lost = 0;

	for (size_t i = 0; i < r->n; i++) {
		double w = fair_claim(r->policy, &r->tenants[i]), next = sum + w;

		lost += sum >= w ? (sum - next) + w : (w - next) + sum;
		sum = next;
	}
	return sum + lost;
}

/* The whole part of @x, which is too small or too large by rounding. */
static uint64_t whole_part(double x)
{
	double near = nearbyint(x);

	return (uint64_t)(fabs(x - near) <= ROUNDING * near ? near : floor(x));
}

void fair_guarantee(const struct hes_fair_request *r, uint64_t *slices)
{
	double sum = fair_claim_sum(r), guaranteed = (double)r->interval * fair_phi(r);

	for (size_t i = 0; i < r->n; i++) {
		uint64_t fair =
			whole_part(fair_claim(r->policy, &r->tenants[i]) * guaranteed / sum);

		slices[i] = fair < r->tenants[i].demand ? fair : r->tenants[i].demand;
	}
}
