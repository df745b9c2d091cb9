/*
 * halfplanes.h - the hypervolume that no front exceeds, from the half-planes that solves at weights
 * ruled out.
 */
#ifndef PAPER_HALFPLANES_H
#define PAPER_HALFPLANES_H

#include "exact.h"

/**
 * Area that the half-planes leave of the rectangle from the origin to a reference point (of sums),
 * as a fraction of it.
 * @return negative: out of memory
 */
double hes_halfplanes_bound(const struct hes_halfplane *h, size_t n,
			    const struct hes_objectives *reference);

#endif
