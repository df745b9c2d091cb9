/*
 * panels.h - pictures of one or more panels side by side, as SVG files, drawn by gnuplot.
 *
 * Colours are those of Okabe and Ito, which readers with impaired colour vision can tell apart;
 * lines differ in their points too. The legend is above each panel. Names are the program's own;
 * they hold no quotation marks.
 */
#ifndef PAPERS_FAIRNESS_PANELS_H
#define PAPERS_FAIRNESS_PANELS_H

#include <stdbool.h>
#include <stddef.h>

#include "heshare/err.h"

enum panel_kind { PANEL_LINES, PANEL_STEPS, PANEL_BARS, PANEL_STACKS };

struct panel {
	const char *title, *x_title, *y_title;
	enum panel_kind kind;
	double x_min, x_max;       /* both 0: from the data */
	double y_min, y_max;       /* the same */
	const char *const *series; /* names; [n_series] */
	size_t n_series;
	const char *const *groups; /* names under bars; NULL: x holds numbers; [n] */
	const double *x;
	const double *y; /* y[series * n + i]; NaN: nothing there */
	size_t n;
};

/** Draw into FOLDER/NAME. @return 0; -ENOENT no gnuplot; -EIO; -errno of creating the file */
int panels_draw(const char *title, const struct panel *panels, size_t n, const char *folder,
		const char *name, struct hes_err *err);

#endif
