/*
 * draw_energy.c - figure: energy of each GPU, busy and idle.
 */
#include <math.h>

#include "report/figures.h"
#include "report/text.h"

static double busiest(const struct hes_report *r)
{
	double max = 1;

	for (size_t g = 0; g < shown_gpus(r->fleet); g++) {
		const struct hes_gpu_usage *u = &r->replay->gpus[g];

		max = fmax(max, (double)u->busy_energy_mj + (double)u->idle_energy_mj);
	}
	return max;
}

static void draw_part(struct fig *f, size_t tip, double from, double to, double row,
		      enum role color)
{
	size_t block;

	if (to <= from)
		return;
	block = fig_data(f);
	fprintf(f->script, "%.10g %.10g %.10g %.10g\n", from, to, -row - 0.80, -row - 0.20);
	fig_data_end(f);
	fig_plot(f, block, tip,
		 "using 1:3:1:2:3:4 with boxxyerror fc rgb '%s' fs solid border lc rgb '%s' lw 1",
		 theme_hex(color), theme_hex(ROLE_SURFACE));
}

static void draw_bar(const struct hes_report *r, struct fig *f, size_t g, enum role color,
		     double max)
{
	struct unit unit = unit_energy(max);
	int decimals = format_decimals(max / unit.of);
	const struct hes_gpu_usage *u = &r->replay->gpus[g];
	const char *name = r->fleet->gpus[g].name;
	double busy = (double)u->busy_energy_mj, all = busy + (double)u->idle_energy_mj;
	double y = fig_y(f, -(double)g - 0.5), makespan = (double)r->replay->totals.makespan_us;
	char text[QUANTITY_MAX], idle[QUANTITY_MAX];

	gpu_label(f, r->fleet, g, y, fig_y(f, -1) - fig_y(f, 0) > 28);
	draw_part(f,
		  fig_text(f, "%s, busy: %s in %s", name, format_energy(text, busy),
			   format_time(idle, (double)u->busy_us)),
		  0, busy, (double)g, color);
	draw_part(f, fig_text(f, "%s, idle: %s", name, format_energy(text, all - busy)), busy, all,
		  (double)g, ROLE_IDLE);
	fig_label(f, fig_x(f, all) + 7, y, ALIGN_LEFT, FIG_SMALL, ROLE_INK, "%s",
		  format_number(text, all / unit.of, decimals));
	fig_label(f, FIG_WIDTH - 16, y, ALIGN_RIGHT, FIG_SMALL, ROLE_MUTED, "%s\u202f%%",
		  format_number(text, makespan > 0 ? 100 * (double)u->busy_us / makespan : 0, 0));
}

static void draw_legend(const struct type_list *types, struct fig *f)
{
	fig_legend(f, type_legend(f, types, 130), 14, ROLE_IDLE, "idle");
	fig_label(f, FIG_WIDTH - 16, 14, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED, "busy");
}

int draw_energy(const struct hes_report *r, struct fig *f, struct hes_err *err)
{
	struct type_list types = fleet_types(r->fleet);
	size_t n = shown_gpus(r->fleet);
	double row_px = n <= 16 ? 34 : 20, max = busiest(r);
	struct unit unit = unit_energy(max);
	int rc = fig_begin(f,
			   &(struct fig_layout){ .width = FIG_WIDTH,
						 .height = (double)n * row_px + 30 + 46,
						 .left = gpu_column(r->fleet),
						 .right = 62,
						 .top = 30,
						 .bottom = 46,
						 .x0 = 0,
						 .x1 = max * 1.1,
						 .y0 = -(double)n,
						 .y1 = 0 },
			   err);

	if (rc)
		return rc;
	fig_ticks_x(f, unit.of, 10);
	fig_label(f, FIG_WIDTH - 62, f->at.height - 9, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED,
		  "energy, %s", unit.name);
	draw_legend(&types, f);
	for (size_t g = 0; g < n; g++)
		draw_bar(r, f, g, type_role(type_index(&types, r->fleet->gpus[g].type)), max);
	if (f->n_elements == 0)
		fputs("plot NaN notitle", f->plot);
	return 0;
}
