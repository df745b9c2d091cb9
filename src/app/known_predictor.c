/*
 * known_predictor.c - the predictor of what is known: from its file, or trained; see known.h.
 */
#include <errno.h>
#include <string.h>

#include "app/known_rows.h"

/* Samples are drawn from drawn profiles, even if there are measured ones. */
static int train(struct known_load *l, struct hes_known *k, struct hes_err *err)
{
	const struct hes_train_options options = { .seed = HES_KNOWN_SEED };
	struct hes_samples samples;
	int rc = hes_draw_samples(&l->draw, &l->drawn, HES_KNOWN_SAMPLES, &samples, err);

	if (rc)
		return rc;
	samples.known = &l->drawn;
	rc = hes_predictor_train(&samples, l->q->catalogue, &options, &k->predictor, err);
	hes_samples_free(&samples);
	return rc;
}

int known_predictor(struct known_load *l, struct hes_known *k, struct hes_err *err)
{
	if (!l->q->predictor)
		return train(l, k, err);
	k->learnt = true;
	return hes_predictor_load(l->q->predictor, &k->predictor, err);
}
