/*
 * children.h - the processes of jobs while they run: watched, ended, killed, reaped.
 */
#ifndef HES_RUN_CHILDREN_H
#define HES_RUN_CHILDREN_H

#include "run/run_state.h"

/** Wait for the end of a child that was let go. @return 0 or -errno */
int run_watch(struct runner *r, struct run_task *t);
/** Request a task to end, or kill it if that was done before. */
void run_end(struct runner *r, struct run_task *t, enum run_ending why);
/** Note when a task ended, by its status file: this program may have been stopped since. Call it
 * for all that ended before one of them is taken in. */
void run_note_end(const struct runner *r, struct run_task *t);
/** Report, once for each pattern, that no line of a job matched its pattern of progress lines. */
void run_tell_unmatched(struct runner *r, const struct run_task *t);
/** Take in the end of a task and of all that it left running; else look again soon. */
void run_reap(struct runner *r, struct run_task *t);
/** A task was killed long ago and is still there: set its GPU aside, the others go on. */
void run_set_aside(struct runner *r, struct run_task *t);

#endif
