/*
 * fairness.c - the policies, and the fairness of slices; see heshare/fair.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "fair/slices.h"
#include "heshare/fair.h"

const struct hes_fair_policy hes_fair_policies[] = {
	{ .name = "time", .summary = "equal time for equal weights", .equal_time = true },
	{ .name = "energy", .summary = "equal energy for equal weights" },
	{ .name = "etf",
	  .summary = "a guaranteed part phi of equal time, then equal energy",
	  .takes_phi = true },
	{ .name = "etf-energy",
	  .summary = "a guaranteed part phi of equal energy, then equal time",
	  .equal_time = true,
	  .takes_phi = true },
	{ 0 }
};

const struct hes_fair_policy *hes_fair_policy_find(const char *name, struct hes_err *err)
{
	char known[64] = "";

	for (const struct hes_fair_policy *p = hes_fair_policies; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	for (const struct hes_fair_policy *p = hes_fair_policies; p->name; p++)
		hes_text_add(known, sizeof(known), ", ", "%s", p->name);
	hes_fail(err, -ENOENT, "unknown policy \"%.40s\"; known: %s", name, known);
	return NULL;
}

void hes_fair_measure(const struct hes_fair_tenant *tenants, size_t n, const uint64_t *slices,
		      struct hes_fairness *out)
{
	struct spread time = SPREAD_NONE, energy = SPREAD_NONE;

	for (size_t i = 0; i < n; i++) {
		spread_add(&time, (double)slices[i] / tenants[i].weight);
		spread_add(&energy, hes_fair_energy(&tenants[i], slices[i]) / tenants[i].weight);
	}
	*out = spread_fairness(&time, &energy);
}

double hes_fair_phi_fair(const struct hes_fair_tenant *tenants, size_t n)
{
	double weights = 0, at_a_joule = 0, most_w = 0;

	for (size_t i = 0; i < n; i++)
		most_w = greater(most_w, tenants[i].power_w);
	for (size_t i = 0; i < n; i++) {
		weights += tenants[i].weight;
		at_a_joule += tenants[i].weight * (most_w / tenants[i].power_w);
	}
	return weights / at_a_joule;
}
