/*
 * draw_jct.c - figure: completion times of each policy as a box plot, with a dot for each job if
 * there are few.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/figures.h"
#include "report/text.h"

#define MAX_DOTS 600
#define ROW_PX   34.0

struct five {
	double p5, q1, median, q3, p95, mean, max; /* s */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Linear between two jobs, as the totals of a replay have it. */
static double quantile(const double *v, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[n - 1];
}

static int summarise(const struct hes_report_policy *p, struct five *out)
{
	double *v = malloc(p->n_jct * sizeof(*v));

	if (!v)
		return -ENOMEM;
	memcpy(v, p->jct_s, p->n_jct * sizeof(*v));
	qsort(v, p->n_jct, sizeof(*v), by_value);
	*out = (struct five){ quantile(v, p->n_jct, 0.05),
			      quantile(v, p->n_jct, 0.25),
			      quantile(v, p->n_jct, 0.5),
			      quantile(v, p->n_jct, 0.75),
			      quantile(v, p->n_jct, 0.95),
			      0,
			      v[p->n_jct - 1] };
	for (size_t i = 0; i < p->n_jct; i++)
		out->mean += v[i] / (double)p->n_jct;
	free(v);
	return 0;
}

static double dots_reach(const struct hes_report_policy *p, const struct five *v)
{
	return p->n_jct <= MAX_DOTS ? v->max : v->p95;
}

/* Dots are spread over the height of the row by the golden ratio: even, and the same every time. */
static void draw_dots(const struct hes_report_policy *p, double y, enum role color, struct fig *f)
{
	size_t block;

	if (p->n_jct > MAX_DOTS)
		return;
	block = fig_data(f);
	for (size_t i = 0; i < p->n_jct; i++)
		fprintf(f->script, "%.10g %.6g\n", p->jct_s[i],
			y + 0.56 * (fmod((double)i * 0.6180339887498949, 1) - 0.5));
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT, "using 1:2 with points pt 7 ps 0.34 lc rgb '%s'",
		 theme_hex(color));
}

static size_t tip_of(const struct hes_report_policy *p, const struct five *v, struct fig *f)
{
	char name[POLICY_LABEL_MAX], a[QUANTITY_MAX], b[QUANTITY_MAX], c[QUANTITY_MAX],
		d[QUANTITY_MAX];
	char e[QUANTITY_MAX], g[QUANTITY_MAX];

	return fig_text(f, "%s: p5 %s, p25 %s, median %s, p75 %s, p95 %s, mean %s",
			policy_label(name, p), format_time(a, v->p5 * 1e6),
			format_time(b, v->q1 * 1e6), format_time(c, v->median * 1e6),
			format_time(d, v->q3 * 1e6), format_time(e, v->p95 * 1e6),
			format_time(g, v->mean * 1e6));
}

static void draw_box(const struct hes_report_policy *p, const struct five *v, double y, bool chosen,
		     struct fig *f)
{
	const char *line = theme_hex(chosen ? ROLE_ACCENT : ROLE_OTHER);
	size_t tip = tip_of(p, v, f), block = fig_data(f);

	fprintf(f->script, "%.10g %.10g %.6g\n", v->p5, v->q1, y);
	fprintf(f->script, "%.10g %.10g %.6g\n", v->q3, v->p95, y);
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT, "using 1:3:($2-$1):(0) with vectors nohead lc rgb '%s' lw 1.5",
		 line);
	block = fig_data(f);
	fprintf(f->script, "%.10g %.10g %.6g %.6g\n", v->q1, v->q3, y - 0.24, y + 0.24);
	fig_data_end(f);
	fig_plot(f, block, tip,
		 "using 1:3:1:2:3:4 with boxxyerror fc rgb '%s' "
		 "fs transparent solid 0.75 border lc rgb '%s' lw 1.3",
		 theme_hex(chosen ? ROLE_ACCENT_SOFT : ROLE_OTHER_SOFT), line);
	block = fig_data(f);
	fprintf(f->script, "%.10g %.6g %.10g %.6g\n", v->median, y, v->mean, y);
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT,
		 "using 1:($2-0.24):(0):(0.48) with vectors nohead lc rgb '%s' lw 2.6", line);
	fig_plot(f, block, NO_TEXT, "using 3:4 with points pt 13 ps 0.9 lc rgb '%s'",
		 theme_hex(ROLE_SURFACE));
	fig_plot(f, block, NO_TEXT, "using 3:4 with points pt 13 ps 0.6 lc rgb '%s'", line);
}

static double label_column(const struct hes_report *r)
{
	char name[POLICY_LABEL_MAX];
	double widest = 60;

	for (size_t i = 0; i < r->n_policies; i++)
		widest = fmax(widest, text_width(policy_label(name, &r->policies[i]), FIG_FONT));
	return fmin(widest, 240) + 20;
}

static void draw_row(const struct hes_report *r, size_t i, const struct five *v, struct fig *f)
{
	const struct hes_report_policy *p = &r->policies[i];
	char name[POLICY_LABEL_MAX], shown[POLICY_LABEL_MAX];
	double y = -(double)i - 0.5;
	bool chosen = i == r->chosen;

	text_fit(shown, sizeof(shown), policy_label(name, p), FIG_FONT, f->at.left - 18);
	fig_label(f, f->at.left - 10, fig_y(f, y), ALIGN_RIGHT, FIG_FONT,
		  chosen ? ROLE_ACCENT : ROLE_INK, "%s", shown);
	if (p->n_jct == 0)
		return;
	draw_dots(p, y, chosen ? ROLE_ACCENT : ROLE_OTHER, f);
	draw_box(p, v, y, chosen, f);
}

int draw_jct(const struct hes_report *r, struct fig *f, struct hes_err *err)
{
	struct five *v = calloc(r->n_policies, sizeof(*v));
	double max = 0;
	struct unit unit;
	int rc = v ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->n_policies && !rc; i++) {
		if (r->policies[i].n_jct)
			rc = summarise(&r->policies[i], &v[i]);
		if (!rc)
			max = fmax(max, dots_reach(&r->policies[i], &v[i]));
	}
	if (rc) {
		free(v);
		return hes_fail(err, rc, "not enough memory for the completion times");
	}
	max = fmax(max, 1e-6);
	unit = unit_time(max * 1e6);
	rc = fig_begin(f,
		       &(struct fig_layout){ .width = FIG_WIDTH,
					     .height = (double)r->n_policies * ROW_PX + 8 + 46,
					     .left = label_column(r),
					     .right = 16,
					     .top = 8,
					     .bottom = 46,
					     .x0 = 0,
					     .x1 = max * 1.02,
					     .y0 = -(double)r->n_policies,
					     .y1 = 0 },
		       err);
	if (!rc) {
		fig_ticks_x(f, unit.of / 1e6, 12);
		fig_label(f, FIG_WIDTH - 16, f->at.height - 9, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED,
			  "completion time, %s", unit.name);
		for (size_t i = 0; i < r->n_policies; i++)
			draw_row(r, i, &v[i], f);
	}
	free(v);
	return rc;
}
