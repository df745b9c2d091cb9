/*
 * guard_undo.h - carry out the entries of an undo file.
 */
#ifndef HES_LAUNCH_GUARD_UNDO_H
#define HES_LAUNCH_GUARD_UNDO_H

#include "launch/undo_file.h"

/**
 * Undo all entries and remove them from the file. Settings of a GPU that is not on this machine are
 * removed without being counted, and guard.log names them.
 * @param devices  opened if needed; the caller closes it
 * @return 0; -EIO some could not be undone, @err is of the last one
 */
int hes_guard_undo(struct hes_undo_file *l, struct hes_devices **devices, struct hes_undone *out,
		   struct hes_err *err);

/** End the MPS programs that use @mps_pipe: SIGTERM, then SIGKILL after @wait_ms. @return 0; -EBUSY
 */
int hes_guard_end_mps(const char *mps_pipe, int wait_ms);

#endif
