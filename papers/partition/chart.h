/*
 * chart.h - line and bar charts as SVG files, drawn by gnuplot.
 *
 * Names of series and groups are the programs' own; they hold no quotation marks.
 */
#ifndef PAPERS_CHART_H
#define PAPERS_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "heshare/err.h"

struct chart {
	const char *title, *x_title, *y_title;
	bool bars; /* bars side by side; else lines with points */
	bool log_y;
	double y_min, y_max;       /* both 0: from the data */
	const char *const *series; /* names; [n_series] */
	size_t n_series;
	const char *const *groups; /* names of bars' groups; NULL: x holds numbers; [n] */
	const double *x;
	const double *y; /* y[series * n + i]; NaN: nothing there */
	size_t n;
};

/** Draw into FOLDER/NAME. @return 0; -ENOENT no gnuplot; -EIO; -errno of creating the file */
int chart_draw(const struct chart *c, const char *folder, const char *name, struct hes_err *err);

#endif
