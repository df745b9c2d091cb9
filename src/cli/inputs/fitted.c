/*
 * fitted.c - fit workloads to profiles; see fitted.h.
 */
#include "cli/inputs/fitted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/plural.h"
#include "base/visible.h"
#include "cli/inputs/rows_folder.h"

/* Unless the model knows it. */
static int fit_one(struct hes_model *m, const struct hes_catalogue *c, const struct hes_profiles *profiles, const char *workload,
		   struct cli_fits *fits, struct hes_err *err)
{
	struct hes_model_fit *v;
	int rc;

	if (hes_model_workload(m, workload, NULL))
		return 0;
	v = reallocarray(fits->v, fits->n + 1, sizeof(*v));
	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory");
	fits->v = v;
	rc = hes_model_fit_profile(m, c, profiles, workload, &v[fits->n], err);
	fits->n += !rc;
	return rc;
}

int cli_fit_jobs(struct hes_model *m, const struct hes_catalogue *c, const char *profiles, const struct hes_jobs *jobs,
		 struct cli_fits *fits, struct hes_err *err)
{
	struct hes_profiles p;
	int rc = cli_profiles_load(profiles, &p, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < jobs->n && !rc; i++)
		rc = fit_one(m, c, &p, jobs->v[i].workload, fits, err);
	if (rc)
		hes_fail_in(err, "%s", profiles);
	hes_profiles_free(&p);
	return rc;
}

int cli_fit_all(struct hes_model *m, const struct hes_catalogue *c, const char *profiles, struct cli_fits *fits,
		struct hes_err *err)
{
	struct hes_profiles p;
	int rc = cli_profiles_load(profiles, &p, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < p.n && !rc; i++)
		rc = fit_one(m, c, &p, p.v[i].workload, fits, err);
	if (rc)
		hes_fail_in(err, "%s", profiles);
	hes_profiles_free(&p);
	return rc;
}

void cli_fits_print(const struct cli_fits *fits)
{
	for (size_t i = 0; i < fits->n; i++) {
		const struct hes_model_fit *f = &fits->v[i];

		hes_visible_put(stdout, 0, f->workload);
		printf(": fitted to %zu point%s: time %.1f %%, power %.1f %%; nearest network %s\n", f->points, hes_s(f->points),
		       100 * f->time_error, 100 * f->power_error, f->nearest);
	}
}

json_t *cli_fits_json(const struct cli_fits *fits)
{
	json_t *list = fits->n ? json_array() : NULL;

	for (size_t i = 0; i < fits->n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:f, s:f}", "workload", fits->v[i].workload, "nearest",
						      fits->v[i].nearest, "points", (json_int_t)fits->v[i].points, "time_error",
						      fits->v[i].time_error, "power_error", fits->v[i].power_error));
	return list;
}
