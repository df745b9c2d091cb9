/*
 * fuzz_regressor.h - what a regressor from outside must bear.
 */
#ifndef HES_FUZZ_REGRESSOR_H
#define HES_FUZZ_REGRESSOR_H

#include <math.h>

#include "fuzz_loader.h"
#include "heshare/regressor.h"

/* All rows at once, and one by one. */
static inline void fuzz_ask_rows(const struct hes_regressor *r, const float *rows, size_t n, double *one, double *many)
{
	size_t features = hes_regressor_about(r)->n_features, outputs = hes_regressor_about(r)->n_outputs;

	hes_regressor_predict_rows(r, rows, n, many, 1);
	for (size_t i = 0; i < n; i++) {
		hes_regressor_predict(r, rows + i * features, one);
		for (size_t o = 0; o < outputs; o++)
			if (one[o] != many[i * outputs + o] && !(isnan(one[o]) && isnan(many[i * outputs + o])))
				abort();
	}
}

/**
 * Every walk must end in a leaf of its own tree, which the sanitizers watch over, and every way of asking agree, with
 * missing values and without, which go another way. Frees @r.
 */
static inline void fuzz_ask(struct hes_regressor *r)
{
	static const float values[] = { 0, NAN, -1, 1, INFINITY, 1e-3f, -INFINITY };
	size_t features = hes_regressor_about(r)->n_features, outputs = hes_regressor_about(r)->n_outputs, n = 66;
	float *rows = malloc(n * features * sizeof(*rows));
	double *one = malloc(outputs * sizeof(*one)), *many = malloc(n * outputs * sizeof(*many));

	if (!rows || !one || !many)
		abort();
	for (size_t i = 0; i < n * features; i++)
		rows[i] = values[(i * i + i / features) % (sizeof(values) / sizeof(values[0]))];
	fuzz_ask_rows(r, rows, n, one, many);
	for (size_t i = 0; i < n * features; i++)
		rows[i] = isnan(rows[i]) ? 9 : rows[i];
	fuzz_ask_rows(r, rows, n, one, many);
	free(rows);
	free(one);
	free(many);
	hes_regressor_free(r);
}

#endif
