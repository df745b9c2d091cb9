/*
 * page.c - the HTML page around the figures; see page.h. It is valid XHTML and HTML. Foreign text
 * goes through text_xml.
 */
#include "report/page.h"

#include <string.h>

#include "heshare/version.h"
#include "report/figures.h"
#include "report/page_tables.h"
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
