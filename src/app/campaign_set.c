/*
 * campaign_set.c - load sets of jobs, choose the policies, learn, replay; see campaign_set.h.
 *
 * In each draw of the model, parameters vary as far as left-out errors of the GPU model say.
 * Profiles and predictor come from the drawn model unless the request names them.
 */
#include "app/campaign_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/jobs_load.h"
#include "app/known.h"
#include "app/trace_draw.h"
#include "base/num.h"
#include "base/plural.h"
#include "base/texts.h"

static bool policy_is_any(const struct hes_policy *p)
{
	return p;
}

/* The workloads that the model does not know are fitted to their profiles. */
static struct app_known_request set_known_from(const struct campaign_request *q,
					       const struct campaign_set *in)
{
	return (struct app_known_request){ .app = q->app,
					   .catalogue = &in->catalogue,
					   .fleet = &in->fleet,
					   .store = q->store,
					   .predictor = q->predictor,
					   .profiles = q->profiles,
					   .model = in->model,
					   .jobs = &in->jobs,
					   .replayed = true,
					   .profiles_only =
						   !campaign_any(&in->campaign, policy_is_any) };
}

/* Found before any policy has planned. */
static int set_check_workloads(struct campaign_set *in, struct hes_err *err)
{
	struct hes_err cause;
	int rc = 0;

	for (size_t i = 0; i < in->jobs.n && !rc; i++) {
		const struct hes_workload *w =
			hes_model_workload(in->model, in->jobs.v[i].workload, &cause);

		rc = w ? app_fits_own(w, &in->fits, err)
		     : hes_job_is_script(&in->jobs.v[i])
			     ? hes_job_fail_script(&in->jobs.v[i], err)
			     : hes_fail(err, -ENOENT,
					"job %s: it was not measured (heshare profile measures "
					"it), and %s",
					in->jobs.v[i].id, cause.msg);
	}
	return rc;
}

static int set_clock(const char *option, struct hes_gpu_type *g, uint32_t mhz, struct hes_err *err)
{
	if (mhz > g->clock_default_mhz || !hes_gpu_type_has_clock(g, mhz))
		return hes_fail(err, -EINVAL,
				"%s: %u MHz is none of the clocks of %s %s: %u to %u MHz in steps "
				"of %g",
				option, mhz, hes_article(g->name), g->name, g->clock_min_mhz,
				g->clock_default_mhz, g->clock_step_mhz);
	g->clock_static_mhz = mhz;
	return 0;
}

static int set_limit(const char *option, struct hes_gpu_type *g, uint32_t w, struct hes_err *err)
{
	if (w * 1e3 <= g->idle_power_mw || w * 1e3 > g->power_limit_mw)
		return hes_fail(err, -EINVAL,
				"%s: %u W is no power limit of %s %s: above %g W, idle, and at "
				"most %g W",
				option, w, hes_article(g->name), g->name, g->idle_power_mw * 1e-3,
				g->power_limit_mw * 1e-3);
	g->limit_static_mw = w * 1000;
	return 0;
}

/* A setting for all jobs of each GPU type. @param text  "T4=900,V100-PCIe=945"; NULL: none */
static int set_types(const char *option, const char *example, const char *text,
		     int (*set)(const char *option, struct hes_gpu_type *g, uint32_t value,
				struct hes_err *err),
		     struct hes_catalogue *c, struct hes_err *err)
{
	char word[2 * HES_NAME_MAX];
	int rc = 0;

	while (!rc && hes_text_next(&text, word, sizeof(word))) {
		char *equals = strchr(word, '=');
		const struct hes_gpu_type *g;
		uint32_t value = 0;

		if (!equals) {
			rc = hes_fail(err, -EINVAL, "%s: \"%.60s\" is not %s", option, word,
				      example);
			break;
		}
		*equals = '\0';
		g = hes_gpu_type_find(c, word, err);
		rc = g ? hes_parse_u32(option, equals + 1, 1, 100000, &value, err)
		       : hes_fail_in(err, "%s", option);
		if (!rc)
			rc = set(option, &c->types[g - c->types], value, err);
	}
	return rc;
}

