/*
 * device.h - the NVIDIA GPUs of this machine, through NVML.
 *
 * NVML is loaded at run time. A machine without it has no GPUs: calls return -ENODEV with a
 * sentence. Capability bits say what a GPU and its driver can do, and each reading has a valid bit:
 * a missing value is never 0. A GPU is named by its index in NVML's order, from 0.
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

#define HES_DRIVER_MAX 80

/** What a GPU and its driver can do, found without changing anything: bits. */
enum hes_device_can {
	HES_CAN_READ_POWER = 1 << 0,
	HES_CAN_READ_ENERGY = 1 << 1, /* an energy counter; Volta and newer */
	HES_CAN_READ_CLOCK = 1 << 2,
	HES_CAN_READ_REASONS = 1 << 3,
	HES_CAN_LOCK_CLOCK = 1 << 4, /* the driver has the function; it may still refuse */
	HES_CAN_LIMIT_POWER = 1 << 5,
};

struct hes_device_info {
	char name[96]; /* the driver's name of the GPU */
	char uuid[HES_UUID_MAX];
	char bus[32];            /* PCI address */
	char type[HES_NAME_MAX]; /* the catalogue's name of its type; without a row, one made of the
				    driver's */
	unsigned can;            /* enum hes_device_can */
	uint64_t memory_bytes;
	uint32_t power_limit_mw; /* as set now; 0: unknown */
};

/** Which fields of a reading are valid: bits. */
enum hes_reading_has {
	HES_HAS_POWER = 1 << 0,
	HES_HAS_ENERGY = 1 << 1,
	HES_HAS_CLOCK = 1 << 2,
	HES_HAS_REASONS = 1 << 3,
	HES_HAS_TEMPERATURE = 1 << 4,
	HES_HAS_UTILISATION = 1 << 5,
	HES_HAS_MEMORY = 1 << 6,
	HES_HAS_ALL = (1 << 7) - 1,
};

/** A reading that is not possible is not valid: more power or a higher clock than the GPU can
 * have, 0 W, 0 MHz, more than 100 %, more memory in use than there is. */
struct hes_reading {
	unsigned has;        /* enum hes_reading_has */
	unsigned impossible; /* what was read, and left out: enum hes_reading_has */
	uint32_t power_mw;
	uint64_t energy_mj; /* since the driver was loaded */
	uint32_t clock_mhz; /* of the SMs */
	bool power_capped;  /* the power limit lowers the clock */
	bool heat_capped;   /* heat lowers the clock */
	uint32_t temperature_c;
	uint32_t busy_pct, memory_pct; /* part of the last sampling period with a kernel; with
					  memory traffic */
	uint64_t memory_used_bytes;
};

/** The effect of a clock lock. */
enum hes_lock_state {
	HES_LOCK_HELD,    /* the GPU runs at the clock */
	HES_LOCK_CAPPED,  /* power or heat keep it below the clock */
	HES_LOCK_IGNORED, /* it runs at another clock and reports no reason */
	HES_LOCK_UNKNOWN, /* the clock cannot be read */
};

/**
 * Load NVML and find the GPUs. A GPU that NVML refuses is counted, and hes_device_info() says why.
 * @param c  gives the GPUs their types; it may be freed afterwards. NULL: their types are named
 * after the driver's names
 * @return 0; -ENODEV no NVML or no driver; -EPROTO this NVML lacks a function that is needed;
 * -ENOMEM
 */
int hes_devices_open(const struct hes_catalogue *c, struct hes_devices **out, struct hes_err *err);
void hes_devices_close(struct hes_devices *d);
size_t hes_devices_count(const struct hes_devices *d);

/**
 * Keep only the GPUs that a list names, in its order, and number them from 0 in this order. A list
 * is what CUDA_VISIBLE_DEVICES and Slurm's variables have: indices, UUIDs, beginnings of UUIDs,
 * with commas. "", "-1" and "NoDevFiles" name none, and what follows "-1" counts as little as with
 * CUDA. Indices are NVML's. A UUID that NVML does not have stands for a GPU whose UUID NVML refuses
 * to tell, if there is one.
 * @param what  name of the list, for errors
 * @return 0; -ENOENT a GPU that is not there; -EEXIST one that is named twice; -EINVAL a name
 * with a blank; -ENOTSUP a MIG instance, which no plan can use; -ENOMEM. On failure all GPUs stay.
 */
