/*
 * known_load.c - put together what is known of workloads; see known.h.
 */
#include "app/known.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/known_folder.h"
#include "app/known_rows.h"
#include "app/known_store.h"
#include "base/hash_map.h"

/* Whether @p lies between measured batch sizes: then it is interpolated between these. */
static bool is_between(const struct hes_profiles *measured, const struct hes_profile *p)
{
	struct hes_profile found;

	return !hes_profile_find(measured, p->workload, p->batch_size, p->gpu_type, &found, NULL);
}

/* Measured rows, and the drawn ones of other workloads, types, and batch sizes outside of the
 * measured ones. */
static int join_rows(struct known_load *l, const struct hes_profiles *measured, struct hes_err *err)
{
	struct hes_profiles all;
	int rc = hes_profiles_join(measured, &l->drawn, &all);

	if (!rc && !(l->rows = calloc(all.n + 1, sizeof(*l->rows)))) {
		hes_profiles_free(&all);
		rc = -ENOMEM;
	}
	if (rc)
		return hes_fail(err, rc, "out of memory for profiles");
	for (size_t i = 0, m = 0; i < all.n; i++) {
		const bool own =
			m < measured->n && !hes_profile_compare(&measured->v[m], &all.v[i]);

		m += own;
		if (!own && is_between(measured, &all.v[i]))
			continue;
		l->rows[l->n].profile = all.v[i];
		l->rows[l->n++].about = (struct app_known_row){
			.source = own ? HES_KNOWN_MEASURED : HES_KNOWN_NETWORK,
			.time_error = all.v[i].time_se,
		};
	}
	hes_profiles_free(&all);
	return 0;
}

/* Sort the rows, and divide them into profiles and how well they are known. */
static int divide_rows(struct known_load *l, struct app_known *k, struct hes_err *err)
{
	k->profiles.v = calloc(l->n + 1, sizeof(*k->profiles.v));
	k->rows = calloc(l->n + 1, sizeof(*k->rows));
	if (!k->profiles.v || !k->rows)
		return hes_fail(err, -ENOMEM, "out of memory for %zu profiles", l->n);
	qsort(l->rows, l->n, sizeof(*l->rows), hes_profile_compare);
	for (size_t i = 0; i < l->n; i++) {
		k->profiles.v[i] = l->rows[i].profile;
		k->rows[i] = l->rows[i].about;
	}
	k->profiles.n = l->n;
	hes_profiles_sort(&k->profiles);
	return 0;
}

static int load_measured(const struct known_load *l, struct hes_profiles *out, struct hes_err *err)
{
	static const struct hes_profiles none;

	if (!l->q->profiles && !l->q->seen && l->store)
		return app_known_measured(l->store, l->q->catalogue, l->planned, l->n_types, out,
					  err);
	if (hes_profiles_join(l->q->seen ? l->q->seen : &l->given, &none, out))
		return hes_fail(err, -ENOMEM, "out of memory for profiles");
	return 0;
}

int app_known_profiling(struct hes_store *s, const struct hes_profiles *profiles,
			const struct hes_jobs *jobs, struct hes_store_profiling *out,
			struct hes_err *err)
{
	struct hes_text_map ids = { 0 };
	bool any = false;

	*out = (struct hes_store_profiling){ 0 };
	if (!profiles)
		return s && jobs ? hes_store_profiling(s, jobs, out, err) : 0;
	if (hes_text_map_make(&ids, profiles->n ? profiles->v->workload : NULL,
			      sizeof(*profiles->v), profiles->n)) {
		hes_hash_map_finish(&ids.map);
		return hes_fail(err, -ENOMEM, "out of memory for %zu profiles", profiles->n);
	}
	for (size_t i = 0; jobs && i < jobs->n && !any; i++)
		any = hes_text_map_find(&ids, jobs->v[i].workload) != HES_HASH_NONE;
	hes_hash_map_finish(&ids.map);
	out->origins = out->unknown = any;
	return 0;
}

/* Predictors know types at their default power limits. Where another one is set, the GPU runs at
 * lower clocks even if none is planned. */
