/*
 * nvml_sensors.c - libnvidia-ml's stand-in: clocks, power, energy, temperature, utilisation.
 *
 * A reading is the last value of the GPU's sensor. Sensors refresh at their own rate (products.c),
 * and newer GPUs report the mean of a second.
 */
#include <math.h>
#include <stdlib.h>

#include "nvml_stand_in.h"

#define UTILISATION_S   1.0  /* window of the percentages */
#define IDLE_MEMORY_MHZ 405  /* of idle GPUs with GDDR */
#define GDDR_MIN_MHZ    4000 /* GDDR runs faster than this, HBM slower */
#define PCIE_IDLE_KB_S  50
#define CODEC_PERIOD_US 1000000
#define MIB             1048576.0

/* As a driver's integer: a negative value wraps around. */
static unsigned long long whole(double v)
{
	return v < 0 ? (unsigned long long)(long long)v : (unsigned long long)v;
}

/* When the GPU's sensors refreshed last. */
static double last_reading_s(const struct lab_gpu *b)
{
	double refresh = nvml_product(b).refresh_s;

	return floor(b->now_s / refresh + 1e-9) * refresh;
}

/* Mean power of the @window_s before the last refresh. */
static unsigned sensed_mw(struct lab_gpu *b, double window_s)
{
	double at = last_reading_s(b);
	struct vgpu_sample then = lab_gpu_sample(b, at - window_s), now = lab_gpu_sample(b, at);
	double w = now.time_s > then.time_s
			   ? (now.energy_j - then.energy_j) / (now.time_s - then.time_s)
			   : b->power_w;

	return (unsigned)whole(round(lab_gpu_reading(b, VGPU_READING_POWER, w) * 1e3));
}

/* The value of nvmlDeviceGetPowerUsage: an instant, or on newer GPUs the mean of a second. */
static unsigned power_mw(struct lab_gpu *b)
{
	double window = nvml_product(b).average_s;

	return sensed_mw(b, window > 0 ? window : VGPU_GRID_S);
}

static unsigned long long energy_mj(struct lab_gpu *b)
{
	double j = lab_gpu_sample(b, last_reading_s(b)).energy_j;

	return whole(lab_gpu_reading(b, VGPU_READING_ENERGY, j) * 1e3);
}

static int gap(const struct lab_gpu *b)
{
	return lab_gpu_has_fault(b, VGPU_FAULT_SENSOR_GAP) ? NVML_NOT_SUPPORTED : 0;
}

/* As nvml_take; fails while the fault sensor-gap lasts. */
static int take_sensor(struct lab_gpu *b, const void *out)
{
	int rc = nvml_take(b, out);

	return !rc && gap(b) ? nvml_give(b, gap(b)) : rc;
}

int NVML(nvmlDeviceGetPowerUsage)(struct lab_gpu *b, unsigned *out)
{
	int rc = take_sensor(b, out);

	if (rc)
		return rc;
	*out = power_mw(b);
	return nvml_give(b, 0);
}

int NVML(nvmlDeviceGetTotalEnergyConsumption)(struct lab_gpu *b, unsigned long long *out)
{
	int rc = take_sensor(b, out);

	if (rc)
		return rc;
	*out = energy_mj(b);
	return nvml_give(b, 0);
}

static void fill_field(struct lab_gpu *b, struct nvml_field *f)
{
	f->time_us = (long long)vgpu_wall_us(vgpu_here(), b->now_s);
	f->latency_us = 0;
	f->type = NVML_VALUE_UINT;
	f->code = gap(b);
	switch (f->id) {
	case NVML_FIELD_POWER_AVERAGE:
		f->value.ui = sensed_mw(b, 1);
		break;
	case NVML_FIELD_POWER_INSTANT:
		f->value.ui = sensed_mw(b, VGPU_GRID_S);
		break;
	case NVML_FIELD_ENERGY:
	case NVML_FIELD_ENERGY_83:
		f->type = NVML_VALUE_ULL;
		f->value.ull = energy_mj(b);
		break;
	default:
		f->code = NVML_NOT_SUPPORTED;
	}
}

int NVML(nvmlDeviceGetFieldValues)(struct lab_gpu *b, int n, struct nvml_field *f)
{
	int rc = nvml_take(b, f);

	if (rc)
		return rc;
	for (int i = 0; i < n; i++)
		fill_field(b, &f[i]);
	return nvml_give(b, 0);
}

