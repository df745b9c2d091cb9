/*
 * nvml_settings.c - libnvidia-ml's stand-in: clock locks, the power limit, modes.
 */
#include <math.h>
#include <stdlib.h>

#include "nvml_stand_in.h"

#define EXCLUSIVE_THREAD 1 /* a compute mode that drivers do not have any more */
#define IN_USE           19
#define MIG_INSTANCES    7

/* Drivers round clocks down, in their names and in requests. */
uint32_t nvml_snap(const struct hes_gpu_type *type, uint32_t mhz)
{
	uint32_t found = type->clocks_mhz[0];
	double steps;

	if (type->clock_step_mhz > 0) {
		steps = floor((fmax(mhz, type->clock_min_mhz) + 0.999 - type->clock_min_mhz) /
			      type->clock_step_mhz);
		return (uint32_t)fmin(type->clock_min_mhz + steps * type->clock_step_mhz,
				      type->clock_max_mhz);
	}
	for (size_t i = 0; i < type->n_clocks; i++)
		if (type->clocks_mhz[i] <= mhz)
			found = type->clocks_mhz[i];
	return found;
}

/* Lock the clock of a GPU, which is locked for us; 0: unlock it. */
static int set_lock(struct lab_gpu *b, uint32_t min_mhz, uint32_t max_mhz)
{
	b->lock_min_mhz = min_mhz;
	b->lock_max_mhz = max_mhz;
	lab_gpu_reconfigure(b);
	return nvml_give(b, 0);
}

int NVML(nvmlDeviceSetGpuLockedClocks)(struct lab_gpu *b, unsigned min_mhz, unsigned max_mhz)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	if (nvml_product(b).major < 7)
		return nvml_give(b, NVML_NOT_SUPPORTED);
	if (min_mhz > max_mhz)
		return nvml_give(b, NVML_INVALID_ARGUMENT);
	return set_lock(b, nvml_snap(&b->type, min_mhz), nvml_snap(&b->type, max_mhz));
}

int NVML(nvmlDeviceResetGpuLockedClocks)(struct lab_gpu *b)
{
	int rc = nvml_take_to_set(b);

	return rc ? rc : set_lock(b, 0, 0);
}

NVML_ALIAS(nvmlDeviceResetApplicationsClocks, nvmlDeviceResetGpuLockedClocks)

/* In the lab an application clock is a lock at one clock. */
int NVML(nvmlDeviceSetApplicationsClocks)(struct lab_gpu *b, unsigned memory_mhz,
					  unsigned graphics_mhz)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	if (memory_mhz != nvml_product(b).memory_mhz ||
	    nvml_snap(&b->type, graphics_mhz) != graphics_mhz)
		return nvml_give(b, NVML_INVALID_ARGUMENT);
	return set_lock(b, graphics_mhz, graphics_mhz);
}

static int get_clock(struct lab_gpu *b, int what, bool lock, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = lock && b->lock_max_mhz ? b->lock_max_mhz : b->type.clock_default_mhz;
	if (what == NVML_CLOCK_MEM)
		*out = nvml_product(b).memory_mhz;
	return nvml_give(b, 0);
}

int NVML(nvmlDeviceGetApplicationsClock)(struct lab_gpu *b, int what, unsigned *out)
{
	return get_clock(b, what, true, out);
}

int NVML(nvmlDeviceGetDefaultApplicationsClock)(struct lab_gpu *b, int what, unsigned *out)
{
	return get_clock(b, what, false, out);
}

int NVML(nvmlDeviceGetSupportedMemoryClocks)(struct lab_gpu *b, unsigned *count, unsigned *out)
{
	int rc = nvml_take(b, count);
	unsigned room;

	if (rc)
		return rc;
	room = *count;
	*count = 1;
	if (!room || !out)
		return nvml_give(b, NVML_INSUFFICIENT_SIZE);
	*out = nvml_product(b).memory_mhz;
	return nvml_give(b, 0);
}

/* From the highest down, as drivers list them. @return how many there are; at most @room are
 * written */
