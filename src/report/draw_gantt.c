/*
 * draw_gantt.c - figure: the Gantt chart, a row for each GPU, a band for each job.
 *
 * Heights are % of SMs. Co-runners are stacked: in order of start, each takes the lowest free place
 * of its height. Where the shares sum to more than 100 % the row grows.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/figures.h"
#include "report/text.h"

#define ROW_GAP_PX     10.0
#define LABEL_LEAST_PX 9.5 /* height of a band that can hold a line of text */

struct band {
	size_t job;
	uint32_t gpu;
	int64_t start_us, end_us;
	uint32_t low_pct, height_pct; /* within its row */
};

struct row {
	double top_pct;    /* of the figure, from its top */
	double height_pct; /* at least 100 */
};

struct chart {
	struct band *bands; /* by GPU, start, job */
	size_t n;
	struct row *rows; /* one a GPU shown */
	size_t n_rows;
	double height_pct; /* of all rows and gaps */
	double px_per_pct;
};

static int by_gpu_and_start(const void *a, const void *b)
{
	const struct band *x = a, *y = b;

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (x->start_us != y->start_us)
		return x->start_us < y->start_us ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int by_low(const void *a, const void *b)
{
	const struct band *x = *(const struct band *const *)a, *y = *(const struct band *const *)b;

	return x->low_pct != y->low_pct ? (x->low_pct < y->low_pct ? -1 : 1)
					: (x->job < y->job ? -1 : 1);
}

/* Drop who has ended from @live, find the lowest gap for @b among the rest, join them. */
static size_t stack(struct band *b, struct band **live, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (live[i]->end_us > b->start_us)
			live[kept++] = live[i];
	qsort(live, kept, sizeof(*live), by_low);
	for (size_t i = 0; i < kept && live[i]->low_pct < b->low_pct + b->height_pct; i++)
		b->low_pct = live[i]->low_pct + live[i]->height_pct;
	live[kept++] = b;
	return kept;
}

static void stack_all(struct chart *c, struct band **live)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct band *b = &c->bands[i];
		struct row *row = &c->rows[b->gpu];

		n = stack(b, live, i && c->bands[i - 1].gpu == b->gpu ? n : 0);
		row->height_pct = fmax(row->height_pct, b->low_pct + b->height_pct);
	}
}

/* Tall rows for few GPUs, low ones for many; the figure grows with the fleet. */
static void lay_out_rows(struct chart *c)
{
	double row_px = c->n_rows <= 8 ? 100 : c->n_rows <= 16 ? 80 : c->n_rows <= 32 ? 56 : 40;

	c->px_per_pct = row_px / 100;
	c->height_pct = 0;
	for (size_t g = 0; g < c->n_rows; g++) {
		c->rows[g].top_pct = c->height_pct;
		c->height_pct += c->rows[g].height_pct +
				 (g + 1 < c->n_rows ? ROW_GAP_PX / c->px_per_pct : 0);
	}
}

static int chart_init(struct chart *c, const struct hes_report *r)
{
	const struct hes_replay *p = r->replay;
	struct band **live = calloc(p->n_jobs + 1, sizeof(struct band *));

	*c = (struct chart){ .n_rows = shown_gpus(r->fleet) };
	c->bands = calloc(p->n_jobs + 1, sizeof(*c->bands));
	c->rows = calloc(c->n_rows + 1, sizeof(*c->rows));
	if (!live || !c->bands || !c->rows) {
		free(live);
		return -ENOMEM;
	}
	for (size_t g = 0; g < c->n_rows; g++)
		c->rows[g].height_pct = 100;
	for (size_t j = 0; j < p->n_jobs; j++) {
		const struct hes_outcome *o = &p->jobs[j];

		if (o->end_us > o->start_us && o->gpu < c->n_rows)
			c->bands[c->n++] = (struct band){ .job = j,
							  .gpu = o->gpu,
							  .start_us = o->start_us,
							  .end_us = o->end_us,
							  .height_pct = o->sm_pct };
	}
	qsort(c->bands, c->n, sizeof(*c->bands), by_gpu_and_start);
	stack_all(c, live);
	lay_out_rows(c);
	free(live);
	return 0;
}

