/*
 * slices.c - Algorithm 1 of the paper without its loop over all quanta; slices_plain.c is the
 * definition.
 *
 * The loop gives each quantum to the tenant with the least energy. A tenant with s quanta has the
 * energy e(s) = s P / w, which grows with s. So the loop takes, of all quanta of all tenants, the T
 * - sum of guarantees with the least (e, index). All quanta below an energy level are therefore
 * among its first ones. This file finds a level with nearly as many quanta as remain, and not more.
 * The last few are assigned in the order of the loop.
 *
 * Invariant: the level decides only how many quanta are left to assign. The same rounded e(s) as
 * in the loop decides which quanta are below it, so that the result equals that of the loop bit for
 * bit.
 */
#include "fair/slices.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING    1e-14 /* relative error of a guarantee as computed, and more */
#define MOST_PROBES 300   /* every third halves the doubles that are left of 2^64 */
#define EXACT       1e-12 /* of a slice that is not rounded */

/* --- requests and guarantees --- */

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

/* --- the search for a level --- */

struct share {
	double rate;     /* quanta that an energy of 1 buys */
	double low, cap; /* the guarantee; the demand, at most T */
	uint64_t slice;  /* quanta so far */
	double energy;   /* of them; INFINITY: the tenant takes no more */
};

struct search {
	const struct hes_fair_request *r;
	struct share *shares; /* [n] */
	uint64_t remain;      /* quanta not assigned */
};

/* Quanta of all tenants below a level where that is taken as continuous, each tenant's moved by
 * @offset. */
static double quanta_below(const struct search *s, double level, double offset, double *slope)
{
	double sum = 0, rates = 0;

	for (size_t i = 0; i < s->r->n; i++) {
		const struct share *a = &s->shares[i];
		double at = level * a->rate + offset, kept = clamp(at, a->low, a->cap);

		sum += kept;
		rates += at == kept ? a->rate : 0;
	}
	*slope = rates;
	return sum;
}

double fair_middle(double low, double high)
{
	uint64_t a, b;
	double out;

	memcpy(&a, &low, sizeof(a));
	memcpy(&b, &high, sizeof(b));
	a += (b - a) / 2;
	memcpy(&out, &a, sizeof(out));
	return out;
}

/* A level with @target quanta below it, or nearly so, @within: Newton's method on a rising
 * piecewise linear function, in a bracket. */
static double level_find(const struct search *s, double target, double offset, double within)
{
	double low = 0, high = 1e30, level = 0, slope, next;

	for (size_t i = 0; i < s->r->n; i++)
		level += s->shares[i].rate;
	level = target / level;
	for (int k = 1; k <= MOST_PROBES; k++) {
		double sum = quanta_below(s, level, offset, &slope);

		if (fabs(sum - target) < within)
			return level;
		if (sum > target)
			high = level;
		else
			low = level;
		next = slope > 0 && k % 3 ? level + (target - sum) / slope : fair_middle(low, high);
		if (!(next > low && next < high))
			next = fair_middle(low, high);
		if (next == low || next == high)
			break;
		level = next;
	}
	return low;
}

/* Quanta of a tenant before which its energy is below the level. */
static uint64_t slice_below(const struct search *s, size_t i, double level)
{
	const struct share *a = &s->shares[i];
	uint64_t low = (uint64_t)a->low, cap = (uint64_t)a->cap,
		 at = (uint64_t)clamp(level * a->rate, a->low, a->cap);

	while (at < cap && fair_energy(s->r, i, at) < level)
		at++;
	while (at > low && fair_energy(s->r, i, at - 1) >= level)
		at--;
	return at;
}

/* Deal out all quanta below the level, unless they are more than there are. */
static bool level_take(struct search *s, double level)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->r->n && sum <= s->r->interval; i++)
		sum += s->shares[i].slice = slice_below(s, i, level);
	s->remain = s->r->interval - sum;
	return sum <= s->r->interval;
}

