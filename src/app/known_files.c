/*
 * known_files.c - load what is known of workloads; see known_files.h.
 */
#include "app/known_files.h"

#include <errno.h>

#include "app/catalogue.h"
#include "app/known_folder.h"

/* There may be none at the usual place. */
static int open_store(const struct hes_app *app, const char *path, struct hes_store **out,
		      struct hes_err *err)
{
	struct hes_store *s = NULL;
	struct hes_err why;
	int rc = app_store_open(app, path, HES_STORE_READ, HES_STORE_WAIT_MS, &s, &why);

	if (rc == -ENOENT && !path)
		rc = 0;
	else if (rc)
		hes_fail(err, rc, "%s", why.msg);
	if (!rc && s && (rc = app_store_check_trust(s, NULL, &why)))
		hes_fail(err, rc, "%s; a store belongs to one user (docs/store.md)", why.msg);
	if (rc)
		hes_store_close(s);
	else
		*out = s;
	return rc;
}

/* What is read, opened. */
struct sources {
	struct hes_model *model; /* owned where it is the built-in one */
	struct hes_store *store;
	struct hes_profiles profiles;
};

static int open_sources(const struct app_known_from *from, const struct hes_catalogue *c,
			const struct hes_gpu_type *const *types, size_t n_types, struct sources *s,
			struct hes_err *err)
{
	const bool own = from->predictor && from->profiles;
	int rc = from->profiles ? app_profiles_load(from->profiles, &s->profiles, err) : 0;

	if (!rc && !own)
		rc = open_store(from->app, from->store, &s->store, err);
	if (!rc && !from->model)
		rc = app_model_load(from->app, NULL, c, types, own || from->again ? 0 : n_types,
				    &s->model, err);
	return rc;
}

int app_known_load_types(const struct app_known_from *from, const struct hes_catalogue *c,
			 const struct hes_gpu_type *const *types, size_t n_types,
			 struct hes_known *out, struct hes_err *err)
{
	struct sources s = { .model = NULL };
	int rc = open_sources(from, c, types, n_types, &s, err);
	const struct hes_known_request q = {
		.catalogue = c,
		.types = types,
		.n_types = n_types,
		.model = from->model ? from->model : s.model,
		.store = s.store,
		.profiles = from->profiles ? &s.profiles : NULL,
		.predictor = from->predictor,
		.jobs = from->jobs,
		.fit_all = from->replayed,
		.profiles_only = from->profiles_only,
		.keep = !from->model,
		.app = from->again ? NULL : from->app,
	};

	if (!rc)
		rc = hes_known_load(&q, out, err);
	hes_profiles_free(&s.profiles);
	hes_store_close(s.store);
	hes_model_free(s.model);
	return rc;
}

int app_known_load(const struct app_known_from *from, const struct hes_catalogue *c,
		   const struct hes_fleet *f, struct hes_known *out, struct hes_err *err)
{
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	size_t n = hes_fleet_types(f, types, HES_KNOWN_TYPES);

	return app_known_load_types(from, c, types, n, out, err);
}

void app_known_fit(const struct hes_known *k, bool file, struct hes_gpu_type *types, size_t n)
{
	hes_known_hold(k, types, n);
	for (size_t i = 0; file && i < n; i++)
		hes_predictor_offer(k->predictor, &types[i]);
}
