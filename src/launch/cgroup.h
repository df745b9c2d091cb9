/*
 * cgroup.h - a cgroup (version 2) for each job, below our own cgroup where the system allows it.
 *
 * Processes cannot leave a cgroup, and the kernel kills all of them at once. Without cgroups
 * members.h searches for a job's processes. Invariant: these functions touch a folder only if its
 * name is that of a job's cgroup and it lies, without links, in a cgroup file system.
 */
#ifndef HES_LAUNCH_CGROUP_H
#define HES_LAUNCH_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "launch/launch.h"

/**
 * Make the cgroup heshare-PID-@name below ours, where PID is our own, and move @pid into it. @out:
 * its folder; "": it failed.
 */
void hes_cgroup_make(const char *name, pid_t pid, char out[HES_CGROUP_MAX]);
/** The folder of our own cgroup; "": no cgroup file system of version 2. */
void hes_cgroup_own(char out[HES_CGROUP_MAX]);
/** Whether @part of its memory limit is free, and of the limits of the cgroups above it: what files
 * have in the page cache counts as free. True where there is no limit. */
bool hes_cgroup_has_memory(const char *folder, double part);
/** Remove empty cgroups of programs that have ended: one killed before it registered its cgroup
 * leaves it behind. */
void hes_cgroup_sweep(void);
/** List the processes in it and below it; free() them. @return how many; -errno */
long hes_cgroup_list(const char *folder, pid_t **out);
/**
 * Kill all processes in it and below it. Harmless if it is gone.
 * @return 0; -EPERM it holds us, an ancestor, or a process of another PID namespace
 */
int hes_cgroup_kill(const char *folder);
/**
 * Freeze all processes in it and below it, or let them go on. Waits a moment until they stand
 * still; one that waits in the driver stops later.
 * @return 0; -ENOENT it is gone; -ESRCH to freeze: it is empty; -EPERM as hes_cgroup_kill(); -errno
 * it cannot be frozen
 */
int hes_cgroup_freeze(const char *folder, bool frozen);
/** Remove it and the cgroups below; all must be empty. */
void hes_cgroup_remove(const char *folder);

#endif
