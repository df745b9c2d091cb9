/*
 * fairness_equations.c - Eq. 2 and Eq. 11 as they are printed, for the example of section 4.3: what
 * README.md says of them.
 */
#include <math.h>

#include "fairness_study.h"

#define TENANTS 3
#define QUANTA  30.0

/* Eq. 2. @return the sum of the slices */
static double equation_2(const double *power_w, size_t n, double *slice)
{
	double power = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		power += power_w[i];
	for (size_t i = 0; i < n; i++) {
		slice[i] = (1 - power_w[i] / power) * QUANTA;
		sum += slice[i];
	}
	return sum;
}

/* Eq. 4, 6, 7, 9 to 12. @return the sum of the slices */
static double equation_12(const double *power_w, size_t n, double phi)
{
	double slice[TENANTS], unfair[TENANTS], total = 0, sum = 0;

	equation_2(power_w, n, slice);
	for (size_t i = 0; i < n; i++) {
		unfair[i] = phi * (power_w[i] * QUANTA / (double)n - power_w[i] * slice[i]);
		total += unfair[i];
	}
	for (size_t i = 0; i < n; i++)
		sum += phi * QUANTA / (double)n + (1 - phi) * slice[i] - unfair[i] / total;
	return sum;
}

int equations(struct study *s, struct hes_err *err)
{
	static const double power_w[TENANTS] = { 2, 3, 8 };
	double slice[TENANTS];

	(void)err;
	printf("\nEq. 2 and Eq. 11 as printed, for 2, 3 and 8 W and T = %.0f\n", QUANTA);
	for (size_t n = 2; n <= TENANTS; n++) {
		const double sum = equation_2(power_w, n, slice);

		printf("  Eq. 2, %zu tenants: %5.2f %5.2f", n, slice[0], slice[1]);
		printf(n == 2 ? "      " : " %5.2f", slice[2]);
		printf("; the sum is %.0f T, with Eq. 11 and 12 at phi 0.7 %.2f T\n", sum / QUANTA,
		       equation_12(power_w, n, STUDY_PHI) / QUANTA);
		study_must(s, "-", "Eq. 2 sums to (N - 1) T, which is T for two tenants alone",
			   fabs(sum - (double)(n - 1) * QUANTA) < 1e-9);
	}
	return 0;
}
