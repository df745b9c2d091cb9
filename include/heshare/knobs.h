/*
 * knobs.h - what heshare would turn or read on a GPU and cannot, why, and what to do about it.
 *
 * Found out without changing anything: rights show when the persistence mode that was just read
 * is set again; where it cannot be read nothing is set, and the process's capabilities tell. Any user may ask.
 */
#ifndef HESHARE_KNOBS_H
#define HESHARE_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "heshare/device.h"
#include "heshare/mps.h"

enum hes_knob {
	HES_KNOB_LOCK_CLOCK,
	HES_KNOB_LIMIT_POWER,
	HES_KNOB_MPS,           /* without it jobs run one at a time on the GPU */
	HES_KNOB_COMPUTE_MODE,  /* no job can run at all */
	HES_KNOB_NEIGHBOURS,    /* somebody else's jobs may be on the GPU */
	HES_KNOB_PERSISTENCE,
	HES_KNOB_READ_POWER,
	HES_KNOB_READ_ENERGY,
	HES_KNOB_READ_CLOCK,
	HES_KNOB_READ_REASONS,
	HES_KNOB_ACTIVITY,
	HES_KNOBS
};

/** A knob that is missing. */
struct hes_lack {
	enum hes_knob knob;
	char          why[HES_MPS_PATH_MAX + 128];
	char          what_to_do[256];
};

/** What there is of MPS on this machine. */
struct hes_mps_place {
	bool  found;       /* the control program is on the path */
	bool  may_run;     /* by this user */
	char  pipe_dir[HES_MPS_PATH_MAX];
	pid_t daemon;      /* of a control daemon that holds the pipe directory; 0: none */
	uid_t owner;       /* of that */
};

/**
 * Look for MPS.
 * @param path      as in the variable PATH; may be NULL
 * @param pipe_dir  the directory that clients meet which are told of no other; NULL: MPS's own
 */
void hes_mps_find(const char *path, const char *pipe_dir, struct hes_mps_place *out);

/** What GPU @i lacks. @return how many there are, at most HES_KNOBS; -ENODEV it is lost */
long hes_knobs_missing(const struct hes_devices *d, size_t i, const struct hes_mps_place *mps,
		       struct hes_lack out[HES_KNOBS], struct hes_err *err);

/** "lock_clock", "limit_power", "mps", "compute_mode", "neighbours", "persistence", "read_power", ..., "activity". */
const char *hes_knob_name(enum hes_knob k);

#endif
