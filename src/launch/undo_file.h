/*
 * undo_file.h - the undo log, kept in memory and in the file guard.list of a run's folder.
 *
 * A title, then one line for each change: "+ ENTRY", "- ENTRY", and "= PID STARTED" for the program
 * that makes the following changes. A full disk may cut the last line short. The process that uses
 * the file locks it. The file is not synced: it must survive processes, and its entries do not
 * survive a restart of the machine.
 */
#ifndef HES_LAUNCH_UNDO_FILE_H
#define HES_LAUNCH_UNDO_FILE_H

#include "launch/claim.h"
#include "launch/undo_log.h"
#include "launch/undo_check.h"

struct hes_undo_file {
	int folder, file; /* descriptors; -1: none */
	struct hes_undo_log log;
	struct hes_process program;  /* that makes the changes */
	char boot[HES_BOOT_MAX];     /* id of this start of the machine */
	struct hes_undo_facts facts; /* by which every entry is checked */
	struct hes_claims claims; /* of the GPUs in the log, so that no other program sets them */
};

/**
 * Open, lock and read the file in @folder. Waits up to half a minute for the guard of a program
 * that has ended.
 * @param program  the program that makes changes from now on; NULL: only read, and the file must
 * exist
 * @return 0; -ENOENT; -EBUSY its program runs, or its guard does not end; -EINVAL it is no undo
 * file; -EPERM other users may have written it, or an entry is refused (undo_check.h); -ENOSPC,
 * -EACCES
 */
int hes_undo_file_open(struct hes_undo_file *out, const char *folder,
		       const struct hes_process *program, struct hes_err *err);
/**
 * Add an entry of the program itself.
 * @return 0; -ENOSPC, -EIO neither the file nor @l has it; -EPERM as hes_undo_check
 */
int hes_undo_file_add(struct hes_undo_file *l, const struct hes_undo *d, struct hes_err *err);
/** Harmless if it is not there. If the file cannot be written, the entry stays in it: undoing twice
 * is harmless. */
void hes_undo_file_remove(struct hes_undo_file *l, const struct hes_undo *d);
/** Write that @l->program makes the changes from now on; an empty log starts a new file. @return 0;
 * -ENOSPC, -EIO */
int hes_undo_file_begin(struct hes_undo_file *l, struct hes_err *err);
/** Append a line with the time to guard.log in the folder, for people. */
void hes_undo_file_note(const struct hes_undo_file *l, const char *text);
/** Release claims, unlock and close. An empty file is removed. */
void hes_undo_file_close(struct hes_undo_file *l);

#endif
