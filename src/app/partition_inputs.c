/*
 * partition_inputs.c - load or draw measured points and train the model; see partition_inputs.h.
 */
#include "app/partition_inputs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/plural.h"
#include "base/rng.h"
#include "base/texts.h"
#include "app/catalogue.h"
#include "app/known.h"
#include "app/known_folder.h"
#include "app/known_store.h"
#include "heshare/draw.h"
#include "heshare/model.h"

#define MODELLED_SETS 300 /* co-run sets of a type that a modelled GPU is learnt from */
#define MODELLED_JOBS 3   /* of a set, at most */
#define STEP          10

int partition_name_parse(const char *text, struct partition_name *out, struct hes_err *err)
{
	const char *last = strrchr(text, '/'),
		   *slash = last && last[1] && !last[1 + strspn(last + 1, "0123456789")] ? last
											 : NULL;
	const char *colon = strrchr(text, ':');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	int rc = 0;

	*out = (struct partition_name){ .batch_size = 0 };
	if (!len || len >= HES_NAME_MAX)
		return hes_fail(err, -EINVAL, "\"%.60s\" is no job; write NAME or NAME/BATCH",
				text);
	/* As --co-runners of predict has it. A name that ends so is written with its batch size. */
	if (!slash && colon && colon > text && colon[1] && !strchr(text, ' ') &&
	    !colon[1 + strspn(colon + 1, "0123456789")])
		return hes_fail(err, -EINVAL, "\"%.60s\": write %.*s/%s", text, (int)(colon - text),
				text, colon + 1);
	memcpy(out->workload, text, len);
	if (slash)
		rc = hes_parse_u32("batch size", slash + 1, 1, HES_MAX_BATCH_SIZE, &out->batch_size,
				   err);
	return rc ? hes_fail_in(err, "%.60s", text) : 0;
}

/* Points drawn from the GPU model. */
struct drawing {
	struct hes_draw d;
	const struct hes_gpu_type *g;
	struct hes_points points;
	size_t n_measured; /* of the points: the first ones */
	size_t room;
	struct hes_rng rng;
};

/* Whether a job, or where @workload is NULL any set of jobs, was measured on the type. */
static bool was_measured(const struct drawing *w, const char *workload, uint32_t batch)
{
	for (size_t i = 0; i < w->n_measured; i++) {
		const struct hes_point *p = &w->points.v[i];

		if (strcmp(p->gpu_type, w->g->name) == 0 &&
		    (workload ? p->batch_size == batch && strcmp(p->workload, workload) == 0
			      : p->co_runners[0] != 0))
			return true;
	}
	return false;
}

static int draw_point(struct drawing *w, uint32_t clock_mhz, const struct hes_model_job *r,
		      size_t n, struct hes_err *err)
{
	int rc;

	if (w->points.n + n > w->room) {
		size_t room = 2 * w->room + HES_MODEL_MAX_JOBS;
		struct hes_point *v = realloc(w->points.v, room * sizeof(*v));

		if (!v)
			return hes_fail(err, -ENOMEM, "out of memory for modelled points");
		w->points.v = v;
		w->room = room;
	}
	rc = hes_draw_point(&w->d, w->g, clock_mhz, r, n, w->points.v + w->points.n, err);
	w->points.n += rc ? 0 : n;
	return rc;
}

static bool fits(const struct drawing *w, const struct hes_model_job *r, size_t n)
{
	uint64_t mib = 0;

	for (size_t i = 0; i < n; i++)
		mib += hes_workload_memory_mib(r[i].workload, r[i].batch);
	return mib <= w->g->memory_mib;
}

/* A job alone at every share and clock. A job that does not fit, or was measured, gets no points.
 */
static int draw_alone(struct drawing *w, const struct hes_workload *workload, uint32_t batch,
		      struct hes_err *err)
{
	struct hes_model_job r = { workload, batch, STEP };
	int rc = 0;

