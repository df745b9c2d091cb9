/*
 * fairness_mirror.c - the mirror of ETF: equal time with a guaranteed part phi of equal energy, as
 * section 4.1 says in its last sentence; limits of the policy etf-energy.
 */
#include <math.h>

#include "fairness_study.h"

#define STEPS 20 /* of phi */

/* Joules of equal energy, for each unit of weight, in a second. */
static double equal_energy_w(const struct fair_replay_tenant *t, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += t[i].weight / t[i].power_w;
	return 1 / sum;
}

/* Up to it time is equal: the tenant with the lowest power gets its guarantee and no more. */
static double phi_fair(const struct fair_replay_tenant *t, size_t n)
{
	double least = INFINITY, weights = 0;

	for (size_t i = 0; i < n; i++) {
		least = fmin(least, t[i].power_w);
		weights += t[i].weight;
	}
	return least / weights / equal_energy_w(t, n);
}

static int pair_mirror(struct study *s, const char *what, const struct fair_replay_tenant t[2],
		       struct hes_err *err)
{
	const double limit = phi_fair(t, 2), each_j = equal_energy_w(t, 2) * (double)s->seconds;
	bool fair = true, guaranteed = true, unfair = true;
	struct shares a, before = { .f.time = 2 };
	int rc = 0;

	for (int k = 0; k <= STEPS && !rc; k++) {
		const double phi = (double)k / STEPS;

		rc = study_replay(s, STUDY_ETF_ENERGY, phi, t, 2, NULL, &a, err);
		fair &= phi > limit || a.time_gap_s <= a.slice_s;
		for (size_t i = 0; i < 2; i++)
			guaranteed &= a.u[i].energy_j / t[i].weight >= phi * each_j - a.slice_j;
		unfair &= phi < limit + 0.05 || a.f.time < before.f.time;
		before = a;
	}
	if (rc)
		return rc;
	printf("  %s: time is fair up to phi %.3f; at phi 1, F_E is %.3f\n", what, limit,
	       a.f.energy);
	study_must(s, "-", "up to there, time is fair to within one slice", fair);
	study_must(s, "-", "above it, time is less fair with each step of phi", unfair);
	study_must(s, "-", "each has the part phi of equal energy, to within one slice",
		   guaranteed);
	study_must(s, "-", "at phi = 1, energy is fair to within one slice",
		   a.energy_gap_j <= a.slice_j);
	return 0;
}

int mirror(struct study *s, struct hes_err *err)
{
	struct fair_replay_tenant t[2];
	int rc;

	puts("\nThe mirror (end of section 4.1): equal time, with a guaranteed part phi of equal "
	     "energy");
	study_pair(s, 1 / MOBILENET_PART, t);
	rc = pair_mirror(s, "A1 and A2 of Figure 7", t, err);
	t[0].weight = 2;
	return rc ? rc : pair_mirror(s, "A1 with twice the weight", t, err);
}
