/*
 * children.h - the processes of jobs while they run: watched, ended, killed, reaped.
 */
#ifndef HES_RUN_CHILDREN_H
#define HES_RUN_CHILDREN_H

#include "run/hold.h"
#include "run/verdict.h"

struct run_children {
	const struct hes_run_request *q;
	struct run_log *log;
	struct run_tasks *tasks;
	struct run_settings *settings;
	struct run_meter *meter;
	struct run_samples *samples;
	struct run_holder *holder;
	struct run_judge *judge;
	int epoll;             /* has the processes' descriptors, with their tasks */
	const char *unmatched; /* pattern of progress lines that was last said to match none */
};

/** Wait for the end of a child that was let go. @return 0 or -errno */
int run_watch(const struct run_children *c, struct run_task *t);
/** Read what the jobs of a GPU have printed and use; end one that uses too much memory. */
void run_children_look(struct run_children *c, struct run_gpu *g, int64_t now);
/** Request a task to end, or kill it if that was done before. */
void run_end(struct run_children *c, struct run_task *t, enum run_ending why);
/** Note when a task ended, by its status file: this program may have been stopped since. Call it
 * for all that ended before one of them is taken in. */
void run_note_end(const struct run_children *c, struct run_task *t);
/** Take in the end of a task and of all that it left running; else look again soon. */
void run_reap(struct run_children *c, struct run_task *t);
/** A task was killed long ago and is still there: set its GPU aside, the others go on. */
void run_set_aside(const struct run_children *c, struct run_task *t);

#endif