static unsigned list_clocks(const struct hes_gpu_type *type, unsigned *out, unsigned room)
{
	const double step = type->clock_step_mhz, min = type->clock_min_mhz;
	unsigned n = step > 0 ? (unsigned)floor((type->clock_max_mhz - min) / step + 1e-6) + 1
			      : (unsigned)type->n_clocks;

	for (unsigned i = 0; i < n && i < room; i++)
		out[i] = step > 0 ? (unsigned)(min + (n - 1 - i) * step + 1e-6)
				  : type->clocks_mhz[n - 1 - i];
	return n;
}

int NVML(nvmlDeviceGetSupportedGraphicsClocks)(struct lab_gpu *b, unsigned memory_mhz,
					       unsigned *count, unsigned *out)
{
	int rc = nvml_take(b, count);
	unsigned room;

	if (rc)
		return rc;
	if (memory_mhz != nvml_product(b).memory_mhz)
		return nvml_give(b, NVML_NOT_FOUND);
	room = out ? *count : 0;
	*count = list_clocks(&b->type, out, room);
	return nvml_give(b, *count <= room ? 0 : NVML_INSUFFICIENT_SIZE);
}

NVML_GETTER(nvmlDeviceGetPowerManagementLimit, unsigned, b->power_limit_mw)
NVML_ALIAS(nvmlDeviceGetEnforcedPowerLimit, nvmlDeviceGetPowerManagementLimit)
NVML_GETTER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned,
	    hes_gpu_type_default_limit_mw(&b->type))
NVML_GETTER(nvmlDeviceGetPowerManagementMode, unsigned, 1)

int NVML(nvmlDeviceGetPowerManagementLimitConstraints)(struct lab_gpu *b, unsigned *min,
						       unsigned *max)
{
	int rc = nvml_take(b, max ? min : NULL);

	if (rc)
		return rc;
	*min = nvml_product(b).min_limit_mw;
	*max = hes_gpu_type_default_limit_mw(&b->type);
	return nvml_give(b, 0);
}

int NVML(nvmlDeviceSetPowerManagementLimit)(struct lab_gpu *b, unsigned mw)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	if (mw < nvml_product(b).min_limit_mw || mw > hes_gpu_type_default_limit_mw(&b->type))
		return nvml_give(b, NVML_INVALID_ARGUMENT);
	b->power_limit_mw = mw;
	lab_gpu_reconfigure(b);
	return nvml_give(b, 0);
}

NVML_GETTER(nvmlDeviceGetPersistenceMode, unsigned, b->persistence)
NVML_GETTER(nvmlDeviceGetComputeMode, unsigned, b->compute_mode)

int NVML(nvmlDeviceSetPersistenceMode)(struct lab_gpu *b, unsigned mode)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	b->persistence = mode != 0;
	return nvml_give(b, 0);
}

int NVML(nvmlDeviceSetComputeMode)(struct lab_gpu *b, unsigned mode)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	if (mode > NVML_COMPUTE_EXCLUSIVE || mode == EXCLUSIVE_THREAD)
		return nvml_give(b, mode == EXCLUSIVE_THREAD ? NVML_NOT_SUPPORTED
							     : NVML_INVALID_ARGUMENT);
	b->compute_mode = mode;
	return nvml_give(b, 0);
}

NVML_GETTER(nvmlDeviceGetMaxMigDeviceCount, unsigned, nvml_product(b).mig ? MIG_INSTANCES : 0)

int NVML(nvmlDeviceGetMigMode)(struct lab_gpu *b, unsigned *current, unsigned *pending)
{
	int rc = nvml_take(b, pending ? current : NULL);

	if (rc)
		return rc;
	if (!nvml_product(b).mig)
		return nvml_give(b, NVML_NOT_SUPPORTED);
	*current = b->mig;
	*pending = b->mig_pending;
	return nvml_give(b, 0);
}

/* A GPU in use changes its mode at a reset, when no process uses it. @status says so. */
int NVML(nvmlDeviceSetMigMode)(struct lab_gpu *b, unsigned mode, int *status)
{
	int rc = nvml_take_to_set(b);

	if (rc)
		return rc;
	if (!nvml_product(b).mig || mode > 1 || !status)
		return nvml_give(b,
				 nvml_product(b).mig ? NVML_INVALID_ARGUMENT : NVML_NOT_SUPPORTED);
	b->mig_pending = mode != 0;
	*status = b->slots ? IN_USE : 0;
	if (!b->slots)
		b->mig = b->mig_pending;
	return nvml_give(b, 0);
}
