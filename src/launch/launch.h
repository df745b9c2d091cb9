/*
 * launch.h - start, watch and end the processes of a job.
 *
 * A job starts in two steps. hes_child_fork() makes the process, which then waits, so that it can
 * be registered in a journal and with the guard. hes_child_go() lets it run the command. If the
 * program dies in between, no command has run.
 *
 * A job is the process that was started and all its descendants: the processes in its session and
 * in its cgroup, those with its mark in the environment (HESHARE_LAUNCH), and their children. It
 * ends when the first process ends; the others are killed then. When this program dies, the kernel
 * kills the first process and the guard (guard.h) the others.
 *
 * A job gets none of our descriptors but its standard ones. One thread must start all jobs and live
 * as long as they do: the kernel kills a job when that thread ends.
 */
#ifndef HES_LAUNCH_LAUNCH_H
#define HES_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/mps.h"
#include "launch/job_files.h"
#include "launch/members.h"
#include "launch/process.h"

#define HES_MARK_MAX      192
#define HES_CGROUP_MAX    512
#define HES_MARK_VARIABLE "HESHARE_LAUNCH"

/** What to start. Strings are the caller's and needed until hes_child_fork returns. */
struct hes_launch {
	const char *const *argv;      /* ends with NULL; the program is searched in PATH */
	const char *shell;            /* instead of argv: a line for /bin/sh */
	const char *const *variables; /* NAME=VALUE, ends with NULL; NULL: none. They replace ours
					 of the same name. Another user's job gets only LANG and
					 TERM of our environment (start.c) */
	const char *folder;           /* to run in; NULL: our working directory */
	const char
		*output; /* file that standard output and error are appended to; NULL: output_fd */
	int output_fd;   /* owned by the caller; -1: /dev/null */
	int input_fd;    /* standard input; owned by the caller; 0 or -1: /dev/null */
	bool no_new_rights; /* setuid programs give it no rights */
	const char *user;   /* name or number; NULL: ourselves. Other users need root */
};

/** A job that was started. id.pid 0: none. */
struct hes_child {
	struct hes_process id; /* the first process: leader of its session and process group */
	int pidfd;             /* readable once the first process has ended */
	int gate;              /* socket on which it waits; -1: it runs the command */
	char mark[HES_MARK_MAX];
	char cgroup[HES_CGROUP_MAX]; /* folder of its cgroup; "": none could be made */
	unsigned left;               /* processes that it left running, the most that were seen */
};

/** How a job ended. */
struct hes_child_end {
	int code;      /* exit status; 128 + signal, as in shells */
	int signal;    /* that ended it; 0: none */
	unsigned left; /* processes that it left running and that were killed */
};

/**
 * The owner of the files of a job of @user.
 * @return 1 another user, in @out; 0 ourselves, also for NULL; -ENOENT no such user; -EPERM another
 * user, and we are not root
 */
int hes_launch_owner(const char *user, struct hes_owner *out, struct hes_err *err);

/**
 * Make the process; it waits for hes_child_go().
 * @return 0; -ENOENT no such program, folder or user; -EACCES; -EPERM another user, and we are not
 * root; -ENOSPC, -EMFILE, -EAGAIN, -ENOMEM
 */
int hes_child_fork(const struct hes_launch *l, struct hes_child *out, struct hes_err *err);

/**
 * Let it run the command. On failure @c is no job any more.
 * @return 0; -ENOENT, -EACCES, -ENOEXEC the command cannot run; -ESRCH the process was killed
 * before
 */
int hes_child_go(struct hes_child *c, struct hes_err *err);

/**
 * Check whether the job has ended. If so, kill the processes that it left, write @out and clear @c.
 * Takes a fraction of a second at most. A process that waits in the driver cannot be killed: call
 * again until the result is not -EBUSY.
 * @return 1 it has ended; 0 it runs; -EBUSY it has ended, but killed processes that it left remain;
 * -ECHILD @c is no job
 */
int hes_child_reap(struct hes_child *c, struct hes_child_end *out);

/** Stop all its processes, also those that it starts meanwhile: its cgroup is frozen. Where that
 * does not stop all of them, they get SIGSTOP. A job that is stopped ends like any other: by
 * SIGKILL. @return 0; -ESRCH @c is no job; -errno some may run, and some may be stopped */
int hes_child_stop(const struct hes_child *c);
/** Let a stopped job go on. */
void hes_child_continue(const struct hes_child *c);

/** Send SIGTERM to its process group. Harmless if it has ended. */
void hes_child_terminate(const struct hes_child *c);

/**
 * Kill all its processes, then hes_child_reap() it. Takes a fraction of a second at most, whether
 * they end or not. Killing a busy MPS client can break the other clients: with @mps (else NULL) the
 * daemon first ends the work of the job's clients.
 * @return how many processes there were
 */
unsigned hes_child_kill(const struct hes_child *c, const struct hes_mps *mps);

/** Which processes belong to it; valid as long as @c. */
struct hes_member_rule hes_child_rule(const struct hes_child *c);

/** Clear @c, whether the job has ended or not: its undo entry remains with the guard. */
void hes_child_forget(struct hes_child *c);

/** Kill all its processes, wait some seconds for their end, and clear @c. Harmless if @c is no job.
 */
void hes_child_drop(struct hes_child *c);

#endif
