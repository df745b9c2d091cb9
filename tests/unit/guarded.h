/*
 * guarded.h - start a program with a guard, and kill it: helpers of tests of the guard and of jobs.
 */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include <stdbool.h>
#include <sys/types.h>

#include "launch/guard.h"

/** Runs this test program as the guard: main calls guarded_main() first. */
extern const char *const guarded_argv[];
/** @return whether this process was the guard and has finished; then *status is the exit status */
bool guarded_main(int argc, char **argv, int *status);

/** A new folder in /tmp. */
void guarded_folder(char out[64]);
void guarded_remove(const char *folder);
/** Setup and teardown of a test: *state is the name of a new folder. */
int guarded_set_up(void **state);
int guarded_tear_down(void **state);
bool guarded_exists(const char *folder, const char *file);

/** What the program does before it waits to be killed. @return 0 */
typedef int guarded_act(struct hes_guard *g, const char *folder, void *shared);

/** Run the program in a new process; return when it is ready and waits. @guard gets the guard's
 * pid; may be NULL. */
pid_t guarded_start(const char *folder, guarded_act *act, void *shared, pid_t *guard);

/** Start a guard for the tests' own process. */
struct hes_guard *guarded_guard(const char *folder);

/** Kill and reap a child. */
void guarded_kill(pid_t pid);
/** Wait until no guard locks the undo file in @folder. */
void guarded_await_end(const char *folder);
void guarded_sleep_ms(int ms);

/** Number of processes that run in @folder. */
unsigned guarded_count(const char *folder);

/** Kill the program, wait for its guard, and expect that no process in @folder and no undo file is
 * left. */
void guarded_kill_and_expect_clean(const char *folder, pid_t pid);

/** Memory that is shared with forked processes. */
void *guarded_share(size_t size);

/** The guard of the process @pid; 0: none. */
pid_t guarded_find(pid_t pid);

#endif
