/*
 * start.h - prepare a job's process before the fork, and run it from the fork to the command.
 */
#ifndef HES_LAUNCH_START_H
#define HES_LAUNCH_START_H

#include <sys/types.h>

#include "launch/launch.h"

#define HES_USER_VARIABLES 5
#define HES_USER_UMASK     022

/** A user to run as. */
struct hes_user {
	bool other; /* false: ourselves, and the members below are not valid */
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int n_groups;
	char variables[HES_USER_VARIABLES][256]; /* HOME, USER, LOGNAME, SHELL, PATH */
};

/** Prepared before the fork: the program may have threads, so only system calls are safe after it.
 */
struct hes_start {
	char *path; /* of the program */
	const char **argv;
	const char **env;
	char mark_variable[HES_MARK_MAX + 16];
	const char *folder;
	int output_fd, input_fd, null_fd;
	bool no_new_rights;
	bool own_output; /* we close output_fd */
	struct hes_user user;
	pid_t parent;
};

enum hes_start_step {
	HES_START_READY,
	HES_START_PREPARE,
	HES_START_USER,
	HES_START_FOLDER,
	HES_START_EXEC
};

/** Messages of the new process to its parent, until it runs the command. */
struct hes_start_message {
	int step;  /* enum hes_start_step */
	int error; /* errno */
};

/** Prepare; writes @mark. @return as hes_child_fork() */
int hes_start_make(struct hes_start *out, const struct hes_launch *l, char mark[HES_MARK_MAX],
		   struct hes_err *err);
void hes_start_finish(struct hes_start *s);

/** Run in the new process, with its end @gate of the socket. Does not return. */
void hes_start_run(const struct hes_start *s, int gate) __attribute__((noreturn));

#endif
