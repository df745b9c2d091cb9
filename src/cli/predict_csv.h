/*
 * predict_csv.h - `heshare predict --csv`: a regressor's answers to the rows
 * of a table.
 */
#ifndef HES_CLI_PREDICT_CSV_H
#define HES_CLI_PREDICT_CSV_H

#include <stdbool.h>
#include <stdint.h>

struct predict_csv {
	const char *model;   /* files: cli_regressor_load */
	const char *csv;     /* rows; columns by name, others are ignored */
	const char *out;     /* NULL: standard output */
	uint64_t    threads;
	bool        json;
};

/** @return exit status */
int predict_csv(const struct predict_csv *o);

#endif