/* @what of nvmlDeviceGetSamples between two samples of the grid. */
static unsigned mean_between(const struct vgpu_sample *from, const struct vgpu_sample *to, int what)
{
	double s = to->time_s - from->time_s;

	switch (what) {
	case 0:
		return (unsigned)lround((to->energy_j - from->energy_j) / s * 1e3);
	case 1:
		return (unsigned)lround((to->busy_s - from->busy_s) / s * 100);
	default:
		return (unsigned)lround((to->memory_s - from->memory_s) / s * 100);
	}
}

int NVML(nvmlDeviceGetSamples)(struct lab_gpu *b, int what, unsigned long long last_seen_us,
			       int *type, unsigned *count, struct nvml_sample *out)
{
	int rc = take_sensor(b, type ? count : NULL);
	unsigned n = 0;

	if (rc)
		return rc;
	if (what < 0 || what > 2)
		return nvml_give(b, NVML_NOT_SUPPORTED);
	*type = NVML_VALUE_UINT;
	if (!out) {
		*count = VGPU_SAMPLES - 1;
		return nvml_give(b, 0);
	}
	for (int k = VGPU_SAMPLES - 2; k >= 0 && n < *count; k--) {
		double at = floor(b->now_s / VGPU_GRID_S) * VGPU_GRID_S - k * VGPU_GRID_S;
		struct vgpu_sample then = lab_gpu_sample(b, at - VGPU_GRID_S),
				   now = lab_gpu_sample(b, at);

		if (now.time_s <= then.time_s ||
		    vgpu_wall_us(vgpu_here(), now.time_s) <= last_seen_us)
			continue;
		out[n].time_us = vgpu_wall_us(vgpu_here(), now.time_s);
		out[n++].value.ui = mean_between(&then, &now, what);
	}
	*count = n;
	return nvml_give(b, n ? 0 : NVML_NOT_FOUND);
}

static struct nvml_utilization utilization(struct lab_gpu *b)
{
	struct vgpu_sample then = lab_gpu_sample(b, b->now_s - UTILISATION_S),
			   now = lab_gpu_sample(b, b->now_s);

	if (now.time_s <= then.time_s)
		return (struct nvml_utilization){ 0 };
	return (struct nvml_utilization){
		(unsigned)whole(
			lab_gpu_reading(b, VGPU_READING_BUSY, mean_between(&then, &now, 1))),
		(unsigned)whole(
			lab_gpu_reading(b, VGPU_READING_MEMORY_BUSY, mean_between(&then, &now, 2)))
	};
}

/* In MIG mode only instances have it. */
int NVML(nvmlDeviceGetUtilizationRates)(struct lab_gpu *b, struct nvml_utilization *out)
{
	int rc = nvml_take(b, out);

	if (rc || b->mig)
		return rc ? rc : nvml_give(b, NVML_NOT_SUPPORTED);
	*out = utilization(b);
	return nvml_give(b, 0);
}

static bool at_lowest_clock(const struct lab_gpu *b)
{
	return b->clock_mhz <= b->type.clock_min_mhz;
}

int NVML(nvmlDeviceGetClockInfo)(struct lab_gpu *b, int what, unsigned *out)
{
	unsigned memory_mhz;
	int rc = take_sensor(b, out);

	if (rc)
		return rc;
	if (what < NVML_CLOCK_GRAPHICS || what > NVML_CLOCK_VIDEO)
		return nvml_give(b, NVML_INVALID_ARGUMENT);
	/* HBM has one clock; GDDR slows down while no context is open. */
	memory_mhz = nvml_product(b).memory_mhz;
	if (memory_mhz > GDDR_MIN_MHZ && at_lowest_clock(b))
		memory_mhz = IDLE_MEMORY_MHZ;
	*out = (unsigned)whole(
		what == NVML_CLOCK_MEM
			? lab_gpu_reading(b, VGPU_READING_MEMORY_CLOCK, memory_mhz)
			: lab_gpu_reading(b, VGPU_READING_CLOCK,
					  nvml_snap(&b->type, (uint32_t)(b->clock_mhz + 0.5))));
	return nvml_give(b, 0);
}

int NVML(nvmlDeviceGetClock)(struct lab_gpu *b, int what, int id, unsigned *out)
{
	return id == 0 ? NVML(nvmlDeviceGetClockInfo)(b, what, out) : NVML_NOT_SUPPORTED;
}

int NVML(nvmlDeviceGetMaxClockInfo)(struct lab_gpu *b, int what, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = what == NVML_CLOCK_MEM ? nvml_product(b).memory_mhz : b->type.clock_max_mhz;
	return nvml_give(b, 0);
}

