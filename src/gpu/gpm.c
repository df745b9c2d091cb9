/*
 * gpm.c - read GPM counters twice and compute the activity in between; see gpm.h.
 */
#include "gpu/gpm.h"

#include <stdlib.h>

#include "gpu/watch.h"

/* Length of the metrics array: longer than in any version of NVML. NVML ignores unused entries. */
#define DOCUMENTED_MAX 512

static const struct {
	enum nvml_gpm_metric_id id;
	enum hes_act act;
	double unit;
} metrics[] = {
	{ NVML_GPM_GRAPHICS, HES_ACT_BUSY, 0.01 },       { NVML_GPM_SM, HES_ACT_SM, 0.01 },
	{ NVML_GPM_OCCUPANCY, HES_ACT_OCCUPANCY, 0.01 }, { NVML_GPM_DRAM, HES_ACT_DRAM, 0.01 },
	{ NVML_GPM_TENSOR, HES_ACT_TENSOR, 0.01 },       { NVML_GPM_FP32, HES_ACT_FP32, 0.01 },
	{ NVML_GPM_PCIE_TX, HES_ACT_PCIE_OUT, 1 },       { NVML_GPM_PCIE_RX, HES_ACT_PCIE_IN, 1 },
};
#define N_METRICS (sizeof(metrics) / sizeof(metrics[0]))

bool hes_gpm_supported(const struct hes_devices *d, size_t i)
{
	struct nvml_gpm_support s = { .version = NVML_GPM_VERSION };
	const struct nvml *n = &d->nvml;

	return d->gpus[i].handle && n->gpm_support && n->gpm_alloc && n->gpm_free &&
	       n->gpm_sample && n->gpm_metrics && !n->gpm_support(d->gpus[i].handle, &s) &&
	       s.supported;
}

bool hes_gpm_begin(const struct hes_devices *d, size_t i, struct hes_gpm *g, double now_s)
{
	struct hes_gpm o = { .last_s = now_s };

	if (!hes_gpm_supported(d, i))
		return false;
	for (int k = 0; k < 2; k++)
		if (d->nvml.gpm_alloc(&o.samples[k]))
			o.samples[k] = NULL;
	if (!o.samples[0] || !o.samples[1] || d->nvml.gpm_sample(d->gpus[i].handle, o.samples[0])) {
		hes_gpm_end(d, &o);
		return false;
	}
	*g = o;
	return true;
}

void hes_gpm_end(const struct hes_devices *d, struct hes_gpm *g)
{
	for (int k = 0; k < 2; k++)
		if (g->samples[k])
			d->nvml.gpm_free(g->samples[k]);
	*g = (struct hes_gpm){ .last = -1 };
}

void hes_gpm_look(const struct hes_devices *d, size_t i, struct hes_gpm *g, double now_s,
		  struct hes_activity_sums *sums)
{
	const size_t size =
		sizeof(struct nvml_gpm_metrics) + DOCUMENTED_MAX * sizeof(struct nvml_gpm_metric);
	struct nvml_gpm_metrics *get = calloc(1, size);
	int next = 1 - g->last;

	if (!get || d->nvml.gpm_sample(d->gpus[i].handle, g->samples[next])) {
		free(get);
		return;
	}
	*get = (struct nvml_gpm_metrics){ NVML_GPM_VERSION, N_METRICS, g->samples[g->last],
					  g->samples[next] };
	for (size_t k = 0; k < N_METRICS; k++)
		get->metrics[k].id = metrics[k].id;
	if (!d->nvml.gpm_metrics(get))
		for (size_t k = 0; k < N_METRICS; k++)
			if (!get->metrics[k].code)
				hes_activity_add(sums, metrics[k].act,
						 get->metrics[k].value * metrics[k].unit,
						 now_s - g->last_s);
	free(get);
	g->last = next;
	g->last_s = now_s;
}
