/*
 * tables.c - the tables of a report; see tables.h. A column has one unit.
 */
#include "report/tables.h"

#include <math.h>
#include <stdlib.h>

#include "report/figures.h"
#include "report/text.h"

enum quantity { TIME, ENERGY, PERCENT };

static double avg_jct(const struct hes_report_policy *p)  { return p->realised.avg_jct_us; }
static double p50_jct(const struct hes_report_policy *p)  { return (double)p->p50_jct_us; }
static double p95_jct(const struct hes_report_policy *p)  { return (double)p->p95_jct_us; }
static double makespan(const struct hes_report_policy *p) { return (double)p->realised.makespan_us; }
static double busy(const struct hes_report_policy *p)     { return (double)p->realised.busy_energy_mj; }
static double fleet(const struct hes_report_policy *p)    { return (double)p->realised.fleet_energy_mj; }
static double util(const struct hes_report_policy *p)     { return 100 * p->mean_util; }

enum { COLUMN_JCT = 0, COLUMN_BUSY = 4, N_COLUMNS = 7 };

static const struct column {
	const char   *heading, *title;
	enum quantity quantity;
	bool          more_is_better;
	double      (*value)(const struct hes_report_policy *p);
} columns[N_COLUMNS] = {
	[COLUMN_JCT] = { "average JCT", "mean time from a job’s arrival to its end", TIME, false, avg_jct },
	{ "median JCT", "half the jobs took at most this long", TIME, false, p50_jct },
	{ "p95 JCT", "95 % of the jobs took at most this long", TIME, false, p95_jct },
	{ "makespan", "end of the last job", TIME, false, makespan },
	[COLUMN_BUSY] = { "busy energy", "GPUs while they run anything", ENERGY, false, busy },
	{ "fleet energy", "busy energy and the idle power of every GPU until the last job ends", ENERGY, false,
	  fleet },
	{ "SM use", "mean SM utilisation of the fleet over the makespan", PERCENT, true, util },
};

static struct unit unit_of(enum quantity q, double max)
{
	return q == TIME ? unit_time(max) : q == ENERGY ? unit_energy(max) : (struct unit){ "%", 1 };
}

struct column_scale {
	struct unit unit;
	int         decimals;
	double      best; /* rounded to what is shown, so that equals are marked alike */
};

static double shown(const struct column_scale *s, double v)
{
	double pow10[] = { 1, 10, 100 };

	return round(v / s->unit.of * pow10[s->decimals]);
}

static struct column_scale scale(const struct hes_report *r, const struct column *c)
{
	struct column_scale s;
	double max = 0;

	for (size_t i = 0; i < r->n_policies; i++)
		max = fmax(max, c->value(&r->policies[i]));
	s.unit = unit_of(c->quantity, max);
	s.decimals = c->quantity == PERCENT ? 1 : format_decimals(max / s.unit.of);
	s.best = shown(&s, c->value(&r->policies[0]));
	for (size_t i = 1; i < r->n_policies; i++) {
		double v = shown(&s, c->value(&r->policies[i]));

		s.best = c->more_is_better ? fmax(s.best, v) : fmin(s.best, v);
	}
	return s;
}

static void heading(FILE *f, const struct hes_report *r)
{
	fputs("<thead><tr><th class=\"text\">policy</th>", f);
	for (size_t c = 0; c < N_COLUMNS; c++) {
		struct column_scale s = scale(r, &columns[c]);

		fprintf(f, "<th title=\"%s\">%s<span>%s</span></th>", columns[c].title, columns[c].heading,
			s.unit.name);
	}
	fprintf(f, "<th title=\"and how far it is from the outcome\">predicted JCT<span>%s, off</span></th>"
		"<th title=\"and how far it is from the outcome\">predicted energy<span>%s, off</span></th>"
		"</tr></thead>\n", scale(r, &columns[COLUMN_JCT]).unit.name,
		scale(r, &columns[COLUMN_BUSY]).unit.name);
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
	struct column_scale s = scale(r, c);
	double v = c->value(&r->policies[row]), base = c->value(&r->policies[r->reference]);
	bool best = r->n_policies > 1 && shown(&s, v) == s.best;
	char number[QUANTITY_MAX], change[QUANTITY_MAX];

	fprintf(f, "<td%s>%s", best ? " class=\"best\"" : "", format_number(number, v / s.unit.of, s.decimals));
	if (row == r->reference)
		fputs("<span>\u00b7</span></td>", f);
	else
		fprintf(f, "<span>%s</span></td>", format_change(change, v, base));
}

/* What was predicted for a column of the comparison, in that column's unit, and how far off that is. */
static void prediction(FILE *f, const struct hes_report *r, size_t row, const struct column *c, double said)
{
	struct column_scale s = scale(r, c);
	char number[QUANTITY_MAX], change[QUANTITY_MAX];

	if (r->policies[row].has_prediction)
		fprintf(f, "<td>%s<span>%s</span></td>", format_number(number, said / s.unit.of, s.decimals),
			format_change(change, said, c->value(&r->policies[row])));
	else
		fputs("<td>\u2013<span></span></td>", f);
}

