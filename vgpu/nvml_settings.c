/*
 * nvml_settings.c - libnvidia-ml's stand-in: clocks that are locked, the power limit, modes.
 */
#include <math.h>
#include <stdlib.h>

#include "nvml_stand_in.h"

#define EXPORT __attribute__((visibility("default")))
#define LOWEST_LIMIT 0.4   /* of the default power limit */

/* Drivers name clocks rounded down, and round what they are asked for. */
uint32_t nvml_snap(const struct hes_gpu_type *g, uint32_t mhz)
{
	uint32_t found = g->clocks_mhz[0];
	double steps;

	if (g->clock_step_mhz > 0) {
		steps = floor((fmax(mhz, g->clock_min_mhz) + 0.999 - g->clock_min_mhz) / g->clock_step_mhz);
		return (uint32_t)fmin(g->clock_min_mhz + steps * g->clock_step_mhz, g->clock_max_mhz);
	}
	for (size_t i = 0; i < g->n_clocks; i++)
		if (g->clocks_mhz[i] <= mhz)
			found = g->clocks_mhz[i];
	return found;
}

EXPORT int nvmlDeviceSetGpuLockedClocks(struct vgpu_board *b, unsigned min_mhz, unsigned max_mhz)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	if (vgpu_product(b->type.name)->major < 7)
		return nvml_give(b, NVML_NOT_SUPPORTED);
	if (min_mhz > max_mhz)
		return nvml_give(b, NVML_INVALID_ARGUMENT);
	b->lock_min_mhz = nvml_snap(&b->type, min_mhz);
	b->lock_max_mhz = nvml_snap(&b->type, max_mhz);
	vgpu_board_reconfigure(b);
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceResetGpuLockedClocks(struct vgpu_board *b)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	b->lock_min_mhz = b->lock_max_mhz = 0;
	vgpu_board_reconfigure(b);
	return nvml_give(b, 0);
}

/* Application clocks are a lock at one clock, as far as the boards are concerned. */
EXPORT int nvmlDeviceSetApplicationsClocks(struct vgpu_board *b, unsigned memory_mhz, unsigned graphics_mhz)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	if (memory_mhz != vgpu_product(b->type.name)->memory_mhz || nvml_snap(&b->type, graphics_mhz) != graphics_mhz)
		return nvml_give(b, NVML_INVALID_ARGUMENT);
	b->lock_min_mhz = b->lock_max_mhz = graphics_mhz;
	vgpu_board_reconfigure(b);
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceResetApplicationsClocks(struct vgpu_board *b)
{
	return nvmlDeviceResetGpuLockedClocks(b);
}

EXPORT int nvmlDeviceGetApplicationsClock(struct vgpu_board *b, int what, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = b->lock_max_mhz ? b->lock_max_mhz : b->type.clock_default_mhz;
	if (what == NVML_CLOCK_MEM)
		*out = vgpu_product(b->type.name)->memory_mhz;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetDefaultApplicationsClock(struct vgpu_board *b, int what, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = what == NVML_CLOCK_MEM ? vgpu_product(b->type.name)->memory_mhz : b->type.clock_default_mhz;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetSupportedMemoryClocks(struct vgpu_board *b, unsigned *count, unsigned *out)
{
	int rc = nvml_take(b, count);
	unsigned room;

	if (rc)
		return rc;
	room = *count;
	*count = 1;
	if (!room || !out)
		return nvml_give(b, NVML_INSUFFICIENT_SIZE);
	*out = vgpu_product(b->type.name)->memory_mhz;
	return nvml_give(b, 0);
}

/* From the highest down, as drivers list them. @return how many there are, at most @room written */
static unsigned list_clocks(const struct hes_gpu_type *g, unsigned *out, unsigned room)
{
	unsigned n = g->clock_step_mhz > 0 ?
		(unsigned)floor((g->clock_max_mhz - g->clock_min_mhz) / g->clock_step_mhz + 1e-6) + 1 : (unsigned)g->n_clocks;

	for (unsigned i = 0; i < n && i < room; i++)
		out[i] = g->clock_step_mhz > 0 ? (unsigned)(g->clock_min_mhz + (n - 1 - i) * g->clock_step_mhz + 1e-6) :
						 g->clocks_mhz[n - 1 - i];
	return n;
}

EXPORT int nvmlDeviceGetSupportedGraphicsClocks(struct vgpu_board *b, unsigned memory_mhz, unsigned *count, unsigned *out)
{
	int rc = nvml_take(b, count);
	unsigned room;

	if (rc)
		return rc;
	if (memory_mhz != vgpu_product(b->type.name)->memory_mhz)
		return nvml_give(b, NVML_NOT_FOUND);
	room = out ? *count : 0;
	*count = list_clocks(&b->type, out, room);
	return nvml_give(b, *count <= room ? 0 : NVML_INSUFFICIENT_SIZE);
}

static unsigned lowest_limit(const struct vgpu_board *b)
{
	unsigned least = (unsigned)(b->type.power_limit_mw * LOWEST_LIMIT / 1000) * 1000, idle = b->type.idle_power_mw;

	return least > idle + 1000 ? least : idle + 1000;
}

EXPORT int nvmlDeviceGetPowerManagementLimit(struct vgpu_board *b, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = b->power_limit_mw;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct vgpu_board *b, unsigned *out)
{
	return nvmlDeviceGetPowerManagementLimit(b, out);
}

EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(struct vgpu_board *b, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = b->type.power_limit_mw;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(struct vgpu_board *b, unsigned *min, unsigned *max)
{
	int rc = nvml_take(b, max ? min : NULL);

	if (rc)
		return rc;
	*min = lowest_limit(b);
	*max = b->type.power_limit_mw;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceSetPowerManagementLimit(struct vgpu_board *b, unsigned mw)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	if (mw < lowest_limit(b) || mw > b->type.power_limit_mw)
		return nvml_give(b, NVML_INVALID_ARGUMENT);
	b->power_limit_mw = mw;
	vgpu_board_reconfigure(b);
	return nvml_give(b, 0);
}

static int get(struct vgpu_board *b, unsigned *out, unsigned (*what)(const struct vgpu_board *))
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = what(b);
	return nvml_give(b, 0);
}

static unsigned persistence(const struct vgpu_board *b)
{
	return b->persistence;
}

static unsigned compute_mode(const struct vgpu_board *b)
{
	return b->compute_mode;
}

static unsigned enabled(const struct vgpu_board *b)
{
	(void)b;
	return 1;
}

EXPORT int nvmlDeviceGetPersistenceMode(struct vgpu_board *b, unsigned *out)
{
	return get(b, out, persistence);
}

EXPORT int nvmlDeviceGetComputeMode(struct vgpu_board *b, unsigned *out)
{
	return get(b, out, compute_mode);
}

EXPORT int nvmlDeviceGetPowerManagementMode(struct vgpu_board *b, unsigned *out)
{
	return get(b, out, enabled);
}

EXPORT int nvmlDeviceSetPersistenceMode(struct vgpu_board *b, unsigned mode)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	b->persistence = mode != 0;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceSetComputeMode(struct vgpu_board *b, unsigned mode)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	if (mode > 3)
		return nvml_give(b, NVML_INVALID_ARGUMENT);
	b->compute_mode = mode;
	return nvml_give(b, 0);
}