static void chart_finish(struct chart *c)
{
	free(c->bands);
	free(c->rows);
}

/* How full the colour is: from 40 % of the type's default clock (pale) to all of it. */
static double shade(double fraction)
{
	return 0.22 + 0.78 * fmin(fmax((fraction - 0.4) / 0.6, 0), 1);
}

static double clock_fraction(const struct hes_report *r, const struct band *b)
{
	return (double)r->replay->jobs[b->job].clock_mhz /
	       r->fleet->gpus[b->gpu].type->clock_default_mhz;
}

static size_t tip_of(const struct hes_report *r, struct fig *f, const struct band *b)
{
	const struct hes_job *j = &r->jobs->v[b->job];
	const struct hes_outcome *o = &r->replay->jobs[b->job];
	char start[QUANTITY_MAX], end[QUANTITY_MAX], took[QUANTITY_MAX], jct[QUANTITY_MAX];
	char predicted[QUANTITY_MAX];

	return fig_text(f,
			"%s: %s, batch size %u, on %s; %u %% of SMs at %u MHz; from %s to %s (%s; "
			"predicted end %s), completion time %s",
			j->id, j->workload, j->batch_size, r->fleet->gpus[b->gpu].name, o->sm_pct,
			o->clock_mhz, format_time(start, (double)o->start_us),
			format_time(end, (double)o->end_us),
			format_time(took, (double)(o->end_us - o->start_us)),
			o->predicted_end_us > 0
				? format_time(predicted, (double)o->predicted_end_us)
				: "not known",
			format_time(jct, (double)(o->end_us - j->arrival_us)));
}

static void draw_tracks(const struct hes_report *r, const struct chart *c, struct fig *f)
{
	double right = fig_x(f, (double)r->replay->totals.makespan_us);

	for (size_t g = 0; g < c->n_rows; g++) {
		const struct row *row = &c->rows[g];
		double top = fig_y(f, -row->top_pct),
		       bottom = fig_y(f, -row->top_pct - row->height_pct);

		fig_swatch(f, f->at.left, top, right - f->at.left, bottom - top, ROLE_TRACK, 1);
		gpu_label(f, r->fleet, g, (top + bottom) / 2, bottom - top >= 28);
	}
}

/* The seam between bands, px; thin bands must not drown in it. */
static double seam(const struct fig *f, const struct chart *c, const struct band *b)
{
	double w = fig_x(f, (double)b->end_us) - fig_x(f, (double)b->start_us);

	return fmin(1.5, 0.25 * fmin(w, b->height_pct * c->px_per_pct));
}

static void draw_bands(const struct hes_report *r, const struct chart *c, struct fig *f)
{
	struct type_list types = fleet_types(r->fleet);

	for (size_t i = 0; i < c->n; i++) {
		const struct band *b = &c->bands[i];
		const struct row *row = &c->rows[b->gpu];
		double bottom = -row->top_pct - row->height_pct + b->low_pct;
		size_t tip = tip_of(r, f, b), block = fig_data(f);

		fprintf(f->script, "%.10g %.10g %.10g %.10g\n", (double)b->start_us,
			(double)b->end_us, bottom, bottom + b->height_pct);
		fig_data_end(f);
		fig_plot(f, block, tip,
			 "using 1:3:1:2:3:4 with boxxyerror fc rgb '%s' "
			 "fs transparent solid %.3f border lc rgb '%s' lw %.2f",
			 theme_hex(type_role(type_index(&types, r->fleet->gpus[b->gpu].type))),
			 shade(clock_fraction(r, b)), theme_hex(ROLE_SURFACE), seam(f, c, b));
	}
}

