/*
 * page.c - the HTML page around the figures; see page.h. It is valid XHTML and HTML. Foreign text
 * goes through text_xml.
 */
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heshare/version.h"
#include "report/figures.h"
#include "report/text.h"

static const char css[] =
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 "
	"system-ui,-apple-system,"
	"\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}\n"
	"main{max-width:1128px;margin:0 auto;padding:32px 20px 48px}\n"
	"h1{font-size:26px;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}\n"
	"h2{font-size:18px;margin:0 0 4px}\n"
	"p{margin:0 0 10px}\n"
	".lead,figcaption,.note{color:var(--muted)}\n"
	".badge{display:inline-block;font-size:12px;line-height:1;padding:4px "
	"8px;border-radius:10px;"
	"border:1px solid "
	"var(--grid);color:var(--muted);background:var(--surface);vertical-align:2px;"
	"font-weight:400}\n"
	".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:12px;"
	"margin:20px 0}\n"
	".tile,section{background:var(--surface);border:1px solid var(--grid);border-radius:10px}\n"
	".tile{padding:12px 16px}\n"
	".tile "
	"b{display:block;font-size:24px;line-height:1.25;font-weight:650;white-space:nowrap}\n"
	".tile span{display:block;color:var(--muted);font-size:13px}\n"
	".good{color:var(--good)!important}.worse{color:var(--bad)!important}\n"
	"section{padding:20px 22px;margin:0 0 20px}\n"
	"figure{margin:0}figcaption{font-size:13.5px;margin:0 0 14px;max-width:90ch}\n"
	".scroll{overflow-x:auto}\n"
	".scroll svg{display:block;width:100%;min-width:760px;height:auto}\n"
	"svg text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica "
	"Neue\",Arial,sans-serif;"
	"white-space:pre}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 20px;margin:0}\n"
	"dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}\n"
	"table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:"
	"14px}\n"
	"caption{caption-side:bottom;text-align:left;color:var(--muted);font-size:13px;padding-top:"
	"10px}\n"
	"th,td{text-align:right;padding:6px 10px;border-bottom:1px solid "
	"var(--grid);vertical-align:top;"
	"white-space:nowrap}\n"
	"th{font-weight:600}thead th{vertical-align:bottom;white-space:normal}\n"
	".text{text-align:left}td.text{max-width:30ch;overflow:hidden;text-overflow:ellipsis}\n"
	"th span,td span{display:block;font-size:12px;font-weight:400;color:var(--muted)}\n"
	".best{font-weight:700;color:var(--good)}.missed{color:var(--bad)}\n"
	".chosen th,.chosen td{background:var(--track)}.chosen "
	"th:first-child{color:var(--accent)}\n"
	"details{margin-top:10px}summary{cursor:pointer;font-weight:600}\n"
	"code{font:13px/1.5 "
	"ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}\n"
	"@media print{body{background:none}section,.tile{break-inside:avoid}}\n";

static void tile(FILE *f, const struct hes_report *r, const char *name, const char *value, double v,
		 double base, bool more_is_better)
{
	char change[QUANTITY_MAX], reference[POLICY_LABEL_MAX];
	bool better = more_is_better ? v > base : v < base;

	fprintf(f, "<div class=\"tile\"><span>%s</span><b>%s</b>", name, value);
	if (r->chosen != r->reference && base > 0) {
		fprintf(f, "<span class=\"%s\">%s against ",
			better      ? "good"
			: v == base ? ""
				    : "worse",
			format_change(change, v, base));
		text_xml(f, policy_label(reference, &r->policies[r->reference]));
		fputs("</span>", f);
	}
	fputs("</div>\n", f);
}

static void tiles(FILE *f, const struct hes_report *r)
{
	const struct hes_report_policy *p = &r->policies[r->chosen],
				       *q = &r->policies[r->reference];
	const struct hes_totals *t = &p->realised, *u = &q->realised;
	char s[QUANTITY_MAX];

	fputs("<div class=\"tiles\">\n", f);
	tile(f, r, "average completion time", format_time(s, t->avg_jct_us), t->avg_jct_us,
	     u->avg_jct_us, false);
	tile(f, r, "95th percentile", format_time(s, (double)p->p95_jct_us), (double)p->p95_jct_us,
	     (double)q->p95_jct_us, false);
	tile(f, r, "last job ends after", format_time(s, (double)t->makespan_us),
	     (double)t->makespan_us, (double)u->makespan_us, false);
	tile(f, r, "busy energy", format_energy(s, (double)t->busy_energy_mj),
	     (double)t->busy_energy_mj, (double)u->busy_energy_mj, false);
	tile(f, r, "fleet energy", format_energy(s, (double)t->fleet_energy_mj),
	     (double)t->fleet_energy_mj, (double)u->fleet_energy_mj, false);
	fputs("</div>\n", f);
}

static void fleet_fact(FILE *f, const struct hes_fleet *fleet)
{
	struct type_list types = fleet_types(fleet);

	fputs("<dt>fleet</dt><dd>", f);
	text_xml(f, fleet->name);
	fprintf(f, "%s%zu GPU%s", fleet->name[0] ? ": " : "", fleet->n, fleet->n == 1 ? ":" : "s:");
	for (size_t t = 0; t < types.n; t++) {
		size_t n = 0;

		for (size_t g = 0; g < fleet->n; g++)
			n += type_index(&types, fleet->gpus[g].type) == t;
		fprintf(f, "%s %zu \u00d7 ", t ? "," : "", n);
		text_xml(f, type_name(&types, t));
	}
	fputs("</dd>\n", f);
}

