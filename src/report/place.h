/*
 * place.h - place the labels of points so that they cover neither each other nor the points. In
 * pixels, y downwards.
 */
#ifndef HES_REPORT_PLACE_H
#define HES_REPORT_PLACE_H

#include <stddef.h>

struct box {
	double x, y, w, h; /* top left corner and size */
};

struct place_label {
	double x, y;   /* the point */
	double w, h;   /* of the label */
	struct box at; /* out: where it goes */
};

/**
 * Place all labels within @bounds. Deterministic; a label that finds no free
 * place takes the least covered one.
 * @param avoid  what should stay visible besides the labels' own points
 */
void place_labels(struct place_label *labels, size_t n, const struct box *avoid, size_t n_avoid,
		  const struct box *bounds);

#endif
