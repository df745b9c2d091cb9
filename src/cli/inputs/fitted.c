/*
 * fitted.c - fit workloads to profiles; see fitted.h.
 */
#include "cli/inputs/fitted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/visible.h"
#include "app/known_folder.h"

static struct hes_model_fit *grow(struct cli_fits *fits, struct hes_err *err)
{
	struct hes_model_fit *v = reallocarray(fits->v, fits->n + 1, sizeof(*v));

	if (!v) {
		hes_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	fits->v = v;
	return &v[fits->n];
}

int cli_fits_own(const struct hes_workload *w, struct cli_fits *fits, struct hes_err *err)
{
	struct hes_model_fit *v;

	for (size_t i = 0; i < fits->n; i++)
		if (!strcmp(fits->v[i].workload, w->name))
			return 0;
	v = w->own ? grow(fits, err) : NULL;
	if (!v)
		return w->own ? -ENOMEM : 0;
	*v = (struct hes_model_fit){ .expected = { .time = w->time_factors,
						   .power = w->power_factors } };
	strcpy(v->workload, w->name);
	fits->n++;
	return 0;
}

/* Unless the model knows it. */
static int fit_one(struct hes_model *m, const struct hes_catalogue *c,
		   const struct hes_profiles *profiles, const char *workload, struct cli_fits *fits,
		   struct hes_err *err)
{
	struct hes_model_fit *v;
	int rc;

	if (hes_model_workload(m, workload, NULL))
		return 0;
	v = grow(fits, err);
	if (!v)
		return -ENOMEM;
	rc = hes_model_add_workload(m, c, workload, NULL, profiles, v, err);
	fits->n += !rc;
	return rc;
}

int cli_fit_all(struct hes_model *m, const struct hes_catalogue *c, const char *profiles,
		struct cli_fits *fits, struct hes_err *err)
{
	struct hes_profiles p;
	int rc = app_profiles_load(profiles, &p, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < p.n && !rc; i++)
		rc = fit_one(m, c, &p, p.v[i].workload, fits, err);
	if (rc)
		hes_fail_in(err, "%s", profiles);
	hes_profiles_free(&p);
	return rc;
}

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
