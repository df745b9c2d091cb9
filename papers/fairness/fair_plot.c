/*
 * fair_plot.c - the figure of `fair_simulate`: shares of tenants over time or over phi; see
 * replay_tenants.h.
 *
 * A tenant has a colour. A solid line is its part of the time, a broken line its part of the
 * energy.
 */
#include <math.h>
#include <stdlib.h>

#include "replay_tenants.h"
#include "report/figures.h"
#include "report/text.h"

#define LEFT   62.0
#define RIGHT  20.0
#define TOP    58.0
#define BOTTOM 48.0
#define HEIGHT 420.0

/* Of the middle of the window, or of the run. */
static double point_x(const struct fair_simulation *s, size_t k)
{
	if (s->sweep)
		return s->runs[k].phi;
	return (s->series.at_s[k] + (k ? s->series.at_s[k - 1] : 0)) / 2;
}

static double point_share(const struct fair_simulation *s, size_t k, size_t tenant, bool energy)
{
	if (s->sweep)
		return energy ? fair_energy_share(s, &s->runs[k], tenant)
			      : fair_time_share(s, &s->runs[k], tenant);
	return (energy ? s->series.energy_share : s->series.time_share)[k * s->t.n + tenant];
}

static size_t points(const struct fair_simulation *s)
{
	return s->sweep ? s->n_runs : s->series.n_samples;
}

/* The top of the axis: 100 %, or little more than the greatest share where all are small. */
static double top_share(const struct fair_simulation *s, size_t n)
{
	double most = 0;

	if (s->sweep)
		return 101; /* F_S is drawn, too */
	for (size_t k = 0; k < points(s); k++)
		for (size_t i = 0; i < n; i++)
			most = fmax(most, 100 * fmax(point_share(s, k, i, false),
						     point_share(s, k, i, true)));
	return most > 50 ? 101 : fmax(1.1 * most, 1);
}

static void draw_share(struct fig *f, const struct fair_simulation *s, size_t tenant, bool energy)
{
	size_t block = fig_data(f);

	for (size_t k = 0; k < points(s); k++)
		fprintf(f->script, "%.10g %.10g\n", point_x(s, k),
			100 * point_share(s, k, tenant, energy));
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT, "using 1:2 with lines lc rgb '%s' lw %g dt %s",
		 theme_hex(type_role(tenant)), energy ? 1.8 : 2.4, energy ? "(6,4)" : "solid");
}

static void draw_system(struct fig *f, const struct fair_simulation *s)
{
	size_t block = fig_data(f);

	for (size_t k = 0; k < s->n_runs; k++)
		fprintf(f->script, "%.10g %.10g\n", s->runs[k].phi, 100 * s->runs[k].f.system);
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT, "using 1:2 with lines lc rgb '%s' lw 3 dt (2,3)",
		 theme_hex(ROLE_INK));
}

static void draw_legend(struct fig *f, const struct fair_simulation *s, size_t n)
{
	double x = LEFT;
	char name[HES_NAME_MAX];

	for (size_t i = 0; i < n && text_fit(name, sizeof(name), s->t.names[i], FIG_FONT,
					     FIG_WIDTH - RIGHT - x - LEGEND_EXTRA_PX);
	     i++)
		x = fig_legend(f, x, 16, type_role(i), name);
	fig_label(f, LEFT, 38, ALIGN_LEFT, FIG_FONT, ROLE_MUTED,
		  "solid: part of the GPU's time; broken: part of the energy%s%s",
		  s->sweep ? "; dotted, black: system fairness F_S" : "",
		  n < s->t.n ? "; the first tenants only" : "");
}

static int draw(struct fig *f, const struct fair_simulation *s, struct hes_err *err)
{
	size_t n = s->t.n < THEME_TYPES ? s->t.n : THEME_TYPES;
	double x0 = s->sweep ? s->runs[0].phi : 0,
	       x1 = s->sweep ? s->runs[s->n_runs - 1].phi : (double)s->c.duration_ns / 1e9;
	int rc = fig_begin(f,
			   &(struct fig_layout){ .width = FIG_WIDTH,
						 .height = HEIGHT,
						 .left = LEFT,
						 .right = RIGHT,
						 .top = TOP,
						 .bottom = BOTTOM,
						 .x0 = x0,
						 .x1 = x1 > x0 ? x1 : x0 + 1,
						 .y0 = 0,
						 .y1 = top_share(s, n) },
			   err);

	if (rc)
		return rc;
	fig_ticks_x(f, 1, 10);
	fig_ticks_y(f, 1, 10);
	fig_label(f, FIG_WIDTH - RIGHT, HEIGHT - 10, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED,
		  s->sweep ? "phi" : "time, s");
	fig_label_rotated(f, 14, TOP + (HEIGHT - TOP - BOTTOM) / 2, FIG_FONT, ROLE_MUTED,
			  "share, %%");
	draw_legend(f, s, n);
	for (size_t i = 0; i < n; i++) {
		draw_share(f, s, i, false);
		draw_share(f, s, i, true);
	}
	if (s->sweep)
		draw_system(f, s);
	return 0;
}

int fair_simulation_plot(const struct fair_simulation *s, const char *path, struct hes_err *err)
{
	struct fig f;
	int rc = draw(&f, s, err);

	return rc ? rc
		  : fig_save(&f, path, "fair", "shares of time and energy of each tenant", err);
}
