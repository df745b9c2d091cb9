/*
 * quantity.c - times and energies as text; see quantity.h. A value that rounds up to the next unit
 * is printed in it.
 */
#include "base/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "9.47", "41.2", "350"; 0 is "0". */
static void put_three_digits(char out[HES_QUANTITY_MAX], double v, const char *unit)
{
	snprintf(out, HES_QUANTITY_MAX, "%.*f %s",
		 v < 0.005   ? 0
		 : v < 9.995 ? 2
		 : v < 99.95 ? 1
			     : 0,
		 v, unit);
}

static void put_two_units(char out[HES_QUANTITY_MAX], long long n, int in_one, const char *large,
			  const char *small)
{
	if (n % in_one)
		snprintf(out, HES_QUANTITY_MAX, "%lld %s %lld %s", n / in_one, large, n % in_one,
			 small);
	else
		snprintf(out, HES_QUANTITY_MAX, "%lld %s", n / in_one, large);
}

static void put_time(char out[HES_QUANTITY_MAX], double s)
{
	if (s > 0 && s < 0.9995)
		put_three_digits(out, s * 1e3, "ms");
	else if (s < 59.95)
		put_three_digits(out, s, "s");
	else if (s < 3599.5)
		put_two_units(out, llround(s), 60, "min", "s");
	else if (s < 48 * 3600.0 - 30)
		put_two_units(out, llround(s / 60), 60, "h", "min");
	else
		put_two_units(out, llround(s / 3600), 24, "d", "h");
}

static void put_energy(char out[HES_QUANTITY_MAX], double j)
{
	static const char *const units[] = { "J", "kJ", "MJ", "GJ", "TJ" };
	size_t i = 0;

	for (; j >= 999.5 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		j /= 1e3;
	put_three_digits(out, j, units[i]);
}

static const char *signed_text(char out[HES_QUANTITY_MAX], double v, void (*put)(char *, double))
{
	strcpy(out, "-");
	if (isfinite(v) && fabs(v) < 1e18)
		put(out + (v < 0), fabs(v));
	return out;
}

const char *hes_time_text(char out[HES_QUANTITY_MAX], double us)
{
	return signed_text(out, us * 1e-6, put_time);
}

const char *hes_energy_text(char out[HES_QUANTITY_MAX], double mj)
{
	return signed_text(out, mj * 1e-3, put_energy);
}
