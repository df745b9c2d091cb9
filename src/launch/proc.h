/*
 * proc.h - read processes from /proc.
 */
#ifndef HES_LAUNCH_PROC_H
#define HES_LAUNCH_PROC_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/process.h"

struct hes_proc {
	struct hes_process id;
	pid_t parent, session;
	bool ended;    /* a zombie */
	bool stopped;  /* by a signal or a debugger */
	bool forked;   /* from its parent, and has started no other program since */
	char name[16]; /* of the program; the kernel cuts it */
};

/** @return 0; -ESRCH no such process */
int hes_proc_read(pid_t pid, struct hes_proc *out);

/** All processes in order of pid; free() them. @return how many; -ENOMEM, -errno of /proc */
long hes_proc_all(struct hes_proc **out);

/** The part of an environment that is read. */
#define HES_ENVIRONMENT_MAX (256 * 1024)

/**
 * The value of the variable @name in the environment with which @pid was started. It points into
 * @room, of HES_ENVIRONMENT_MAX bytes. @return NULL: not set, or not readable for us
 */
const char *hes_proc_variable(pid_t pid, const char *name, char *room);

#endif
