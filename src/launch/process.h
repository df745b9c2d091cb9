/*
 * process.h - the identity of a process: its pid and its start time. The kernel reuses pids, but
 * not a pid with its start time until the machine restarts.
 */
#ifndef HES_LAUNCH_PROCESS_H
#define HES_LAUNCH_PROCESS_H

#include <stdbool.h>
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

#endif
