/*
 * guard_list.h - the list of duties, kept in memory and in the file guard.list of a run's folder.
 *
 * A title, then a line a change: "+ DUTY", "- DUTY", and "= PID STARTED" for the program that makes them from there on.
 * The last line may be cut short by a full disk. The file is locked by who has it open. It is not synced to the disk: it has to survive processes, not the machine, for
 * what it tells ends with the machine.
 */
#ifndef HES_LAUNCH_GUARD_LIST_H
#define HES_LAUNCH_GUARD_LIST_H

#include "launch/claim.h"
#include "launch/duty.h"
#include "launch/duty_check.h"

struct hes_guard_list {
	int folder, file;           /* descriptors; -1: none */
	struct hes_duties duties;
	struct hes_process program; /* that made the changes */
	char boot[HES_BOOT_MAX];
	struct hes_duty_facts facts; /* that every duty is judged by */
	struct hes_claims claims;   /* GPUs of the duties: nobody else sets them meanwhile */
};

/**
 * Open and lock the list in @folder and read it; waits, half a minute at most, while the guard of a program that
 * is gone is at work there.
 * @param program  whose list it is from now on; NULL: only look, and there must be one
 * @return 0; -ENOENT; -EBUSY the program that has it runs, or its guard does not end; -EINVAL it is no list; -EPERM others may have
 *         written it, or it names what is not heshare's (duty_check.h); -ENOSPC, -EACCES
 */
int hes_guard_list_open(struct hes_guard_list *out, const char *folder, const struct hes_process *program,
			struct hes_err *err);
/** What the program itself tells. @return 0; -ENOSPC, -EIO: neither the file nor @l has it; -EPERM as hes_duty_check */
int hes_guard_list_add(struct hes_guard_list *l, const struct hes_duty *d, struct hes_err *err);
/** Not there: harmless. When the file cannot take it the list in memory does: undone twice is harmless. */
void hes_guard_list_remove(struct hes_guard_list *l, const struct hes_duty *d);
/** What follows is of @l->program; when nothing is on the list the file begins anew. @return 0; -ENOSPC, -EIO */
int hes_guard_list_begin(struct hes_guard_list *l, struct hes_err *err);
/** A line with the time in guard.log of the folder, for people. */
void hes_guard_list_log(const struct hes_guard_list *l, const char *text);
/** Let GPUs go, unlock and close; the file goes when nothing is on it. */
void hes_guard_list_close(struct hes_guard_list *l);

#endif