/* Ids of a trace differ at their end: what does not fit is cut at the front. */
static void label_upright(const struct hes_job *j, struct fig *f, double x, double y, double w,
			  double h)
{
	char id[2 * HES_NAME_MAX], rest[2 * HES_NAME_MAX];
	double room = w - 8, size = fmin(FIG_SMALL, h - 1.5), id_px;

	if (!text_fit_tail(id, sizeof(id), j->id, size, room))
		return;
	id_px = text_width(id, size) + 6;
	if (h >= 29 && text_fit(rest, sizeof(rest), j->workload, FIG_SMALL - 1, room)) {
		fig_label(f, x + 5, y + h / 2 - 6.5, ALIGN_LEFT, FIG_SMALL, ROLE_INK, "%s", id);
		fig_label(f, x + 5, y + h / 2 + 6.5, ALIGN_LEFT, FIG_SMALL - 1, ROLE_INK, "%s",
			  rest);
		return;
	}
	fig_label(f, x + 5, y + h / 2, ALIGN_LEFT, size, ROLE_INK, "%s", id);
	if (text_fit(rest, sizeof(rest), j->workload, size - 1, room - id_px))
		fig_label(f, x + 5 + id_px, y + h / 2, ALIGN_LEFT, size - 1, ROLE_INK, "%s", rest);
}

/* A band may be too low, too narrow, or narrow but tall enough to be written along. */
static void label_band(const struct hes_job *j, struct fig *f, double x, double y, double w,
		       double h)
{
	double id_px = text_width(j->id, FIG_SMALL);

	if (h >= LABEL_LEAST_PX && id_px <= w - 8)
		label_upright(j, f, x, y, w, h);
	else if (w >= LABEL_LEAST_PX + 2 && id_px <= h - 8)
		fig_label_rotated(f, x + w / 2, y + h / 2, FIG_SMALL, ROLE_INK, "%s", j->id);
	else if (h >= LABEL_LEAST_PX)
		label_upright(j, f, x, y, w, h);
}

static void draw_labels(const struct hes_report *r, const struct chart *c, struct fig *f)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct band *b = &c->bands[i];
		const struct row *row = &c->rows[b->gpu];
		double x = fig_x(f, (double)b->start_us), w = fig_x(f, (double)b->end_us) - x;
		double h = b->height_pct * c->px_per_pct;
		double y = fig_y(f, -row->top_pct - row->height_pct + b->low_pct) - h;

		label_band(&r->jobs->v[b->job], f, x, y, w, h);
	}
}

static void draw_legend(const struct hes_report *r, struct fig *f)
{
	static const int percents[] = { 40, 55, 70, 85, 100 };
	static const char clocks[] = "clock, % of default:";
	struct type_list types = fleet_types(r->fleet);
	double x = f->at.left, y = f->at.height - 9;

	type_legend(f, &types, 16);
	fig_label(f, x, y, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "%s", clocks);
	x += text_width(clocks, FIG_FONT) + 2;
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++, x += 52) {
		fig_swatch(f, x, y - 5, 14, 10, ROLE_TYPE_0, shade(percents[i] / 100.0));
		fig_label(f, x + 18, y, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "%d", percents[i]);
	}
}

int draw_gantt(const struct hes_report *r, struct fig *f, struct hes_err *err)
{
	double end = fmax((double)r->replay->totals.makespan_us, 1);
	struct unit unit = unit_time(end);
	struct chart c;
	int rc = chart_init(&c, r) ? hes_fail(err, -ENOMEM, "not enough memory for the Gantt chart")
				   : 0;

	if (!rc)
		rc = fig_begin(
			f,
			&(struct fig_layout){ .width = FIG_WIDTH,
					      .height = c.height_pct * c.px_per_pct + 34 + 46,
					      .left = gpu_column(r->fleet),
					      .right = 16,
					      .top = 34,
					      .bottom = 46,
					      .x0 = 0,
					      .x1 = end,
					      .y0 = -c.height_pct,
					      .y1 = 0 },
			err);
	if (!rc) {
		fig_ticks_x(f, unit.of, 12);
		fig_label(f, FIG_WIDTH - 16, f->at.height - 9, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED,
			  "time since the start, %s", unit.name);
		draw_tracks(r, &c, f);
		draw_legend(r, f);
		draw_bands(r, &c, f);
		draw_labels(r, &c, f);
		if (c.n == 0) /* gnuplot draws no axes without a plot */
			fputs("plot NaN notitle", f->plot);
	}
	chart_finish(&c);
	return rc;
}