int campaign_set_load(struct campaign_set *in, const struct campaign_request *q, const char *jobs,
		      struct hes_err *err)
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	int rc = app_catalogue_load(q->app, q->catalogue, false, &in->catalogue, err);

	if (!rc)
		rc = set_types("--static-clocks", "TYPE=MHZ, such as T4=900", q->static_clocks,
			       set_clock, &in->catalogue, err);
	if (!rc)
		rc = set_types("--power-limits", "TYPE=W, such as T4=60", q->power_limits,
			       set_limit, &in->catalogue, err);
	if (!rc)
		rc = app_fleet_load(q->fleet, &in->catalogue, &in->fleet, err);
	if (!rc && jobs)
		rc = app_jobs_load(q->app, NULL, jobs, true, &in->jobs, err);
	if (!rc && q->burst)
		app_jobs_arrive_at_once(&in->jobs);
	if (!rc && q->plan)
		rc = hes_plan_load(q->plan, &in->fleet, &in->jobs, &in->plan, err);
	if (!rc)
		rc = app_model_load(q->app, q->physics, &in->catalogue, types,
				    hes_fleet_types(&in->fleet, types, APP_KNOWN_TYPES), &in->model,
				    err);
	return rc;
}

void campaign_set_free(struct campaign_set *in)
{
	campaign_free(&in->campaign);
	app_known_free(&in->knowledge);
	free(in->fits.v);
	hes_model_free(in->model);
	hes_plan_finish(&in->plan);
	hes_jobs_free(&in->jobs);
	hes_fleet_free(&in->fleet);
	hes_catalogue_free(&in->catalogue);
}

static int set_fail_replan(struct hes_err *err)
{
	char names[200];

	hes_policy_names(hes_policy_searches, names, sizeof(names));
	return hes_fail(err, -EINVAL,
			"--replan: all of these policies plan again at every arrival; those that "
			"do not: %s",
			names);
}

static bool has_preference(const struct hes_policy *p)
{
	return p->prefers;
}

static int set_fail_prefer(const char *prefer, struct hes_err *err)
{
	char names[200];

	hes_policy_names(has_preference, names, sizeof(names));
	return hes_fail(
		err, -EINVAL,
		"--prefer %.40s: none of these policies has a preference; those that have: %s",
		prefer, names);
}

int campaign_set_choose(struct campaign_set *in, const struct campaign_request *q,
			struct hes_err *err)
{
	struct campaign *c = &in->campaign;
	int rc = campaign_seeds(c, "--seeds", q->seeds, err);

	c->exec_limit_s = q->exec_limit_s;
	if (!rc && (q->policies || !q->plan))
		rc = campaign_policies(c, q->policies ? q->policies : CAMPAIGN_ALL, q->prefer, err);
	c->replan_all = q->replan;
	if (!rc && q->replan && !campaign_any(c, hes_policy_searches))
		rc = set_fail_replan(err);
	if (!rc && q->prefer && !campaign_any(c, has_preference))
		rc = set_fail_prefer(q->prefer, err);
	if (!rc && q->plan)
		rc = campaign_add_plan(c, q->plan, &in->plan, err);
	if (!rc && q->show && campaign_find(c, q->show) < 0)
		rc = hes_fail(err, -ENOENT, "--show: %.64s is not one of the policies to be run",
			      q->show);
	if (!rc && q->static_clocks && !campaign_any(c, campaign_is_static))
		rc = hes_fail(err, -EINVAL,
			      "--static-clocks: they are those of static and static-equal, which "
			      "are not among the policies");
	if (!rc && q->power_limits && !campaign_any(c, campaign_limits_power))
		rc = hes_fail(err, -EINVAL,
			      "--power-limits: they are those of cap, which is not among the "
			      "policies");
	if (!rc && q->reference && campaign_find(c, q->reference) < 0)
		rc = hes_fail(err, -ENOENT,
			      "--reference: %.64s is not one of the policies to be run",
			      q->reference);
	c->keep_jobs = q->keep_jobs;
	c->keep = q->keep;
	c->terms = (struct hes_sim){
		.time_noise = q->time_noise_pct / 100,
		.power_noise = q->power_noise_pct / 100,
		.clock_change_us = (int64_t)(q->clock_change_ms * 1e3),
	};
	return rc;
}

