/*
 * train_prior.c - modelled samples of the GPU types of measured ones, for `heshare train` with few
 * samples.
 */
#include "app/known.h"
#include "cli/cli.h"
#include "app/catalogue.h"
#include "cli/train/train.h"
#include "heshare/draw.h"

/* Distinct types of samples. */
static size_t types_of(const struct hes_samples *s, const struct hes_catalogue *c,
		       const struct hes_gpu_type *out[HES_KNOWN_TYPES])
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct hes_gpu_type *g = hes_gpu_type_find(c, s->v[i].task.gpu_type, NULL);
		size_t k = 0;

		while (k < n && out[k] != g)
			k++;
		if (g && k == n && n < HES_KNOWN_TYPES)
			out[n++] = g;
	}
	return n;
}

int train_prior_draw(const struct hes_samples *s, const struct hes_catalogue *c,
		     struct train_prior *out, struct hes_err *err)
{
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	const size_t n = types_of(s, c, types);
	struct hes_draw d = {
		.types = types, .n_types = n, .noise = HES_KNOWN_NOISE, .seed = HES_KNOWN_SEED
	};
	struct hes_model *m = NULL;
	int rc = n ? app_model_load(cli_app(), NULL, c, types, n, &m, err) : 0;

	d.model = m;
	if (!rc && n)
		rc = hes_draw_profiles(&d, &out->profiles, err);
	if (!rc && n)
		rc = hes_draw_samples(&d, &out->profiles, HES_KNOWN_SAMPLES, &out->samples, err);
	out->samples.known = &out->profiles;
	hes_model_free(m);
	return rc;
}

void train_prior_free(struct train_prior *p)
{
	hes_samples_free(&p->samples);
	hes_profiles_free(&p->profiles);
}
