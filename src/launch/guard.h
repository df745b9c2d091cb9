/*
 * guard.h - a second process that restores the GPUs and ends all jobs when the program ends, by
 * whatever cause.
 *
 * The guard holds the undo log. The program registers an undo entry before it makes a change
 * (hes_guard_register) and removes the entry after it has undone the change (hes_guard_unregister).
 * Both return when the guard has confirmed. The functions below that make changes do both.
 *
 * - The program dies: the guard unlocks clocks, kills jobs and ends MPS daemons.
 * - The guard dies: the descriptor hes_guard_fd() becomes readable, and hes_guard_renew() starts
 * another guard with the whole log. hes_guard_register() notices it, too.
 * - Both die at once: the kernel kills the jobs' processes. The log is a file in the run's folder
 * (undo_file.h); the next hes_guard_start() or hes_guard_restore() for that folder undoes the rest.
 *
 * Entries are valid until the machine restarts; later they are dropped. One thread at a time uses a
 * guard.
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
	HES_UNDO_CLOCK, /* unlock the clock of GPU uuid */
	HES_UNDO_MPS,   /* end the MPS daemon of GPU uuid in the folder dir, and its servers */
	HES_UNDO_JOB,   /* kill the job */
	HES_UNDO_HOLD,  /* let the job go on, if it could not be killed */
	HES_UNDO_CLAIM, /* release the claim of GPU uuid (claim.h) */
};

/** An undo entry. */
struct hes_undo {
	enum hes_undo_kind kind;
	char uuid[80];
	char dir[HES_MPS_PATH_MAX]; /* as of hes_mps_start() */
	struct hes_process job;
	char mark[HES_MARK_MAX];
	char cgroup[HES_CGROUP_MAX];
	bool from_program; /* registered by the program itself; false: read from a file */
};

/** What was undone. */
struct hes_undone {
	unsigned clocks, daemons, jobs; /* jobs: those with processes left */
	unsigned failed;                /* entries that could not be undone; they stay in the log */
	struct hes_process
		stuck[HES_STUCK_MAX]; /* first processes of killed jobs that do not end */
	unsigned n_stuck;             /* how many; the array holds HES_STUCK_MAX of them */
};

/**
 * Start the guard. Changes that an earlier run left in @folder are undone first.
 * @param argv    program that calls hes_guard_serve(0): its standard input is the channel; ends
 * with NULL
 * @param undone  what an earlier run had left; may be NULL
 * @return 0; -EBUSY another run uses the folder; -ENOENT no such program or folder; -ENOSPC, -EIO
 */
int hes_guard_start(struct hes_guard **out, const char *const *argv, const char *folder,
		    struct hes_undone *undone, struct hes_err *err);

/**
 * Undo what is left in the log, end the guard and free @g; NULL is harmless.
 * @return 0; -EIO not all could be undone
 */
int hes_guard_finish(struct hes_guard *g, struct hes_err *err);

/** Readable when the guard has died: call hes_guard_renew(). The descriptor changes with the guard.
 */
int hes_guard_fd(const struct hes_guard *g);
/** Start another guard with the whole log if the guard has died. @return 1 renewed; 0 it is alive;
 * -errno */
int hes_guard_renew(struct hes_guard *g, struct hes_err *err);

/**
 * Register an undo entry; harmless if it is there.
 * @return 0; -EBUSY another program has the GPU; -ENOSPC, -EIO do not make the change
 */
int hes_guard_register(struct hes_guard *g, const struct hes_undo *d, struct hes_err *err);
/** Remove an undo entry; harmless if it is not there. On failure the entry stays. */
int hes_guard_unregister(struct hes_guard *g, const struct hes_undo *d, struct hes_err *err);

/**
 * Claim the GPU @uuid on this machine until the guard has restored it and ended.
 * @return 0; -EBUSY another run, profile or arbiter has it; else as hes_guard_register()
 */
int hes_guard_claim(struct hes_guard *g, const char *uuid, struct hes_err *err);

/* Changes with their undo entries. Errors are those of the change or of hes_guard_register(). */
int hes_guard_lock_clock(struct hes_guard *g, const struct hes_devices *d, size_t i, uint32_t mhz,
			 struct hes_err *err);
int hes_guard_unlock_clock(struct hes_guard *g, const struct hes_devices *d, size_t i,
			   struct hes_err *err);
int hes_guard_mps_start(struct hes_guard *g, struct hes_mps *out, const char *uuid, const char *dir,
			struct hes_err *err);
/** End daemon and server: ask them first, kill them after @grace_s. */
int hes_guard_mps_quit(struct hes_guard *g, const struct hes_mps *m, unsigned grace_s,
		       struct hes_err *err);
/** hes_child_fork(), registered. */
int hes_guard_fork(struct hes_guard *g, const struct hes_launch *l, struct hes_child *out,
		   struct hes_err *err);
/** hes_child_go(); unregistered if it fails. */
int hes_guard_go(struct hes_guard *g, struct hes_child *c, struct hes_err *err);
/** hes_child_stop(), registered. @return 0; as hes_guard_register(), or -errno: the job goes on */
int hes_guard_stop(struct hes_guard *g, const struct hes_child *c, struct hes_err *err);
/** hes_child_continue(), then unregistered. The job goes on whatever is returned. */
int hes_guard_continue(struct hes_guard *g, const struct hes_child *c, struct hes_err *err);
/** hes_child_reap(); unregistered once all processes of the job have ended. */
int hes_guard_reap(struct hes_guard *g, struct hes_child *c, struct hes_child_end *out,
		   struct hes_err *err);

/**
 * Be the guard of the parent process, on the socket @channel. Closes all other descriptors but the
 * standard ones. Returns when the program has ended or finished, and all changes are undone.
 * @return 0; -errno
 */
int hes_guard_serve(int channel, struct hes_err *err);

/**
 * Undo what a run left in @folder if its program and guard are both gone.
 * @return 0; -ENOENT nothing to undo; -EBUSY the run is alive; -EIO some changes could not be
 * undone
 */
int hes_guard_restore(const char *folder, struct hes_undone *out, struct hes_err *err);

#endif
