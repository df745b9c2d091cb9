/*
 * reading.c - read a GPU's sensors; see heshare/device.h.
 *
 * Sensors that are read often sometimes answer "not supported" or 0 W: such a reading is missing. A
 * sick one answers anything: what is not possible is left out, and the other sensors are kept.
 */
#include <math.h>
#include <stdlib.h>

#include "gpu/nvml.h"

#define MOST_MJ        (1ull << 53) /* what no GPU draws in its life */
#define MOST_CELSIUS   150
#define NOT_POSSIBLE   (-1) /* no code of NVML */
#define POSSIBLE(true) ((true) ? NVML_OK : NOT_POSSIBLE)

/* @return 0, or a code; then what is written to @out does not count */
typedef int read_fn(const struct hes_devices *d, size_t i, struct hes_reading *out);

static int read_power(const struct hes_devices *d, size_t i, struct hes_reading *out)
{
	struct nvml_field f = { .id = NVML_FIELD_POWER_INSTANT };
	unsigned mw = 0;
	int code;

	if (d->gpus[i].instant) {
		code = d->nvml.fields(d->gpus[i].handle, 1, &f);
		code = code ? code : f.code;
		mw = f.value.ui;
	} else {
		code = NVML_CALL(d, i, power, &mw);
	}
	if (!code && !mw)
		code = NVML_NOT_SUPPORTED;
	out->power_mw = mw;
	return code ? code : POSSIBLE(mw <= d->gpus[i].most_mw && mw >= d->gpus[i].least_mw);
}

static int read_energy(const struct hes_devices *d, size_t i, struct hes_reading *out)
{
	unsigned long long mj = 0;
	int code = NVML_CALL(d, i, energy, &mj);

	out->energy_mj = mj;
	return code ? code : POSSIBLE(mj <= MOST_MJ);
}

static int read_clock(const struct hes_devices *d, size_t i, struct hes_reading *out)
{
	unsigned mhz = 0;
	int code = NVML_CALL(d, i, clock, NVML_CLOCK_SM, &mhz);

	out->clock_mhz = mhz;
	return code ? code : POSSIBLE(mhz > 0 && mhz <= d->gpus[i].most_mhz);
}

static int read_reasons(const struct hes_devices *d, size_t i, struct hes_reading *out)
{
	unsigned long long bits;
	int code = NVML_CALL(d, i, reasons, &bits);

	if (code)
		return code;
	out->power_capped = (bits & (NVML_REASON_POWER_CAP | NVML_REASON_POWER_BRAKE)) != 0;
	out->heat_capped = (bits & (NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL |
				    NVML_REASON_HW_SLOWDOWN)) != 0;
	return 0;
}

static int read_temperature(const struct hes_devices *d, size_t i, struct hes_reading *out)
{
	unsigned celsius = 0;
	int code = NVML_CALL(d, i, temperature, 0, &celsius);

	out->temperature_c = celsius;
	return code ? code : POSSIBLE(celsius > 0 && celsius <= MOST_CELSIUS);
}

static int read_utilisation(const struct hes_devices *d, size_t i, struct hes_reading *out)
{
	struct nvml_utilization u = { 0 };
	int code = NVML_CALL(d, i, utilization, &u);

	out->busy_pct = u.gpu;
	out->memory_pct = u.memory;
	return code ? code : POSSIBLE(u.gpu <= 100 && u.memory <= 100);
}

static int read_memory(const struct hes_devices *d, size_t i, struct hes_reading *out)
{
	struct nvml_memory m = { 0 };
	int code = NVML_CALL(d, i, memory, &m);

	out->memory_used_bytes = m.used;
	return code ? code : POSSIBLE(m.used <= m.total);
}

static const struct {
	enum hes_reading_has has;
	read_fn *read;
} sensors[] = {
	{ HES_HAS_POWER, read_power },
	{ HES_HAS_ENERGY, read_energy },
	{ HES_HAS_CLOCK, read_clock },
	{ HES_HAS_REASONS, read_reasons },
	{ HES_HAS_TEMPERATURE, read_temperature },
	{ HES_HAS_UTILISATION, read_utilisation },
	{ HES_HAS_MEMORY, read_memory },
};

int hes_device_read(const struct hes_devices *d, size_t i, unsigned want, struct hes_reading *out,
		    struct hes_err *err)
{
	struct hes_reading r = { 0 };
	int rc = hes_nvml_has(d, i, err);

	if (rc)
		return rc;
	for (size_t k = 0; k < sizeof(sensors) / sizeof(sensors[0]); k++) {
		struct hes_reading with = r;
		int code;

		if (!(want & sensors[k].has))
			continue;
		code = sensors[k].read(d, i, &with);
		if (code == NVML_GPU_IS_LOST)
			return hes_nvml_fail(d, i, "reading its sensors", code, err);
		if (!code) {
			r = with;
			r.has |= sensors[k].has;
		} else if (code == NOT_POSSIBLE) {
			r.impossible |= sensors[k].has;
		}
	}
	*out = r;
	return 0;
}

enum hes_lock_state hes_lock_state(const struct hes_reading *r, uint32_t locked_mhz)
{
	if (!(r->has & HES_HAS_CLOCK))
		return HES_LOCK_UNKNOWN;
	if (fabs((double)r->clock_mhz - locked_mhz) <= HES_CLOCK_MISSED * locked_mhz)
		return HES_LOCK_HELD;
	if (r->clock_mhz < locked_mhz && r->has & HES_HAS_REASONS &&
	    (r->power_capped || r->heat_capped))
		return HES_LOCK_CAPPED;
	return HES_LOCK_IGNORED;
}
