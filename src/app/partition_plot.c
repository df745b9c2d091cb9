/*
 * partition_plot.c - the figure of a partition: a bar of work per watt for each split, with the
 * part of each job and the interval; see partition_answer.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "app/partition_answer.h"
#include "report/figures.h"

#define ROWS   19 /* at most */
#define ROW_PX 24.0
#define LEFT   150.0

static void draw_part(struct fig *f, size_t tip, double from, double to, double row,
		      enum role color)
{
	size_t block = fig_data(f);

	fprintf(f->script, "%.10g %.10g %.10g %.10g\n", from, to, -row - 0.82, -row - 0.18);
	fig_data_end(f);
	fig_plot(f, block, tip,
		 "using 1:3:1:2:3:4 with boxxyerror fc rgb '%s' fs solid border lc rgb '%s' lw 1",
		 theme_hex(color), theme_hex(ROLE_SURFACE));
}

/* The unit of the table. */
static double unit_of(const struct partition_answer *a)
{
	return a->objective == HES_PARTITION_SUM ? 1 : 1e3;
}

static void draw_interval(struct fig *f, const struct hes_split *s, double value, double row)
{
	size_t block = fig_data(f);

	fprintf(f->script, "%.10g %.10g %.10g\n", value * s->low, value * (s->high - s->low),
		-row - 0.5);
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT, "using 1:3:2:(0) with vectors nohead lc rgb '%s' lw 1.5",
		 theme_hex(ROLE_INK));
}

/* What each job adds; one part where the objective is no sum. */
static void draw_row(struct fig *f, const struct partition_answer *a, const struct hes_split *s,
		     size_t row, bool best, bool equal)
{
	bool sum = a->objective != HES_PARTITION_ENERGY;
	char shares[64] = "";
	double from = 0;

	for (size_t i = 0; i < a->n; i++) {
		double alone =
			a->objective == HES_PARTITION_SUM ? 1 : a->jobs[a->best][i]->alone_rate;
		double part = unit_of(a) * s->estimate.rate[i] / alone / s->estimate.power_w;

		hes_text_add(shares, sizeof(shares), " / ", "%u", s->sm_pct[i]);
		if (sum)
			draw_part(f,
				  fig_text(f, "%s: %.4g iterations a second, GPU %.1f W",
					   a->jobs[a->best][i]->workload, s->estimate.rate[i],
					   s->estimate.power_w),
				  from, from + part, (double)row, type_role(i));
		from += part;
	}
	if (!sum)
		draw_part(f, NO_TEXT, 0, unit_of(a) * s->per_watt, (double)row, ROLE_OTHER_SOFT);
	draw_interval(f, s, unit_of(a) * s->per_watt, (double)row);
	fig_label(f, LEFT - 10, fig_y(f, -(double)row - 0.5), ALIGN_RIGHT, FIG_FONT,
		  best         ? ROLE_ACCENT
		  : s->allowed ? ROLE_INK
			       : ROLE_MUTED,
		  "%s%s",
		  best    ? "best  "
		  : equal ? "equal  "
			  : "",
		  shares);
}

/* Rows that are drawn; equal shares come after them. */
struct window {
	const struct partition_rows *rows;
	size_t from, n;
};

/* Of many rows those around the best. */
static struct window window_of(const struct partition_answer *a, const struct partition_rows *rows)
{
	const struct hes_split *best = &a->splits[a->best].v[a->splits[a->best].best];
	struct window w = { rows, 0, rows->n < ROWS ? rows->n : ROWS };
	size_t at = 0;

	while (at + 1 < rows->n && rows->v[at] != best)
		at++;
	if (at > ROWS / 2)
		w.from = at - ROWS / 2;
	if (w.from + w.n > rows->n)
		w.from = rows->n - w.n;
	return w;
}

static double draw_name(struct fig *f, const struct partition_answer *a, size_t i, double x)
{
	char name[2 * HES_NAME_MAX];

	snprintf(name, sizeof(name), "%s/%u", a->jobs[a->best][i]->workload,
		 a->jobs[a->best][i]->batch_size);
	return fig_legend(f, x, 14, type_role(i), name);
}

static int draw(struct fig *f, const struct partition_answer *a, const struct window *w,
		struct hes_err *err)
{
	const struct hes_split *best = &a->splits[a->best].v[a->splits[a->best].best];
	double x = LEFT, max = unit_of(a) * a->equal.per_watt * a->equal.high, n = (double)w->n + 1;
	int rc;

	for (size_t i = 0; i < w->n; i++)
		max = fmax(max, unit_of(a) * w->rows->v[w->from + i]->per_watt *
					w->rows->v[w->from + i]->high);
	rc = fig_begin(f,
		       &(struct fig_layout){ .width = FIG_WIDTH,
					     .height = n * ROW_PX + 76,
					     .left = LEFT,
					     .right = 20,
					     .top = 30,
					     .bottom = 46,
					     .x0 = 0,
					     .x1 = max * 1.03,
					     .y0 = -n,
					     .y1 = 0 },
		       err);
	if (rc)
		return rc;
	fig_ticks_x(f, 1, 10);
	fig_label(f, FIG_WIDTH - 20, f->at.height - 9, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED,
		  "%s on %s at %u MHz, 90 %% intervals",
		  a->objective == HES_PARTITION_SUM ? "iterations per joule" : "work per kJ",
		  a->g->name, a->clocks_mhz[a->best]);
	for (size_t i = 0; i < a->n && a->objective != HES_PARTITION_ENERGY; i++)
		x = draw_name(f, a, i, x);
	for (size_t i = 0; i < w->n; i++)
		draw_row(f, a, w->rows->v[w->from + i], i, w->rows->v[w->from + i] == best, false);
	if (a->equal.estimate.power_w > 0 && a->equal_mhz == a->clocks_mhz[a->best])
		draw_row(f, a, &a->equal, w->n, false, true);
	return 0;
}

int partition_plot(const char *path, const struct partition_answer *a, struct hes_err *err)
{
	struct partition_rows rows;
	struct window w;
	struct fig f;
	int rc = partition_rows(a, a->best, ROWS, &rows)
			 ? hes_fail(err, -ENOMEM, "out of memory for a picture")
			 : 0;

	if (rc)
		return rc;
	w = window_of(a, &rows);
	rc = draw(&f, a, &w, err);
	free(rows.v);
	return rc ? rc
		  : fig_save(&f, path, "partition", "work per watt of each split of the SMs", err);
}
