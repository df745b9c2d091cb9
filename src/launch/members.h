/*
 * members.h - the processes that belong to jobs, or to MPS daemons, wherever they have gone; and their end.
 */
#ifndef HES_LAUNCH_MEMBERS_H
#define HES_LAUNCH_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/process.h"

/** What tells that a process belongs. It also does when its parent does. */
struct hes_member_rule {
	struct hes_process leader;  /* itself, and its session while it is there, be it as a zombie; pid 0: nobody */
	const char *mark;           /* HESHARE_LAUNCH in its environment, or beginning of it up to a "/"; "": none */
	const char *cgroup;         /* folder of the cgroup it is in; "": none */
	const char *mps_pipe;       /* a program of MPS with this pipe directory; "": none */
};

struct hes_member {
	struct hes_process id;
	size_t             of;  /* index of what it belongs to */
};

/** Whether mark @value is that of the job @mark, or of one within it. Pure. */
bool hes_mark_is_of(const char *value, const char *mark);
/** Whether @p runs and has the mark @mark, or one below it, in its environment. */
bool hes_process_has_mark(const struct hes_process *p, const char *mark);

/** Those that run now; free() them. This process, those above it and the first one never are among them. @return how many; -errno */
long hes_members_find(const struct hes_member_rule *b, size_t n, struct hes_member **out);

/**
 * Send @sig to all, and to those that come meanwhile, until none is there or @wait_ms are over.
 * @param killed  of each of @b, how many there were; may be NULL
 * @return 0; -EBUSY some are still there; -errno of /proc
 */
int hes_members_end(const struct hes_member_rule *b, size_t n, int sig, int wait_ms, unsigned *killed);

#endif
