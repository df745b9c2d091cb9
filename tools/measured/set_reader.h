/*
 * set_reader.h - the rows of a data set's tables, turned into observations: shared by observe.c
 * (published sets) and measured_tables.c (measured GPUs). After the first failure all calls do
 * nothing, so callers check rc once.
 */
#ifndef TOOLS_SET_READER_H
#define TOOLS_SET_READER_H

#include "base/csv.h"
#include "measured/observe.h"

struct set_reader {
	const struct hes_model *m;
	const struct hes_catalogue *c;
	const char *dir;
	struct hes_observations *out;
	size_t first; /* observation of this folder */
	size_t gpu;   /* of the observations; 0: published */
	struct hes_csv *csv;
	struct hes_err *err;
	int rc; /* first failure */
};

/** Open DIR/FILE. @return whether it is there and readable; a missing file is no failure */
bool set_reader_open(struct set_reader *r, const char *file);
/** Go to the next row; the table is closed after the last one. */
bool set_reader_next(struct set_reader *r);

/** Add an observation of the current row; a value of 0 was not measured. @return whether one was
 * added */
bool set_reader_observe(struct set_reader *r, enum hes_series_id series, enum hes_metric metric,
			const struct hes_setup *at, double measured, bool held);
/** Add a ratio of two set-ups. */
void set_reader_compare(struct set_reader *r, enum hes_series_id series, enum hes_metric metric,
			const struct hes_setup *at, const struct hes_setup *against,
			double measured, bool held);

#endif
