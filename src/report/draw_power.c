/*
 * draw_power.c - figure: power over time, stacked by GPU type.
 *
 * Time is cut into bins of about a pixel with the mean power of each, so the area is the energy of
 * the replay. Outside of its segments a GPU draws idle power.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/figures.h"
#include "report/text.h"

#define BINS 880

struct stack {
	double *mw; /* BINS x types, cumulative over types once stacked */
	size_t n_types;
	double bin_us;
	double idle_mw; /* of the whole fleet */
};

/* Add @mw over a stretch of time to one type's bins. */
static void add(struct stack *s, size_t type, double start_us, double end_us, double mw)
{
	size_t last = BINS - 1;

	for (size_t b = (size_t)fmin(start_us / s->bin_us, (double)last); b <= last; b++) {
		double from = fmax(start_us, (double)b * s->bin_us);
		double to = fmin(end_us, (double)(b + 1) * s->bin_us);

		if (to <= from && (double)b * s->bin_us >= end_us)
			break;
		s->mw[b * s->n_types + type] += mw * fmax(to - from, 0) / s->bin_us;
	}
}

static int stack_init(struct stack *s, const struct hes_report *r, const struct type_list *types)
{
	double end = fmax((double)r->replay->totals.makespan_us, 1);

	*s = (struct stack){ .n_types = types->n, .bin_us = end / BINS };
	s->mw = calloc(BINS * types->n, sizeof(*s->mw));
	if (!s->mw)
		return -ENOMEM;
	for (size_t g = 0; g < r->fleet->n; g++) {
		const struct hes_gpu_type *t = r->fleet->gpus[g].type;

		s->idle_mw += t->idle_power_mw;
		add(s, type_index(types, t), 0, end, t->idle_power_mw);
	}
	for (size_t i = 0; i < r->replay->n_segments; i++) {
		const struct hes_segment *g = &r->replay->segments[i];
		const struct hes_gpu_type *t = r->fleet->gpus[g->gpu].type;

		if (g->jobs)
			add(s, type_index(types, t), (double)g->start_us, (double)g->end_us,
			    (double)g->power_mw - t->idle_power_mw);
	}
	for (size_t b = 0; b < BINS; b++)
		for (size_t t = 1; t < s->n_types; t++)
			s->mw[b * s->n_types + t] += s->mw[b * s->n_types + t - 1];
	return 0;
}

static double peak(const struct stack *s)
{
	double max = s->idle_mw;

	for (size_t b = 0; b < BINS; b++)
		max = fmax(max, s->mw[b * s->n_types + s->n_types - 1]);
	return fmax(max, 1);
}

/* Whether bins b and b + 1 show the same, to the milliwatt. */
static bool goes_on(const struct stack *s, size_t b)
{
	for (size_t t = 0; t < s->n_types; t++)
		if (lround(s->mw[b * s->n_types + t]) != lround(s->mw[(b + 1) * s->n_types + t]))
			return false;
	return true;
}

/* Steps: a bin has its value at both edges, written only where a value begins or ends. */
static void draw_areas(const struct stack *s, const struct type_list *types, struct fig *f)
{
	size_t block = fig_data(f);

	for (size_t b = 0; b < BINS; b++) {
		for (size_t edge = 0; edge < 2; edge++) {
			if (edge ? b + 1 < BINS && goes_on(s, b) : b && goes_on(s, b - 1))
				continue;
			fprintf(f->script, "%.10g 0", (double)(b + edge) * s->bin_us);
			for (size_t t = 0; t < s->n_types; t++)
				fprintf(f->script, " %ld", lround(s->mw[b * s->n_types + t]));
			fputc('\n', f->script);
		}
	}
	fig_data_end(f);
	for (size_t t = 0; t < s->n_types; t++)
		fig_plot(f, block, fig_text(f, "%s", type_name(types, t)),
			 "using 1:%zu:%zu with filledcurves fc rgb '%s' fs solid noborder", t + 2,
			 t + 3, theme_hex(type_role(t)));
	for (size_t t = 0; t < s->n_types; t++)
		fig_plot(f, block, NO_TEXT, "using 1:%zu with lines lc rgb '%s' lw %g", t + 3,
			 theme_hex(t + 1 < s->n_types ? ROLE_SURFACE : ROLE_INK),
			 t + 1 < s->n_types ? 1.2 : 1.4);
}

static void draw_idle(const struct stack *s, double end, struct fig *f)
{
	size_t block = fig_data(f);
	char text[QUANTITY_MAX];

	fprintf(f->script, "0 %.10g\n%.10g %.10g\n", s->idle_mw, end, s->idle_mw);
	fig_data_end(f);
	fig_plot(f, block, fig_text(f, "all GPUs idle: %s", format_power(text, s->idle_mw)),
		 "using 1:2 with lines lc rgb '%s' lw 1.2 dt (5,4)", theme_hex(ROLE_INK));
}

static void draw_legend(const struct hes_report *r, const struct type_list *types, struct fig *f)
{
	const char *all = r->fleet->n == 1 ? "the GPU" : "all GPUs";
	double x = f->at.left, y = f->at.height - 9;

	type_legend(f, types, 16);
	fig_line(f, x, y, x + 18, y, ROLE_INK, 1.4);
	fig_label(f, x + 24, y, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "%s", all);
	x += text_width(all, FIG_FONT) + 42;
	for (int dash = 0; dash < 3; dash++)
		fig_line(f, x + 7 * dash, y, x + 7 * dash + 4, y, ROLE_INK, 1.2);
	fig_label(f, x + 24, y, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "nothing running");
}

int draw_power(const struct hes_report *r, struct fig *f, struct hes_err *err)
{
	struct type_list types = fleet_types(r->fleet);
	double end = fmax((double)r->replay->totals.makespan_us, 1), max;
	struct unit time = unit_time(end), power;
	struct stack s;
	int rc;

	if (stack_init(&s, r, &types))
		return hes_fail(err, -ENOMEM, "not enough memory for the power figure");
	max = peak(&s);
	power = unit_power(max);
	rc = fig_begin(f,
		       &(struct fig_layout){ .width = FIG_WIDTH,
					     .height = 306,
					     .left = gpu_column(r->fleet),
					     .right = 16,
					     .top = 40,
					     .bottom = 46,
					     .x0 = 0,
					     .x1 = end,
					     .y0 = 0,
					     .y1 = max * 1.05 },
		       err);
	if (!rc) {
		fig_ticks_x(f, time.of, 12);
		fig_ticks_y(f, power.of, 6);
		fig_label(f, f->at.left - 10, 14, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED, "power, %s",
			  power.name);
		fig_label(f, FIG_WIDTH - 16, f->at.height - 9, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED,
			  "time since the start, %s", time.name);
		draw_legend(r, &types, f);
		draw_areas(&s, &types, f);
		draw_idle(&s, end, f);
	}
	free(s.mw);
	return rc;
}