static void share_meter(struct search *s, size_t i)
{
	struct share *a = &s->shares[i];

	a->energy = a->slice < (uint64_t)a->cap ? fair_energy(s->r, i, a->slice) : INFINITY;
}

/* Lines 4 to 9 of Algorithm 1: the next quantum goes to the least energy. */
static void quanta_deal(struct search *s)
{
	for (size_t i = 0; i < s->r->n; i++)
		share_meter(s, i);
	for (; s->remain; s->remain--) {
		size_t least = 0;

		for (size_t i = 1; i < s->r->n; i++)
			if (s->shares[i].energy < s->shares[least].energy)
				least = i;
		if (isinf(s->shares[least].energy))
			return;
		s->shares[least].slice++;
		share_meter(s, least);
	}
}

/* Line 1, and what each tenant can get. @return the sum of the most that tenants can get */
static double shares_start(struct search *s, uint64_t *slices)
{
	double most = 0;

	fair_guarantee(s->r, slices);
	for (size_t i = 0; i < s->r->n; i++) {
		const struct hes_fair_tenant *t = &s->r->tenants[i];

		s->shares[i] = (struct share){
			.rate = fair_rate(s->r, t),
			.low = (double)slices[i],
			.cap = (double)(t->demand < s->r->interval ? t->demand : s->r->interval),
		};
		most += s->shares[i].cap;
	}
	return most;
}

/* Half a quantum is what whole quanta exceed the continuous ones by on average; a whole one is the
 * most. */
static void search_run(struct search *s, uint64_t *slices)
{
	const double target = (double)s->r->interval, margin = sqrt((double)s->r->n);

	if (shares_start(s, slices) <= target)
		level_take(s, INFINITY);
	else if (!level_take(s, level_find(s, greater(target - margin, 0), 0.5, 0.5)) &&
		 !level_take(s, level_find(s, target, 1, 0.5)))
		level_take(s, 0);
	quanta_deal(s);
	for (size_t i = 0; i < s->r->n; i++)
		slices[i] = s->shares[i].slice;
}

size_t fair_slices_room(size_t n)
{
	return n * sizeof(struct share);
}

void fair_slices_fill(const struct hes_fair_request *r, void *room, uint64_t *slices)
{
	struct search s = { .r = r, .shares = room };

	search_run(&s, slices);
}

double fair_mean_power(const struct hes_fair_request *r, double slice, void *room)
{
	struct search s = { .r = r, .shares = room };
	const double claims = fair_claim_sum(r), first_w = r->tenants[0].power_w;
	double level = INFINITY, most = 0, sum = 0, above = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct hes_fair_tenant *t = &r->tenants[i];
		double fair = fair_phi(r) * slice * fair_claim(r->policy, t) / claims;
		struct share *a = &s.shares[i];

		a->rate = fair_rate(r, t);
		a->cap = lesser((double)t->demand, slice);
		a->low = lesser(fair, a->cap);
		most += a->cap;
	}
	if (slice < most)
		level = level_find(&s, slice, 0, slice * EXACT);
	/* Differences to one power: where all are equal, their mean is that number. */
	for (size_t i = 0; i < r->n; i++) {
		const struct share *a = &s.shares[i];
		double kept = clamp(level * a->rate, a->low, a->cap);

		sum += kept;
		above += kept * (r->tenants[i].power_w - first_w);
	}
	return sum > 0 ? first_w + above / sum : first_w;
}

int hes_fair_slices(const struct hes_fair_request *r, uint64_t *slices, struct hes_err *err)
{
	int rc = fair_request_check(r, err);
	void *room = rc ? NULL : malloc(fair_slices_room(r->n));

	if (rc)
		return rc;
	if (!room)
		return hes_fail(err, -ENOMEM, "out of memory for %zu tenants", r->n);
	fair_slices_fill(r, room, slices);
	free(room);
	return 0;
}
