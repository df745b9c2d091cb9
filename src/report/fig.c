/*
 * fig.c - build the gnuplot script of a figure; see fig.h. fig_svg.c makes the SVG.
 */
#include "report/fig.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/gnuplot.h"
#include "report/text.h"

int fig_begin(struct fig *f, const struct fig_layout *at, struct hes_err *err)
{
	*f = (struct fig){ .at = *at };
	f->script = gnuplot_scratch("gnuplot-script");
	f->plot = open_memstream(&f->plot_text, &f->plot_len);
	if (!f->script || !f->plot) {
		fig_end(f);
		return hes_fail(err, -ENOMEM, "cannot hold a figure: %s", strerror(errno));
	}
	fprintf(f->script,
		"set terminal svg size %.0f,%.0f noenhanced font 'sans-serif,%g' name 'gp' "
		"linewidth 1\n"
		"set encoding utf8\n"
		"unset key\nunset border\nunset xtics\nunset ytics\n"
		"set lmargin at screen %.8f\nset rmargin at screen %.8f\n"
		"set tmargin at screen %.8f\nset bmargin at screen %.8f\n"
		"set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n",
		at->width, at->height, FIG_FONT, at->left / at->width, 1 - at->right / at->width,
		1 - at->top / at->height, at->bottom / at->height, at->x0, at->x1, at->y0, at->y1);
	return 0;
}

void fig_end(struct fig *f)
{
	if (f->script)
		fclose(f->script);
	if (f->plot)
		fclose(f->plot);
	free(f->plot_text);
	for (size_t i = 0; i < f->n_texts; i++)
		free(f->texts[i]);
	free(f->texts);
	free(f->tips);
	*f = (struct fig){ 0 };
}

double fig_x(const struct fig *f, double x)
{
	const struct fig_layout *a = &f->at;

	return a->left + (x - a->x0) / (a->x1 - a->x0) * (a->width - a->left - a->right);
}

double fig_y(const struct fig *f, double y)
{
	const struct fig_layout *a = &f->at;

	return a->top + (a->y1 - y) / (a->y1 - a->y0) * (a->height - a->top - a->bottom);
}

static size_t keep(struct fig *f, const char *fmt, va_list ap)
{
	char **more = hes_grow(f->texts, f->n_texts, sizeof(*more));
	char *s;

	if (more)
		f->texts = more;
	if (!more || vasprintf(&s, fmt, ap) < 0) {
		f->failed = true;
		return NO_TEXT;
	}
	f->texts[f->n_texts] = s;
	return f->n_texts++;
}

size_t fig_text(struct fig *f, const char *fmt, ...)
{
	va_list ap;
	size_t token;

	va_start(ap, fmt);
	token = keep(f, fmt, ap);
	va_end(ap);
	return token;
}

static void put_label(struct fig *f, double x_px, double y_px, const char *how, double size,
		      enum role color, size_t token)
{
	fprintf(f->script,
		"set label '@%zu@' at screen %.6f,%.6f %s font ',%g' tc rgb '%s' front\n", token,
		x_px / f->at.width, 1 - y_px / f->at.height, how, size, theme_hex(color));
}

void fig_label(struct fig *f, double x_px, double y_px, enum align align, double size,
	       enum role color, const char *fmt, ...)
{
	static const char *const words[] = { "left", "center", "right" };
	va_list ap;

	va_start(ap, fmt);
	put_label(f, x_px, y_px, words[align], size, color, keep(f, fmt, ap));
	va_end(ap);
}

void fig_label_rotated(struct fig *f, double x_px, double y_px, double size, enum role color,
		       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_label(f, x_px, y_px, "center rotate by 90", size, color, keep(f, fmt, ap));
	va_end(ap);
}

void fig_swatch(struct fig *f, double x_px, double y_px, double w_px, double h_px, enum role color,
		double opacity)
{
	fprintf(f->script,
		"set object rectangle from screen %.6f,%.6f to screen %.6f,%.6f "
		"fc rgb '%s' fs transparent solid %.3f noborder behind\n",
		x_px / f->at.width, 1 - y_px / f->at.height, (x_px + w_px) / f->at.width,
		1 - (y_px + h_px) / f->at.height, theme_hex(color), opacity);
}

void fig_line(struct fig *f, double x0_px, double y0_px, double x1_px, double y1_px,
	      enum role color, double width)
{
	fprintf(f->script,
		"set arrow from screen %.6f,%.6f to screen %.6f,%.6f nohead "
		"lc rgb '%s' lw %g back\n",
		x0_px / f->at.width, 1 - y0_px / f->at.height, x1_px / f->at.width,
		1 - y1_px / f->at.height, theme_hex(color), width);
}

double fig_legend(struct fig *f, double x_px, double y_px, enum role color, const char *name)
{
	fig_swatch(f, x_px, y_px - 5, 14, 10, color, 1);
	fig_label(f, x_px + 20, y_px, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "%s", name);
	return x_px + text_width(name, FIG_FONT) + LEGEND_EXTRA_PX;
}

/* The smallest of 1, 2, 5 times a power of ten that gives at most @max ticks over @span. */
static double round_step(double span, int max)
{
	double step = pow(10, floor(log10(span / max)));

	if (span / step <= max)
		return step;
	if (span / (2 * step) <= max)
		return 2 * step;
	return span / (5 * step) <= max ? 5 * step : 10 * step;
}

static void ticks(struct fig *f, char axis, double lo, double hi, double unit_of, int max)
{
	double step = round_step((hi - lo) / unit_of, max);
	int decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
	double first = ceil(lo / unit_of / step - 1e-9);
	const char *separator = "";
	char text[QUANTITY_MAX];

	fprintf(f->script, "set %ctics scale 0 nomirror textcolor rgb '%s' (", axis,
		theme_hex(ROLE_MUTED));
	for (double i = first; i * step <= hi / unit_of * (1 + 1e-9); i++, separator = ", ") {
		size_t token = fig_text(f, "%s", format_number(text, i * step, decimals));

		fprintf(f->script, "%s'@%zu@' %.10g", separator, token, i * step * unit_of);
	}
	fprintf(f->script, ")\nset grid %ctics lt 1 lc rgb '%s' lw 1 back\n", axis,
		theme_hex(ROLE_GRID));
}

void fig_ticks_x(struct fig *f, double unit_of, int max_ticks)
{
	ticks(f, 'x', f->at.x0, f->at.x1, unit_of, max_ticks);
}

void fig_ticks_y(struct fig *f, double unit_of, int max_ticks)
{
	ticks(f, 'y', f->at.y0, f->at.y1, unit_of, max_ticks);
}

size_t fig_data(struct fig *f)
{
	fprintf(f->script, "$d%zu << EOD\n", f->n_blocks);
	return f->n_blocks++;
}

void fig_data_end(struct fig *f)
{
	fputs("EOD\n", f->script);
}

void fig_plot(struct fig *f, size_t block, size_t tip, const char *fmt, ...)
{
	size_t *more = hes_grow(f->tips, f->n_elements, sizeof(*more));
	va_list ap;

	if (!more) {
		f->failed = true;
		return;
	}
	f->tips = more;
	f->tips[f->n_elements] = tip;
	fprintf(f->plot, "%s$d%zu ", f->n_elements++ ? ", " : "plot ", block);
	va_start(ap, fmt);
	vfprintf(f->plot, fmt, ap);
	va_end(ap);
}
