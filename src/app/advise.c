/*
 * advise.c - what each workload of the store needs; see advise.h.
 */
#include "app/advise.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/known.h"
#include "app/known_store.h"
#include "base/root_sum.h"
#include "base/texts.h"

#define SHARE_STEP 5
#define SIDE       1.645 /* standard errors to each side between which nine in ten lie */

const char *const advice_sources[] = { "measured", "predicted", "derived" };

/* What is composed. */
struct advising {
	const struct advise_request *q;
	struct hes_catalogue catalogue;
	struct hes_model *model;
	struct hes_points points;
	struct hes_jobs jobs; /* the workloads of the store, each batch size once */
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	size_t n_types;
	char unknown[256]; /* "types" of GPUs that no catalogue has */
	size_t no_gpu;     /* rows of jobs that ran and used no GPU */
	struct app_known known;
};

/* A workload on a type. */
struct advising_row {
	const struct advising *a;
	const struct hes_gpu_type *g;
	struct hes_profile task;
	struct app_known_row about;
	struct hes_estimate whole; /* at its base setting: the whole GPU, not locked */
};

/* --- what there is --- */

static int tell_nothing(const char *store, struct hes_err *err)
{
	return hes_fail(err, -ENOENT,
			"nothing was measured yet%s%s: heshare profile NAME -- COMMAND measures a "
			"job, and heshare run learns from the jobs that it runs",
			store ? " in " : "", store ? store : "");
}

static int store_read(struct advising *a, struct hes_profiles *measured, struct hes_err *err)
{
	const char *path = a->q->store;
	struct hes_store *s = NULL;
	int rc = app_store_open(a->q->app, path, HES_STORE_READ, HES_STORE_WAIT_MS, &s, err);

	if (rc == -ENOENT)
		return tell_nothing(path, err);
	if (!rc)
		rc = app_known_measured(s, &a->catalogue, NULL, 0, measured, err);
	if (!rc)
		rc = hes_store_points(s, &(struct hes_store_query){ 0 }, &a->points, err);
	hes_store_close(s);
	return rc;
}

/* @return false: there are too many */
static bool add_type(struct advising *a, const char *name)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(&a->catalogue, name, NULL);
	char quoted[HES_NAME_MAX + 2];
	size_t i = 0;

	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	if (!g && !strstr(a->unknown, quoted))
		hes_text_add(a->unknown, sizeof(a->unknown), ", ", "%s", quoted);
	while (i < a->n_types && a->types[i] != g)
		i++;
	if (!g || i < a->n_types)
		return true;
	if (i == APP_KNOWN_TYPES)
		return false;
	a->types[a->n_types++] = g;
	return true;
}

/* Jobs in the order of the profiles, which is by workload; those of a batch size on several types
 * do not stand together. */
static void add_job(struct advising *a, const struct hes_profile *p)
{
	struct hes_job *j = &a->jobs.v[a->jobs.n];

	for (size_t i = 0; i < a->jobs.n; i++)
		if (a->jobs.v[i].batch_size == p->batch_size &&
		    !strcmp(a->jobs.v[i].workload, p->workload))
			return;
	snprintf(j->workload, sizeof(j->workload), "%s", p->workload);
	j->batch_size = p->batch_size;
	j->whole_run = hes_workload_is_whole_run(p->workload);
	a->jobs.n++;
}

/* Whether the workload ran, and no kernel of it did. */
static bool uses_no_gpu(const struct advising *a, const struct hes_profile *p)
{
	bool ran = false;

	for (size_t i = 0; i < a->points.n; i++) {
		const struct hes_point *x = &a->points.v[i];

		if (x->co_runners[0] || x->batch_size != p->batch_size ||
		    strcmp(x->workload, p->workload))
			continue;
		if (!(x->busy <= 0))
			return false;
		ran = true;
	}
	return ran;
}