int hes_devices_keep(struct hes_devices *d, const char *what, const char *list,
		     struct hes_err *err);

/** The driver's version, "unknown" if it cannot be read. The lab's ends in "-lab". @param out  of
 * HES_DRIVER_MAX bytes */
void hes_devices_driver(const struct hes_devices *d, char *out);

/** Find a GPU by index, UUID, beginning of a UUID that no other GPU has, or PCI address.
 * @return its index; -ENOENT: none; -ENOTUNIQ: several UUIDs begin so */
long hes_devices_find(const struct hes_devices *d, const char *name);

/** Whether NVML tells the UUIDs of all GPUs. @return 0; for the first whose UUID is not known, so
 * that hes_devices_find() does not find it by UUID, errors of hes_device_info() */
int hes_devices_refused(const struct hes_devices *d, struct hes_err *err);

/** @return 0; errors of hes_device_info() for the first GPU that cannot be used */
int hes_devices_check(const struct hes_devices *d, struct hes_err *err);

/** @return 0; where the GPU cannot be used because NVML refuses its handle, name, UUID or memory,
 * @err says why and what to do, and the others work: -ENODEV it is lost or needs a reset; -EPERM;
 * -EIO; -EINVAL no such GPU */
int hes_device_info(const struct hes_devices *d, size_t i, struct hes_device_info *out,
		    struct hes_err *err);

/**
 * Make a row of a catalogue from what NVML reports of a GPU. Of what it does not report, L2, copy
 * rate and idle power are typical values of the generation.
 * @return 0; -ENOTSUP NVML does not report a value that is needed, and @err says which; -EINVAL no
 * such GPU; -ENODEV the GPU is lost; -EIO
 */
int hes_device_describe(const struct hes_devices *d, size_t i, struct hes_gpu_type *out,
			struct hes_err *err);

/**
 * Read the values in @want (enum hes_reading_has). out->has says which of them were read.
 * @return 0; -ENODEV the GPU is lost
 */
int hes_device_read(const struct hes_devices *d, size_t i, unsigned want, struct hes_reading *out,
		    struct hes_err *err);

/** The UUID that a GPU had when it was opened; "": NVML refused to tell it. */
const char *hes_device_uuid(const struct hes_devices *d, size_t i);
/** The highest power that a reading of the GPU can have. */
uint32_t hes_device_most_mw(const struct hes_devices *d, size_t i);
/** The lowest one: a part of its type's idle power. */
uint32_t hes_device_least_mw(const struct hes_devices *d, size_t i);

/**
 * Lock the SM clock at @mhz. hes_lock_state() says under load whether the GPU obeys.
 * @return 0; -EPERM, @err says which right is missing; -ENOTSUP the GPU or its driver cannot;
 * -EINVAL the driver refuses the value; -ENODEV the GPU is lost; -EIO
 */
int hes_device_lock_clock(const struct hes_devices *d, size_t i, uint32_t mhz, struct hes_err *err);
/** Let the driver choose the SM clock again. @return as hes_device_lock_clock() */
int hes_device_unlock_clock(const struct hes_devices *d, size_t i, struct hes_err *err);

/** A process with a context on a GPU. */
struct hes_device_process {
	int32_t pid; /* in a container it may be the host's, which /proc there does not have */
	bool mps;    /* a client of an MPS server; the server is a process of its own */
	bool has_memory;
	uint64_t memory_bytes; /* of a server: also that of its clients */
};

/**
 * List the processes with contexts on GPU @i, each once, in order of pid.
 * @param out  free() it; written only on success
 * @return how many; -ENOTSUP the driver has no list; -ENODEV the GPU is lost; -ENOMEM, -EIO
 */
long hes_device_processes(const struct hes_devices *d, size_t i, struct hes_device_process **out,
			  struct hes_err *err);

/**
 * List the processes that have used GPU @i in the last @seconds, by the driver's samples.
 * @param out  their pids; free() it; written only on success
 * @return how many; -ENOTSUP the driver does not tell; -ENODEV the GPU is lost; -ENOMEM, -EIO
 */
long hes_device_active_processes(const struct hes_devices *d, size_t i, double seconds,
				 int32_t **out, struct hes_err *err);

/** A GPU that holds a clock differs from it by at most this part. */
#define HES_CLOCK_MISSED 0.02

/** The effect of a lock at @locked_mhz, from a reading under load. */
enum hes_lock_state hes_lock_state(const struct hes_reading *r, uint32_t locked_mhz);

#endif
