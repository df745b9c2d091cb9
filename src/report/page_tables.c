/*
 * page_tables.c - the tables of a report; see page_tables.h.
 */
#include "report/page_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/figures.h"
#include "report/text.h"

enum quantity { TIME, ENERGY, PERCENT };

static double avg_jct(const struct hes_report_policy *p)
{
	return p->realised.avg_jct_us;
}
static double p50_jct(const struct hes_report_policy *p)
{
	return (double)p->p50_jct_us;
}
static double p95_jct(const struct hes_report_policy *p)
{
	return (double)p->p95_jct_us;
}
static double makespan(const struct hes_report_policy *p)
{
	return (double)p->realised.makespan_us;
}
static double busy(const struct hes_report_policy *p)
{
	return (double)p->realised.busy_energy_mj;
}
static double fleet(const struct hes_report_policy *p)
{
	return (double)p->realised.fleet_energy_mj;
}
static double util(const struct hes_report_policy *p)
{
	return 100 * p->mean_util;
}

enum { COLUMN_JCT = 0, COLUMN_BUSY = 4, N_COLUMNS = 7 };

static const struct column {
	const char *heading, *title;
	enum quantity quantity;
	bool more_is_better;
	double (*value)(const struct hes_report_policy *p);
} columns[N_COLUMNS] = {
	[COLUMN_JCT] = { "average JCT", "mean time from a job’s arrival to its end", TIME, false,
			 avg_jct },
	{ "median JCT", "half the jobs took at most this long", TIME, false, p50_jct },
	{ "p95 JCT", "95 % of the jobs took at most this long", TIME, false, p95_jct },
	{ "makespan", "end of the last job", TIME, false, makespan },
	[COLUMN_BUSY] = { "busy energy", "GPUs while they run anything", ENERGY, false, busy },
	{ "fleet energy", "busy energy and the idle power of every GPU until the last job ends",
	  ENERGY, false, fleet },
	{ "SM use", "mean SM utilisation of the fleet over the makespan", PERCENT, true, util },
};

static const char *quantity(char out[QUANTITY_MAX], enum quantity q, double v)
{
	if (q == PERCENT)
		return format_number(out, v, 1);
	return q == TIME ? format_time(out, v) : format_energy(out, v);
}

/* Whether a row is the column's best as it is shown, so that equals are marked alike. */
static bool is_best(const struct hes_report *r, size_t row, const struct column *c)
{
	double best = c->value(&r->policies[0]);
	char own[QUANTITY_MAX], other[QUANTITY_MAX];

	for (size_t i = 1; i < r->n_policies; i++) {
		double v = c->value(&r->policies[i]);

		best = c->more_is_better ? fmax(best, v) : fmin(best, v);
	}
	return strcmp(quantity(own, c->quantity, c->value(&r->policies[row])),
		      quantity(other, c->quantity, best)) == 0;
}

static void heading(FILE *f)
{
	fputs("<thead><tr><th class=\"text\">policy</th>", f);
	for (size_t c = 0; c < N_COLUMNS; c++)
		fprintf(f, "<th title=\"%s\">%s<span>%s</span></th>", columns[c].title,
			columns[c].heading, columns[c].quantity == PERCENT ? "%" : "");
	fputs("<th title=\"and how far it is from the outcome\">predicted JCT<span>off</span></th>"
	      "<th title=\"and how far it is from the outcome\">predicted "
	      "energy<span>off</span></th>"
	      "</tr></thead>\n",
	      f);
}

static void caption(FILE *f, const struct hes_report *r)
{
	char name[POLICY_LABEL_MAX];

	fputs("<caption>", f);
	if (r->n_policies > 1) {
		fputs("Small figures are differences to ", f);
		text_xml(f, policy_label(name, &r->policies[r->reference]));
		fputs(", in the predicted columns to the outcome. Bold: best of the column.", f);
	}
	if (r->n_seeds > 1)
		fprintf(f, " Every row is the mean over %u seeds.", r->n_seeds);
	fputs("</caption>\n", f);
}

static void cell(FILE *f, const struct hes_report *r, size_t row, const struct column *c)
{
	double v = c->value(&r->policies[row]), base = c->value(&r->policies[r->reference]);
	bool best = r->n_policies > 1 && is_best(r, row, c);
	char number[QUANTITY_MAX], change[QUANTITY_MAX];

	fprintf(f, "<td%s>%s", best ? " class=\"best\"" : "", quantity(number, c->quantity, v));
	if (row == r->reference)
		fputs("<span>\u00b7</span></td>", f);
	else
		fprintf(f, "<span>%s</span></td>", format_change(change, v, base));
}

/* What was predicted for a column of the comparison, and how far off that is. */
static void prediction(FILE *f, const struct hes_report *r, size_t row, const struct column *c,
		       double predicted)
{
	char number[QUANTITY_MAX], change[QUANTITY_MAX];

	if (r->policies[row].has_prediction)
		fprintf(f, "<td>%s<span>%s</span></td>", quantity(number, c->quantity, predicted),
			format_change(change, predicted, c->value(&r->policies[row])));
	else
		fputs("<td>\u2013<span></span></td>", f);
}

