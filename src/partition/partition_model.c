/*
 * partition_model.c - a trained model: one type_model for each GPU type; see heshare/partition.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/partition_model.h"

struct hes_partition_model {
	struct type_model *v;
	size_t n;
};

int hes_partition_train(const struct hes_points *p, const struct hes_share_profiles *solo,
			const struct hes_gpu_type *const *types, size_t n_types,
			const struct hes_partition_options *o, struct hes_partition_model **out,
			struct hes_err *err)
{
	struct hes_partition_model *m = calloc(1, sizeof(*m));
	int rc = 0;

	if (m)
		m->v = calloc(n_types + 1, sizeof(*m->v));
	if (!m || !m->v)
		rc = hes_fail(err, -ENOMEM, "out of memory for a partition model");
	for (; !rc && m->n < n_types; m->n++) {
		m->v[m->n].g = types[m->n];
		m->v[m->n].info.options = *o;
		rc = type_model_learn(&m->v[m->n], p, solo, err);
	}
	if (rc) {
		hes_partition_free(m);
		return rc;
	}
	*out = m;
	return 0;
}

void hes_partition_free(struct hes_partition_model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		type_model_free(&m->v[i]);
	free(m->v);
	free(m);
}

const struct type_model *partition_type_model(const struct hes_partition_model *m,
					      const struct hes_gpu_type *g)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].g == g)
			return &m->v[i];
	return NULL;
}

const struct hes_partition_info *hes_partition_about(const struct hes_partition_model *m,
						     const struct hes_gpu_type *g)
{
	const struct type_model *t = partition_type_model(m, g);

	return t ? &t->info : NULL;
}

void hes_partition_predict(const struct hes_partition_model *m, const struct hes_gpu_type *g,
			   const struct hes_share_profile *const *jobs, size_t n,
			   const uint32_t *sm_pct, struct hes_partition_estimate *out)
{
	const struct type_model *t = partition_type_model(m, g);
	struct co_run r = type_model_run(t, jobs[0]->clock_mhz, n);

	for (size_t i = 0; i < n; i++)
		co_job_at(jobs[i], g, sm_pct[i], &r.job[i]);
	type_model_predict(t, &r, out);
}
