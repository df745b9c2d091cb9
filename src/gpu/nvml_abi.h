/*
 * nvml_abi.h - the part of NVML's binary interface that heshare uses: return codes, constants and
 * structures, as NVIDIA documents them.
 *
 * src/gpu calls it; the lab's stand-in implements it.
 */
#ifndef HES_GPU_NVML_ABI_H
#define HES_GPU_NVML_ABI_H

#include <stddef.h>
#include <stdint.h>

enum nvml_code {
	NVML_OK = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_INSUFFICIENT_POWER = 8,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_TIMEOUT = 10,
	NVML_IRQ_ISSUE = 11,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_FUNCTION_MISSING = 13,
	NVML_CORRUPTED_INFOROM = 14,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_OPERATING_SYSTEM = 17,
	NVML_DRIVER_MISMATCH = 18,
	NVML_IN_USE = 19,
	NVML_MEMORY = 20,
	NVML_WRONG_VERSION = 25,
	NVML_UNKNOWN = 999,
};

enum { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO };

/* Throttle reasons: bits. */
#define NVML_REASON_IDLE        0x01ull
#define NVML_REASON_SETTING     0x02ull
#define NVML_REASON_POWER_CAP   0x04ull
#define NVML_REASON_HW_SLOWDOWN 0x08ull
#define NVML_REASON_SW_THERMAL  0x20ull
#define NVML_REASON_HW_THERMAL  0x40ull
#define NVML_REASON_POWER_BRAKE 0x80ull

#define NVML_FIELD_ENERGY_83     83 /* mJ since the driver was loaded */
#define NVML_FIELD_POWER_AVERAGE 185
#define NVML_FIELD_POWER_INSTANT 186
#define NVML_FIELD_ENERGY        191

#define NVML_EVENT_XID 0x8ull

struct nvml_memory {
	unsigned long long total, free, used; /* bytes */
};

struct nvml_memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 (sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_utilization {
	unsigned int gpu, memory; /* percent */
};

struct nvml_pci {
	char bus_id_legacy[16];
	unsigned int domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct nvml_process_v1 {
	unsigned int pid;
	unsigned long long memory;
};

struct nvml_process {
	unsigned int pid;
	unsigned long long memory; /* bytes */
	unsigned int gpu_instance, compute_instance;
};

union nvml_value {
	double d;
	unsigned int ui;
	unsigned long ul;
	unsigned long long ull;
	long long ll;
};

enum { NVML_VALUE_DOUBLE, NVML_VALUE_UINT, NVML_VALUE_ULONG, NVML_VALUE_ULL, NVML_VALUE_LL };

struct nvml_sample {
	unsigned long long time_us;
	union nvml_value value;
};

struct nvml_field {
	unsigned int id, scope;
	long long time_us, latency_us;
	int type;
	int code; /* of this field alone */
	union nvml_value value;
};

struct nvml_process_util {
	unsigned int pid;
	unsigned long long time_us;
	unsigned int sm, memory, encoder, decoder; /* percent */
};

struct nvml_event {
	void *device;
	unsigned long long type, data;
	unsigned int gpu_instance, compute_instance;
};

/*
 * GPM: counters are read twice, and metrics are computed from the pair. The caller chooses the
 * length of the array; its largest length differs between versions of NVML.
 */
#define NVML_GPM_VERSION 1u

enum nvml_gpm_metric_id {
	NVML_GPM_GRAPHICS = 1, /* all but the last two in percent */
	NVML_GPM_SM = 2,
	NVML_GPM_OCCUPANCY = 3,
	NVML_GPM_TENSOR = 5,
	NVML_GPM_DRAM = 10,
	NVML_GPM_FP32 = 12,
	NVML_GPM_PCIE_TX = 20, /* MiB/s */
	NVML_GPM_PCIE_RX = 21,
};

struct nvml_gpm_support {
	unsigned int version, supported;
};

struct nvml_gpm_metric {
	unsigned int id;
	int code; /* of this metric alone */
	double value;
	const char *short_name, *long_name, *unit;
};

struct nvml_gpm_metrics {
	unsigned int version, count;
	void *before, *after;
	struct nvml_gpm_metric metrics[];
};

enum {
	NVML_COMPUTE_DEFAULT = 0,
	NVML_COMPUTE_EXCLUSIVE_THREAD = 1, /* of old drivers */
	NVML_COMPUTE_PROHIBITED = 2,
	NVML_COMPUTE_EXCLUSIVE = 3
};

#endif
