/*
 * cgroup.h - a cgroup (version 2) for each job, below our own where the system lets us make one: nothing leaves
 * it, and all of it is killed at once. Where there is none, members.h finds a job's processes as well as can be.
 *
 * A folder is taken for one only if it has the name of a job's and lies, without links, in a cgroup file system; else
 * these functions find nothing in it and change nothing.
 */
#ifndef HES_LAUNCH_CGROUP_H
#define HES_LAUNCH_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "launch/launch.h"

/** Make the cgroup heshare-PID-@name below ours, PID our own, and move @pid into it; its folder goes to @out, "" when that cannot be done. */
void hes_cgroup_make(const char *name, pid_t pid, char out[HES_CGROUP_MAX]);
/** The folder of our own cgroup; "": there is no cgroup file system of version 2. */
void hes_cgroup_own(char out[HES_CGROUP_MAX]);
/** Remove empty ones below ours whose makers have ended: who is killed between making and promising one leaves it. */
void hes_cgroup_sweep(void);
/** Processes in it; free() them. @return how many; -errno */
long hes_cgroup_list(const char *folder, pid_t **out);
/** Kill all in it and below. Harmless when it is gone. @return 0; -EPERM we, a process above us or one of another PID namespace are in it */
int hes_cgroup_kill(const char *folder);
/** Remove it and those below; they must be empty. */
void hes_cgroup_remove(const char *folder);

#endif
