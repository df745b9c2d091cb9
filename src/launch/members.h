/*
 * members.h - find and end all processes of jobs and of MPS daemons.
 */
#ifndef HES_LAUNCH_MEMBERS_H
#define HES_LAUNCH_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/process.h"

/** Which processes belong to a job or daemon. Children of members are members, too. */
struct hes_member_rule {
	struct hes_process leader; /* this process and its session while it exists, also as a
				      zombie; pid 0: none */
	const char *mark;          /* HESHARE_LAUNCH is this, or begins with it and "/"; "": none */
	const char *cgroup;        /* folder of its cgroup; "": none */
	const char *mps_pipe;      /* MPS programs with this pipe directory; "": none */
};

struct hes_member {
	struct hes_process id;
	size_t of; /* index of the rule */
};

/** Whether @value is the mark of the job @mark, or of a job inside it. Pure. */
bool hes_mark_is_of(const char *value, const char *mark);
/** Whether @p runs and its environment has the mark @mark, or of a job inside it. */
bool hes_process_has_mark(const struct hes_process *p, const char *mark);

/** The members that run now; free() them. Never this process, its ancestors or process 1. @return
 * how many; -errno */
long hes_members_find(const struct hes_member_rule *b, size_t n, struct hes_member **out);

/** Stop all members (SIGSTOP) until a search finds no other one. @return 0; -errno of /proc */
int hes_members_stop(const struct hes_member_rule *b, size_t n);
/** Send SIGCONT to all members. @return 0; -errno of /proc */
int hes_members_continue(const struct hes_member_rule *b, size_t n);

/**
 * Send @sig to all members, also to new ones, until none is left or @wait_ms have passed.
 * @param killed  how many there were, for each rule; may be NULL
 * @return 0; -EBUSY some remain; -errno of /proc
 */
int hes_members_end(const struct hes_member_rule *b, size_t n, int sig, int wait_ms,
		    unsigned *killed);

#endif
