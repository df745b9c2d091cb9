/*
 * campaign_sweep_plot.c - the figure of a sweep: fleet energy against average completion time, a
 * line for each GPU type through its settings; see campaign_sweep.h.
 *
 * All lines meet where every type has its best setting, so the legend names these.
 */
#include <math.h>
#include <string.h>

#include "app/campaign_sweep.h"
#include "report/figures.h"
#include "report/text.h"

#define HEIGHT 470.0
#define LEFT   64.0

#define LEGEND_X       230.0
#define LEGEND_ROW     18.0
#define LEGEND_COLUMNS 3

static struct fig_layout layout_of(const struct sweep_curve *curves, size_t n)
{
	double x0 = INFINITY, x1 = 0, y0 = INFINITY, y1 = 0;

	for (size_t c = 0; c < n; c++)
		for (size_t i = 0; i < curves[c].n; i++) {
			x0 = fmin(x0, curves[c].v[i].fleet_energy_j);
			x1 = fmax(x1, curves[c].v[i].fleet_energy_j);
			y0 = fmin(y0, curves[c].v[i].avg_jct_s);
			y1 = fmax(y1, curves[c].v[i].avg_jct_s);
		}
	return (struct fig_layout){
		.width = FIG_WIDTH,
		.height = HEIGHT,
		.left = LEFT,
		.right = 16,
		.top = 12 + LEGEND_ROW * (double)((n + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS),
		.bottom = 48,
		.x0 = x0 - 0.05 * (x1 - x0) - 1,
		.x1 = x1 + 0.10 * (x1 - x0) + 1,
		.y0 = y0 - 0.05 * (y1 - y0) - 1,
		.y1 = y1 + 0.05 * (y1 - y0) + 1,
	};
}

static void draw_curve(struct fig *f, const struct sweep_curve *c, enum role color,
		       const char *unit)
{
	const size_t block = fig_data(f);

	for (size_t i = 0; i < c->n; i++)
		fprintf(f->script, "%.10g %.10g\n", c->v[i].fleet_energy_j, c->v[i].avg_jct_s);
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT, "using 1:2 with lines lc rgb '%s' lw 1.5", theme_hex(color));
	for (size_t i = 0; i < c->n; i++) {
		const struct sweep_point *p = &c->v[i];
		const size_t point = fig_data(f);
		char energy[QUANTITY_MAX], jct[QUANTITY_MAX];

		fprintf(f->script, "%.10g %.10g\n", p->fleet_energy_j, p->avg_jct_s);
		fig_data_end(f);
		fig_plot(f, point,
			 fig_text(f, "%s %u %s: %s, %s on average", c->name, p->value, unit,
				  format_energy(energy, p->fleet_energy_j * 1e3),
				  format_time(jct, p->avg_jct_s * 1e6)),
			 "using 1:2 with points pt 7 ps %s lc rgb '%s'",
			 i == c->best ? "1.3" : "0.6", theme_hex(color));
	}
}

/* @return where the next one begins */
static double draw_legend(struct fig *f, const struct sweep_curve *curves, size_t i, double x,
			  enum role color, const char *unit)
{
	char text[HES_NAME_MAX + 32];

	if (i % LEGEND_COLUMNS == 0)
		x = LEGEND_X;
	snprintf(text, sizeof(text), "%s, best %u %s", curves[i].name,
		 curves[i].v[curves[i].best].value, unit);
	return fig_legend(f, x, 14 + LEGEND_ROW * (double)(i / LEGEND_COLUMNS), color, text);
}

int sweep_draw(const char *path, const struct sweep_curve *curves, size_t n, const char *unit,
	       struct hes_err *err)
{
	const struct fig_layout at = layout_of(curves, n);
	const struct unit energy = unit_energy(at.x1 * 1e3), time = unit_time(at.y1 * 1e6);
	double x = LEGEND_X;
	struct fig f;
	int rc = fig_begin(&f, &at, err);

	if (rc)
		return rc;
	fig_ticks_x(&f, energy.of * 1e-3, 10);
	fig_ticks_y(&f, time.of * 1e-6, 8);
	fig_label(&f, 10, 12, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "average completion time, %s",
		  time.name);
	fig_label(&f, FIG_WIDTH - 16, HEIGHT - 9, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED,
		  "fleet energy, %s", energy.name);
	for (size_t i = 0; i < n; i++) {
		const enum role color = type_role(i < THEME_TYPES ? i : THEME_TYPES - 1);

		x = draw_legend(&f, curves, i, x, color, unit);
		draw_curve(&f, &curves[i], color, unit);
	}
	return fig_save(&f, path, "sweep", "Fleet energy and average completion time by setting",
			err);
}
