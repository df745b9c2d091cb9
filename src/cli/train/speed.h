/*
 * speed.h - what asking a regressor costs.
 */
#ifndef HES_CLI_TRAIN_SPEED_H
#define HES_CLI_TRAIN_SPEED_H

#include "heshare/regressor.h"

struct speed {
	double one_row_us; /* a call for one row, distinct rows in turn, one thread; median of passes */
	double rows_per_s; /* all rows in one call, with the threads asked for; the quickest of some passes */
};

/**
 * Measure on @n rows, row by row; n at least 1.
 * @param threads  of the call for all rows; 0: all processors
 * @return 0 or -ENOMEM
 */
int speed_measure(const struct hes_regressor *r, const float *rows, size_t n, uint32_t threads,
		  struct speed *out, struct hes_err *err);

#endif
