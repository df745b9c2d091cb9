/*
 * fig.h - a figure that gnuplot draws.
 *
 * Lengths are pixels from the top left. The plot area is fixed, so a figure knows where its data
 * is. Text never enters the gnuplot script: the script has tokens such as "@17@" that are replaced,
 * escaped, in the drawing. So no job name can be a command.
 *
 * Life: fig_begin, any of the calls below, fig_render, fig_end. fig_render reports failed
 * allocations.
 */
#ifndef HES_REPORT_FIG_H
#define HES_REPORT_FIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "heshare/err.h"
#include "report/theme.h"

#define FIG_WIDTH 1040.0
#define FIG_FONT  12.0 /* px; axis text and notes */
#define FIG_SMALL 10.5 /* px; labels within a plot */

enum align { ALIGN_LEFT, ALIGN_CENTER, ALIGN_RIGHT };

struct fig_layout {
	double width, height;
	double left, right, top, bottom; /* margins around the plot area */
	double x0, x1, y0, y1;           /* data at its edges; y1 is at the top */
};

struct fig {
	struct fig_layout at;
	FILE *script; /* set-up and data blocks */
	FILE *plot;   /* elements of the plot command, in memory */
	char *plot_text;
	size_t plot_len;
	char **texts; /* by token; owned */
	size_t n_texts;
	size_t *tips; /* by plot element: token of the tooltip, or NO_TEXT */
	size_t n_elements;
	size_t n_blocks;
	bool failed;
};

#define NO_TEXT ((size_t)-1)

int fig_begin(struct fig *f, const struct fig_layout *at, struct hes_err *err);
void fig_end(struct fig *f);

double fig_x(const struct fig *f, double x); /* data to px */
double fig_y(const struct fig *f, double y);

/** Keep a text. @return its token */
size_t fig_text(struct fig *f, const char *fmt, ...) HES_PRINTF(2, 3);

void fig_label(struct fig *f, double x_px, double y_px, enum align align, double size,
	       enum role color, const char *fmt, ...) HES_PRINTF(7, 8);
/** Centred on the point, reading upwards. */
void fig_label_rotated(struct fig *f, double x_px, double y_px, double size, enum role color,
		       const char *fmt, ...) HES_PRINTF(6, 7);
/** A filled rectangle outside the data, e.g. a legend's swatch. */
void fig_swatch(struct fig *f, double x_px, double y_px, double w_px, double h_px, enum role color,
		double opacity);
void fig_line(struct fig *f, double x0_px, double y0_px, double x1_px, double y1_px,
	      enum role color, double width);
/** A swatch and its name. @return x behind it: the name's width and LEGEND_EXTRA_PX further right
 */
#define LEGEND_EXTRA_PX 38.0
double fig_legend(struct fig *f, double x_px, double y_px, enum role color, const char *name);

/** Ticks and grid lines with a round step, at most about @max_ticks; unit_of data units a unit. */
void fig_ticks_x(struct fig *f, double unit_of, int max_ticks);
void fig_ticks_y(struct fig *f, double unit_of, int max_ticks);

/** Rows of numbers and tokens follow on f->script; fig_data_end closes. @return the block's number
 */
size_t fig_data(struct fig *f);
void fig_data_end(struct fig *f);
/**
 * One element of the plot command: the block and "using ... with ...".
 * @param tip  token of its tooltip, or NO_TEXT
 */
void fig_plot(struct fig *f, size_t block, size_t tip, const char *fmt, ...) HES_PRINTF(4, 5);

/**
 * Run gnuplot and write the drawing as <svg>.
 * @param id          prefix of the ids in it, unique in the document
 * @param label       what the figure shows, for readers who cannot see it
 * @param standalone  a file of its own: declaration, background, style sheet
 */
int fig_render(struct fig *f, const char *id, const char *label, bool standalone, FILE *out,
	       struct hes_err *err);
/** Write a standalone figure to a file and end it, also on failure. */
int fig_save(struct fig *f, const char *path, const char *id, const char *label,
	     struct hes_err *err);

#endif
