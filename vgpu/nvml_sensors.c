/*
 * nvml_sensors.c - libnvidia-ml's stand-in: clocks, power, energy, temperature, utilisation.
 *
 * A reading is what the board's sensor last took, not what is: sensors refresh
 * at their own pace (products.c), newer boards report the mean of a second.
 */
#include <math.h>
#include <stdlib.h>

#include "nvml_stand_in.h"

#define EXPORT __attribute__((visibility("default")))
#define UTILISATION_S 1.0      /* window of the percentages */
#define IDLE_MEMORY_MHZ 405    /* GDDR boards with nothing to do */
#define PCIE_IDLE_KB_S 50

/* The moment at which the board's sensors were last read. */
static double last_reading_s(const struct vgpu_board *b)
{
	double refresh = vgpu_product(b->type.name)->refresh_s;

	return floor(b->now_s / refresh + 1e-9) * refresh;
}

static double sensed_w(const struct vgpu_board *b, double window_s)
{
	double at = last_reading_s(b);
	struct vgpu_sample then = vgpu_board_sample(b, at - window_s), now = vgpu_board_sample(b, at);

	return now.time_s > then.time_s ? (now.energy_j - then.energy_j) / (now.time_s - then.time_s) : b->power_w;
}

/* What the old power call reports: an instant, or on newer boards the mean of a second. */
static unsigned power_mw(const struct vgpu_board *b)
{
	double window = vgpu_product(b->type.name)->average_s;

	return (unsigned)lround(sensed_w(b, window > 0 ? window : VGPU_GRID_S) * 1e3);
}

static int gap(const struct vgpu_board *b)
{
	return vgpu_board_has_fault(b, VGPU_FAULT_SENSOR_GAP) ? NVML_NOT_SUPPORTED : 0;
}

EXPORT int nvmlDeviceGetPowerUsage(struct vgpu_board *b, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc || gap(b))
		return rc ? rc : nvml_give(b, gap(b));
	*out = power_mw(b);
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct vgpu_board *b, unsigned long long *out)
{
	int rc = nvml_take(b, out);

	if (rc || gap(b))
		return rc ? rc : nvml_give(b, gap(b));
	*out = (unsigned long long)(vgpu_board_sample(b, last_reading_s(b)).energy_j * 1e3);
	return nvml_give(b, 0);
}

static void field(const struct vgpu_board *b, struct nvml_field *f)
{
	f->time_us = (long long)vgpu_wall_us(vgpu_here(), b->now_s);
	f->latency_us = 0;
	f->type = NVML_VALUE_UINT;
	f->code = gap(b);
	switch (f->id) {
	case NVML_FIELD_POWER_AVERAGE:
		f->value.ui = (unsigned)lround(sensed_w(b, 1) * 1e3);
		break;
	case NVML_FIELD_POWER_INSTANT:
		f->value.ui = (unsigned)lround(sensed_w(b, VGPU_GRID_S) * 1e3);
		break;
	case NVML_FIELD_ENERGY:
	case NVML_FIELD_ENERGY_83:
		f->type = NVML_VALUE_ULL;
		f->value.ull = (unsigned long long)(vgpu_board_sample(b, last_reading_s(b)).energy_j * 1e3);
		break;
	default:
		f->code = NVML_NOT_SUPPORTED;
	}
}

EXPORT int nvmlDeviceGetFieldValues(struct vgpu_board *b, int n, struct nvml_field *f)
{
	int rc = nvml_take(b, f);

	if (rc)
		return rc;
	for (int i = 0; i < n; i++)
		field(b, &f[i]);
	return nvml_give(b, 0);
}

static unsigned value_of(const struct vgpu_sample *a, const struct vgpu_sample *b, int what)
{
	double s = b->time_s - a->time_s;

	switch (what) {
	case 0: return (unsigned)lround((b->energy_j - a->energy_j) / s * 1e3);
	case 1: return (unsigned)lround((b->busy_s - a->busy_s) / s * 100);
	default: return (unsigned)lround((b->memory_s - a->memory_s) / s * 100);
	}
}

EXPORT int nvmlDeviceGetSamples(struct vgpu_board *b, int what, unsigned long long last_seen_us, int *type,
				unsigned *count, struct nvml_sample *out)
{
	int rc = nvml_take(b, type ? count : NULL);
	unsigned n = 0;

	if (rc || gap(b))
		return rc ? rc : nvml_give(b, gap(b));
	if (what < 0 || what > 2)
		return nvml_give(b, NVML_NOT_SUPPORTED);
	*type = NVML_VALUE_UINT;
	if (!out) {
		*count = VGPU_SAMPLES - 1;
		return nvml_give(b, 0);
	}
	for (int k = VGPU_SAMPLES - 2; k >= 0 && n < *count; k--) {
		double at = floor(b->now_s / VGPU_GRID_S) * VGPU_GRID_S - k * VGPU_GRID_S;
		struct vgpu_sample then = vgpu_board_sample(b, at - VGPU_GRID_S), now = vgpu_board_sample(b, at);

		if (now.time_s <= then.time_s || vgpu_wall_us(vgpu_here(), now.time_s) <= last_seen_us)
			continue;
		out[n].time_us = vgpu_wall_us(vgpu_here(), now.time_s);
		out[n++].value.ui = value_of(&then, &now, what);
	}
	*count = n;
	return nvml_give(b, n ? 0 : NVML_NOT_FOUND);
}

