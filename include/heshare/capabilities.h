/*
 * capabilities.h - find settings and sensors of a GPU that heshare needs but cannot use, with the
 * reason and the remedy.
 *
 * The check changes nothing, and any user may run it. To find whether settings are allowed, it
 * reads the persistence mode and sets the same mode again. If the mode cannot be read, the
 * capabilities of the process decide.
 */
#ifndef HESHARE_CAPABILITIES_H
#define HESHARE_CAPABILITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "heshare/device.h"
#include "heshare/mps.h"

enum hes_capability {
	HES_CAPABILITY_LOCK_CLOCK,
	HES_CAPABILITY_LIMIT_POWER,
	HES_CAPABILITY_MPS,          /* without it jobs run one at a time on the GPU */
	HES_CAPABILITY_COMPUTE_MODE, /* no job can run: prohibited, or split into MIG instances */
	HES_CAPABILITY_TURNS,        /* one process at a time, or one MPS server: exclusive mode */
	HES_CAPABILITY_CO_RUNNERS, /* clients of an MPS daemon that is not heshare's may run on the
				      GPU */
	HES_CAPABILITY_PERSISTENCE,
	HES_CAPABILITY_READ_POWER,
	HES_CAPABILITY_READ_ENERGY,
	HES_CAPABILITY_READ_CLOCK,
	HES_CAPABILITY_READ_REASONS,
	HES_CAPABILITY_ACTIVITY,
	HES_CAPABILITIES
};

/** A setting or sensor that cannot be used. */
struct hes_missing_capability {
	enum hes_capability capability;
	char why[HES_MPS_PATH_MAX + 128];
	char what_to_do[256];
};

/** MPS on this machine. */
struct hes_mps_status {
	bool found;   /* the control program is in PATH */
	bool may_run; /* this user may execute it */
	char pipe_dir[HES_MPS_PATH_MAX];
	pid_t daemon; /* control daemon of the pipe directory; 0: none */
	uid_t owner;  /* of the daemon */
};

/**
 * Look for MPS.
 * @param path      value of the variable PATH; may be NULL
 * @param pipe_dir  pipe directory of clients without CUDA_MPS_PIPE_DIRECTORY; NULL: the default of
 * MPS
 */
void hes_mps_find(const char *path, const char *pipe_dir, struct hes_mps_status *out);

/** What GPU @i is missing. @return how many, at most HES_CAPABILITIES; -ENODEV the GPU is lost */
long hes_capabilities_missing(const struct hes_devices *d, size_t i,
			      const struct hes_mps_status *mps,
			      struct hes_missing_capability out[HES_CAPABILITIES],
			      struct hes_err *err);

/** Whether a GPU takes one process at a time, or one MPS server; jobs cannot take turns there. */
bool hes_device_is_exclusive(const struct hes_devices *d, size_t i);
/**
 * Check that jobs can run on a GPU.
 * @param turns  several processes are to have contexts there at a time, without MPS
 * @return 0; -EPERM its compute mode or MIG forbids it, and @err has the remedy
 */
int hes_device_check(const struct hes_devices *d, size_t i, bool turns, struct hes_err *err);

/** "lock_clock", "limit_power", "mps", "compute_mode", "turns", "co_runners", "persistence",
 * "read_power",
 * ..., "activity". */
const char *hes_capability_name(enum hes_capability k);

#endif
