/*
 * locked.h - published kernels at locked clocks: what the model makes of their power.
 */
#ifndef TOOLS_LOCKED_H
#define TOOLS_LOCKED_H

#include "measured/set_reader.h"

/** Add the power of each kernel at each clock but its highest. */
void locked_read(struct set_reader *r);

/**
 * The model's power of @o, one of these, from the kernel's row at its highest clock.
 * @return 0 or the error of hes_model_steady()
 */
int locked_power(const struct hes_model *m, const struct hes_observation *o, double *out,
		 struct hes_err *err);

#endif