static int find_jobs(struct advising *a, const struct hes_profiles *measured, struct hes_err *err)
{
	if (!measured->n && !a->points.n)
		return tell_nothing(a->q->store, err);
	a->jobs.v = calloc(measured->n + 1, sizeof(*a->jobs.v));
	if (!a->jobs.v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu profiles", measured->n);
	if (a->q->gpu && !hes_gpu_type_find(&a->catalogue, a->q->gpu, err))
		return hes_fail_in(err, "--gpu");
	if (a->q->gpu)
		add_type(a, a->q->gpu);
	for (size_t i = 0; i < measured->n; i++) {
		if (a->q->workload &&
		    !hes_workload_is_meant(measured->v[i].workload, measured->v[i].batch_size,
					   a->q->workload))
			continue;
		if (uses_no_gpu(a, &measured->v[i])) {
			a->no_gpu++;
			continue;
		}
		add_job(a, &measured->v[i]);
		if (!a->q->gpu && !add_type(a, measured->v[i].gpu_type))
			return hes_fail(err, -E2BIG, "more than %d GPU types; name one by --gpu",
					APP_KNOWN_TYPES);
	}
	if (*a->unknown)
		app_say(a->q->app,
			"left out: GPUs that are in no catalogue: %s; --catalogue FILE adds types, "
			"and "
			"heshare gpus --yaml prints those of a machine",
			a->unknown);
	if (!a->jobs.n && a->no_gpu)
		return hes_fail(err, -ENOENT, "%s ran and used no GPU: it needs none",
				a->q->workload ? a->q->workload : "what is in the store");
	if (!a->jobs.n)
		return hes_fail(
			err, -ENOENT,
			"%s was never measured alone on a whole GPU, with which its speed is "
			"compared: heshare profile %s -- COMMAND does so",
			a->q->workload ? a->q->workload : "what is in the store",
			a->q->workload ? a->q->workload : "NAME");
	return 0;
}

/* The model is this function's own, so that the predictor is not kept in the store. */
static int load_known(struct advising *a, struct hes_err *err)
{
	const struct app_known_request from = { .app = a->q->app,
						.catalogue = &a->catalogue,
						.types = a->types,
						.n_types = a->n_types,
						.store = a->q->store,
						.predictor = a->q->predictor,
						.model = a->model,
						.jobs = &a->jobs,
						.again = true };
	int rc = app_known_load(&from, &a->known, err);

	if (!rc)
		app_known_fit(&a->known, a->q->predictor != NULL, a->catalogue.types,
			      a->catalogue.n);
	return rc;
}

static int advising_load(struct advising *a, struct hes_err *err)
{
	struct hes_profiles measured = { .n = 0 };
	int rc = app_catalogue_load(a->q->app, a->q->catalogue, a->q->predictor != NULL,
				    &a->catalogue, err);

	if (!rc)
		rc = store_read(a, &measured, err);
	if (!rc)
		rc = find_jobs(a, &measured, err);
	hes_profiles_free(&measured);
	if (!rc)
		rc = app_model_load(a->q->app, NULL, &a->catalogue, a->types, a->n_types, &a->model,
				    err);
	return rc ? rc : load_known(a, err);
}

static void advising_free(struct advising *a)
{
	app_known_free(&a->known);
	hes_points_free(&a->points);
	hes_model_free(a->model);
	free(a->jobs.v);
	hes_catalogue_free(&a->catalogue);
}

/* --- a setting --- */

/* @param by  its standard error */
static struct advice_value value_within(double value, double by)
{
	return (struct advice_value){ value, value - SIDE * by, value + SIDE * by };
}

static struct hes_estimate row_predict(const struct advising_row *r, struct hes_setting s)
{
	const struct hes_load none = { .power_mw = r->g->idle_power_mw };
	struct hes_estimate e;

	hes_predict(r->a->known.predictor, r->g, &r->task, &s, &none, &e);
	return e;
}

/* Less of the GPU is not faster: that limits an interval. */
static struct advice judge_predicted(const struct advising_row *r, struct hes_setting s)
{
	const struct hes_estimate e = row_predict(r, s);
	const bool derived = r->about.source != HES_KNOWN_MEASURED;
	const double base = r->whole.iteration_us, speed = base / e.iteration_us, mw = e.power_mw,
		     off = derived ? SIDE * r->about.power_error * mw : 0;
	struct advice v = { .source = derived ? ADVICE_DERIVED : ADVICE_PREDICTED, .setting = s };

	v.speed = (struct advice_value){ speed, base / e.iteration_high_us,
					 fmin(base / e.iteration_low_us, fmax(1, speed)) };
	v.power_w = (struct advice_value){ mw * 1e-3,
					   (mw - hes_root_sum(mw - e.power_low_mw, off)) * 1e-3,
					   (mw + hes_root_sum(e.power_high_mw - mw, off)) * 1e-3 };
	v.energy = mw / r->whole.power_mw / speed;
	return v;
}

/* Against what was measured on the whole GPU. */
static struct advice judge_point(const struct advising_row *r, const struct hes_point *p)
{
	const double root = sqrt(p->windows), error = isnan(p->time_se) ? p->cv / root : p->time_se,
		     speed = r->task.iteration_us / p->iteration_us, watts = p->power_mw * 1e-3;
	struct advice v = { .source = ADVICE_MEASURED,
			    .setting = { p->sm_pct, hes_gpu_type_clock(r->g, p->clock_mhz) } };

	v.speed = value_within(speed, speed * hes_root_sum(error, r->task.time_se));
	v.power_w = value_within(watts, watts * p->power_cv / root);
	v.energy = p->power_mw / (double)r->task.power_mw / speed;
	return v;
}

static bool is_point_of(const struct advising_row *r, const struct hes_point *p)
{
	return !p->co_runners[0] && p->batch_size == r->task.batch_size &&
	       !strcmp(p->workload, r->task.workload) && !strcmp(p->gpu_type, r->g->name);
}

static bool was_measured(const struct advising_row *r, struct hes_setting s)
{
	const struct hes_points *p = &r->a->points;
	size_t i = 0;

	while (i < p->n && !(is_point_of(r, &p->v[i]) && p->v[i].sm_pct == s.sm_pct &&
			     hes_gpu_type_clock(r->g, p->v[i].clock_mhz) == s.clock_mhz))
		i++;
	return i < p->n;
}

/* --- the choice --- */

static double cost_of(const struct advice *v)
{
	return v->setting.sm_pct * v->energy;
}

static void take_better(const struct advising_row *r, struct advice v, struct advice *best)
{
	if (v.speed.value >= r->a->q->keep && cost_of(&v) <= cost_of(best))
		*best = v;
}

static struct advice choose_setting(const struct advising_row *r)
{
	const struct hes_points *p = &r->a->points;
	struct advice best =
		judge_predicted(r, (struct hes_setting){ 100, r->g->clock_default_mhz });

	for (size_t i = 0; i < p->n; i++)
		if (is_point_of(r, &p->v[i]))
			take_better(r, judge_point(r, &p->v[i]), &best);
	for (size_t c = 0; c <= r->g->n_clocks; c++) {
		struct hes_setting s = { .clock_mhz = c < r->g->n_clocks
							      ? r->g->clocks_mhz[c]
							      : r->g->clock_default_mhz };

		for (s.sm_pct = 100; s.sm_pct >= 2 * SHARE_STEP; s.sm_pct -= SHARE_STEP)
			if (!was_measured(r, s))
				take_better(r, judge_predicted(r, s), &best);
	}
	return best;
}

/* @return whether something is known of the job on the type */
static bool advise_job(const struct advising *a, const struct hes_job *j,
		       const struct hes_gpu_type *g, struct advice *out)
{
	struct advising_row r = { .a = a, .g = g };

	if (hes_profile_find(&a->known.profiles, j->workload, j->batch_size, g->name, &r.task,
			     NULL))
		return false;
	r.about = app_known_of(&a->known, j->workload, j->batch_size, g->name);
	r.whole = row_predict(&r, (struct hes_setting){ 100, g->clock_default_mhz });
	*out = choose_setting(&r);
	snprintf(out->workload, sizeof(out->workload), "%s", j->workload);
	snprintf(out->gpu_type, sizeof(out->gpu_type), "%s", g->name);
	out->batch_size = j->batch_size;
	out->unlocked = hes_gpu_type_is_unlocked(g, out->setting.clock_mhz);
	return true;
}

int advise(const struct advise_request *q, struct advice_list *out, struct hes_err *err)
{
	struct advising *a = calloc(1, sizeof(*a));
	struct advice_list list = { .n = 0 };
	int rc;

	if (!a)
		return hes_fail(err, -ENOMEM, "out of memory");
	a->q = q;
	rc = advising_load(a, err);
	list.v = rc ? NULL : calloc(a->jobs.n * a->n_types + 1, sizeof(*list.v));
	if (!rc && !list.v)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu workloads", a->jobs.n);
	for (size_t i = 0; i < a->jobs.n && !rc; i++)
		for (size_t t = 0; t < a->n_types; t++)
			list.n += advise_job(a, &a->jobs.v[i], a->types[t], &list.v[list.n]);
	if (!rc && !list.n)
		rc = hes_fail(err, -ENOENT, "no workload of the store is known on %s",
			      q->gpu ? q->gpu : "a GPU type of the catalogue");
	if (rc)
		free(list.v);
	else
		*out = (struct advice_list){ list.v, list.n, a->no_gpu };
	advising_free(a);
	free(a);
	return rc;
}
