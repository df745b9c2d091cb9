/*
 * guard_undo.h - undo what is on a list of duties.
 */
#ifndef HES_LAUNCH_GUARD_UNDO_H
#define HES_LAUNCH_GUARD_UNDO_H

#include "launch/undo_file.h"

/**
 * Undo all, many at a time; what was undone is taken off the list. So is a setting of a GPU that is not on this machine, which
 * is not counted and named in guard.log.
 * @param devices  opened when needed, if it is not; the caller's to close
 * @return 0; -EIO some could not be undone, @err says the last of them
 */
int hes_guard_undo(struct hes_undo_file *l, struct hes_devices **devices, struct hes_undone *out, struct hes_err *err);

/** End the programs of MPS that use @mps_pipe: asked by a signal, then killed after @wait_ms. @return 0; -EBUSY */
int hes_guard_end_mps(const char *mps_pipe, int wait_ms);

#endif
