/*
 * known_points.c - profiles that were measured: the store's, and those of its points; see known.h.
 *
 * `heshare profile` derives profiles from its points and adds them to the store. Points of runs
 * have none there.
 */
#include <errno.h>

#include "app/known.h"
#include "heshare/profiler.h"

/* Points of jobs alone on types that are known here, at the beginning. */
static void keep_solo(const struct hes_catalogue *c, struct hes_points *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].co_runners[0] && hes_gpu_type_find(c, p->v[i].gpu_type, NULL))
			p->v[n++] = p->v[i];
	p->n = n;
}

static int derive_points(struct hes_store *s, const struct hes_catalogue *c,
			 struct hes_profiles *out, struct hes_err *err)
{
	const struct hes_store_query all = { .workload = NULL };
	struct hes_points points;
	struct hes_samples samples;
	int rc = hes_store_points(s, &all, &points, err);

	if (rc)
		return rc;
	keep_solo(c, &points);
	rc = hes_points_derive(&points, c, out, &samples, err);
	hes_points_free(&points);
	if (!rc)
		hes_samples_free(&samples);
	return rc;
}

int hes_known_measured(struct hes_store *s, const struct hes_catalogue *c,
		       const struct hes_gpu_type *const *types, size_t n_types,
		       struct hes_profiles *out, struct hes_err *err)
{
	const struct hes_store_query all = { .workload = NULL };
	struct hes_profiles stored = { 0 }, derived = { 0 };
	struct hes_catalogue here = { 0 };
	int rc = hes_catalogue_put(&here, c->types, c->n, err);

	for (size_t i = 0; i < n_types && !rc; i++)
		rc = hes_catalogue_put(&here, types[i], 1, err);
	if (!rc)
		rc = hes_store_profiles(s, &all, &stored, err);
	if (!rc)
		rc = derive_points(s, &here, &derived, err);
	if (!rc && hes_profiles_join(&derived, &stored, out))
		rc = hes_fail(err, -ENOMEM, "out of memory for profiles");
	hes_profiles_free(&stored);
	hes_profiles_free(&derived);
	hes_catalogue_free(&here);
	return rc;
}
