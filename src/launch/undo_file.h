/*
 * undo_file.h - the list of duties, kept in memory and in the file guard.list of a run's folder.
 *
 * A title, then a line a change: "+ DUTY", "- DUTY", and "= PID STARTED" for the program that makes them from there on.
 * The last line may be cut short by a full disk. The file is locked by who has it open. It is not synced to the disk: it has to survive processes, not the machine, for
 * what it tells ends with the machine.
 */
#ifndef HES_LAUNCH_UNDO_FILE_H
#define HES_LAUNCH_UNDO_FILE_H

#include "launch/claim.h"
#include "launch/undo_log.h"
#include "launch/undo_check.h"

struct hes_undo_file {
	int folder, file;           /* descriptors; -1: none */
	struct hes_undo_log duties;
	struct hes_process program; /* that made the changes */
	char boot[HES_BOOT_MAX];
	struct hes_undo_facts facts; /* that every duty is judged by */
	struct hes_claims claims;   /* GPUs of the duties: nobody else sets them meanwhile */
};

/**
 * Open and lock the list in @folder and read it; waits, half a minute at most, while the guard of a program that
 * is gone is at work there.
 * @param program  whose list it is from now on; NULL: only look, and there must be one
 * @return 0; -ENOENT; -EBUSY the program that has it runs, or its guard does not end; -EINVAL it is no list; -EPERM others may have
 *         written it, or it names what is not heshare's (undo_check.h); -ENOSPC, -EACCES
 */
int hes_undo_file_open(struct hes_undo_file *out, const char *folder, const struct hes_process *program,
			struct hes_err *err);
/** What the program itself tells. @return 0; -ENOSPC, -EIO: neither the file nor @l has it; -EPERM as hes_undo_check */
int hes_undo_file_add(struct hes_undo_file *l, const struct hes_undo *d, struct hes_err *err);
/** Not there: harmless. When the file cannot take it the list in memory does: undone twice is harmless. */
void hes_undo_file_remove(struct hes_undo_file *l, const struct hes_undo *d);
/** What follows is of @l->program; when nothing is on the list the file begins anew. @return 0; -ENOSPC, -EIO */
int hes_undo_file_begin(struct hes_undo_file *l, struct hes_err *err);
/** A line with the time in guard.log of the folder, for people. */
void hes_undo_file_note(const struct hes_undo_file *l, const char *text);
/** Let GPUs go, unlock and close; the file goes when nothing is on it. */
void hes_undo_file_close(struct hes_undo_file *l);

#endif
