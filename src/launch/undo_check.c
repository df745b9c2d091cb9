/*
 * undo_check.c - which undo entries may be carried out; see undo_check.h.
 */
#include "launch/undo_check.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/cgroup.h"
#include "launch/members.h"
#include "launch/process.h"

#define MARK_DIGITS 16

/* --- names --- */

static bool is_hex(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(text[i] >= '0' && text[i] <= '9') && !(text[i] >= 'a' && text[i] <= 'f'))
			return false;
	return true;
}

/* The last part of a mark is the job's own: 16 digits. The parts before it are of the jobs around
 * it. */
static const char *mark_own(const char *mark)
{
	const char *slash = strrchr(mark, '/'), *own = slash ? slash + 1 : mark;

	return strlen(own) == MARK_DIGITS && is_hex(own, MARK_DIGITS) ? own : NULL;
}

/* Absolute, without "." and "..". */
static bool path_is_plain(const char *path)
{
	if (*path != '/' || strstr(path, "//"))
		return false;
	for (const char *at = path; (at = strstr(at, "/.")); at++)
		if (at[2] == '/' || !at[2] || (at[2] == '.' && (at[3] == '/' || !at[3])))
			return false;
	return path[strlen(path) - 1] != '/';
}

static bool path_is_beneath(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return n && strncmp(path, folder, n) == 0 && (!path[n] || path[n] == '/');
}

bool hes_cgroup_is_named(const char *path, const char *mark)
{
	const char *name = strrchr(path, '/'), *own = mark ? mark_own(mark) : NULL;
	int at = 0, pid;

	if (!path_is_plain(path) || (mark && !own) ||
	    sscanf(name, "/heshare-%9d-%n", &pid, &at) != 1 || !at ||
	    !isdigit((unsigned char)name[strlen("/heshare-")]) ||
	    strlen(name + at) != MARK_DIGITS || !is_hex(name + at, MARK_DIGITS))
		return false;
	return !own || strcmp(name + at, own) == 0;
}

static bool uuid_is_plain(const char *uuid)
{
	if (strncmp(uuid, "GPU-", 4) != 0 && strncmp(uuid, "MIG-", 4) != 0)
		return false;
	for (const char *c = uuid + 4; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-')
			return false;
	return uuid[4] != '\0';
}

/* --- entries --- */

static int check_job(const struct hes_undo *d, const struct hes_undo_facts *f, struct hes_err *err)
{
	if (d->job.pid <= 1)
		return hes_fail(err, -EPERM, "process %d is no job's", (int)d->job.pid);
	for (size_t i = 0; i < f->n_above; i++)
		if (f->above[i].pid == d->job.pid && f->above[i].started == d->job.started)
			return hes_fail(err, -EPERM,
					"process %d is this one, or one above it, and no job of a "
					"run that has ended",
					(int)d->job.pid);
	if (!mark_own(d->mark))
		return hes_fail(err, -EPERM,
				"\"%.60s\" is no mark of a job; it ends with %d hexadecimal digits",
				d->mark, MARK_DIGITS);
	if (hes_mark_is_of(f->mark, d->mark))
		return hes_fail(err, -EPERM,
				"this process belongs to job %s itself; restore from outside of it",
				d->mark);
	if (!*d->cgroup)
		return 0;
	if (!hes_cgroup_is_named(d->cgroup, d->mark))
		return hes_fail(
			err, -EPERM,
			"%.300s: it is no cgroup of a job; its name would be heshare-PID-%s",
			d->cgroup, mark_own(d->mark));
	if (path_is_beneath(f->cgroup, d->cgroup))
		return hes_fail(
			err, -EPERM,
			"%.300s: this process is in that cgroup; restore from outside of it",
			d->cgroup);
	return 0;
}

/* Below the folder of the undo file, or in the short folder that a run uses if that name is too
 * long for sockets. */
static int check_mps(const struct hes_undo *d, const struct hes_undo_facts *f, struct hes_err *err)
{
	char other[64];
	size_t n = (size_t)snprintf(other, sizeof(other), "/tmp/heshare-%u-", (unsigned)f->uid);

	if (path_is_plain(d->dir) && path_is_beneath(d->dir, f->folder))
		return 0;
	if (path_is_plain(d->dir) && strncmp(d->dir, other, n) == 0 &&
	    strlen(d->dir) > n + MARK_DIGITS && is_hex(d->dir + n, MARK_DIGITS) &&
	    d->dir[n + MARK_DIGITS] == '/')
		return 0;
	return hes_fail(err, -EPERM,
			"%.300s: it is no folder of this run's MPS daemons; they are below %.100s",
			d->dir, f->folder);
}

int hes_undo_check(const struct hes_undo *d, const struct hes_undo_facts *f, struct hes_err *err)
{
	if (d->kind == HES_UNDO_JOB || d->kind == HES_UNDO_HOLD)
		return check_job(d, f, err);
	if (!uuid_is_plain(d->uuid))
		return hes_fail(err, -EPERM,
				"\"%.80s\" is no UUID of a GPU; it begins with GPU- or MIG-",
				d->uuid);
	return d->kind == HES_UNDO_MPS ? check_mps(d, f, err) : 0;
}

bool hes_cgroup_may_be_killed(const pid_t *pids, size_t n, const struct hes_undo_facts *f)
{
	for (size_t i = 0; i < n; i++) {
		if (pids[i] <= 1)
			return false;
		for (size_t k = 0; k < f->n_above; k++)
			if (pids[i] == f->above[k].pid)
				return false;
	}
	return true;
}

/* --- facts --- */

static void facts_get_folder(struct hes_undo_facts *out, int folder)
{
	char link[48];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	n = folder < 0 ? 0 : readlink(link, out->folder, sizeof(out->folder) - 1);
	out->folder[n > 0 ? n : 0] = '\0';
}

void hes_undo_facts_get(struct hes_undo_facts *out, int folder)
{
	const size_t n = strlen(HES_MARK_VARIABLE);
	struct hes_proc s;

	*out = (struct hes_undo_facts){ .uid = geteuid() };
	for (pid_t pid = getpid();
	     pid > 0 && out->n_above < HES_ANCESTORS_MAX && !hes_proc_read(pid, &s); pid = s.parent)
		out->above[out->n_above++] = s.id;
	hes_cgroup_own(out->cgroup);
	for (char **row = environ; *row; row++)
		if (strncmp(*row, HES_MARK_VARIABLE, n) == 0 && (*row)[n] == '=')
			snprintf(out->mark, sizeof(out->mark), "%s", *row + n + 1);
	facts_get_folder(out, folder);
}
