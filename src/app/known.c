/*
 * known.c - how well a workload, and the jobs of a plan, are known; see known.h.
 */
#include "app/known.h"

#include <stdlib.h>
#include <string.h>

void app_known_free(struct app_known *k)
{
	hes_predictor_free(k->predictor);
	hes_profiles_free(&k->profiles);
	hes_profiles_free(&k->measured);
	free(k->rows);
	free(k->runs);
	free(k->fits);
	*k = (struct app_known){ .learnt = false };
}

struct app_known_row app_known_of(const struct app_known *k, const char *workload,
				  uint32_t batch_size, const char *gpu_type)
{
	const struct app_known_row *low, *high;
	size_t i, j;

	if (!hes_profile_rows(&k->profiles, workload, batch_size, gpu_type, &i, &j))
		return (struct app_known_row){ .source = HES_KNOWN_UNKNOWN };
	low = &k->rows[i];
	high = &k->rows[j];
	return low->source > high->source ||
			       (low->source == high->source && low->time_error > high->time_error)
		       ? *low
		       : *high;
}

void app_known_count_plan(const struct app_known *k, const struct hes_fleet *f,
			  const struct hes_jobs *jobs, struct hes_plan *p)
{
	memset(p->known, 0, sizeof(p->known));
	for (size_t g = 0; g < p->n_gpus; g++)
		for (size_t b = 0; b < p->queues[g].n; b++)
			for (uint32_t i = 0; i < p->queues[g].batches[b].n; i++) {
				const struct hes_job *j =
					&jobs->v[p->queues[g].batches[b].jobs[i].job];
				const struct app_known_row row = app_known_of(
					k, j->workload, j->batch_size, f->gpus[g].type->name);

				p->known[row.source]++;
			}
}

void app_known_count_jobs(const struct app_known *k, const struct hes_fleet *f,
			  const struct hes_jobs *jobs, uint32_t out[HES_KNOWN_SOURCES])
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	const size_t n = hes_fleet_types(f, types, APP_KNOWN_TYPES);

	memset(out, 0, HES_KNOWN_SOURCES * sizeof(*out));
	for (size_t i = 0; i < jobs->n; i++) {
		enum hes_known_source worst = HES_KNOWN_MEASURED;

		for (size_t t = 0; t < n; t++) {
			const enum hes_known_source s =
				app_known_of(k, jobs->v[i].workload, jobs->v[i].batch_size,
					     types[t]->name)
					.source;

			worst = s > worst ? s : worst;
		}
		out[worst]++;
	}
}

static bool has_type(const struct hes_profiles *p, const char *type)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].gpu_type, type) == 0)
			return true;
	return false;
}

void app_known_fit(const struct app_known *k, bool file, struct hes_gpu_type *types, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const bool own = has_type(&k->measured, types[i].name);

		hes_profiles_hold(own ? &k->measured : &k->profiles, &types[i], 1);
		if (file)
			hes_predictor_offer(k->predictor, &types[i]);
	}
}
