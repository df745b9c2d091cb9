/*
 * slices_plain.c - Algorithm 1 of the paper line by line; see slices_plain.h.
 */
#include "slices_plain.h"

#include <errno.h>
#include <stdlib.h>

#include "fair/slices.h"

/* Line 5. @return the tenant with the least energy whose demand is not met, the first of several;
 * n: there is none */
static size_t least_energy(const struct hes_fair_request *r, const uint64_t *slices,
			   const double *energy)
{
	size_t k = r->n;

	for (size_t i = 0; i < r->n; i++)
		if (slices[i] < r->tenants[i].demand && (k == r->n || energy[i] < energy[k]))
			k = i;
	return k;
}

/* Lines 2 to 9; line 1 is done. */
static void assign_quanta(const struct hes_fair_request *r, uint64_t *slices, double *energy,
			  fair_assigned_fn *assigned, void *ctx)
{
	uint64_t remain = r->interval;

	for (size_t i = 0; i < r->n; i++) {
		energy[i] = fair_energy(r, i, slices[i]);
		remain -= slices[i];
	}
	for (; remain; remain--) {
		size_t k = least_energy(r, slices, energy);

		if (k == r->n)
			break;
		slices[k] += 1;
		energy[k] = fair_energy(r, k, slices[k]);
		if (assigned)
			assigned(k, slices, ctx);
	}
}

int fair_slices_plain(const struct hes_fair_request *r, uint64_t *slices,
		      fair_assigned_fn *assigned, void *ctx, struct hes_err *err)
{
	int rc = fair_request_check(r, err);
	double *energy = rc ? NULL : malloc(r->n * sizeof(*energy));

	if (rc)
		return rc;
	if (!energy)
		return hes_fail(err, -ENOMEM, "out of memory for %zu tenants", r->n);
	fair_guarantee(r, slices);
	assign_quanta(r, slices, energy, assigned, ctx);
	free(energy);
	return 0;
}
