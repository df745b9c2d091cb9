/*
 * regressor.c - what a regressor is, and what it predicts; see heshare/regressor.h.
 */
#include "trees/regressor.h"

#include <math.h>
#include <stdlib.h>

int regressor_ready(struct hes_regressor *r)
{
	r->about.n_trees = r->ensemble.n_trees;
	r->about.n_nodes = r->ensemble.n_nodes;
	return r->weights ? 0 : quickscorer_create(&r->ensemble, &r->scorer);
}

void hes_regressor_free(struct hes_regressor *r)
{
	if (!r)
		return;
	quickscorer_destroy(r->scorer);
	ensemble_finish(&r->ensemble);
	free(r->feature_names);
	free(r->outputs);
	free(r->weights);
	free(r->means);
	free(r);
}

const struct hes_regressor_info *hes_regressor_about(const struct hes_regressor *r)
{
	return &r->about;
}

static void predict_line(const struct hes_regressor *r, const float *row, double *out)
{
	size_t n = r->about.n_features;

	for (size_t o = 0; o < r->about.n_outputs; o++) {
		const double *slope = r->weights + o * (n + 1);
		double sum = slope[n];

		for (size_t f = 0; f < n; f++)
			sum += slope[f] * (isnan(row[f]) ? r->means[f] : (double)row[f]);
		out[o] = sum;
	}
}

void hes_regressor_predict(const struct hes_regressor *r, const float *row, double *out)
{
	if (r->weights)
		predict_line(r, row, out);
	else if (r->scorer)
		quickscorer_predict(r->scorer, row, out);
	else
		ensemble_predict(&r->ensemble, row, out);
}
