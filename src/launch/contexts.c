/*
 * contexts.c - find whose the contexts on a GPU are; see contexts.h.
 */
#include "launch/contexts.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/process.h"

#define USER_ROOM   16384 /* for a passwd row */
#define SERVER_NAME "nvidia-cuda-mps"
#define UNKNOWN     ((size_t)-2) /* not searched yet */

static uid_t owner_of(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) ? (uid_t)-1 : st.st_uid;
}

static struct hes_context context_of(const struct hes_device_process *p,
				     const struct hes_contexts *before)
{
	struct hes_context c = { .id = { .pid = p->pid },
				 .user = (uid_t)-1,
				 .has_memory = p->has_memory,
				 .memory_bytes = p->memory_bytes,
				 .of = HES_CONTEXT_FOREIGN };
	struct hes_proc proc;

	if (hes_proc_read(p->pid, &proc))
		return c;
	c.id = proc.id;
	memcpy(c.name, proc.name, sizeof(c.name));
	c.server = !p->mps && strcmp(proc.name, SERVER_NAME) == 0;
	c.user = owner_of(p->pid);
	c.of = UNKNOWN;
	for (size_t i = 0; i < before->n; i++)
		if (before->v[i].id.pid == c.id.pid && before->v[i].id.started == c.id.started)
			c.of = before->v[i].of;
	return c;
}

static int find_rules(struct hes_contexts *c, const struct hes_member_rule *rules, size_t n)
{
	struct hes_member *m = NULL;
	long found = n ? hes_members_find(rules, n, &m) : 0;
	size_t kept = 0;

	for (size_t i = 0; found >= 0 && i < c->n; i++) {
		struct hes_context v = c->v[i];

		for (long k = 0; v.of == UNKNOWN && k < found; k++)
			if (m[k].id.pid == v.id.pid && m[k].id.started == v.id.started)
				v.of = m[k].of;
		if (v.of == UNKNOWN && !hes_process_runs(&v.id))
			continue; /* ended since the driver listed it: its context is gone */
		if (v.of == UNKNOWN)
			v.of = HES_CONTEXT_FOREIGN;
		c->v[kept++] = v;
	}
	if (found >= 0)
		c->n = kept;
	free(m);
	return found < 0 ? (int)found : 0;
}

int hes_contexts_look(const struct hes_devices *d, size_t i, const struct hes_member_rule *rules,
		      size_t n, struct hes_contexts *c, struct hes_err *err)
{
	struct hes_contexts now = { 0 };
	struct hes_device_process *p;
	bool search = false;
	long found = hes_device_processes(d, i, &p, err);
	int rc = 0;

	if (found < 0)
		return (int)found;
	now.v = calloc((size_t)found + 1, sizeof(*now.v));
	for (long k = 0; now.v && k < found; k++) {
		now.v[now.n] = context_of(&p[k], c);
		search |= now.v[now.n++].of == UNKNOWN;
	}
	free(p);
	if (!now.v)
		return hes_fail(err, -ENOMEM, "no memory for %ld contexts", found);
	if (search)
		rc = find_rules(&now, rules, n);
	if (rc) {
		hes_contexts_free(&now);
		return hes_fail(err, rc, "/proc: %s", strerror(-rc));
	}
	hes_contexts_free(c);
	*c = now;
	return 0;
}

void hes_contexts_free(struct hes_contexts *c)
{
	free(c->v);
	*c = (struct hes_contexts){ 0 };
}

void hes_context_text(const struct hes_context *c, char *out, size_t size)
{
	char room[USER_ROOM], user[64] = "", name[32] = "", memory[48] = "";
	struct passwd row, *found = NULL;

	if (c->user != (uid_t)-1 && !getpwuid_r(c->user, &row, room, sizeof(room), &found) && found)
		snprintf(user, sizeof(user), " of user %.40s", row.pw_name);
	else if (c->user != (uid_t)-1)
		snprintf(user, sizeof(user), " of user %u", (unsigned)c->user);
	if (c->name[0])
		snprintf(name, sizeof(name), " (%s)", c->name);
	if (c->has_memory)
		snprintf(memory, sizeof(memory), " with %" PRIu64 " MiB", c->memory_bytes >> 20);
	snprintf(out, size, "process %d%s%s%s", (int)c->id.pid, name, user, memory);
}
