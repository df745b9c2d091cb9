/*
 * simulated.c - load a set of jobs, choose the policies, run the campaign; see simulated.h.
 */
#include "cli/simulate/simulated.h"
#include "app/jobs_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/plural.h"
#include "base/texts.h"
#include "cli/cli.h"
#include "app/catalogue.h"
#include "cli/inputs/inputs.h"

/* The workloads that the model does not know are fitted to their profiles. */
static struct app_known_from known_from(const struct simulate_opts *o, const struct simulated *in)
{
	return (struct app_known_from){ .app = cli_app(),
					.store = o->store,
					.predictor = o->predictor,
					.profiles = o->profiles,
					.model = in->model,
					.jobs = &in->jobs,
					.replayed = true };
}

/* Found before any policy has planned. */
static int check_workloads(struct simulated *in, struct hes_err *err)
{
	struct hes_err cause;
	int rc = 0;

	for (size_t i = 0; i < in->jobs.n && !rc; i++) {
		const struct hes_workload *w =
			hes_model_workload(in->model, in->jobs.v[i].workload, &cause);

		rc = w ? cli_fits_own(w, &in->fits, err)
		     : hes_job_is_script(&in->jobs.v[i])
			     ? hes_job_fail_script(&in->jobs.v[i], err)
			     : hes_fail(err, -ENOENT,
					"job %s: it was not measured (heshare profile measures "
					"it), and %s",
					in->jobs.v[i].id, cause.msg);
	}
	return rc;
}

/* "T4=900,V100-PCIe=945" */
static int set_static_clocks(const char *text, struct hes_catalogue *c, struct hes_err *err)
{
	char *copy = strdup(text), *rest = copy, *word;
	int rc = copy ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	while (!rc && (word = strsep(&rest, ","))) {
		char *equals = strchr(word, '=');
		const struct hes_gpu_type *g;
		uint64_t mhz = 0;

		if (!equals) {
			rc = hes_fail(err, -EINVAL,
				      "--static-clocks: \"%.60s\" is not TYPE=MHZ, such as T4=900",
				      word);
			break;
		}
		*equals = '\0';
		g = hes_gpu_type_find(c, word, err);
		if (!g)
			rc = hes_fail_in(err, "--static-clocks");
		else
			rc = hes_parse_u64("--static-clocks", equals + 1, 1, UINT32_MAX, &mhz, err);
		if (!rc &&
		    (mhz > g->clock_default_mhz || !hes_gpu_type_has_clock(g, (uint32_t)mhz)))
			rc = hes_fail(
				err, -EINVAL,
				"--static-clocks: %" PRIu64
				" MHz is none of the clocks of %s %s: %u to %u MHz in steps of "
				"%g",
				mhz, hes_article(g->name), g->name, g->clock_min_mhz,
				g->clock_default_mhz, g->clock_step_mhz);
		if (!rc)
			c->types[g - c->types].clock_static_mhz = (uint32_t)mhz;
	}
	free(copy);
	return rc;
}

int simulated_load(struct simulated *in, const struct simulate_opts *o, const char *jobs,
		   struct hes_err *err)
{
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	int rc = app_catalogue_load(cli_app(), o->catalogue, false, &in->catalogue, err);

	if (!rc && o->static_clocks)
		rc = set_static_clocks(o->static_clocks, &in->catalogue, err);
	if (!rc)
		rc = app_fleet_load(o->fleet, &in->catalogue, &in->fleet, err);
	if (!rc && jobs)
		rc = app_jobs_load(cli_app(), NULL, jobs, true, &in->jobs, err);
	if (!rc && o->burst)
		app_jobs_arrive_at_once(&in->jobs);
	if (!rc && o->plan)
		rc = hes_plan_load(o->plan, &in->fleet, &in->jobs, &in->plan, err);
	if (!rc)
		rc = app_model_load(cli_app(), o->physics, &in->catalogue, types,
				    hes_fleet_types(&in->fleet, types, HES_KNOWN_TYPES), &in->model,
				    err);
	return rc;
}

void simulated_free(struct simulated *in)
{
	campaign_free(&in->campaign);
	hes_known_free(&in->knowledge);
	free(in->fits.v);
	hes_model_free(in->model);
	hes_plan_finish(&in->plan);
	hes_jobs_free(&in->jobs);
	hes_fleet_free(&in->fleet);
	hes_catalogue_free(&in->catalogue);
}

static bool is_any(const struct hes_policy *p)
{
	return p;
}

static int fail_none_can_replan(struct hes_err *err)
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

static int none_prefers(const char *prefer, struct hes_err *err)
{
	char names[200];

	hes_policy_names(has_preference, names, sizeof(names));
	return hes_fail(
		err, -EINVAL,
		"--prefer %.40s: none of these policies has a preference; those that have: %s",
		prefer, names);
}

