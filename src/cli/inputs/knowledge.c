/*
 * knowledge.c - load or make profiles and a predictor; see knowledge.h.
 */
#include "cli/inputs/knowledge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inputs/catalogue.h"
#include "cli/inputs/rows_folder.h"
#include "heshare/draw.h"

static int train_on_drawn(const struct hes_draw *d, const struct hes_profiles *profiles,
			  const struct hes_catalogue *c, struct hes_predictor **out,
			  struct hes_err *err)
{
	const struct hes_train_options options = { .seed = CLI_SAMPLE_SEED };
	struct hes_samples samples;
	int rc = hes_draw_samples(d, profiles, CLI_SAMPLES, &samples, err);

	if (rc)
		return rc;
	samples.known = profiles;
	rc = hes_predictor_train(&samples, c, &options, out, err);
	hes_samples_free(&samples);
	return rc;
}

/* Samples are drawn from drawn profiles, even if the user has profiles. */
static int draw_from(const struct hes_model *m, bool predictor, bool profiles,
		     const struct hes_catalogue *c, const struct hes_gpu_type *const *types,
		     size_t n_types, struct cli_knowledge *k, struct hes_err *err)
{
	const struct hes_draw d = { .model = m,
				    .types = types,
				    .n_types = n_types,
				    .noise = CLI_NOISE,
				    .seed = CLI_SAMPLE_SEED };
	struct hes_profiles drawn = { 0 };
	int rc = hes_draw_profiles(&d, &drawn, err);

	if (!rc && predictor)
		rc = train_on_drawn(&d, &drawn, c, &k->predictor, err);
	if (rc || !profiles)
		hes_profiles_free(&drawn);
	else
		k->profiles = drawn;
	return rc;
}

static int draw(bool predictor, bool profiles, const struct hes_model *model,
		const struct hes_catalogue *c, const struct hes_gpu_type *const *types,
		size_t n_types, struct cli_knowledge *k, struct hes_err *err)
{
	struct hes_gpu_type standard[CLI_MAX_TYPES];
	const struct hes_gpu_type *rows[CLI_MAX_TYPES];
	struct hes_model *own = NULL;
	int rc = model ? 0 : cli_model_load(NULL, c, types, n_types, &own, err);

	/* Predictors know types at their default power limits. Where another one is set, the GPU
	 * runs at lower clocks even if none is planned. */
	for (size_t i = 0; i < n_types; i++) {
		standard[i] = *types[i];
		hes_gpu_type_limit(&standard[i], types[i]->default_limit_mw);
		if (types[i]->default_limit_mw && types[i]->clock_step_mhz > 0)
			hes_gpu_type_choose_clocks(&standard[i]);
		rows[i] = &standard[i];
	}
	if (!rc)
		rc = draw_from(model ? model : own, predictor, profiles, c, rows, n_types, k, err);
	hes_model_free(own);
	return rc;
}

static bool has_type(const struct hes_profiles *p, const char *type)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].gpu_type, type) == 0)
			return true;
	return false;
}

static int check_types(const char *profiles, const struct hes_gpu_type *const *types,
		       size_t n_types, const struct cli_knowledge *k, struct hes_err *err)
{
	for (size_t i = 0; i < n_types; i++)
		if (profiles && !has_type(&k->profiles, types[i]->name))
			return hes_fail(err, -EINVAL, "%s: no profiles of %s", profiles,
					types[i]->name);
	return 0;
}

int cli_knowledge_load_types(const char *predictor, const char *profiles,
			     const struct hes_model *model, const struct hes_catalogue *c,
			     const struct hes_gpu_type *const *types, size_t n_types,
			     struct cli_knowledge *out, struct hes_err *err)
{
	struct cli_knowledge k = { 0 };
	int rc = predictor ? hes_predictor_load(predictor, &k.predictor, err) : 0;

	if (!rc && profiles)
		rc = cli_profiles_load(profiles, &k.profiles, err);
	if (!rc && (!predictor || !profiles))
		rc = draw(!predictor, !profiles, model, c, types, n_types, &k, err);
	if (!rc)
		rc = check_types(profiles, types, n_types, &k, err);
	if (rc)
		cli_knowledge_free(&k);
	else
		*out = k;
	return rc;
}

int cli_knowledge_load(const char *predictor, const char *profiles, const struct hes_model *model,
		       const struct hes_catalogue *c, const struct hes_fleet *f,
		       struct cli_knowledge *out, struct hes_err *err)
{
	const struct hes_gpu_type *types[CLI_MAX_TYPES];
	size_t n = hes_fleet_types(f, types, CLI_MAX_TYPES);

	return cli_knowledge_load_types(predictor, profiles, model, c, types, n, out, err);
}

void cli_knowledge_fit(const struct cli_knowledge *k, bool measured, struct hes_gpu_type *types,
		       size_t n)
{
	hes_profiles_hold(&k->profiles, types, n);
	for (size_t i = 0; measured && i < n; i++)
		hes_predictor_offer(k->predictor, &types[i]);
}

void cli_knowledge_free(struct cli_knowledge *k)
{
	hes_predictor_free(k->predictor);
	hes_profiles_free(&k->profiles);
	*k = (struct cli_knowledge){ 0 };
}

static int add_type(const char *name, const struct hes_catalogue *c,
		    const struct hes_gpu_type **out, int n, size_t max, struct hes_err *err)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(c, name, err);

	if (!g)
		return -ENOENT;
	if ((size_t)n == max)
		return hes_fail(err, -E2BIG, "more than %zu GPU types", max);
	for (int i = 0; i < n; i++)
		if (out[i] == g)
			return hes_fail(err, -EEXIST, "GPU type %s is given twice", name);
	out[n] = g;
	return 0;
}

int cli_types(const char *list, const struct hes_catalogue *c, const struct hes_gpu_type **out,
	      size_t max, struct hes_err *err)
{
	char *text = strdup(list), *rest, *name;
	int n = 0, rc = text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	for (name = text ? strtok_r(text, ",", &rest) : NULL; name && !rc;
	     name = strtok_r(NULL, ",", &rest)) {
		rc = add_type(name, c, out, n, max, err);
		n += !rc;
	}
	free(text);
	if (!rc && !n)
		rc = hes_fail(err, -ENOENT, "no GPU type in \"%.60s\"", list);
	return rc ? rc : n;
}
