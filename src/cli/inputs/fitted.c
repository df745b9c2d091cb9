/*
 * fitted.c - print how well workloads were fitted; see fitted.h.
 */
#include "cli/inputs/fitted.h"

#include <stdio.h>

#include "base/plural.h"
#include "base/visible.h"

static void print_fit(const struct hes_model_fit *f)
{
	hes_visible_put(stdout, 0, f->workload);
	printf(": fitted to %zu point%s: time %.1f %%, power %.1f %%; nearest network %s\n",
	       f->points, hes_s(f->points), 100 * f->time_error, 100 * f->power_error, f->nearest);
}

/* In a file that its user wrote by hand one or both may be missing. */
static void print_expected(const struct hes_model_fit *f)
{
	const struct hes_factors *time = &f->expected.time, *power = &f->expected.power;

	if (!(time->high > 0) && !(power->high > 0))
		return;
	hes_visible_put(stdout, 0, f->workload);
	fputs(": expect", stdout);
	if (time->high > 0)
		printf(" %.2f to %.2f times the modelled time", time->low, time->high);
	if (power->high > 0)
		printf("%s %.2f to %.2f times the %spower", time->high > 0 ? "," : "", power->low,
		       power->high, time->high > 0 ? "" : "modelled ");
	puts(" (9 in 10 measurements, by networks left out)");
}

void cli_fits_print(const struct hes_model_fit *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].points)
			print_fit(&v[i]);
		print_expected(&v[i]);
	}
}

json_t *cli_expected_json(const struct hes_expected_error *e)
{
	json_t *o = json_object();

	if (e->time.high > 0)
		json_object_set_new(o, "time_factors",
				    json_pack("[f,f]", e->time.low, e->time.high));
	if (e->power.high > 0)
		json_object_set_new(o, "power_factors",
				    json_pack("[f,f]", e->power.low, e->power.high));
	if (e->networks)
		json_object_update_new(o, json_pack("{s:I, s:f, s:f, s:f, s:f}", "networks",
						    (json_int_t)e->networks, "time_alone",
						    e->time_alone, "time_shared", e->time_shared,
						    "co_runner_time", e->co_runner, "power",
						    e->power_median));
	return o;
}

/* A workload that was added before has only its error to expect. */
static json_t *fit_json(const struct hes_model_fit *f)
{
	json_t *o = json_pack("{s:s, s:o}", "workload", f->workload, "expected",
			      cli_expected_json(&f->expected));

	if (f->points)
		json_object_update_new(o, json_pack("{s:s, s:I, s:f, s:f}", "nearest", f->nearest,
						    "points", (json_int_t)f->points, "time_error",
						    f->time_error, "power_error", f->power_error));
	return o;
}

json_t *cli_fits_json(const struct hes_model_fit *v, size_t n)
{
	json_t *list = n ? json_array() : NULL;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, fit_json(&v[i]));
	return list;
}
