/*
 * known_fits.c - fit workloads to profiles; see known_fits.h.
 */
#include "app/known_fits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/known_folder.h"

static struct hes_model_fit *fits_grow(struct app_fits *fits, struct hes_err *err)
{
	struct hes_model_fit *v = reallocarray(fits->v, fits->n + 1, sizeof(*v));

	if (!v) {
		hes_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	fits->v = v;
	return &v[fits->n];
}

int app_fits_own(const struct hes_workload *w, struct app_fits *fits, struct hes_err *err)
{
	struct hes_model_fit *v;

	for (size_t i = 0; i < fits->n; i++)
		if (!strcmp(fits->v[i].workload, w->name))
			return 0;
	v = w->own ? fits_grow(fits, err) : NULL;
	if (!v)
		return w->own ? -ENOMEM : 0;
	*v = (struct hes_model_fit){ .expected = { .time = w->time_factors,
						   .power = w->power_factors } };
	strcpy(v->workload, w->name);
	fits->n++;
	return 0;
}

/* Unless the model knows it. */
static int fits_add(struct hes_model *m, const struct hes_catalogue *c,
		    const struct hes_profiles *profiles, const char *workload,
		    struct app_fits *fits, struct hes_err *err)
{
	struct hes_model_fit *v;
	int rc;

	if (hes_model_workload(m, workload, NULL))
		return 0;
	v = fits_grow(fits, err);
	if (!v)
		return -ENOMEM;
	rc = hes_model_add_workload(m, c, workload, NULL, profiles, v, err);
	fits->n += !rc;
	return rc;
}

int app_fits_all(struct hes_model *m, const struct hes_catalogue *c, const char *profiles,
		 struct app_fits *fits, struct hes_err *err)
{
	struct hes_profiles p;
	int rc = app_profiles_load(profiles, &p, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < p.n && !rc; i++)
		rc = fits_add(m, c, &p, p.v[i].workload, fits, err);
	if (rc)
		hes_fail_in(err, "%s", profiles);
	hes_profiles_free(&p);
	return rc;
}
