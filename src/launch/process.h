/*
 * process.h - who a process is, beyond its number: a pid is used again, a pid with the
 * moment at which the process started is not until the machine starts anew.
 */
#ifndef HES_LAUNCH_PROCESS_H
#define HES_LAUNCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "heshare/err.h"

#define HES_BOOT_MAX 40

struct hes_process {
	pid_t    pid;      /* 0: nobody */
	uint64_t started;  /* clock ticks since boot, as /proc/PID/stat tells it */
};

/** Who has the number @pid now. @return 0; -ESRCH nobody */
int hes_process_of(pid_t pid, struct hes_process *out);

/** Whether it runs: there, and no zombie. */
bool hes_process_runs(const struct hes_process *p);

/**
 * A descriptor that is @p and nobody else; it becomes readable when @p has ended. close() it.
 * @return the descriptor; -ESRCH it is gone, whoever has its number now
 */
int hes_process_open(const struct hes_process *p);

/** What distinguishes this start of the machine from others; identities of processes do not outlive it. */
int hes_process_boot(char out[HES_BOOT_MAX], struct hes_err *err);

#endif