	if (!fits(w, &r, 1) || was_measured(w, workload->name, batch))
		return 0;
	for (size_t c = 0; c < w->g->n_clocks && !rc; c++)
		for (r.sm_pct = STEP; r.sm_pct <= 100 && !rc; r.sm_pct += STEP)
			rc = draw_point(w, w->g->clocks_mhz[c], &r, 1, err);
	return rc;
}

static const uint32_t learnt_batches[] = { 1, 8, 64 };
#define N_BATCHES (sizeof(learnt_batches) / sizeof(learnt_batches[0]))

/* Random jobs together, their shares in tens summing to 100. */
static int draw_set(struct drawing *w, const struct hes_model *m, struct hes_err *err)
{
	struct hes_model_job r[MODELLED_JOBS];
	size_t n = 2 + hes_rng_below(&w->rng, MODELLED_JOBS - 1);
	uint32_t left = 100;

	for (size_t i = 0; i < n; i++) {
		const struct hes_workload *one;

		do
			one = hes_model_workload_at(m,
						    hes_rng_below(&w->rng, hes_model_workloads(m)));
		while (!one->testbed);
		r[i] = (struct hes_model_job){ one,
					       learnt_batches[hes_rng_below(&w->rng, N_BATCHES)],
					       left };
		if (i + 1 < n)
			r[i].sm_pct =
				STEP *
				(1 + (uint32_t)hes_rng_below(&w->rng, left / STEP - (n - 1 - i)));
		left -= r[i].sm_pct;
	}
	if (!fits(w, r, n))
		return 0;
	return draw_point(w, w->g->clocks_mhz[hes_rng_below(&w->rng, w->g->n_clocks)], r, n, err);
}

static int draw_testbed(struct drawing *w, const struct hes_model *m, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < hes_model_workloads(m) && !rc; i++) {
		const struct hes_workload *one = hes_model_workload_at(m, i);

		for (size_t b = 0; b < N_BATCHES && one->testbed && !rc; b++)
			rc = draw_alone(w, one, learnt_batches[b], err);
	}
	return rc;
}

/* Jobs that the model does not know have no points. */
static int draw_jobs(struct drawing *w, const struct hes_model *m,
		     const struct partition_name *jobs, size_t n_jobs, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n_jobs && !rc; i++) {
		const struct hes_workload *one = hes_model_workload(m, jobs[i].workload, NULL);

		if (one && jobs[i].batch_size)
			rc = draw_alone(w, one, jobs[i].batch_size, err);
	}
	return rc;
}

/* All that a model of sharing is trained on: known networks and the jobs. Sets only where none were
 * measured. */
static int draw_type(struct drawing *w, const struct hes_model *m,
		     const struct partition_name *jobs, size_t n_jobs, struct hes_err *err)
{
	const bool sets = !was_measured(w, NULL, 0);
	int rc = sets ? draw_testbed(w, m, err) : 0;

	if (!rc)
		rc = draw_jobs(w, m, jobs, n_jobs, err);
	for (size_t i = 0; i < MODELLED_SETS && !rc && sets; i++)
		rc = draw_set(w, m, err);
	return rc;
}

/* Points of the model behind those that were measured. */
static int draw_types(const struct hes_model *m, const struct partition_name *jobs, size_t n_jobs,
		      const struct hes_gpu_type *const *types, size_t n_types,
		      struct partition_inputs *in, struct hes_err *err)
{
	struct drawing w = { .d = { .model = m, .noise = APP_KNOWN_NOISE, .seed = APP_KNOWN_SEED },
			     .points = in->points,
			     .n_measured = in->points.n,
			     .room = in->points.n };
	int rc = 0;

	hes_rng_seed(&w.rng, APP_KNOWN_SEED);
	for (size_t t = 0; t < n_types && !rc; t++) {
		w.g = types[t];
		rc = draw_type(&w, m, jobs, n_jobs, err);
	}
	in->points = w.points;
	return rc;
}

