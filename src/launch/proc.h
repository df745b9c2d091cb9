/*
 * proc.h - the processes there are, as /proc tells them.
 */
#ifndef HES_LAUNCH_PROC_H
#define HES_LAUNCH_PROC_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/process.h"

struct hes_proc {
	struct hes_process id;
	pid_t parent, session;
	bool  ended;     /* a zombie */
	bool  stopped;   /* by a signal or a debugger */
	char  name[16];  /* of the program, cut by the kernel */
};

/** @return 0; -ESRCH no such process */
int hes_proc_read(pid_t pid, struct hes_proc *out);

/** All there are, by ascending pid; free() them. @return how many; -ENOMEM, -errno of /proc */
long hes_proc_all(struct hes_proc **out);

/** Room for the environment of any process that is looked at. */
#define HES_ENVIRONMENT_MAX (256 * 1024)

/**
 * The value of variable @name in the environment that @pid was started with; it points into @room of
 * HES_ENVIRONMENT_MAX bytes. @return NULL: it is not there, or not ours to see
 */
const char *hes_proc_variable(pid_t pid, const char *name, char *room);

#endif
