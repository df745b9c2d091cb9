/*
 * contexts.h - the processes with contexts on a GPU, and the jobs that they belong to.
 */
#ifndef HES_LAUNCH_CONTEXTS_H
#define HES_LAUNCH_CONTEXTS_H

#include "heshare/device.h"
#include "launch/members.h"

#define HES_CONTEXT_FOREIGN ((size_t)-1) /* of no rule */

struct hes_context {
	struct hes_process id; /* started 0: a process that is not in /proc, as the host's in a
				  container: whose it is cannot be known */
	char name[16];         /* of the program; the kernel cuts it */
	uid_t user;
	bool server; /* of MPS: its memory has that of its clients, which have rows of their own */
	bool has_memory;
	uint64_t memory_bytes;
	size_t of; /* index of the rule; HES_CONTEXT_FOREIGN */
};

struct hes_contexts {
	struct hes_context *v;
	size_t n;
};

/**
 * List the contexts on GPU @i. The processes of the machine are searched only if @c, the list of
 * the last look, lacks one of them.
 * @param rules  of jobs and MPS daemons; free @c where they have changed since the last look
 * @param c      {0} at first; hes_contexts_free() it; unchanged on failure
 * @return 0; errors of hes_device_processes(); -errno of /proc
 */
int hes_contexts_look(const struct hes_devices *d, size_t i, const struct hes_member_rule *rules,
		      size_t n, struct hes_contexts *c, struct hes_err *err);
void hes_contexts_free(struct hes_contexts *c);

/** "process 4711 (python3) of user ada with 5012 MiB" */
void hes_context_text(const struct hes_context *c, char *out, size_t size);

#endif
