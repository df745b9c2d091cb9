/*
 * panels.c - pictures of one or more panels, drawn by gnuplot; see panels.h.
 */
#include "panels.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "report/gnuplot.h"

#define PANEL_WIDTH  560
#define PANEL_HEIGHT 440

/* The first line is thick, so that it can be seen below one that covers it. */
static const struct {
	const char *color;
	int point;
	double width, size;
} styles[] = {
	{ "#0072B2", 7, 4, 0.9 },    { "#D55E00", 5, 2.2, 0.5 },  { "#009E73", 9, 2.2, 0.7 },
	{ "#CC79A7", 13, 2.2, 0.7 }, { "#E69F00", 11, 2.2, 0.7 }, { "#000000", 3, 2.2, 0.7 }
};

#define N_STYLES (sizeof(styles) / sizeof(styles[0]))

static void put_data(const struct panel *p, size_t k, FILE *f)
{
	fprintf(f, "$panel%zu << END\n", k);
	for (size_t i = 0; i < p->n; i++) {
		if (p->groups)
			fprintf(f, "\"%s\"", p->groups[i]);
		else
			fprintf(f, "%.9g", p->x[i]);
		for (size_t s = 0; s < p->n_series; s++) {
			double v = p->y[s * p->n + i];

			if (isnan(v))
				fputs(" NaN", f);
			else
				fprintf(f, " %.9g", v);
		}
		fputc('\n', f);
	}
	fputs("END\n", f);
}

static void put_range(const char *axis, double min, double max, FILE *f)
{
	if (max > min)
		fprintf(f, "set %srange [%g:%g]\n", axis, min, max);
	else
		fprintf(f, "set autoscale %s\n", axis);
}

static void put_series(const struct panel *p, size_t k, size_t s, FILE *f)
{
	const char *color = styles[s % N_STYLES].color;

	fprintf(f, "%s $panel%zu using %s%zu%s title \"%s\"", s ? "," : "plot", k,
		p->groups ? "" : "1:", s + 2, p->groups ? ":xtic(1)" : "", p->series[s]);
	if (p->kind == PANEL_LINES)
		fprintf(f, " with linespoints lw %g pt %d ps %g lc rgb '%s'",
			styles[s % N_STYLES].width, styles[s % N_STYLES].point,
			styles[s % N_STYLES].size, color);
	else if (p->kind == PANEL_STEPS)
		fprintf(f, " with steps lw %g dt %zu lc rgb '%s'", styles[s % N_STYLES].width,
			s + 1, color);
	else
		fprintf(f, " lc rgb '%s'", color);
}

static void put_panel(const struct panel *p, size_t k, FILE *f)
{
	fprintf(f, "set title \"%s\"\nset xlabel \"%s\"\nset ylabel \"%s\"\n", p->title, p->x_title,
		p->y_title);
	put_range("x", p->x_min, p->x_max, f);
	put_range("y", p->y_min, p->y_max, f);
	if (p->kind == PANEL_BARS || p->kind == PANEL_STACKS)
		fprintf(f,
			"set xtics scale 0\nset style data histograms\nset style histogram %s\nset "
			"style fill solid 0.9 border lc rgb 'white'\nset boxwidth %s\n",
			p->kind == PANEL_STACKS ? "rowstacked" : "clustered gap 1",
			p->kind == PANEL_STACKS ? "0.7" : "0.9");
	for (size_t s = 0; s < p->n_series; s++)
		put_series(p, k, s, f);
	fputc('\n', f);
}

static void put_script(const char *title, const struct panel *panels, size_t n, FILE *f)
{
	fprintf(f, "set terminal svg size %zu,%d font 'sans,12' background 'white'\n",
		n * PANEL_WIDTH, PANEL_HEIGHT);
	for (size_t k = 0; k < n; k++)
		put_data(&panels[k], k, f);
	fprintf(f,
		"set key above horizontal maxrows 2\nset grid ytics lc rgb '#dddddd'\nset border "
		"3\nset tics nomirror\n"
		"set multiplot layout 1,%zu title \"%s\" font ',14'\n",
		n, title);
	for (size_t k = 0; k < n; k++)
		put_panel(&panels[k], k, f);
	fputs("unset multiplot\n", f);
	rewind(f);
}

static int copy(FILE *from, FILE *to)
{
	char block[4096];
	size_t n;

	while ((n = fread(block, 1, sizeof(block), from)) > 0)
		if (fwrite(block, 1, n, to) < n)
			return -EIO;
	return ferror(from) ? -EIO : 0;
}

int panels_draw(const char *title, const struct panel *panels, size_t n, const char *folder,
		const char *name, struct hes_err *err)
{
	FILE *script = gnuplot_scratch("script"), *drawing = gnuplot_scratch("drawing");
	struct hes_file out = { 0 };
	char path[PATH_MAX];
	int rc = script && drawing ? 0 : hes_fail(err, -errno, "no room for a drawing");

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!rc) {
		put_script(title, panels, n, script);
		rc = gnuplot_run(script, drawing, err);
	}
	if (!rc)
		rc = hes_file_create(&out, path, err);
	if (!rc)
		rc = copy(drawing, out.f)
			     ? hes_fail(err, -EIO, "%s: the drawing cannot be copied", path)
			     : hes_file_commit(&out, err);
	hes_file_abort(&out);
	if (script)
		fclose(script);
	if (drawing)
		fclose(drawing);
	return rc;
}
