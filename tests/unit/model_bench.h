/*
 * model_bench.h - the built-in model and catalogue, for tests of the model: loaded once, with their
 * workloads and types by name.
 */
#ifndef HES_TEST_MODEL_BENCH_H
#define HES_TEST_MODEL_BENCH_H

#include "heshare/model.h"
#include "unit_test.h"

static struct hes_model *model;
static struct hes_catalogue types;

/* With parameters of types without measurements. */
static inline int load(void **state)
{
	struct hes_err err;

	(void)state;
	return hes_model_load(NULL, &model, &err) || hes_catalogue_load(NULL, &types, &err) ||
	       hes_model_derive(model, &types, &err);
}

static inline int unload(void **state)
{
	(void)state;
	hes_model_free(model);
	hes_catalogue_free(&types);
	return 0;
}

static inline const struct hes_workload *workload(const char *name)
{
	const struct hes_workload *w = hes_model_workload(model, name, NULL);

	assert_non_null(w);
	return w;
}

static inline const struct hes_gpu_type *gpu(const char *name)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(&types, name, NULL);

	assert_non_null(g);
	return g;
}

static inline struct hes_instant instant(const struct hes_model *m, const struct hes_gpu_type *g,
					 uint32_t mhz, uint32_t limit_mw,
					 const struct hes_model_job *r, size_t n,
					 struct hes_rate *rates)
{
	struct hes_instant out;
	struct hes_err err;
	int rc = hes_model_instant(m, g, mhz, limit_mw, r, n, rates, &out, &err);

	if (rc)
		fail_msg("%s", err.msg);
	return out;
}

#endif