static unsigned long long throttle_reasons(const struct lab_gpu *b)
{
	unsigned long long reasons = b->busy > 0 ? 0 : NVML_REASON_IDLE;

	if (b->throttled)
		return reasons | NVML_REASON_POWER_CAP;
	return b->lock_max_mhz && b->lock_max_mhz < b->type.clock_max_mhz
		       ? reasons | NVML_REASON_SETTING
		       : reasons;
}

NVML_GETTER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, throttle_reasons(b))
NVML_ALIAS(nvmlDeviceGetCurrentClocksEventReasons, nvmlDeviceGetCurrentClocksThrottleReasons)
NVML_GETTER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long,
	    NVML_REASON_IDLE | NVML_REASON_SETTING | NVML_REASON_POWER_CAP)
NVML_GETTER(nvmlDeviceGetPerformanceState, int,
	    !at_lowest_clock(b) || nvml_product(b).memory_mhz < GDDR_MIN_MHZ ? 0 : 8)
NVML_ALIAS(nvmlDeviceGetPowerState, nvmlDeviceGetPerformanceState)

int NVML(nvmlDeviceGetTemperature)(struct lab_gpu *b, int sensor, unsigned *out)
{
	int rc = nvml_take(b, sensor == 0 ? out : NULL);

	if (rc)
		return rc;
	*out = (unsigned)whole(
		lab_gpu_reading(b, VGPU_READING_TEMPERATURE, round(b->temperature_c)));
	return nvml_give(b, 0);
}

int NVML(nvmlDeviceGetTemperatureThreshold)(struct lab_gpu *b, int which, unsigned *out)
{
	static const unsigned celsius[] = { 96, 93, 95, 85 };
	int rc = nvml_take(b, out);

	if (rc || which < 0 || which > 3)
		return rc ? rc : nvml_give(b, NVML_NOT_SUPPORTED);
	*out = celsius[which];
	return nvml_give(b, 0);
}

/* GPUs for servers have no fans. */
NVML_UNSUPPORTED(nvmlDeviceGetFanSpeed, (struct lab_gpu * b, unsigned *out), out,
		 NVML_NOT_SUPPORTED)
NVML_GETTER(nvmlDeviceGetNumFans, unsigned, 0)

/* In KB/s; @way 1 is to the GPU. */
int NVML(nvmlDeviceGetPcieThroughput)(struct lab_gpu *b, int way, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = PCIE_IDLE_KB_S +
	       (unsigned)((way == 1 ? b->pcie_in_mib_s : b->pcie_out_mib_s) * 1048.576);
	return nvml_give(b, 0);
}

/* The lab has no video codecs. */
int NVML(nvmlDeviceGetEncoderUtilization)(struct lab_gpu *b, unsigned *percent, unsigned *period_us)
{
	int rc = nvml_take(b, period_us ? percent : NULL);

	if (rc)
		return rc;
	*percent = 0;
	*period_us = CODEC_PERIOD_US;
	return nvml_give(b, 0);
}

NVML_ALIAS(nvmlDeviceGetDecoderUtilization, nvmlDeviceGetEncoderUtilization)

static struct nvml_memory memory_of(struct lab_gpu *b)
{
	unsigned long long total = lab_gpu_memory_total(b), used;

	used = whole(lab_gpu_reading(b, VGPU_READING_MEMORY, (double)lab_gpu_memory_used(b) / MIB) *
		     MIB);
	return (struct nvml_memory){ .total = total,
				     .used = used,
				     .free = used < total ? total - used : 0 };
}

NVML_GETTER(nvmlDeviceGetMemoryInfo, struct nvml_memory, memory_of(b))

int NVML(nvmlDeviceGetMemoryInfo_v2)(struct lab_gpu *b, struct nvml_memory_v2 *out)
{
	struct nvml_memory m;
	int rc;

	if (out && out->version != NVML_MEMORY_V2)
		return NVML_WRONG_VERSION;
	rc = NVML(nvmlDeviceGetMemoryInfo)(b, out ? &m : NULL);
	if (rc)
		return rc;
	*out = (struct nvml_memory_v2){
		.version = out->version, .total = m.total, .free = m.free, .used = m.used
	};
	return 0;
}

NVML_GETTER(nvmlDeviceGetBAR1MemoryInfo, struct nvml_memory,
	    ((struct nvml_memory){
		    .total = 256ull << 20, .free = 254ull << 20, .used = 2ull << 20 }))