/* Of an unknown name: names may have slashes, too. */
static const char *batch_hint(const char *name, char out[128])
{
	const char *slash = strrchr(name, '/');

	*out = '\0';
	if (slash && !strchr(name, ' '))
		snprintf(out, 128, "; a batch size is a number: %.*s/8", (int)(slash - name), name);
	return out;
}

static int inputs_check_names(const struct hes_model *m, const struct partition_name *jobs,
			      size_t n, struct hes_err *err)
{
	struct hes_err why;
	char hint[128];

	for (size_t i = 0; i < n; i++)
		if (!hes_model_workload(m, jobs[i].workload, &why))
			return hes_fail(err, -ENOENT, "%s%s", why.msg,
					batch_hint(jobs[i].workload, hint));
	return 0;
}

static int inputs_draw(const struct partition_name *jobs, size_t n_jobs,
		       const struct hes_gpu_type *const *types, size_t n_types,
		       struct partition_inputs *in, struct hes_err *err)
{
	struct hes_model *m = NULL;
	int rc = app_model_load(in->from->app, NULL, &in->catalogue, types, n_types, &m, err);

	if (!rc)
		rc = inputs_check_names(m, jobs, n_jobs, err);
	if (!rc)
		rc = draw_types(m, jobs, n_jobs, types, n_types, in, err);
	hes_model_free(m);
	in->modelled = true;
	snprintf(in->what, sizeof(in->what), "the GPU model");
	return rc;
}

/* Whether a job with a batch size has no point on one of the types. */
static bool is_any_missing(const struct partition_name *jobs, size_t n_jobs,
			   const struct hes_gpu_type *const *types, size_t n_types,
			   const struct partition_inputs *in)
{
	struct drawing w = { .points = in->points, .n_measured = in->points.n };

	for (size_t t = 0; t < n_types && types[t]; t++)
		for (size_t i = 0; i < n_jobs; i++) {
			w.g = types[t];
			if (jobs[i].batch_size &&
			    !was_measured(&w, jobs[i].workload, jobs[i].batch_size))
				return true;
		}
	return false;
}

/* Known networks, and what was measured on other types or at other batch sizes, from the model. */
static int inputs_draw_missing(const char *store, const struct partition_name *jobs, size_t n_jobs,
			       const struct hes_gpu_type *const *types, size_t n_types,
			       struct partition_inputs *in, struct hes_err *err)
{
	struct hes_jobs named = { .v = calloc(n_jobs + 1, sizeof(*named.v)), .n = n_jobs };
	struct app_known_request from = {
		.app = in->from->app,
		.catalogue = &in->catalogue,
		.types = types,
		.n_types = n_types,
		.store = store,
		.jobs = &named,
		.profiles_only = true,
		.replayed = true, /* points are drawn from the model, which learns the workloads */
	};
	struct app_known k = { .learnt = false };
	struct hes_model *m = NULL;
	const size_t before = in->points.n;
	int rc = named.v ? app_model_load(in->from->app, NULL, &in->catalogue, types, n_types, &m,
					  err)
			 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", n_jobs);

	for (size_t i = 0; i < n_jobs && !rc; i++) {
		strcpy(named.v[i].workload, jobs[i].workload);
		named.v[i].batch_size = jobs[i].batch_size;
	}
	from.model = m;
	if (!rc)
		rc = app_known_load(&from, &k, err);
	if (!rc)
		rc = draw_types(m, jobs, n_jobs, types, n_types, in, err);
	if (!rc && in->points.n > before)
		snprintf(in->what, sizeof(in->what), "%s",
			 before ? "the store and the GPU model" : "the GPU model");
	app_known_free(&k);
	hes_model_free(m);
	free(named.v);
	return rc;
}

/* Whether the model has a job that it could draw. */
static bool is_any_drawn(const struct partition_name *jobs, size_t n_jobs,
			 const struct partition_inputs *in)
{
	for (size_t i = 0; i < n_jobs; i++)
		for (size_t p = 0; p < in->points.n; p++)
			if (strcmp(in->points.v[p].workload, jobs[i].workload) == 0)
				return true;
	return false;
}

