/*
 * launch.h - a job's process: started, watched, ended, with all that it started itself.
 *
 * A job is started in two steps. hes_child_hold makes the process, which then waits; who it
 * is can be written down (a journal, the guard). hes_child_go lets it run the command. A
 * program that dies between the two leaves nothing that ran.
 *
 * A job is the process that was started and whatever descends from it: what is in its session,
 * in its cgroup, what has its mark in the environment (HESHARE_LAUNCH), and children of those. It
 * ends when the process that was started ends; what it left running is killed then. It
 * does not outlive this program either: the kernel kills the process that was started, the guard
 * (guard.h) the rest.
 *
 * Of our descriptors the job has none but those named as its standard ones. One thread starts
 * children and lives as long as they do: the kernel's kill is bound to it.
 */
#ifndef HES_LAUNCH_LAUNCH_H
#define HES_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/mps.h"
#include "launch/job_files.h"
#include "launch/process.h"

#define HES_MARK_MAX 192
#define HES_CGROUP_MAX 512
#define HES_MARK_VARIABLE "HESHARE_LAUNCH"

/** What to start. Strings are the caller's and needed until hes_child_hold returns. */
struct hes_launch {
	const char *const *argv;       /* ends with NULL; the program is looked for in PATH */
	const char        *shell;      /* in place of argv: a line for /bin/sh */
	const char *const *variables;  /* NAME=VALUE, ends with NULL; before ours of the same name. NULL: none. Of our own
	                                  environment another user's job has LANG and TERM only (start.c) */
	const char        *folder;     /* to run in; NULL: ours */
	const char        *output;     /* file that standard output and error are appended to; NULL: output_fd */
	int                output_fd;  /* stays the caller's; -1: /dev/null */
	int                input_fd;   /* standard input; stays the caller's; 0 or -1: /dev/null */
	bool               no_new_rights; /* setuid programs give it none */
	const char        *user;       /* to run as, a name or a number; NULL: ourselves. Others than ourselves need root */
};

/** A job that was started. Zero is none. */
struct hes_child {
	struct hes_process id;         /* leader of its own session and process group; 0: none */
	int                pidfd;      /* poll() it: readable once it has ended */
	int                gate;       /* -1: it was let go */
	char               mark[HES_MARK_MAX];
	char               cgroup[HES_CGROUP_MAX]; /* folder of its own cgroup; "": none could be made */
	unsigned           left;       /* processes that it left running, as far as they were seen */
};

/** How a job ended. */
struct hes_child_end {
	int      code;       /* exit status; 128 + signal as shells tell it */
	int      signal;     /* that ended it; 0: none */
	int64_t  cpu_us;     /* user and system time, of it and of children that it waited for */
	unsigned left;       /* processes that it left running, and that were killed */
};

/**
 * Whose the files of a job of @user are.
 * @return 1 another user's, @out says whose; 0 ours, as for NULL; -ENOENT no such user; -EPERM another's, and we are not root
 */
int hes_launch_owner(const char *user, struct hes_owner *out, struct hes_err *err);

/**
 * Make the process; it waits for hes_child_go.
 * @return 0; -ENOENT no such program, folder or user; -EACCES; -EPERM another user, and we are not root;
 *         -ENOSPC, -EMFILE, -EAGAIN, -ENOMEM
 */
int hes_child_hold(const struct hes_launch *l, struct hes_child *out, struct hes_err *err);

/**
 * Let it run the command. When that fails @c is none again.
 * @return 0; -ENOENT, -EACCES, -ENOEXEC why it does not run; -ESRCH it was killed before
 */
int hes_child_go(struct hes_child *c, struct hes_err *err);

/**
 * Whether it has ended. If so what it left running is killed, @out says how it ended and @c is none. Takes a fraction of
 * a second at most: what cannot be killed (a process that waits in the driver) is waited for by calling this again.
 * @return 1; 0 it runs; -EBUSY it has ended, but processes that it left are killed and still there; -ECHILD it is none
 */
int hes_child_reap(struct hes_child *c, struct hes_child_end *out);

/** Ask all of its process group to end: SIGTERM. Harmless on one that has ended. */
void hes_child_terminate(const struct hes_child *c);

/**
 * Kill all of it; takes a fraction of a second at most, whether they end or not. Under MPS a client that is killed at
 * work can take the others with it, so with @mps (else NULL) the daemon is asked first to end what its clients do. Reap it then.
 * @return how many processes there were
 */
unsigned hes_child_kill(const struct hes_child *c, const struct hes_mps *mps);

/** @c is none, whether it has ended or not: the guard's list still has it. */
void hes_child_forget(struct hes_child *c);

/** Kill all of it, wait some seconds for its end, and @c is none. Harmless on none. */
void hes_child_drop(struct hes_child *c);

#endif