int campaign_set_learn(struct campaign_set *in, const struct campaign_request *q,
		       struct hes_err *err)
{
	struct campaign *c = &in->campaign;
	struct app_known_request from = set_known_from(q, in);
	int rc;

	rc = app_known_load(&from, &in->knowledge, err);
	if (!rc)
		rc = app_known_profiling_of(&from, &c->profiling, err);
	in->fits = (struct app_fits){ in->knowledge.fits, in->knowledge.n_fits };
	in->knowledge.fits = NULL;
	if (!rc)
		rc = set_check_workloads(in, err);
	if (rc)
		return rc;
	app_known_count_jobs(&in->knowledge, &in->fleet, &in->jobs, c->known);
	c->app = q->app;
	c->catalogue = &in->catalogue;
	c->model = in->model;
	c->fits = in->fits.v;
	c->n_fits = in->fits.n;
	c->progress = q->progress;
	c->fleet = &in->fleet;
	c->jobs = &in->jobs;
	c->profiles = &in->knowledge.profiles;
	c->predictor = in->knowledge.predictor;
	return 0;
}

/* The runs on one drawn model; all else is borrowed from the campaign. */
static int set_run_draw(struct campaign_set *s, const struct campaign_request *q, size_t draw,
			struct hes_err *err)
{
	struct campaign *c = &s->campaign;
	struct app_known k = { .learnt = false };
	struct hes_model *drawn = NULL;
	struct campaign one = *c;
	struct hes_report_policy *rows = NULL;
	struct app_known_request from = set_known_from(q, s);
	int rc = hes_model_varied(c->model, draw + 1, &drawn, err);

	from.model = drawn;
	if (!rc && c->predictor)
		rc = app_known_load(&from, &k, err);
	one.model = drawn;
	one.profiles = &k.profiles;
	one.predictor = k.predictor;
	one.keep = one.keep_jobs = false;
	one.runs = NULL;
	if (!rc)
		rc = campaign_run_all(&one, (int)q->threads, err);
	if (!rc && !(rows = campaign_rows(&one)))
		rc = hes_fail(err, -ENOMEM, "out of memory");
	for (size_t w = 0; !rc && w < c->n_who; w++)
		c->draws[draw * c->n_who + w] = rows[w].realised;
	free(rows);
	campaign_free_runs(&one);
	app_known_free(&k);
	hes_model_free(drawn);
	return rc;
}

int campaign_set_draw(struct campaign_set *s, const struct campaign_request *q, struct hes_err *err)
{
	struct campaign *c = &s->campaign;
	int rc = 0;

	c->draws = calloc(q->model_draws * c->n_who, sizeof(*c->draws));
	if (!c->draws)
		return hes_fail(err, -ENOMEM, "out of memory for %" PRIu64 " draws",
				q->model_draws);
	for (size_t i = 0; i < q->model_draws && !rc; i++) {
		rc = set_run_draw(s, q, i, err);
		if (rc)
			hes_fail_in(err, "draw %zu of the model", i + 1);
	}
	c->n_draws = rc ? 0 : q->model_draws;
	return rc;
}

/* Seeds as text, of which a plain number is how many. */
static int sets_draw_seeds(const char *draws, struct campaign_sets *s, size_t *n,
			   struct hes_err *err)
{
	struct campaign seeds = { 0 };
	char text[64];
	int rc;

