/* test_accuracy.c - the errors of Table V on numbers worked by hand. */
#include <math.h>

#include "predict/accuracy.h"
#include "unit_test.h"

static void near(double a, double b)
{
	if (!(fabs(a - b) < 1e-12))
		fail_msg("%.15g is not %.15g", a, b);
}

TEST(errors_are_computed_as_in_the_paper)
{
	const double y[] = { 1, 2, 5 },
		     p[] = { 2, -7, 2, -7, 3, -7 }; /* of two outputs the first */
	struct hes_accuracy a = accuracy_measure(y, p, 2, 3);

	near(a.mae, 1);                   /* (1 + 0 + 2) / 3 */
	near(a.abs_error_pct, 300.0 / 8); /* 1 over the mean, 8 / 3 */
	near(a.rel_error_pct, 100 * (1 + 0 + 2.0 / 5) / 3);
	near(a.r2, 1 - 5.0 / (78.0 / 9)); /* squares about 8 / 3: (25 + 4 + 49) / 9 */
}

TEST(values_that_do_not_vary_have_no_r2)
{
	const double y[] = { 4, 4 }, p[] = { 4, 5 };

	near(accuracy_measure(y, p, 1, 2).r2, 0);
}

TEST(below_0_the_distance_counts_and_at_0_there_is_no_relative_error)
{
	const double y[] = { -2, -4 }, p[] = { -1, -4 }, zero[] = { 0, 1 };
	struct hes_accuracy a = accuracy_measure(y, p, 1, 2);

	near(a.abs_error_pct, 100.0 / 6);
	near(a.rel_error_pct, 25);
	assert_true(accuracy_measure(zero, p, 1, 2).rel_error_pct == INFINITY);
	near(accuracy_measure(zero, p, 1, 2).mae, 3);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