static void set_types(struct known_load *l)
{
	for (size_t i = 0; i < l->n_types; i++) {
		struct hes_gpu_type *g = &l->standard[i];

		*g = *l->planned[i];
		hes_gpu_type_limit(g, g->default_limit_mw);
		if (l->planned[i]->default_limit_mw && g->clock_step_mhz > 0)
			hes_gpu_type_choose_clocks(g);
		l->types[i] = g;
	}
	l->draw = (struct hes_draw){ .model = l->model,
				     .types = l->types,
				     .n_types = l->n_types,
				     .noise = APP_KNOWN_NOISE,
				     .seed = APP_KNOWN_SEED };
}

/* --- what is read --- */

/* There may be none at the usual place. */
static int known_open_store(struct known_load *l, struct hes_err *err)
{
	const char *path = l->q->store;
	struct hes_err why;
	int rc =
		app_store_open(l->q->app, path, HES_STORE_READ, HES_STORE_WAIT_MS, &l->store, &why);

	if (rc == -ENOENT && !path)
		return 0;
	if (rc)
		return hes_fail(err, rc, "%s", why.msg);
	rc = app_store_check_trust(l->store, NULL, &why);
	return rc ? hes_fail(err, rc, "%s; a store belongs to one user (docs/store.md)", why.msg)
		  : 0;
}

static int open_sources(struct known_load *l, struct hes_err *err)
{
	const struct app_known_request *q = l->q;
	const bool own = q->seen || (q->predictor && q->profiles);
	int rc = q->profiles ? app_profiles_load(q->profiles, &l->given, err) : 0;

	if (!rc && !own)
		rc = known_open_store(l, err);
	l->model = q->model;
	if (!rc && !q->model)
		rc = app_model_load(q->app, NULL, q->catalogue, l->planned,
				    own || q->again ? 0 : l->n_types, &l->model, err);
	return rc;
}

int app_known_profiling_of(const struct app_known_request *q, struct hes_store_profiling *out,
			   struct hes_err *err)
{
	struct known_load l = { .q = q };
	int rc = q->profiles ? app_profiles_load(q->profiles, &l.given, err)
			     : known_open_store(&l, err);

	if (!rc)
		rc = app_known_profiling(l.store, q->profiles ? &l.given : NULL, q->jobs, out, err);
	hes_profiles_free(&l.given);
	hes_store_close(l.store);
	return rc;
}

/* @return 0; -E2BIG */
static int find_types(struct known_load *l, struct hes_err *err)
{
	const struct app_known_request *q = l->q;

	l->n_types = q->fleet ? hes_fleet_types(q->fleet, l->planned, APP_KNOWN_TYPES) : q->n_types;
	if (l->n_types > APP_KNOWN_TYPES)
		return hes_fail(err, -E2BIG, "more than %d GPU types", APP_KNOWN_TYPES);
	for (size_t i = 0; !q->fleet && i < q->n_types; i++)
		l->planned[i] = q->types[i];
	return 0;
}

/* Samples are drawn before workloads are added to the model. */
static int load(struct known_load *l, struct app_known *k, struct hes_err *err)
{
	int rc = find_types(l, err);

	if (!rc)
		rc = open_sources(l, err);
	if (!rc)
		rc = load_measured(l, &k->measured, err);
	if (rc)
		return rc;
	set_types(l);
	rc = l->q->seen ? 0 : hes_draw_profiles(&l->draw, &l->drawn, err);
	if (!rc && !l->q->profiles_only)
		rc = known_predictor(l, k, err);
	if (!rc)
		rc = join_rows(l, &k->measured, err);
	if (!rc)
		rc = known_derive(l, k, err);
	if (!rc)
		rc = divide_rows(l, k, err);
	return rc ? rc : known_runs(l, k, err);
}

int app_known_load(const struct app_known_request *q, struct app_known *out, struct hes_err *err)
{
	struct known_load *l = calloc(1, sizeof(*l));
	struct app_known k = { .learnt = false };
	int rc;

	if (!l)
		return hes_fail(err, -ENOMEM, "out of memory for profiles");
	l->q = q;
	rc = load(l, &k, err);
	hes_profiles_free(&l->drawn);
	hes_profiles_free(&l->given);
	hes_store_close(l->store);
	if (!q->model)
		hes_model_free(l->model);
	free(l->rows);
	free(l);
	if (rc)
		app_known_free(&k);
	else
		*out = k;
	return rc;
}