static void jobs_fact(FILE *f, const struct hes_report *r)
{
	const struct hes_jobs *jobs = r->jobs;
	size_t deadlines = 0, missed = 0;
	int64_t last = 0;
	char s[QUANTITY_MAX];

	for (size_t i = 0; i < jobs->n; i++) {
		last = jobs->v[i].arrival_us > last ? jobs->v[i].arrival_us : last;
		deadlines += jobs->v[i].has_deadline;
		missed += jobs->v[i].has_deadline &&
			  r->replay->jobs[i].end_us > jobs->v[i].deadline_us;
	}
	fprintf(f, "<dt>jobs</dt><dd>%s, ", format_number(s, (double)jobs->n, 0));
	if (last == 0)
		fputs("all there from the start", f);
	else
		fprintf(f, "arriving over %s", format_time(s, (double)last));
	if (deadlines)
		fprintf(f, "; %zu with a deadline, %zu missed", deadlines, missed);
	fputs("</dd>\n", f);
}

static void facts(FILE *f, const struct hes_report *r)
{
	char name[POLICY_LABEL_MAX];

	fputs("<section><dl>\n", f);
	fleet_fact(f, r->fleet);
	jobs_fact(f, r);
	fputs("<dt>plan shown</dt><dd>", f);
	text_xml(f, policy_label(name, &r->policies[r->chosen]));
	fprintf(f, ", seed %llu</dd>\n<dt>figures</dt><dd>%s", (unsigned long long)r->plan->seed,
		r->modelled ? "modelled: the plans were replayed on the GPU time-and-power model, "
			      "not on GPUs"
			    : "measured on the GPUs; energy of single jobs that share a GPU is "
			      "attributed");
	if (r->derived && *r->derived) {
		fputs("</dd>\n<dt>derived</dt><dd>from data sheets, not fitted to measurements: ",
		      f);
		text_xml(f, r->derived);
	}
	fputs("</dd>\n</dl></section>\n", f);
}

/* The best policy first, whichever is shown below. */
static void lead(FILE *f, const struct hes_report *r)
{
	char name[POLICY_LABEL_MAX], sentence[HES_REPORT_SENTENCE];
	bool compared = hes_report_sentence(r->policies, r->n_policies, sentence, sizeof(sentence));

	if (compared) {
		fputs("<p class=\"best\">", f);
		text_xml(f, sentence);
		fputs(".</p>\n", f);
	}
	if (compared && r->chosen == hes_report_best(r->policies, r->n_policies))
		return;
	fputs("<p class=\"lead\">", f);
	text_xml(f, policy_label(name, &r->policies[r->chosen]));
	fputs(", and how it compares</p>\n", f);
}

void page_head(FILE *f, const struct hes_report *r)
{
	const char *title = r->title ? r->title : "heshare report";
	fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
	      "initial-scale=1\"/>\n<title>",
	      f);
	text_xml(f, title);
	fputs("</title>\n<style>\n", f);
	theme_page_css(f);
	fputs(css, f);
	theme_svg_css(f);
	fputs("</style>\n</head>\n<body>\n<main>\n<header>\n<h1>", f);
	text_xml(f, title);
	fprintf(f, " <span class=\"badge\">%s</span></h1>\n",
		r->modelled ? "modelled" : "measured");
	lead(f, r);
	fputs("</header>\n", f);
	tiles(f, r);
	facts(f, r);
}

static void how_to_read(FILE *f, const struct hes_report *r)
{
	fputs("<section>\n<h2>How to read this</h2>\n<dl>\n"
	      "<dt>JCT</dt><dd>job completion time: from a job’s arrival to its end, waiting "
	      "included.</dd>\n"
	      "<dt>busy energy</dt><dd>what GPUs draw while they run at least one job, their idle "
	      "part included. "
	      "Plans lower this by default.</dd>\n"
	      "<dt>fleet energy</dt><dd>busy energy and the idle power of every GPU until the last "
	      "job ends: "
	      "the operator’s bill. A plan that ends early saves here.</dd>\n"
	      "<dt>SM share</dt><dd>the part of a GPU’s multiprocessors that a job may use (MPS "
	      "active thread "
	      "percentage).</dd>\n"
	      "<dt>clock</dt><dd>the SM clock that was set; a GPU at its power limit runs "
	      "slower.</dd>\n"
	      "<dt>predicted</dt><dd>what the planner believed, from profiles and its trained "
	      "predictor; it never "
	      "sees how GPUs behave. It is off by (predicted − realised) / realised: negative is "
	      "too optimistic.</dd>\n"
	      "<dt>front</dt><dd>plans of which none beats another in both energy and average JCT, "
	      "as predicted."
	      "</dd>\n",
	      f);
	if (r->modelled)
		fputs("<dt>modelled</dt><dd>all realised times, powers and energies on this page "
		      "come from a model "
		      "of GPUs that was calibrated on published measurements; they are estimates "
		      "of what GPUs "
		      "would do.</dd>\n",
		      f);
	fputs("</dl>\n</section>\n", f);
}

void page_foot(FILE *f, const struct hes_report *r)
{
	how_to_read(f, r);
	fputs("<section>\n<h2>The numbers</h2>\n<details><summary>GPUs</summary><div "
	      "class=\"scroll\">\n",
	      f);
	table_gpus(f, r);
	fputs("</div></details>\n<details><summary>Jobs</summary><div class=\"scroll\">\n", f);
	table_jobs(f, r);
	fputs("</div></details>\n</section>\n", f);
	if (r->command) {
		fputs("<p class=\"note\">Made by <code>", f);
		text_xml(f, r->command);
		fputs("</code></p>\n", f);
	}
	fprintf(f, "<p class=\"note\">heshare %s</p>\n</main>\n</body>\n</html>\n", HES_VERSION);
}

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
