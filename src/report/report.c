/*
 * report.c - check the data of a report and write it; see heshare/report.h. Bad data is refused
 * before anything is drawn.
 */
#include "heshare/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "report/figures.h"
#include "report/page.h"
#include "report/text.h"

static int check_replay(const struct hes_report *r, struct hes_err *err)
{
	const struct hes_replay *p = r->replay;

	if (p->n_jobs != r->jobs->n)
		return hes_fail(err, -EINVAL, "report: the replay has %zu jobs, the job list %zu",
				p->n_jobs, r->jobs->n);
	if (p->n_gpus != r->fleet->n || r->fleet->n == 0)
		return hes_fail(err, -EINVAL, "report: the replay has %zu GPUs, the fleet %zu",
				p->n_gpus, r->fleet->n);
	for (size_t i = 0; i < p->n_jobs; i++)
		if (p->jobs[i].gpu >= p->n_gpus)
			return hes_fail(err, -EINVAL, "report: job %zu ran on GPU %u of %zu", i,
					p->jobs[i].gpu, p->n_gpus);
	for (size_t i = 0; i < p->n_segments; i++)
		if (p->segments[i].gpu >= p->n_gpus)
			return hes_fail(err, -EINVAL, "report: segment %zu is of GPU %u of %zu", i,
					p->segments[i].gpu, p->n_gpus);
	return 0;
}

static int check_policy(const struct hes_report_policy *p, struct hes_err *err)
{
	bool bad = !isfinite(p->realised.avg_jct_us) || !isfinite(p->mean_util) ||
		   (p->has_prediction && !isfinite(p->predicted.avg_jct_us)) ||
		   (p->n_jct && !p->jct_s);

	for (size_t i = 0; i < p->n_jct && !bad; i++)
		bad = !isfinite(p->jct_s[i]) || p->jct_s[i] < 0;
	return bad ? hes_fail(err, -EINVAL,
			      "report: policy %s has a time that is negative or not a number",
			      p->name)
		   : 0;
}

static int check(const struct hes_report *r, struct hes_err *err)
{
	int rc = check_replay(r, err);

	if (!rc && (r->chosen >= r->n_policies || r->reference >= r->n_policies))
		rc = hes_fail(err, -EINVAL, "report: policies %zu and %zu of %zu are to be shown",
			      r->chosen, r->reference, r->n_policies);
	for (size_t i = 0; i < r->n_policies && !rc; i++)
		rc = check_policy(&r->policies[i], err);
	for (size_t i = 0; r->front && i < r->front->n && !rc; i++)
		if (!isfinite(r->front->v[i].energy_j) || !isfinite(r->front->v[i].avg_jct_s))
			rc = hes_fail(err, -EINVAL,
				      "report: member %zu of the front is not a number", i);
	return rc;
}

static int put_figure(FILE *f, const struct figure *g, const struct hes_report *r, bool standalone,
		      struct hes_err *err)
{
	struct fig fig;
	int rc = g->draw(r, &fig, err);

	if (rc)
		return rc;
	rc = fig_render(&fig, g->name, g->heading, standalone, f, err);
	fig_end(&fig);
	return rc;
}

static int put_section(FILE *f, const struct figure *g, const struct hes_report *r,
		       struct hes_err *err)
{
	bool applies = g->applies(r);
	int rc = 0;

	fprintf(f, "<section id=\"%s\">\n<figure>\n<h2>%s%s</h2>\n<figcaption>%s", g->name,
		g->heading, r->modelled ? " <span class=\"badge\">modelled</span>" : "",
		applies ? g->caption : g->absent);
	if (applies && shown_gpus(r->fleet) < r->fleet->n)
		fprintf(f,
			" Rows of GPUs stop after the first %d of %zu; all are in the table of "
			"GPUs.",
			FIGURE_MAX_GPUS, r->fleet->n);
	fputs("</figcaption>\n<div class=\"scroll\">\n", f);
	if (applies)
		rc = put_figure(f, g, r, false, err);
	fputs("</div>\n</figure>\n</section>\n", f);
	return rc;
}

static int put_page(FILE *f, const struct hes_report *r, struct hes_err *err)
{
	int rc = 0;

	page_head(f, r);
	fputs("<section>\n<h2>Policies compared</h2>\n<div class=\"scroll\">\n", f);
	table_policies(f, r);
	fputs("</div>\n</section>\n", f);
	for (size_t i = 0; i < HES_FIGURES && !rc; i++)
		rc = put_section(f, &figures[i], r, err);
	page_foot(f, r);
	return rc;
}

/* All of it is drawn before the file is touched: standard output, too, gets everything or nothing.
 */
static int put_file(const char *path, const char *text, size_t len, struct hes_err *err)
{
	struct hes_file file;
	int rc = hes_file_create(&file, path, err);

	if (rc)
		return rc;
	fwrite(text, 1, len, file.f);
	return hes_file_commit(&file, err);
}

static int write_document(const char *path, const struct figure *only, const struct hes_report *r,
			  struct hes_err *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc;

	if (!f)
		return hes_fail(err, -ENOMEM, "%s: not enough memory for the report", path);
	rc = only ? put_figure(f, only, r, true, err) : put_page(f, r, err);
	if (fclose(f) && !rc)
		rc = hes_fail(err, -ENOMEM, "not enough memory for the report");
	if (rc)
		hes_fail_in(err, "%s", path);
	if (!rc)
		rc = put_file(path, text, len, err);
	free(text);
	return rc;
}

int hes_report_write(const char *path, const struct hes_report *r, struct hes_err *err)
{
	int rc = check(r, err);

	return rc ? rc : write_document(path, NULL, r, err);
}

int hes_report_figure(const char *path, enum hes_figure which, const struct hes_report *r,
		      struct hes_err *err)
{
	int rc = check(r, err);

	if (!rc && !figures[which].applies(r))
		rc = hes_fail(err, -EINVAL, "report: no figure \"%s\": %s", figures[which].name,
			      figures[which].absent);
	return rc ? rc : write_document(path, &figures[which], r, err);
}
