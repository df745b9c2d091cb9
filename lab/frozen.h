/*
 * frozen.h - processes that stand still: stopped by a signal, or in a frozen cgroup (version 2).
 */
#ifndef LAB_FROZEN_H
#define LAB_FROZEN_H

#include <stdbool.h>
#include <sys/types.h>

#define FROZEN_FOLDER_MAX 1024

/** The folder of the cgroup of @pid. @return false: it has none of version 2 that is seen here */
bool frozen_folder(pid_t pid, char out[FROZEN_FOLDER_MAX]);
/** Whether @pid is in a frozen cgroup. @param folder  written then: of its cgroup */
bool frozen_in(pid_t pid, char folder[FROZEN_FOLDER_MAX]);
/** Move a process out of its frozen cgroup @folder, so that it goes on. @return whether it could be
 */
bool frozen_leave(pid_t pid, const char *folder);
/** Move it back into @folder, where it freezes again, unless that was thawed meanwhile. */
void frozen_return(pid_t pid, const char *folder);

#endif
