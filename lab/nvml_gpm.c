/*
 * nvml_gpm.c - libnvidia-ml's stand-in: GPM, the performance counters of Hopper and newer GPUs.
 *
 * A sample holds the GPU's integrals at one moment; a metric is the mean between two samples.
 */
#include <stdlib.h>

#include "nvml_stand_in.h"

#define FIRST_WITH_GPM 9 /* compute capability */

struct gpm_sample {
	struct lab_gpu *gpu;
	struct vgpu_sample at;
};

int NVML(nvmlGpmQueryDeviceSupport)(struct lab_gpu *b, struct nvml_gpm_support *out)
{
	int rc = nvml_take(b, out);

	if (rc || out->version != NVML_GPM_VERSION)
		return rc ? rc : nvml_give(b, NVML_WRONG_VERSION);
	out->supported = nvml_product(b).major >= FIRST_WITH_GPM;
	return nvml_give(b, 0);
}

int NVML(nvmlGpmSampleAlloc)(struct gpm_sample **out)
{
	struct gpm_sample *s = out && nvml_lab() ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return nvml_lab() ? NVML_INVALID_ARGUMENT : NVML_UNINITIALIZED;
	*out = s;
	return 0;
}

int NVML(nvmlGpmSampleFree)(struct gpm_sample *s)
{
	free(s);
	return s ? 0 : NVML_INVALID_ARGUMENT;
}

int NVML(nvmlGpmSampleGet)(struct lab_gpu *b, struct gpm_sample *s)
{
	int rc = nvml_take(b, s);

	if (rc)
		return rc;
	if (nvml_product(b).major < FIRST_WITH_GPM)
		return nvml_give(b, NVML_NOT_SUPPORTED);
	if (lab_gpu_has_fault(b, VGPU_FAULT_NO_COUNTERS))
		return nvml_give(b, NVML_NO_PERMISSION);
	*s = (struct gpm_sample){ b, b->total };
	return nvml_give(b, 0);
}

static void metric(struct lab_gpu *b, const struct vgpu_sample *from, const struct vgpu_sample *to,
		   struct nvml_gpm_metric *m)
{
	struct vgpu_means means = lab_gpu_counters(b, from, to);

	m->code = to->time_s > from->time_s ? 0 : NVML_UNKNOWN;
	m->short_name = m->long_name = m->unit = NULL;
	switch (m->id) {
	case NVML_GPM_GRAPHICS:
		m->value = 100 * means.graphics;
		break;
	case NVML_GPM_SM:
		m->value = 100 * means.sm;
		break;
	case NVML_GPM_OCCUPANCY:
		m->value = 100 * means.occupancy;
		break;
	case NVML_GPM_TENSOR:
		m->value = 100 * means.tensor;
		break;
	case NVML_GPM_DRAM:
		m->value = 100 * means.dram;
		break;
	case NVML_GPM_FP32:
		m->value = 100 * means.fp32;
		break;
	case NVML_GPM_PCIE_TX:
		m->value = means.pcie_out_mib_s;
		break;
	case NVML_GPM_PCIE_RX:
		m->value = means.pcie_in_mib_s;
		break;
	default:
		m->code = NVML_NOT_SUPPORTED;
	}
}

int NVML(nvmlGpmMetricsGet)(struct nvml_gpm_metrics *get)
{
	const struct gpm_sample *before = get ? get->before : NULL,
				*after = get ? get->after : NULL;

	if (!nvml_lab())
		return NVML_UNINITIALIZED;
	if (!before || !after || !before->gpu || before->gpu != after->gpu)
		return NVML_INVALID_ARGUMENT;
	if (get->version != NVML_GPM_VERSION)
		return NVML_WRONG_VERSION;
	vgpu_lock(nvml_lab(), before->gpu);
	for (unsigned i = 0; i < get->count; i++)
		metric(before->gpu, &before->at, &after->at, &get->metrics[i]);
	return nvml_give(before->gpu, 0);
}