void table_policies(FILE *f, const struct hes_report *r)
{
	char name[POLICY_LABEL_MAX];

	fputs("<table>\n", f);
	caption(f, r);
	heading(f, r);
	fputs("<tbody>\n", f);
	for (size_t i = 0; i < r->n_policies; i++) {
		const struct hes_report_policy *p = &r->policies[i];

		fprintf(f, "<tr%s><th class=\"text\">", i == r->chosen ? " class=\"chosen\"" : "");
		text_xml(f, policy_label(name, p));
		fprintf(f, "<span>%s</span></th>", i == r->chosen && i == r->reference ? "shown below, reference"
			: i == r->chosen ? "shown below" : i == r->reference ? "reference" : "");
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

void table_gpus(FILE *f, const struct hes_report *r)
{
	const struct hes_replay *p = r->replay;
	double makespan_us = fmax((double)p->totals.makespan_us, 1), most = 0;
	struct unit time = unit_time(makespan_us), energy;
	uint32_t *jobs = calloc(p->n_gpus + 1, sizeof(*jobs));

	for (size_t g = 0; g < p->n_gpus; g++)
		most = fmax(most, (double)(p->gpus[g].busy_energy_mj + p->gpus[g].idle_energy_mj));
	for (size_t j = 0; jobs && j < p->n_jobs; j++)
		jobs[p->jobs[j].gpu] += p->jobs[j].end_us > p->jobs[j].start_us;
	energy = unit_energy(most);
	fprintf(f, "<table>\n<thead><tr><th class=\"text\">GPU</th><th class=\"text\">type</th><th>jobs</th>"
		"<th>busy<span>%s</span></th><th>busy<span>%%</span></th><th>SM use<span>%%</span></th>"
		"<th>busy energy<span>%s</span></th><th>idle energy<span>%s</span></th></tr></thead>\n<tbody>\n",
		time.name, energy.name, energy.name);
	for (size_t g = 0; g < p->n_gpus; g++) {
		const struct hes_gpu_usage *u = &p->gpus[g];

		fputs("<tr>", f);
		text_cell(f, r->fleet->gpus[g].name);
		text_cell(f, r->fleet->gpus[g].type->name);
		number_cell(f, jobs ? (double)jobs[g] : (double)NAN, 0);
		number_cell(f, (double)u->busy_us / time.of, 1);
		number_cell(f, 100 * (double)u->busy_us / makespan_us, 1);
		number_cell(f, 100 * u->mean_util, 1);
		number_cell(f, (double)u->busy_energy_mj / energy.of, format_decimals(most / energy.of));
		number_cell(f, (double)u->idle_energy_mj / energy.of, format_decimals(most / energy.of));
		fputs("</tr>\n", f);
	}
	fputs("</tbody></table>\n", f);
	free(jobs);
}

static void job_row(FILE *f, const struct hes_report *r, size_t j, struct unit time)
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
	number_cell(f, (double)job->arrival_us / time.of, 2);
	number_cell(f, (double)o->start_us / time.of, 2);
	number_cell(f, (double)o->end_us / time.of, 2);
	number_cell(f, (double)(o->end_us - job->arrival_us) / time.of, 2);
	if (!job->has_deadline)
		fputs("<td></td>", f);
	else
		fprintf(f, "<td%s</td>", o->end_us <= job->deadline_us ? ">met" : " class=\"missed\">missed");
	fputs("</tr>\n", f);
}

void table_jobs(FILE *f, const struct hes_report *r)
{
	struct unit time = unit_time((double)r->replay->totals.makespan_us);
	size_t n = r->jobs->n < TABLE_MAX_JOBS ? r->jobs->n : TABLE_MAX_JOBS;
	char all[QUANTITY_MAX];

	fprintf(f, "<table>\n<thead><tr><th class=\"text\">job</th><th class=\"text\">workload</th><th>batch size"
		"</th><th class=\"text\">GPU</th><th>SMs<span>%%</span></th><th>clock<span>MHz</span></th>"
		"<th>arrival<span>%s</span></th><th>start<span>%s</span></th><th>end<span>%s</span></th>"
		"<th>JCT<span>%s</span></th><th>deadline</th></tr></thead>\n<tbody>\n", time.name, time.name,
		time.name, time.name);
	for (size_t j = 0; j < n; j++)
		job_row(f, r, j, time);
	fputs("</tbody></table>\n", f);
	if (n < r->jobs->n)
		fprintf(f, "<p>The first %d of %s jobs.</p>\n", TABLE_MAX_JOBS,
			format_number(all, (double)r->jobs->n, 0));
}
