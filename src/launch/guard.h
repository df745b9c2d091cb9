/*
 * guard.h - whatever dies, the GPUs are left as they were: a process beside the program that
 * holds a list of what was changed, and undoes it when the program ends.
 *
 * A change is put on the list before it is made (hes_guard_register) and taken off after it was
 * undone (hes_guard_unregister); both return when the guard has said that it knows. The functions below
 * that act do both, so that a program needs the two only for what they do not cover.
 *
 * - The program dies, by whatever signal: the guard unlocks clocks, sets power limits back, kills
 *   jobs and ends MPS daemons.
 * - The guard dies: the descriptor hes_guard_fd becomes readable; hes_guard_renew starts
 *   another with the whole list. Promises notice by themselves and do the same.
 * - Both die at once: the list is a file in the run's folder (guard.list). The kernel kills jobs' processes; the next
 *   hes_guard_start or hes_guard_restore on that folder undoes what is left.
 *
 * The list says what holds since the machine was started; after a new start nothing of it is true, and it is dropped.
 * One thread at a time uses a guard.
 */
#ifndef HES_LAUNCH_GUARD_H
#define HES_LAUNCH_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/device.h"
#include "heshare/err.h"
#include "heshare/mps.h"
#include "launch/launch.h"

#define HES_STUCK_MAX 64

struct hes_guard;

enum hes_undo_kind {
	HES_UNDO_CLOCK,  /* unlock the clock of the GPU uuid */
	HES_UNDO_POWER,  /* set the power limit of the GPU uuid to power_mw */
	HES_UNDO_MPS,    /* end the MPS daemon of the GPU uuid in the folder dir, and its servers */
	HES_UNDO_JOB,    /* kill the job */
	HES_UNDO_CLAIM,  /* let the GPU uuid go: others may have it (claim.h) */
};

struct hes_undo {
	enum hes_undo_kind kind;
	char               uuid[80];
	uint32_t           power_mw;
	char               dir[HES_MPS_PATH_MAX];   /* as hes_mps_start has it */
	struct hes_process job;
	char               mark[HES_MARK_MAX];
	char               cgroup[HES_CGROUP_MAX];
	bool               told;   /* by the program itself; false: read from a file */
};

/** What was undone of a list. */
struct hes_undone {
	unsigned clocks, limits, daemons, jobs;  /* jobs: those of which something was still there */
	unsigned failed;                         /* could not be undone: they stay on the list */
	struct hes_process stuck[HES_STUCK_MAX]; /* of them, jobs that are killed and do not end: what was started for each */
	unsigned n_stuck;                        /* may be more than HES_STUCK_MAX: the rest is not told */
};

/**
 * Start the guard. What a run before left in @folder is undone first; when another run has the folder this fails.
 * @param argv    program that calls hes_guard_serve(0): its standard input is the channel; ends with NULL
 * @param mended  what was undone; may be NULL
 * @return 0; -EBUSY a run has the folder; -ENOENT no such program or folder; -ENOSPC, -EIO
 */
int hes_guard_start(struct hes_guard **out, const char *const *argv, const char *folder, struct hes_undone *mended,
		    struct hes_err *err);

/** Undo what is left on the list, end the guard and free @g; NULL is harmless. @return 0; -EIO not all could be undone */
int hes_guard_finish(struct hes_guard *g, struct hes_err *err);

/** Readable when the guard has died: call hes_guard_renew. It changes when the guard does. */
int hes_guard_fd(const struct hes_guard *g);
/** If the guard has died start another with the whole list. @return 1 it was renewed; 0 it lives; -errno */
int hes_guard_renew(struct hes_guard *g, struct hes_err *err);

/** Put on the list; harmless if it is there. @return 0; -EBUSY another has the GPU; -ENOSPC, -EIO the list cannot be kept: do not make the change */
int hes_guard_register(struct hes_guard *g, const struct hes_undo *d, struct hes_err *err);
/** Take off the list; it is not on it: harmless. The list keeps its entry when this fails. */
int hes_guard_unregister(struct hes_guard *g, const struct hes_undo *d, struct hes_err *err);

/**
 * Nobody else's runs and profiles on this machine have the GPU @uuid until the guard ends, after it has set it back.
 * @return 0; -EBUSY somebody has it; as hes_guard_register
 */
int hes_guard_claim(struct hes_guard *g, const char *uuid, struct hes_err *err);

/* Acts with their promises. Errors are those of the act or of hes_guard_register. */
int hes_guard_lock_clock(struct hes_guard *g, const struct hes_devices *d, size_t i, uint32_t mhz, struct hes_err *err);
int hes_guard_unlock_clock(struct hes_guard *g, const struct hes_devices *d, size_t i, struct hes_err *err);
int hes_guard_limit_power(struct hes_guard *g, const struct hes_devices *d, size_t i, uint32_t mw, struct hes_err *err);
/** Set the limit back to what it was before the first hes_guard_limit_power. */
int hes_guard_unlimit_power(struct hes_guard *g, const struct hes_devices *d, size_t i, struct hes_err *err);
int hes_guard_mps_start(struct hes_guard *g, struct hes_mps *out, const char *uuid, const char *dir,
			struct hes_err *err);
/** End daemon and server within @grace_s or by force. */
int hes_guard_mps_quit(struct hes_guard *g, const struct hes_mps *m, unsigned grace_s, struct hes_err *err);
/** As hes_child_hold, and on the list. */
int hes_guard_hold(struct hes_guard *g, const struct hes_launch *l, struct hes_child *out, struct hes_err *err);
/** As hes_child_go; off the list when that fails. */
int hes_guard_go(struct hes_guard *g, struct hes_child *c, struct hes_err *err);
/** As hes_child_reap, and off the list once it has ended with all that it left. */
int hes_guard_reap(struct hes_guard *g, struct hes_child *c, struct hes_child_end *out, struct hes_err *err);

/**
 * Be the guard of the parent process, at the other end of the socket @channel; other descriptors
 * but the standard ones are closed. Returns when the program has ended or finished, and all is undone. @return 0; -errno
 */
int hes_guard_serve(int channel, struct hes_err *err);

/**
 * Undo what a run left in @folder whose program and guard are both gone.
 * @return 0; -ENOENT no list there: nothing to undo; -EBUSY the run is alive; -EIO something could not be undone
 */
int hes_guard_restore(const char *folder, struct hes_undone *out, struct hes_err *err);

#endif