static int inputs_load_store(const char *path, struct partition_inputs *in, struct hes_err *err)
{
	struct hes_store *s = NULL;
	int rc = app_store_open(in->from->app, path, HES_STORE_READ, HES_STORE_WAIT_MS, &s, err);

	if (rc == -ENOENT)
		return hes_fail(err, rc,
				"no job was measured yet: there is no store%s%s; heshare profile "
				"NAME -- COMMAND measures one, "
				"--modelled takes the GPU model instead",
				path ? " at " : "", path ? path : "");
	if (!rc)
		rc = hes_store_points(s, &(struct hes_store_query){ 0 }, &in->points, err);
	hes_store_close(s);
	snprintf(in->what, sizeof(in->what), "%s", path ? path : "the store");
	return rc;
}

/* Learn the clocks that GPUs held without a lock, and give them to the points without one. */
static int inputs_hold_clocks(struct partition_inputs *in, struct hes_err *err)
{
	struct hes_profiles solos = { .v = calloc(in->points.n + 1, sizeof(*solos.v)) };

	if (!solos.v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu points", in->points.n);
	for (size_t i = 0; i < in->points.n; i++) {
		const struct hes_point *p = &in->points.v[i];
		const struct hes_gpu_type *g = hes_gpu_type_find(&in->catalogue, p->gpu_type, NULL);

		if (!g || p->co_runners[0] || p->sm_pct < 100 || isnan(p->held_mhz) ||
		    !hes_gpu_type_is_unlocked(g, p->clock_mhz))
			continue;
		solos.v[solos.n] =
			(struct hes_profile){ .power_mw = p->power_mw,
					      .clock_mhz = (uint32_t)lround(p->held_mhz) };
		strcpy(solos.v[solos.n++].gpu_type, p->gpu_type);
	}
	hes_profiles_hold(&solos, in->catalogue.types, in->catalogue.n);
	hes_profiles_free(&solos);
	for (size_t i = 0; i < in->points.n; i++) {
		struct hes_point *p = &in->points.v[i];
		const struct hes_gpu_type *g = hes_gpu_type_find(&in->catalogue, p->gpu_type, NULL);

		if (g)
			p->clock_mhz = hes_gpu_type_clock(g, p->clock_mhz);
	}
	return 0;
}

static int inputs_load_known(const char *store, const struct partition_name *jobs, size_t n_jobs,
			     const struct hes_gpu_type *const *types, size_t n_types,
			     struct partition_inputs *in, struct hes_err *err)
{
	struct hes_err why;
	int rc = inputs_load_store(store, in, &why), none = rc;

	if (rc && (rc != -ENOENT || store))
		return hes_fail(err, rc, "%s", why.msg);
	rc = inputs_hold_clocks(in, err);
	if (!rc && is_any_missing(jobs, n_jobs, types, n_types, in))
		rc = inputs_draw_missing(store, jobs, n_jobs, types, n_types, in, err);
	if (!rc && none && !is_any_drawn(jobs, n_jobs, in))
		rc = hes_fail(err, none, "%s", why.msg);
	return rc;
}

int partition_inputs_load(const struct partition_from *from, const struct partition_name *jobs,
			  size_t n_jobs, const struct hes_gpu_type *const *types, size_t n_types,
			  struct partition_inputs *in, struct hes_err *err)
{
	int rc;

	in->from = from;
	if (from->points)
		snprintf(in->what, sizeof(in->what), "%s", from->points);
	if (from->modelled)
		rc = inputs_draw(jobs, n_jobs, types, n_types, in, err);
	else if (from->points)
		rc = app_points_load(from->points, &in->points, err);
	else
		rc = inputs_load_known(from->store, jobs, n_jobs, types, n_types, in, err);
	if (!rc && from->points)
		rc = inputs_hold_clocks(in, err);
	if (!rc)
		rc = hes_share_profiles_from(&in->points, &in->catalogue, &in->profiles, err);
	return rc;
}

int partition_inputs_train(struct partition_inputs *in, const struct hes_gpu_type *const *types,
			   size_t n_types, struct hes_err *err)
{
	int rc;

	if (in->from->progress)
		in->from->progress("learning from points", 0, 1);
	rc = hes_partition_train(&in->points, &in->profiles, types, n_types, &in->model, err);
	if (in->from->progress)
		in->from->progress("learning from points", 1, 1);
	return rc;
}

void partition_inputs_free(struct partition_inputs *in)
{
	hes_partition_free(in->model);
	hes_share_profiles_free(&in->profiles);
	hes_points_free(&in->points);
	hes_catalogue_free(&in->catalogue);
	*in = (struct partition_inputs){ 0 };
}

/* The only batch size at which a job has a share profile on a type; 0 with a sentence: none or
 * several. */
static uint32_t only_batch(const struct partition_inputs *in, const struct partition_name *job,
			   const char *type, struct hes_err *err)
{
	char list[128] = "";
	uint32_t batch = 0, n = 0;

	for (size_t i = 0; i < in->profiles.n; i++) {
		const struct hes_share_profile *p = &in->profiles.v[i];

		if (strcmp(p->workload, job->workload) || strcmp(p->gpu_type, type) ||
		    p->batch_size == batch)
			continue;
		batch = p->batch_size;
		hes_text_add(list, sizeof(list), ", ", "%u", batch);
		n++;
	}
	if (n > 1)
		hes_fail(err, -EINVAL, "%s was profiled at batch sizes %s; write %s/%u",
			 job->workload, list, job->workload, batch);
	return n == 1 ? batch : 0;
}

/* heshare profile puts "exec" before a command of several words itself. */
const char *partition_command(const char *stored)
{
	return strncmp(stored, "exec ", 5) == 0 ? stored + 5 : stored;
}

/* A point of a job on a type, or on another one. */
static const struct hes_point *any_point(const struct partition_inputs *in,
					 const struct partition_name *job, const char *type,
					 bool on_type)
{
	for (size_t i = 0; i < in->points.n; i++) {
		const struct hes_point *p = &in->points.v[i];

		if (strcmp(p->workload, job->workload) == 0 &&
		    (!job->batch_size || p->batch_size == job->batch_size) &&
		    (strcmp(p->gpu_type, type) == 0) == on_type)
			return p;
	}
	return NULL;
}

/* Where else a job that lacks a share profile was measured, and what to run. */
static void tell_missing(const struct partition_inputs *in, const struct partition_name *job,
			 const struct hes_gpu_type *g, uint32_t clock_mhz, struct hes_err *err)
{
	const struct hes_point *here = any_point(in, job, g->name, true),
			       *p = here ? here : any_point(in, job, g->name, false);
	const char *command = p && p->command[0] ? partition_command(p->command) : "COMMAND";
	char batch[24] = "", hint[128];

	if (p || job->batch_size)
		snprintf(batch, sizeof(batch), " --batch %u", p ? p->batch_size : job->batch_size);
	if (here)
		hes_fail(err, -ENOENT,
			 "%s/%u was not measured alone at two shares or more on %s %s at %u MHz; "
			 "run: heshare profile %s%s "
			 "--shares 10..100 --clocks %u -- %.200s",
			 here->workload, here->batch_size, hes_article(g->name), g->name, clock_mhz,
			 job->workload, batch, clock_mhz, command);
	else if (p)
		hes_fail(err, -ENOENT,
			 "%s was measured on %s %s and not on %s %s; on a machine with one, run: "
			 "heshare profile %s%s -- %.200s",
			 job->workload, hes_article(p->gpu_type), p->gpu_type, hes_article(g->name),
			 g->name, job->workload, batch, command);
	else
		hes_fail(err, -ENOENT,
			 "%s has no measured points of %s%s; run: heshare profile %s%s -- "
			 "COMMAND%s",
			 in->what, job->workload, job->batch_size ? " at this batch size" : "",
			 job->workload, batch, batch_hint(job->workload, hint));
}

/* Why a job has no modelled points. */
static void tell_missing_modelled(const struct partition_name *job, const struct hes_gpu_type *g,
				  uint32_t clock_mhz, struct hes_err *err)
{
	char list[128] = "";
	bool drawn = false;

	for (size_t i = 0; i < g->n_clocks; i++) {
		drawn |= g->clocks_mhz[i] == clock_mhz;
		hes_text_add(list, sizeof(list), ", ", "%u", g->clocks_mhz[i]);
	}
	if (!drawn)
		hes_fail(err, -ERANGE,
			 "--clocks: %u MHz is not among the clocks of a modelled %s: %s", clock_mhz,
			 g->name, list);
	else
		hes_fail(err, -ENOSPC, "%s/%u needs more memory than the %u MiB of %s %s",
			 job->workload, job->batch_size, g->memory_mib, hes_article(g->name),
			 g->name);
}

const struct hes_share_profile *partition_find(const struct partition_inputs *in,
					       const struct partition_name *job,
					       const struct hes_gpu_type *g, uint32_t clock_mhz,
					       struct hes_err *err)
{
	const struct hes_share_profile *p = NULL;
	uint32_t batch = job->batch_size;

	if (!batch) {
		struct hes_err why = { .code = 0 };

		batch = only_batch(in, job, g->name, &why);
		if (why.code) {
			hes_fail(err, why.code, "%s", why.msg);
			return NULL;
		}
	}
	p = batch ? hes_share_profile_find(&in->profiles, g->name, job->workload, batch, clock_mhz)
		  : NULL;
	if (!p && in->modelled)
		tell_missing_modelled(job, g, clock_mhz, err);
	else if (!p)
		tell_missing(in, job, g, clock_mhz, err);
	return p;
}

static bool has_profile(const struct partition_inputs *in, const struct partition_name *job,
			const char *type)
{
	size_t i = 0;

	while (i < in->profiles.n &&
	       (strcmp(in->profiles.v[i].gpu_type, type) ||
		strcmp(in->profiles.v[i].workload, job->workload) ||
		(job->batch_size && job->batch_size != in->profiles.v[i].batch_size)))
		i++;
	return i < in->profiles.n;
}

const struct hes_gpu_type *partition_only_type(const struct partition_inputs *in,
					       const struct partition_name *jobs, size_t n,
					       struct hes_err *err)
{
	const struct hes_gpu_type *most = &in->catalogue.types[0], *only = NULL;
	size_t most_jobs = 0, found = 0,
	       missing = 0; /* most_jobs: 2 for a share profile, 1 for points */
	char list[256] = "";

	for (size_t t = 0; t < in->catalogue.n; t++) {
		const struct hes_gpu_type *g = &in->catalogue.types[t];
		size_t has = 0, known = 0;

		for (size_t k = 0; k < n; k++) {
			has += has_profile(in, &jobs[k], g->name);
			known += any_point(in, &jobs[k], g->name, true) != NULL;
		}
		if (has + known > most_jobs) {
			most_jobs = has + known;
			most = g;
		}
		if (has == n) {
			only = g;
			hes_text_add(list, sizeof(list), ", ", "%s", g->name);
			found++;
		}
	}
	if (found == 1)
		return only;
	if (found) {
		hes_fail(err, -EINVAL,
			 "these jobs were profiled on several GPU types; choose one by --gpu: %s",
			 list);
		return NULL;
	}
	while (missing + 1 < n && has_profile(in, &jobs[missing], most->name))
		missing++;
	tell_missing(in, &jobs[missing], most, most->clock_default_mhz, err);
	return NULL;
}
