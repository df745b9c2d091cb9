/*
 * predictor_file.c - predictors as files; see heshare/predict.h.
 *
 * "heshare predictor 5" and one body (model_bytes.h): provenance, the baseline's constants, the
 * weights of the regressor, the training range, the intervals, the regressor. After the checksum,
 * every count, name, constant and node is checked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "predict/predictor.h"
#include "trees/regressor_file.h"

#define NOUN      "predictor"
#define VERSION   6
#define MAX_NAMES 100000

static void put_names(struct model_writer *b, const char (*names)[HES_NAME_MAX], uint32_t n)
{
	model_put_u64(b, n, 4);
	for (uint32_t i = 0; i < n; i++)
		model_put_text(b, names[i]);
}

static void put_about(struct model_writer *b, const struct hes_predictor_info *a)
{
	model_put_u64(b, a->options.seed, 8);
	model_put_u64(b, 0, 4); /* all features, over the baseline */
	model_put_u64(b, a->rows, 4);
	model_put_u64(b, a->samples_crc, 4);
	put_names(b, (const char(*)[HES_NAME_MAX])a->types, a->n_types);
	put_names(b, (const char(*)[HES_NAME_MAX])a->workloads, a->n_workloads);
}

static void put_predictor(struct model_writer *b, const struct hes_predictor *p)
{
	put_about(b, &p->about);
	constants_put(b, &p->constants);
	for (int o = 0; o < PREDICTOR_OUTPUTS; o++)
		model_put_f64(b, p->weight[o]);
	range_put(b, &p->range);
	interval_put(b, &p->interval);
	regressor_put(b, p->residual);
}

int hes_predictor_save(const char *path, const struct hes_predictor *p, struct hes_err *err)
{
	struct model_writer b = { 0 };
	int rc;

	put_predictor(&b, p);
	rc = model_save(path, NOUN, VERSION, &b, err);
	free(b.v);
	return rc;
}

int hes_predictor_pack(const struct hes_predictor *p, char **out, size_t *n, struct hes_err *err)
{
	struct model_writer b = { 0 };
	int rc;

	put_predictor(&b, p);
	rc = model_pack(NOUN, VERSION, &b, out, n, err);
	free(b.v);
	return rc;
}

int hes_predictor_checksum(const struct hes_predictor *p, uint32_t *out, struct hes_err *err)
{
	struct model_writer b = { 0 };
	int rc;

	put_predictor(&b, p);
	rc = b.failed ? hes_fail(err, -ENOMEM, "out of memory for a predictor's checksum") : 0;
	if (!rc)
		*out = model_checksum(&b);
	free(b.v);
	return rc;
}

/* Each name takes two bytes at least, which limits what a wrong count can allocate. */
static int get_names(struct model_reader *r, char (**out)[HES_NAME_MAX], uint32_t *out_n,
		     struct hes_err *err)
{
	uint32_t n = model_get_u32(r);
	char(*v)[HES_NAME_MAX];

	r->bad |= n == 0 || n > MAX_NAMES || n > r->n / 2;
	if (r->bad)
		return 0;
	v = calloc(n, sizeof(*v));
	if (!v)
		return hes_fail(err, -ENOMEM, "%s: out of memory", r->path);
	for (uint32_t i = 0; i < n; i++) {
		model_get_text(r, v[i], HES_NAME_MAX);
		r->bad |= !v[i][0];
	}
	*out = v;
	*out_n = n;
	return 0;
}

static int get_about(struct model_reader *r, struct hes_predictor_info *a, struct hes_err *err)
{
	uint32_t recipe;
	int rc;

	a->options.seed = model_get_u64(r, 8);
	recipe = model_get_u32(r);
	a->rows = model_get_u32(r);
	a->samples_crc = model_get_u32(r);
	if (recipe)
		return hes_fail(err, -ENOTSUP,
				"%s: trained with --recipe, which this version does not have; "
				"train it again with heshare train",
				r->path);
	if (r->bad)
		return 0;
	rc = get_names(r, &a->types, &a->n_types, err);
	return rc || r->bad ? rc : get_names(r, &a->workloads, &a->n_workloads, err);
}

/* The regressor must have the features of this program, in this order. Files of earlier versions
 * call co_runners "residents". */
static int check_features(const char *path, const struct hes_predictor *p, struct hes_err *err)
{
	const struct hes_regressor_info *a = hes_regressor_about(p->residual);

	if (a->n_outputs != PREDICTOR_OUTPUTS)
		return hes_fail(err, -EINVAL, "%s: %zu outputs; a predictor has %d", path,
				a->n_outputs, PREDICTOR_OUTPUTS);
	if (a->n_features != FEATURE_COUNT)
		return hes_fail(err, -EINVAL,
				"%s: trained on %zu features, this program has %d; train it again",
				path, a->n_features, FEATURE_COUNT);
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		if (strcmp(p->residual->feature_names[i], features[i].name) &&
		    (strcmp(p->residual->feature_names[i], "residents") ||
		     strcmp(features[i].name, "co_runners")))
			return hes_fail(err, -EINVAL,
					"%s: feature %zu is \"%s\", this program's is \"%s\"; "
					"train it again",
					path, i + 1, p->residual->feature_names[i],
					features[i].name);
	return 0;
}

static int unsound(const struct model_reader *r, struct hes_err *err)
{
	return hes_fail(err, -EINVAL,
			"%s: not a sound predictor file, though its checksum is right", r->path);
}

static int get_predictor(struct model_reader *r, struct hes_predictor *p, struct hes_err *err)
{
	int rc = get_about(r, &p->about, err);

	if (!rc && r->bad)
		rc = unsound(r, err);
	if (!rc)
		rc = constants_get(r, &p->constants, err);
	for (int o = 0; o < PREDICTOR_OUTPUTS && !rc; o++) {
		p->weight[o] = model_get_f64(r);
		r->bad |= !(p->weight[o] >= 0 && p->weight[o] <= 1);
	}
	if (!rc)
		rc = range_get(r, &p->range, err);
	if (!rc) {
		interval_get(r, &p->interval);
		if (r->bad)
			rc = hes_fail(err, -EINVAL,
				      "%s: an interval is missing or out of its range", r->path);
	}
	if (!rc)
		rc = regressor_get(r, &p->residual, err);
	if (!rc && (r->bad || r->n))
		rc = unsound(r, err);
	if (!rc)
		rc = check_features(r->path, p, err);
	if (!rc)
		predictor_describe(p);
	return rc;
}

static int read_predictor(struct model_reader *r, struct hes_predictor **out, struct hes_err *err)
{
	struct hes_predictor *p = calloc(1, sizeof(*p));
	int rc =
		p ? get_predictor(r, p, err) : hes_fail(err, -ENOMEM, "%s: out of memory", r->path);

	if (rc)
		hes_predictor_free(p);
	else
		*out = p;
	return rc;
}

int hes_predictor_unpack(const char *name, const char *bytes, size_t n, struct hes_predictor **out,
			 struct hes_err *err)
{
	struct model_reader r = { .path = name, .v = (const unsigned char *)bytes, .n = n };
	int rc = model_unpack(&r, NOUN, VERSION, err);

	return rc ? rc : read_predictor(&r, out, err);
}

int hes_predictor_load(const char *path, struct hes_predictor **out, struct hes_err *err)
{
	struct model_reader r;
	char *bytes = NULL;
	int rc = model_load(path, NOUN, VERSION, &bytes, &r, err);

	if (!rc)
		rc = read_predictor(&r, out, err);
	free(bytes);
	return rc;
}
