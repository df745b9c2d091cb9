/*
 * guarded.h - a program with a guard, to be killed: what tests of the guard share.
 */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include <stdbool.h>
#include <sys/types.h>

#include "launch/guard.h"

/** This test program as the guard: main calls guarded_main first. */
extern const char *const guarded_argv[];
/** @return whether this process is the guard, and has been; then *status is main's */
bool guarded_main(int argc, char **argv, int *status);

/** A new folder in /tmp. */
void guarded_folder(char out[64]);
void guarded_remove(const char *folder);
bool guarded_exists(const char *folder, const char *file);

/** What a program does before it waits to be killed. @return 0 */
typedef int guarded_act(struct hes_guard *g, const char *folder, void *shared);

/** The program in a process of its own; when it is ready it waits. Writes the guard's pid when @guard is not NULL. */
pid_t guarded_start(const char *folder, guarded_act *act, void *shared, pid_t *guard);

/** Kill and reap a child of ours. */
void guarded_kill(pid_t pid);
/** Until no guard holds the list in @folder any more. */
void guarded_await_end(const char *folder);
void guarded_sleep_ms(int ms);

/** Processes that run in @folder. */
unsigned guarded_count(const char *folder);

/** Memory that forked processes share. */
void *guarded_share(size_t size);

/** The child of @pid that is a guard; 0: none. */
pid_t guarded_find(pid_t pid);

#endif
