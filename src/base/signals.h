/*
 * signals.h - the signals that a program was started with, and those that it takes.
 *
 * A signal that was ignored at the start stays ignored: nohup and a shell's "&" rely on it.
 * Programs that we start get the mask and the ignored signals that we were started with.
 *
 * A driver may have threads of its own, in which our signals are not blocked. What such a thread
 * gets it hands on to the thread that takes the signal.
 */
#ifndef HES_BASE_SIGNALS_H
#define HES_BASE_SIGNALS_H

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>

#define HES_SIGNALS_MAX 8

/** SIGINT, SIGTERM and SIGHUP: requests to end. Ends with 0. */
extern const int hes_signals_stop[];

/** Signals that a thread takes. */
struct hes_signals {
	sigset_t set; /* for signalfd() and sigtimedwait() */
	sigset_t mask_before;
	struct sigaction before[HES_SIGNALS_MAX];
	int taken[HES_SIGNALS_MAX + 1]; /* ends with 0 */
};

/**
 * Remember the mask and the ignored signals of the start. Call it first in main(). Without a call,
 * nothing is blocked or ignored. SIGCHLD gets its default: ignored, no child could be waited for.
 */
void hes_signals_begin(void);

/** @return whether the signal was ignored at the start */
bool hes_signals_ignored(int number);

/**
 * The calling thread takes the signals of @list, which ends with 0 and has HES_SIGNALS_MAX at most:
 * they stay pending until it reads them. Those that were ignored at the start are left out. One
 * thread of a program may take signals at a time; it may take them again within.
 */
void hes_signals_take(struct hes_signals *out, const int *list);
/** Undo hes_signals_take(). */
void hes_signals_leave(const struct hes_signals *s);

/** @return whether the terminal sent the signal, and so to all programs in its foreground */
bool hes_signals_of_terminal(const siginfo_t *info);

/** Set mask and dispositions of the start. System calls only: safe in a new process before exec. */
void hes_signals_as_started(void);

/** The same for posix_spawn(): set @attr and its @flags. @return 0; an error number */
int hes_signals_spawn(posix_spawnattr_t *attr, int flags);

#endif
