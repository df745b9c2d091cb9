/*
 * chart.c - line and bar charts, drawn by gnuplot; see chart.h.
 */
#include "chart.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "report/gnuplot.h"

static void put_value(FILE *f, double v)
{
	if (isnan(v))
		fputs(" NaN", f);
	else
		fprintf(f, " %.9g", v);
}

static void put_data(const struct chart *c, FILE *f)
{
	fputs("$data << END\n", f);
	for (size_t i = 0; i < c->n; i++) {
		if (c->groups)
			fprintf(f, "\"%s\"", c->groups[i]);
		else
			fprintf(f, "%.9g", c->x[i]);
		for (size_t k = 0; k < c->n_series; k++)
			put_value(f, c->y[k * c->n + i]);
		fputc('\n', f);
	}
	fputs("END\n", f);
}

static void put_script(const struct chart *c, FILE *f)
{
	fprintf(f,
		"set terminal svg size 900,420 font 'sans,12' background 'white'\n"
		"set title \"%s\"\nset xlabel \"%s\"\nset ylabel \"%s\"\nset key outside right "
		"top\nset grid ytics\n",
		c->title, c->x_title, c->y_title);
	put_data(c, f);
	if (c->y_max > c->y_min)
		fprintf(f, "set yrange [%g:%g]\n", c->y_min, c->y_max);
	if (c->log_y)
		fputs("set logscale y\n", f);
	if (c->bars)
		fputs("set style data histograms\nset style histogram clustered gap 1\nset style "
		      "fill solid 0.8\n"
		      "set xtics rotate by -40 scale 0\n",
		      f);
	else
		fputs("set style data linespoints\n", f);
	for (size_t k = 0; k < c->n_series; k++)
		fprintf(f, "%s $data using %s%zu%s title \"%s\"", k ? "," : "plot",
			c->groups ? "" : "1:", k + 2, c->groups ? ":xtic(1)" : "", c->series[k]);
	fputc('\n', f);
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

int chart_draw(const struct chart *c, const char *folder, const char *name, struct hes_err *err)
{
	FILE *script = gnuplot_scratch("script"), *drawing = gnuplot_scratch("drawing");
	struct hes_file out = { 0 };
	char path[PATH_MAX];
	int rc = script && drawing ? 0 : hes_fail(err, -errno, "no room for a drawing");

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!rc) {
		put_script(c, script);
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
