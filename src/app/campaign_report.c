/*
 * campaign_report.c - the HTML report of a campaign; see campaign.h and heshare/report.h.
 *
 * Rows are means over the seeds. Plan, replay, front and distributions are those of the first seed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "app/campaign.h"
#include "heshare/report.h"

/* Means over the seeds, whole numbers rounded down. */
static void mean_row(const struct campaign *c, size_t who, struct hes_report_policy *row)
{
	const struct campaign_run *runs = campaign_runs_of(c, who);
	double n = (double)c->n_seeds;
	struct {
		double makespan, busy, fleet, jct, p50, p95, util, predicted_jct, predicted_busy;
	} sum = { 0 };

	for (size_t i = 0; i < c->n_seeds; i++) {
		const struct hes_replay *r = &runs[i].replay;

		sum.jct += r->totals.avg_jct_us;
		sum.makespan += (double)r->totals.makespan_us;
		sum.busy += (double)r->totals.busy_energy_mj;
		sum.fleet += (double)r->totals.fleet_energy_mj;
		sum.p50 += (double)r->p50_jct_us;
		sum.p95 += (double)r->p95_jct_us;
		sum.util += r->mean_util;
		sum.predicted_jct += r->predicted.avg_jct_us;
		sum.predicted_busy += (double)r->predicted.busy_energy_mj;
	}
	row->realised = (struct hes_totals){ sum.jct / n, (int64_t)(sum.makespan / n),
					     (uint64_t)(sum.busy / n), (uint64_t)(sum.fleet / n) };
	row->p50_jct_us = (int64_t)(sum.p50 / n);
	row->p95_jct_us = (int64_t)(sum.p95 / n);
	row->mean_util = sum.util / n;
	row->has_prediction = contender_predicts(&c->who[who]);
	row->predicted =
		(struct hes_totals){ .avg_jct_us = sum.predicted_jct / n,
				     .busy_energy_mj = (uint64_t)(sum.predicted_busy / n) };
}

static double *completion_times(const struct campaign *c, const struct hes_replay *r)
{
	double *v = calloc(r->n_jobs ? r->n_jobs : 1, sizeof(*v));

	for (size_t i = 0; v && i < r->n_jobs; i++)
		v[i] = (double)(r->jobs[i].end_us - c->jobs->v[i].arrival_us) * 1e-6;
	return v;
}

struct hes_report_policy *campaign_rows(const struct campaign *c)
{
	struct hes_report_policy *rows = calloc(c->n_who + 1, sizeof(*rows));

	for (size_t w = 0; rows && w < c->n_who; w++) {
		rows[w].name = c->who[w].name;
		rows[w].prefer = c->who[w].prefer;
		rows[w].method = c->who[w].plan ? c->who[w].plan->policy : NULL;
		mean_row(c, w, &rows[w]);
	}
	return rows;
}

static int add_completion_times(const struct campaign *c, struct hes_report_policy *rows)
{
	for (size_t w = 0; w < c->n_who; w++) {
		const struct hes_replay *first = &campaign_runs_of(c, w)->replay;

		rows[w].jct_s = completion_times(c, first);
		rows[w].n_jct = first->n_jobs;
		if (!rows[w].jct_s)
			return -ENOMEM;
	}
	return 0;
}

long campaign_find(const struct campaign *c, const char *label)
{
	for (size_t w = 0; w < c->n_who; w++) {
		char own[2 * HES_NAME_MAX];

		campaign_contender_label(&c->who[w], own, sizeof(own));
		if (strcmp(own, label) == 0 || strcmp(c->who[w].name, label) == 0)
			return (long)w;
	}
	return -1;
}

static int write_figures(const char *folder, const struct hes_report *report, struct hes_err *err)
{
	int rc = hes_folder_create(folder, err);

	for (int f = 0; f < HES_FIGURES && !rc; f++) {
		char *path;

		if (asprintf(&path, "%s/%s.svg", folder, hes_figure_name((enum hes_figure)f)) < 0)
			return hes_fail(err, -ENOMEM, "%s: out of memory for the figures", folder);
		rc = hes_report_figure(path, (enum hes_figure)f, report, err);
		free(path);
	}
	return rc;
}

int campaign_write_report(const struct campaign *c, const struct campaign_pages *pages,
			  const char *chosen, const char *command, struct hes_err *err)
{
	struct hes_report_policy *rows = campaign_rows(c);
	const size_t best = rows ? hes_report_best(rows, c->n_who) : 0;
	const long named = chosen ? campaign_find(c, chosen) : -1;
	const size_t shown = named < 0 ? best : (size_t)named;
	const struct campaign_run *run = campaign_runs_of(c, shown);
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	char derived[400];
	struct hes_report report = {
		.command = command,
		.modelled = true,
		.derived = derived,
		.fleet = c->fleet,
		.jobs = c->jobs,
		.plan = &run->carried_out,
		.replay = &run->replay,
		.front = &run->front,
		.policies = rows,
		.n_policies = c->n_who,
		.chosen = shown,
		.reference = rows ? hes_report_reference(rows, c->n_who) : 0,
		.n_seeds = (uint32_t)c->n_seeds,
	};
	int rc = rows ? add_completion_times(c, rows) : -ENOMEM;

	hes_model_derived(c->model, types, hes_fleet_types(c->fleet, types, APP_KNOWN_TYPES),
			  derived, sizeof(derived));
	if (rc)
		hes_fail(err, rc, "out of memory for the report");
	if (!rc && pages->report)
		rc = hes_report_write(pages->report, &report, err);
	if (!rc && pages->figures)
		rc = write_figures(pages->figures, &report, err);
	for (size_t w = 0; rows && w < c->n_who; w++)
		free((void *)(uintptr_t)rows[w].jct_s);
	free(rows);
	return rc;
}
