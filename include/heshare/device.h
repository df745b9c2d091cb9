/*
 * device.h - the NVIDIA GPUs of this machine, through NVML.
 *
 * The library is found at run time: a machine without it is a machine without
 * GPUs, told by -ENODEV and a sentence. What a GPU or a driver cannot do is
 * missing from its capabilities, a reading that did not come is not valid; neither
 * is ever 0. GPUs go by their index in 0 .. count - 1, in NVML's order.
 *
 * Any number of threads may use one struct hes_devices.
 */
#ifndef HESHARE_DEVICE_H
#define HESHARE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/gpu_type.h"

struct hes_devices;

/** What a GPU and its driver can do, as far as that shows without changing anything: bits. */
enum hes_device_can {
	HES_CAN_READ_POWER   = 1 << 0,
	HES_CAN_READ_ENERGY  = 1 << 1,  /* a counter; Volta and newer */
	HES_CAN_READ_CLOCK   = 1 << 2,
	HES_CAN_READ_REASONS = 1 << 3,
	HES_CAN_LOCK_CLOCK   = 1 << 4,  /* the driver has the call; it may still refuse */
	HES_CAN_LIMIT_POWER  = 1 << 5,
};

struct hes_device_info {
	char     name[96];             /* the driver's */
	char     uuid[80];
	char     bus[32];              /* PCI address */
	char     type[HES_NAME_MAX];   /* in the catalogue of GPU types; "": not in it */
	unsigned can;                  /* enum hes_device_can */
	uint64_t memory_bytes;
	uint32_t power_limit_mw;       /* as set now; 0: not told */
	uint32_t power_limit_min_mw, power_limit_max_mw, power_limit_default_mw; /* 0: not told */
};

/** Which fields of a reading are valid: bits. */
enum hes_reading_has {
	HES_HAS_POWER       = 1 << 0,
	HES_HAS_ENERGY      = 1 << 1,
	HES_HAS_CLOCK       = 1 << 2,
	HES_HAS_REASONS     = 1 << 3,
	HES_HAS_TEMPERATURE = 1 << 4,
	HES_HAS_UTILISATION = 1 << 5,
	HES_HAS_MEMORY      = 1 << 6,
	HES_HAS_ALL         = (1 << 7) - 1,
};

struct hes_reading {
	unsigned has;                  /* enum hes_reading_has */
	uint32_t power_mw;
	uint64_t energy_mj;            /* since the driver was loaded */
	uint32_t clock_mhz;            /* of the SMs */
	bool     power_capped;         /* the power limit holds the clock down */
	bool     heat_capped;          /* heat does */
	uint32_t temperature_c;
	uint32_t busy_pct, memory_pct; /* of the last sampling period with a kernel, with memory traffic */
	uint64_t memory_used_bytes;
};

/** How a locked clock turned out. */
enum hes_lock_state {
	HES_LOCK_HELD,     /* the GPU runs at the clock */
	HES_LOCK_CAPPED,   /* power or heat hold it below */
	HES_LOCK_IGNORED,  /* it runs at another clock, and says of no reason */
	HES_LOCK_UNKNOWN,  /* the clock cannot be read */
};

/** @return 0; -ENODEV no NVML or no driver; -EPROTO an NVML without what is needed; -ENOMEM */
int    hes_devices_open(struct hes_devices **out, struct hes_err *err);
void   hes_devices_close(struct hes_devices *d);
size_t hes_devices_count(const struct hes_devices *d);
/** Version of the driver; "" when it does not say. */
const char *hes_devices_driver(const struct hes_devices *d);

/** @return index of the GPU named by index, by UUID or a beginning of it, or by PCI address; -1: none */
long   hes_devices_find(const struct hes_devices *d, const char *name);

/** @return 0; -ENODEV the GPU is lost; -EIO */
int hes_device_info(const struct hes_devices *d, size_t i, struct hes_device_info *out, struct hes_err *err);

/**
 * Read what @want asks for (enum hes_reading_has). What cannot be read is not in out->has.
 * @return 0; -ENODEV the GPU is lost
 */
int hes_device_read(const struct hes_devices *d, size_t i, unsigned want, struct hes_reading *out, struct hes_err *err);

/** SM clocks that can be locked, ascending. @return how many there are, at most @max written; -errno */
long hes_device_clocks(const struct hes_devices *d, size_t i, uint32_t *out, size_t max, struct hes_err *err);

/**
 * Lock the SM clock at @mhz. Whether the GPU keeps to it shows under load: hes_lock_state.
 * @return 0; -EPERM with what is missing; -ENOTSUP the GPU or its driver cannot; -EINVAL the driver refuses the value;
 *         -ENODEV the GPU is lost; -EIO
 */
int hes_device_lock_clock(const struct hes_devices *d, size_t i, uint32_t mhz, struct hes_err *err);
/** Let the driver choose the SM clock again. @return as hes_device_lock_clock() */
int hes_device_unlock_clock(const struct hes_devices *d, size_t i, struct hes_err *err);
/** @return 0; -ERANGE outside of what the GPU takes; else as hes_device_lock_clock() */
int hes_device_limit_power(const struct hes_devices *d, size_t i, uint32_t mw, struct hes_err *err);

/** How a lock at @asked_mhz turned out, from a reading under load. */
enum hes_lock_state hes_lock_state(const struct hes_reading *r, uint32_t asked_mhz);

/** The catalogue's name for a GPU by the name of its driver and its memory; "" for none. */
const char *hes_device_type(const char *name, uint64_t memory_bytes);

#endif
