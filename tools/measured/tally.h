/*
 * tally.h - pairs of published jobs without SM shares: how far a heavy job slows down with a
 * light one.
 */
#ifndef TOOLS_TALLY_H
#define TOOLS_TALLY_H

#include "measured/set_reader.h"

/** Add the lesser slowdown of each pair. */
void tally_read(struct set_reader *r);

/**
 * The model's lesser slowdown of @o, one of these, from the greater.
 * @return 0 or the error of hes_model_steady()
 */
int tally_slowdown(const struct hes_model *m, const struct hes_observation *o, double *out,
		   struct hes_err *err);

#endif
