/*
 * partition_plot.c - the splits of `heshare partition` as a picture: a bar of work per watt each, what every job adds
 * to it, and the interval; see partition_out.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/partition_out.h"
#include "report/figures.h"

#define ROWS   19     /* at most */
#define ROW_PX 24.0
#define LEFT   150.0

struct rows {
	const struct hes_split *v[ROWS + 1]; /* the last one: equal shares */
	size_t n;
};

static int by_worth(const void *a, const void *b)
{
	const struct hes_split *x = *(const struct hes_split *const *)a, *y = *(const struct hes_split *const *)b;

	return (x->per_watt < y->per_watt) - (x->per_watt > y->per_watt);
}

/* Two jobs: splits that use all SMs, and the best. More: the best few. */
static int choose_rows(const struct partition_answer *a, struct rows *out)
{
	const struct hes_splits *s = &a->splits[a->best];
	const struct hes_split **v = malloc(s->n * sizeof(const struct hes_split *));

	if (!v)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		v[i] = &s->v[i];
	if (a->n > 2)
		qsort(v, s->n, sizeof(*v), by_worth);
	for (size_t i = 0; i < s->n && out->n < ROWS; i++)
		if (a->n > 2 || v[i] == &s->v[s->best] || v[i]->sm_pct[0] + v[i]->sm_pct[1] == 100)
			out->v[out->n++] = v[i];
	out->v[out->n++] = &a->equal;
	free(v);
	return 0;
}

static void draw_part(struct fig *f, size_t tip, double from, double to, double row, enum role color)
{
	size_t block = fig_data(f);

	fprintf(f->script, "%.10g %.10g %.10g %.10g\n", from, to, -row - 0.82, -row - 0.18);
	fig_data_end(f);
	fig_plot(f, block, tip, "using 1:3:1:2:3:4 with boxxyerror fc rgb '%s' fs solid border lc rgb '%s' lw 1", theme_hex(color),
		 theme_hex(ROLE_SURFACE));
}

static void draw_interval(struct fig *f, const struct partition_answer *a, double value, double row)
{
	size_t block = fig_data(f);

	fprintf(f->script, "%.10g %.10g %.10g\n", value * a->model->low, value * (a->model->high - a->model->low), -row - 0.5);
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT, "using 1:3:2:(0) with vectors nohead lc rgb '%s' lw 1.5", theme_hex(ROLE_INK));
}

/* What each job adds; one part where the objective is no sum. */
static void draw_row(struct fig *f, const struct partition_answer *a, const struct hes_split *s, size_t row, bool best, bool equal)
{
	bool sum = a->objective != HES_PARTITION_ENERGY;
	char shares[64] = "";
	double from = 0;

	for (size_t i = 0; i < a->n; i++) {
		double alone = a->objective == HES_PARTITION_THROUGHPUT ? 1 : a->jobs[0][i]->alone_rate;
		double part = s->estimate.rate[i] / alone / s->estimate.power_w;
		size_t len = strlen(shares);

		snprintf(shares + len, sizeof(shares) - len, "%s%u", i ? " / " : "", s->sm_pct[i]);
		if (sum)
			draw_part(f, fig_text(f, "%s: %.4g iterations a second, GPU %.1f W", a->jobs[0][i]->workload, s->estimate.rate[i],
					      s->estimate.power_w), from, from + part, (double)row, type_role(i));
		from += part;
	}
	if (!sum)
		draw_part(f, NO_TEXT, 0, s->per_watt, (double)row, ROLE_OTHER_SOFT);
	draw_interval(f, a, s->per_watt, (double)row);
	fig_label(f, LEFT - 10, fig_y(f, -(double)row - 0.5), ALIGN_RIGHT, FIG_FONT, best ? ROLE_ACCENT : ROLE_INK, "%s%s",
		  best ? "best  " : equal ? "equal  " : "", shares);
}

static int draw(struct fig *f, const struct partition_answer *a, const struct rows *rows, struct hes_err *err)
{
	const struct hes_split *best = &a->splits[a->best].v[a->splits[a->best].best];
	double x = LEFT, max = 0;
	int rc;

	for (size_t i = 0; i < rows->n; i++)
		max = fmax(max, rows->v[i]->per_watt * a->model->high);
	rc = fig_begin(f, &(struct fig_layout){ .width = FIG_WIDTH, .height = (double)rows->n * ROW_PX + 76, .left = LEFT, .right = 20,
						.top = 30, .bottom = 46, .x0 = 0, .x1 = max * 1.03, .y0 = -(double)rows->n, .y1 = 0 }, err);
	if (rc)
		return rc;
	fig_ticks_x(f, 1, 10);
	fig_label(f, FIG_WIDTH - 20, f->at.height - 9, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED, "%s per watt on %s at %u MHz",
		  a->objective == HES_PARTITION_THROUGHPUT ? "iterations a second" : "normalized throughput", a->g->name,
		  a->clocks_mhz[a->best]);
	for (size_t i = 0; i < a->n && a->objective != HES_PARTITION_ENERGY; i++)
		x = fig_legend(f, x, 14, type_role(i), a->jobs[0][i]->workload);
	for (size_t i = 0; i < rows->n; i++)
		draw_row(f, a, rows->v[i], i, rows->v[i] == best, i + 1 == rows->n);
	return 0;
}

int partition_plot(const char *path, const struct partition_answer *a, struct hes_err *err)
{
	struct rows rows = { .n = 0 };
	struct hes_file out;
	struct fig f;
	int rc = choose_rows(a, &rows) ? hes_fail(err, -ENOMEM, "out of memory for a picture") : 0;

	if (!rc)
		rc = draw(&f, a, &rows, err);
	if (rc)
		return rc;
	rc = hes_file_create(&out, path, err);
	if (!rc) {
		rc = fig_render(&f, "partition", "work per watt of each split of the SMs", true, out.f, err);
		if (rc)
			hes_file_abort(&out);
		else
			rc = hes_file_commit(&out, err);
	}
	fig_end(&f);
	return rc;
}
