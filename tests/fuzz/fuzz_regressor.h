/*
 * fuzz_regressor.h - what a regressor from outside must bear.
 */
#ifndef HES_FUZZ_REGRESSOR_H
#define HES_FUZZ_REGRESSOR_H

#include <math.h>

#include "fuzz_loader.h"
#include "heshare/regressor.h"

/** Every walk must end in a leaf of its own tree, which the sanitizers watch over, and every way of asking agree. Frees @r. */
static inline void fuzz_ask(struct hes_regressor *r)
{
	static const float values[] = { 0, NAN, -1, 1, INFINITY, 1e-3f, -INFINITY };
	size_t features = hes_regressor_about(r)->n_features, outputs = hes_regressor_about(r)->n_outputs, n = 21;
	float *rows = malloc(n * features * sizeof(*rows));
	double *one = malloc(outputs * sizeof(*one)), *many = malloc(n * outputs * sizeof(*many));

	if (!rows || !one || !many)
		abort();
	for (size_t i = 0; i < n * features; i++)
		rows[i] = values[(i * i + i / features) % (sizeof(values) / sizeof(values[0]))];
	hes_regressor_predict_rows(r, rows, n, many, 1);
	for (size_t i = 0; i < n; i++) {
		hes_regressor_predict(r, rows + i * features, one);
		for (size_t o = 0; o < outputs; o++)
			if (one[o] != many[i * outputs + o] && !(isnan(one[o]) && isnan(many[i * outputs + o])))
				abort();
	}
	free(rows);
	free(one);
	free(many);
	hes_regressor_free(r);
}

#endif