EXPORT int nvmlDeviceGetUtilizationRates(struct vgpu_board *b, struct nvml_utilization *out)
{
	int rc = nvml_take(b, out);
	struct vgpu_sample then, now;

	if (rc)
		return rc;
	now = vgpu_board_sample(b, b->now_s);
	then = vgpu_board_sample(b, b->now_s - UTILISATION_S);
	*out = (struct nvml_utilization){ 0 };
	if (now.time_s > then.time_s)
		*out = (struct nvml_utilization){ value_of(&then, &now, 1), value_of(&then, &now, 2) };
	return nvml_give(b, 0);
}

static unsigned memory_mhz(const struct vgpu_board *b)
{
	unsigned full = vgpu_product(b->type.name)->memory_mhz;

	/* HBM runs at one clock; GDDR rests while no context is open. */
	return full > 4000 && b->clock_mhz <= b->type.clock_min_mhz ? IDLE_MEMORY_MHZ : full;
}

EXPORT int nvmlDeviceGetClockInfo(struct vgpu_board *b, int what, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc || gap(b))
		return rc ? rc : nvml_give(b, gap(b));
	if (what < NVML_CLOCK_GRAPHICS || what > NVML_CLOCK_VIDEO)
		return nvml_give(b, NVML_INVALID_ARGUMENT);
	*out = what == NVML_CLOCK_MEM ? memory_mhz(b) : nvml_snap(&b->type, (uint32_t)(b->clock_mhz + 0.5));
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetClock(struct vgpu_board *b, int what, int id, unsigned *out)
{
	return id == 0 ? nvmlDeviceGetClockInfo(b, what, out) : NVML_NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetMaxClockInfo(struct vgpu_board *b, int what, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = what == NVML_CLOCK_MEM ? vgpu_product(b->type.name)->memory_mhz : b->type.clock_max_mhz;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct vgpu_board *b, unsigned long long *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = b->busy > 0 ? 0 : NVML_REASON_IDLE;
	if (b->throttled)
		*out |= NVML_REASON_POWER_CAP;
	else if (b->lock_max_mhz && b->lock_max_mhz < b->type.clock_max_mhz)
		*out |= NVML_REASON_SETTING;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(struct vgpu_board *b, unsigned long long *out)
{
	return nvmlDeviceGetCurrentClocksThrottleReasons(b, out);
}

EXPORT int nvmlDeviceGetSupportedClocksThrottleReasons(struct vgpu_board *b, unsigned long long *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = NVML_REASON_IDLE | NVML_REASON_SETTING | NVML_REASON_POWER_CAP;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetPerformanceState(struct vgpu_board *b, int *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = b->clock_mhz > b->type.clock_min_mhz || vgpu_product(b->type.name)->memory_mhz < 4000 ? 0 : 8;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetPowerState(struct vgpu_board *b, int *out)
{
	return nvmlDeviceGetPerformanceState(b, out);
}

EXPORT int nvmlDeviceGetTemperature(struct vgpu_board *b, int sensor, unsigned *out)
{
	int rc = nvml_take(b, sensor == 0 ? out : NULL);

	if (rc)
		return rc;
	*out = (unsigned)lround(b->temperature_c);
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetTemperatureThreshold(struct vgpu_board *b, int which, unsigned *out)
{
	static const unsigned celsius[] = { 96, 93, 95, 85 };
	int rc = nvml_take(b, out);

	if (rc || which < 0 || which > 3)
		return rc ? rc : nvml_give(b, NVML_NOT_SUPPORTED);
	*out = celsius[which];
	return nvml_give(b, 0);
}

/* Boards for servers are cooled from outside. */
EXPORT int nvmlDeviceGetFanSpeed(struct vgpu_board *b, unsigned *out)
{
	int rc = nvml_take(b, out);

	return rc ? rc : nvml_give(b, NVML_NOT_SUPPORTED);
}

EXPORT int nvmlDeviceGetNumFans(struct vgpu_board *b, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = 0;
	return nvml_give(b, 0);
}

/* In KB/s, both ways. */
EXPORT int nvmlDeviceGetPcieThroughput(struct vgpu_board *b, int way, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = PCIE_IDLE_KB_S + (way == 1 ? (unsigned)(b->copy_mib_s * 1048.576) : 0);
	return nvml_give(b, 0);
}

static int codec(struct vgpu_board *b, unsigned *percent, unsigned *period_us)
{
	int rc = nvml_take(b, period_us ? percent : NULL);

	if (rc)
		return rc;
	*percent = 0;
	*period_us = 1000000;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetEncoderUtilization(struct vgpu_board *b, unsigned *percent, unsigned *period_us)
{
	return codec(b, percent, period_us);
}

EXPORT int nvmlDeviceGetDecoderUtilization(struct vgpu_board *b, unsigned *percent, unsigned *period_us)
{
	return codec(b, percent, period_us);
}

EXPORT int nvmlDeviceGetMemoryInfo(struct vgpu_board *b, struct nvml_memory *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	out->total = vgpu_board_memory_total(b);
	out->used = vgpu_board_memory_used(b);
	out->free = out->total - out->used;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(struct vgpu_board *b, struct nvml_memory_v2 *out)
{
	struct nvml_memory m;
	int rc;

	if (out && out->version != NVML_MEMORY_V2)
		return NVML_WRONG_VERSION;
	rc = nvmlDeviceGetMemoryInfo(b, out ? &m : NULL);
	if (rc)
		return rc;
	*out = (struct nvml_memory_v2){ .version = out->version, .total = m.total, .free = m.free, .used = m.used };
	return 0;
}

EXPORT int nvmlDeviceGetBAR1MemoryInfo(struct vgpu_board *b, struct nvml_memory *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = (struct nvml_memory){ .total = 256ull << 20, .free = 254ull << 20, .used = 2ull << 20 };
	return nvml_give(b, 0);
}