void table_policies(FILE *f, const struct hes_report *r)
{
	char name[POLICY_LABEL_MAX];

	fputs("<table>\n", f);
	caption(f, r);
	heading(f);
	fputs("<tbody>\n", f);
	for (size_t i = 0; i < r->n_policies; i++) {
		const struct hes_report_policy *p = &r->policies[i];

		fprintf(f, "<tr%s><th class=\"text\">", i == r->chosen ? " class=\"chosen\"" : "");
		text_xml(f, policy_label(name, p));
		fprintf(f, "<span>%s</span></th>",
			i == r->chosen && i == r->reference ? "shown below, reference"
			: i == r->chosen                    ? "shown below"
			: i == r->reference                 ? "reference"
							    : "");
		for (size_t c = 0; c < N_COLUMNS; c++)
			cell(f, r, i, &columns[c]);
		prediction(f, r, i, &columns[COLUMN_JCT], p->predicted.avg_jct_us);
		prediction(f, r, i, &columns[COLUMN_BUSY], (double)p->predicted.busy_energy_mj);
		fputs("</tr>\n", f);
	}
	fputs("</tbody></table>\n", f);
}

static void text_cell(FILE *f, const char *s)
{
	fputs("<td class=\"text\">", f);
	text_xml(f, s);
	fputs("</td>", f);
}

static void number_cell(FILE *f, double v, int decimals)
{
	char number[QUANTITY_MAX];

	fprintf(f, "<td>%s</td>", format_number(number, v, decimals));
}

static void quantity_cell(FILE *f, enum quantity q, double v)
{
	char text[QUANTITY_MAX];

	fprintf(f, "<td>%s</td>", quantity(text, q, v));
}

void table_gpus(FILE *f, const struct hes_report *r)
{
	const struct hes_replay *p = r->replay;
	double makespan_us = fmax((double)p->totals.makespan_us, 1);
	uint32_t *jobs = calloc(p->n_gpus + 1, sizeof(*jobs));

	for (size_t j = 0; jobs && j < p->n_jobs; j++)
		jobs[p->jobs[j].gpu] += p->jobs[j].end_us > p->jobs[j].start_us;
	fputs("<table>\n<thead><tr><th class=\"text\">GPU</th><th "
	      "class=\"text\">type</th><th>jobs</th>"
	      "<th>busy</th><th>busy<span>%</span></th><th>SM use<span>%</span></th>"
	      "<th>busy energy</th><th>idle energy</th></tr></thead>\n<tbody>\n",
	      f);
	for (size_t g = 0; g < p->n_gpus; g++) {
		const struct hes_gpu_usage *u = &p->gpus[g];

		fputs("<tr>", f);
		text_cell(f, r->fleet->gpus[g].name);
		text_cell(f, r->fleet->gpus[g].type->name);
		number_cell(f, jobs ? (double)jobs[g] : (double)NAN, 0);
		quantity_cell(f, TIME, (double)u->busy_us);
		number_cell(f, 100 * (double)u->busy_us / makespan_us, 1);
		number_cell(f, 100 * u->mean_util, 1);
		quantity_cell(f, ENERGY, (double)u->busy_energy_mj);
		quantity_cell(f, ENERGY, (double)u->idle_energy_mj);
		fputs("</tr>\n", f);
	}
	fputs("</tbody></table>\n", f);
	free(jobs);
}

static void job_row(FILE *f, const struct hes_report *r, size_t j)
{
	const struct hes_job *job = &r->jobs->v[j];
	const struct hes_outcome *o = &r->replay->jobs[j];

	fputs("<tr>", f);
	text_cell(f, job->id);
	text_cell(f, job->workload);
	number_cell(f, job->batch_size, 0);
	text_cell(f, r->fleet->gpus[o->gpu].name);
	number_cell(f, o->sm_pct, 0);
	number_cell(f, o->clock_mhz, 0);
	quantity_cell(f, TIME, (double)job->arrival_us);
	quantity_cell(f, TIME, (double)o->start_us);
	quantity_cell(f, TIME, (double)o->end_us);
	quantity_cell(f, TIME, (double)(o->end_us - job->arrival_us));
	if (!job->has_deadline)
		fputs("<td></td>", f);
	else
		fprintf(f, "<td%s</td>",
			o->end_us <= job->deadline_us ? ">met" : " class=\"missed\">missed");
	fputs("</tr>\n", f);
}

void table_jobs(FILE *f, const struct hes_report *r)
{
	size_t n = r->jobs->n < TABLE_MAX_JOBS ? r->jobs->n : TABLE_MAX_JOBS;
	char all[QUANTITY_MAX];

	fputs("<table>\n<thead><tr><th class=\"text\">job</th><th "
	      "class=\"text\">workload</th><th>batch size"
	      "</th><th "
	      "class=\"text\">GPU</th><th>SMs<span>%</span></th><th>clock<span>MHz</span></th>"
	      "<th>arrival</th><th>start</th><th>end</th><th>JCT</th><th>deadline</th></tr></"
	      "thead>\n<tbody>\n",
	      f);
	for (size_t j = 0; j < n; j++)
		job_row(f, r, j);
	fputs("</tbody></table>\n", f);
	if (n < r->jobs->n)
		fprintf(f, "<p>The first %d of %s jobs.</p>\n", TABLE_MAX_JOBS,
			format_number(all, (double)r->jobs->n, 0));
}
