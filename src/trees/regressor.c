/*
 * regressor.c - what a regressor is, and what it predicts; see heshare/regressor.h.
 */
#include "trees/regressor.h"

#include <stdlib.h>

void regressor_ready(struct hes_regressor *r)
{
	r->about.n_trees = r->ensemble.n_trees;
	r->about.n_nodes = r->ensemble.n_nodes;
}

void hes_regressor_free(struct hes_regressor *r)
{
	if (!r)
		return;
	ensemble_finish(&r->ensemble);
	free(r->feature_names);
	free(r->outputs);
	free(r);
}

const struct hes_regressor_info *hes_regressor_about(const struct hes_regressor *r)
{
	return &r->about;
}

void hes_regressor_predict(const struct hes_regressor *r, const float *row, double *out)
{
	ensemble_predict(&r->ensemble, row, out);
}