	snprintf(text, sizeof(text), "%s%s", draws[strspn(draws, "0123456789")] ? "" : "1..",
		 draws);
	rc = campaign_seeds(&seeds, "--draws", text, err);
	s->seeds = seeds.seeds;
	*n = seeds.n_seeds;
	return rc;
}

/* @param name  a file, or the trace to draw from */
static int sets_load_one(struct campaign_sets *s, size_t i, const struct campaign_request *q,
			 const char *name, struct hes_err *err)
{
	struct campaign_set *set = &s->v[i];
	const char *slash = strrchr(name, '/');
	int rc = 0;

	if (s->source) {
		snprintf(set->name, sizeof(set->name), "draw %" PRIu64, s->seeds[i]);
		rc = trace_draw_jobs(q->app, name, s->seeds[i], &set->jobs, err);
	} else {
		snprintf(set->name, sizeof(set->name), "%s", slash ? slash + 1 : name);
	}
	return rc ? rc : campaign_set_load(set, q, s->source ? NULL : name, err);
}

int campaign_sets_load(struct campaign_sets *s, const struct campaign_request *q, const char *draws,
		       size_t n, char *const *names, struct hes_err *err)
{
	int rc = 0;

	*s = (struct campaign_sets){ .source = draws ? names[0] : NULL };
	if (draws && n > 1)
		return hes_fail(err, -EINVAL,
				"--draws: it draws from one trace, not from %zu files", n);
	if (draws)
		rc = sets_draw_seeds(draws, s, &n, err);
	if (rc)
		return rc;
	s->v = calloc(n, sizeof(*s->v));
	if (!s->v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu sets of jobs", n);
	for (size_t i = 0; i < n && !rc; i++) {
		s->n = i + 1;
		rc = sets_load_one(s, i, q, names[draws ? 0 : i], err);
	}
	return rc;
}

int campaign_sets_choose(struct campaign_sets *s, const struct campaign_request *q,
			 struct hes_err *err)
{
	struct campaign_request own = *q;
	char seed[24];
	int rc = 0;

	for (size_t i = 0; i < s->n && !rc; i++) {
		if (s->source) {
			snprintf(seed, sizeof(seed), "%" PRIu64, s->seeds[i]);
			own.seeds = seed;
		}
		rc = campaign_set_choose(&s->v[i], &own, err);
	}
	return rc;
}

/* A session of profiling counts once, whatever sets have its workloads. */
static int sets_sum_profiling(struct campaign_sets *s, const struct campaign_request *q,
			      struct hes_err *err)
{
	struct hes_jobs all = { 0 };
	const struct app_known_request from = {
		.app = q->app,
		.store = q->store,
		.profiles = q->profiles,
		.jobs = &all,
	};
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < s->n; i++)
		n += s->v[i].jobs.n;
	all.v = calloc(n, sizeof(*all.v));
	if (!all.v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", n);
	for (size_t i = 0; i < s->n; i++) {
		const struct hes_jobs *jobs = &s->v[i].jobs;

		memcpy(all.v + all.n, jobs->v, jobs->n * sizeof(*all.v));
		all.n += jobs->n;
	}
	rc = app_known_profiling_of(&from, &s->profiling, err);
	free(all.v);
	return rc;
}

int campaign_sets_run(struct campaign_sets *s, const struct campaign_request *q,
		      struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->n && !rc; i++) {
		rc = campaign_set_learn(&s->v[i], q, err);
		if (!rc)
			rc = campaign_run_all(&s->v[i].campaign, (int)q->threads, err);
		if (!rc && q->model_draws)
			rc = campaign_set_draw(&s->v[i], q, err);
		if (rc)
			hes_fail_in(err, "%s", s->v[i].name);
	}
	return rc ? rc : sets_sum_profiling(s, q, err);
}

void campaign_sets_free(struct campaign_sets *s)
{
	for (size_t i = 0; i < s->n; i++)
		campaign_set_free(&s->v[i]);
	free(s->v);
	free(s->seeds);
}