int simulated_choose(struct simulated *in, const struct simulate_opts *o, struct hes_err *err)
{
	struct campaign *c = &in->campaign;
	int rc = campaign_seeds(c, "--seeds", o->seeds, err);

	c->exec_limit_s = o->exec_limit_s;
	if (!rc && (o->policy || !o->plan))
		rc = campaign_policies(c, o->policy ? o->policy : CAMPAIGN_ALL, o->prefer, err);
	c->limit_part = o->limit_pct / 100;
	c->replan_all = o->replan;
	if (!rc && o->replan && !campaign_any(c, hes_policy_searches))
		rc = fail_none_can_replan(err);
	if (!rc && o->prefer && !campaign_any(c, has_preference))
		rc = none_prefers(o->prefer, err);
	if (!rc && o->plan)
		rc = campaign_add_plan(c, o->plan, &in->plan, err);
	if (!rc && o->show && campaign_find(c, o->show) < 0)
		rc = hes_fail(err, -ENOENT, "--show: %.64s is not one of the policies to be run",
			      o->show);
	if (!rc && o->static_clocks && !campaign_any(c, policy_is_static))
		rc = hes_fail(err, -EINVAL,
			      "--static-clocks: they are those of static and static-equal, which "
			      "are not among the policies");
	if (!rc && o->limit_given && !campaign_any(c, policy_limits_power))
		rc = hes_fail(err, -EINVAL,
			      "--power-limit: it is that of cap, which is not among the policies");
	if (!rc && o->reference && campaign_find(c, o->reference) < 0)
		rc = hes_fail(err, -ENOENT,
			      "--reference: %.64s is not one of the policies to be run",
			      o->reference);
	c->keep_jobs = o->per_job;
	c->keep = o->pages.report || o->pages.figures;
	c->terms = (struct hes_sim){
		.time_noise = o->time_noise_pct / 100,
		.power_noise = o->power_noise_pct / 100,
		.clock_change_us = (int64_t)(o->clock_change_ms * 1e3),
	};
	return rc;
}

/* The command again, of the options that change results. */
static void command_line(const struct simulate_opts *o, const char *jobs, char *out, size_t size)
{
	const struct {
		const char *name, *value;
	} given[] = {
		{ "fleet", o->fleet },         { "policy", o->policy },
		{ "prefer", o->prefer },       { "plan", o->plan },
		{ "store", o->store },         { "predictor", o->predictor },
		{ "profiles", o->profiles },   { "physics", o->physics },
		{ "catalogue", o->catalogue }, { "seeds", strcmp(o->seeds, "1") ? o->seeds : NULL },
		{ "show", o->show },           { "static-clocks", o->static_clocks },
	};

	snprintf(out, size, "heshare simulate %s%s%s", jobs, o->burst ? " --burst" : "",
		 o->replan ? " --replan" : "");
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].value)
			hes_text_add(out, size, " ", "--%s %s", given[i].name, given[i].value);
	if (o->model_draws)
		hes_text_add(out, size, " ", "--model-draws %" PRIu64, o->model_draws);
	if (o->time_noise_pct + o->power_noise_pct + o->clock_change_ms > 0)
		hes_text_add(out, size, " ", "--time-noise %g --power-noise %g --clock-change %g",
			     o->time_noise_pct, o->power_noise_pct, o->clock_change_ms);
}

static int write_report(const struct simulate_opts *o, const char *jobs, const struct campaign *c,
			struct hes_err *err)
{
	char command[1024];

	command_line(o, jobs, command, sizeof(command));
	return campaign_write_report(c, &o->pages, o->show, command, err);
}

int simulated_learn(struct simulated *in, const struct simulate_opts *o, struct hes_err *err)
{
	struct campaign *c = &in->campaign;
	struct app_known_from from = known_from(o, in);
	int rc;

	from.profiles_only = !campaign_any(c, is_any);
	rc = app_known_load(&from, &in->catalogue, &in->fleet, &in->knowledge, err);
	in->fits = (struct cli_fits){ in->knowledge.fits, in->knowledge.n_fits };
	in->knowledge.fits = NULL;
	if (!rc)
		rc = check_workloads(in, err);
	if (rc)
		return rc;
	hes_known_count_jobs(&in->knowledge, &in->fleet, &in->jobs, c->known);
	c->model = in->model;
	c->fits = in->fits.v;
	c->n_fits = in->fits.n;
	c->progress = cli_progress;
	c->fleet = &in->fleet;
	c->jobs = &in->jobs;
	c->profiles = &in->knowledge.profiles;
	c->predictor = in->knowledge.predictor;
	return 0;
}

int simulated_run(struct simulated *in, const struct simulate_opts *o, const char *jobs,
		  struct hes_err *err)
{
	struct campaign *c = &in->campaign;
	struct app_known_from from = known_from(o, in);
	int rc = campaign_run_all(c, (int)o->threads, err);

	if (!rc && o->csv)
		rc = campaign_write_csv(c, o->csv, !o->no_timing, err);
	if (!rc && o->per_job)
		rc = campaign_write_jobs(c, o->per_job, err);
	if (!rc && c->keep)
		rc = write_report(o, jobs, c, err);
	from.profiles_only = !campaign_any(c, is_any);
	if (!rc && o->model_draws)
		rc = campaign_run_draws(c, &(struct campaign_files){ from, &in->catalogue },
					o->model_draws, (int)o->threads, err);
	return rc;
}
