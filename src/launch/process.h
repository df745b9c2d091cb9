/*
 * process.h - processes, read from /proc, and the identity of one: its pid and its start time. The
 * kernel reuses pids, but not a pid with its start time until the machine restarts.
 */
#ifndef HES_LAUNCH_PROCESS_H
#define HES_LAUNCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "heshare/err.h"

#define HES_BOOT_MAX 40

struct hes_process {
	pid_t pid;        /* 0: none */
	uint64_t started; /* clock ticks since boot, from /proc/PID/stat */
};

/** The process that has @pid now. @return 0; -ESRCH none */
int hes_process_of(pid_t pid, struct hes_process *out);

/** Whether it runs; a zombie does not. */
bool hes_process_runs(const struct hes_process *p);

/**
 * Open a pidfd of @p, checked to be this process; readable when @p has ended. close() it.
 * @return the descriptor; -ESRCH @p has ended, also if another process has its pid
 */
int hes_process_open(const struct hes_process *p);

/** The id of this start of the machine: process identities are valid only within one. */
int hes_process_boot(char out[HES_BOOT_MAX], struct hes_err *err);

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
