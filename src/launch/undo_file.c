/*
 * undo_file.c - guard.list and guard.log in a run's folder; see undo_file.h.
 */
#include "launch/undo_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launch/process.h"

#define FILE_NAME "guard.list"
#define LOG_NAME  "guard.log"
#define TITLE     "heshare guard 1"
#define MAX_BYTES (64 << 20)
#define LOCK_MS                                                                              \
	30000 /* longest wait for the guard of a program that has ended; it may wait for the \
		 driver */
#define STOPPED_MS   2000 /* longest wait for a guard that is stopped */
#define LOCK_LOOK_MS 50

/* The whole file; free() it. */
static int undo_file_slurp(int fd, char **out, struct hes_err *err)
{
	struct stat st;
	char *text;
	size_t at = 0;
	ssize_t n = 0;

	if (fstat(fd, &st))
		return hes_fail(err, -errno, "%s: %s", FILE_NAME, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_BYTES)
		return hes_fail(err, -EINVAL, "%s: it is no undo file of a guard; remove it",
				FILE_NAME);
	/* Processes that it names are killed. */
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return hes_fail(err, -EPERM,
				"%s: other users may have written it; it must be yours and "
				"writable by you alone",
				FILE_NAME);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return hes_fail(err, -ENOMEM, "no memory for %s", FILE_NAME);
	while (at < (size_t)st.st_size &&
	       (n = pread(fd, text + at, (size_t)st.st_size - at, (off_t)at)) > 0)
		at += (size_t)n;
	text[at] = '\0';
	if (n < 0) {
		n = -errno;
		free(text);
		return hes_fail(err, (int)n, "%s: %s", FILE_NAME, strerror((int)-n));
	}
	*out = text;
	return 0;
}

static int read_title(const char *line, char boot[HES_BOOT_MAX], struct hes_err *err)
{
	return sscanf(line, TITLE " %39s", boot) == 1
		       ? 0
		       : hes_fail(err, -EINVAL,
				  "%s: line 1: it is no undo file of a guard; remove it",
				  FILE_NAME);
}

static int read_program(const char *line, struct hes_process *out)
{
	int pid;

	if (sscanf(line, "%d %" SCNu64, &pid, &out->started) != 2)
		return -EINVAL;
	out->pid = pid;
	return 0;
}

/* Folders are compared without links: TMPDIR may be one. */
static int undo_file_check(const struct hes_undo_file *l, const struct hes_undo *d,
			   struct hes_err *err)
{
	char *real = *d->dir ? realpath(d->dir, NULL) : NULL;
	struct hes_undo plain = *d;
	int rc;

	if (real && strlen(real) < sizeof(plain.dir))
		strcpy(plain.dir, real);
	rc = hes_undo_check(&plain, &l->facts, err);
	free(real);
	return rc;
}

/* "+ ENTRY", "- ENTRY", "= PROGRAM" */
static int read_change(struct hes_undo_file *l, const char *line, struct hes_process *program,
		       struct hes_err *err)
{
	struct hes_undo d;
	long found;
	int rc;

	if (!strchr("+-=", *line) || line[1] != ' ')
		return hes_fail(err, -EINVAL,
				"\"%.40s\" is no change; a change begins with +, - or =", line);
	if (*line == '=')
		return read_program(line + 2, program)
			       ? hes_fail(err, -EINVAL, "\"%.40s\" is no process", line + 2)
			       : 0;
	rc = hes_undo_parse(line + 2, &d, err);
	if (!rc && *line == '+')
		rc = undo_file_check(l, &d, err);
	if (rc || *line == '+')
		return rc ? rc : hes_undo_log_add(&l->log, &d, err);
	found = hes_undo_log_find(&l->log, &d);
	if (found >= 0)
		hes_undo_log_remove(&l->log, (size_t)found);
	return 0;
}

/* @complete: bytes up to the end of the last whole line; a partial line was never acknowledged */
static int read_changes(struct hes_undo_file *l, char *text, struct hes_process *program,
			size_t *complete, struct hes_err *err)
{
	unsigned number = 2;
	char *at = text, *end;

	for (; (end = strchr(at, '\n')); at = end + 1, number++) {
		*end = '\0';
		if (*at && read_change(l, at, program, err))
			return err ? hes_fail_in(err, "%s: line %u", FILE_NAME, number) : -EINVAL;
	}
	*complete += (size_t)(at - text);
	return 0;
}

/* Read the entries of the file, unless the machine was restarted since. */
static int undo_file_load(struct hes_undo_file *l, struct hes_process *program, size_t *complete,
			  struct hes_err *err)
{
	char boot[HES_BOOT_MAX], *text = NULL, *after;
	int rc = undo_file_slurp(l->file, &text, err);

	if (rc)
		return rc;
	*complete = 0;
	after = strchr(text, '\n');
	/* With a partial title the file was never used. */
	if (after) {
		*complete = (size_t)(after + 1 - text);
		rc = read_title(text, boot, err);
		if (!rc && strcmp(boot, l->boot) == 0)
			rc = read_changes(l, after + 1, program, complete, err);
	}
	free(text);
	return rc;
}

/* The process that locks the file, from /proc/locks; 0: unknown. */
static pid_t lock_holder(int file)
{
	FILE *f = fopen("/proc/locks", "re");
	char line[256];
	struct stat st;
	int holder = 0;

	while (f && !fstat(file, &st) && fgets(line, sizeof(line), f)) {
		unsigned long inode;
		int pid;

		if (sscanf(line, "%*d: FLOCK %*s %*s %d %*x:%*x:%lu", &pid, &inode) == 2 &&
		    inode == st.st_ino && pid > 0)
			holder = pid;
	}
	if (f)
		fclose(f);
	return holder;
}

/* Wait for the guard of a program that has ended. @return 0; -EBUSY it takes too long, or is
 * stopped */
static int await_lock(int file, struct hes_err *err)
{
	static const struct timespec nap = { .tv_nsec = LOCK_LOOK_MS * 1000000l };
	struct hes_proc s = { 0 };
	pid_t holder = 0;
	int stopped_ms = 0;

	for (int ms = 0; ms < LOCK_MS && stopped_ms < STOPPED_MS; ms += LOCK_LOOK_MS) {
		if (!flock(file, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return hes_fail(err, -errno, "%s: locking it: %s", FILE_NAME,
					strerror(errno));
		nanosleep(&nap, NULL);
		/* Reading all locks of the machine is slow: not at once. */
		if (ms >= STOPPED_MS && !holder)
			holder = lock_holder(file);
		stopped_ms = holder && !hes_proc_read(holder, &s) && s.stopped
				     ? stopped_ms + LOCK_LOOK_MS
				     : 0;
	}
	if (stopped_ms)
		return hes_fail(err, -EBUSY,
				"%s: process %d, the guard of a run that has ended, has it and is "
				"stopped; kill -CONT %d lets it do its "
				"work, kill -KILL %d leaves that to you",
				FILE_NAME, (int)holder, (int)holder, (int)holder);
	return hes_fail(err, -EBUSY,
			"%s: process %d, the guard of a run that has ended, is still at work; try "
			"again later, or end it with "
			"kill -KILL %d",
			FILE_NAME, (int)holder, (int)holder);
}

/* @return 0; -EBUSY the program runs, or its guard does not end; -EAGAIN the file was removed
 * meanwhile */
static int undo_file_lock(struct hes_undo_file *l, struct hes_err *err)
{
	struct hes_process program = { 0 };
	struct hes_undo_file peek = *l;
	size_t complete;
	struct stat st;
	int rc;

	if (flock(l->file, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return hes_fail(err, -errno, "%s: locking it: %s", FILE_NAME,
					strerror(errno));
		peek.log = (struct hes_undo_log){ 0 };
		undo_file_load(&peek, &program, &complete, NULL);
		hes_undo_log_free(&peek.log);
		if (!program.pid)
			return hes_fail(err, -EBUSY,
					"another program has just begun to use this folder");
		if (hes_process_runs(&program))
			return hes_fail(err, -EBUSY, "process %d runs jobs from this folder",
					(int)program.pid);
		/* Its guard still undoes changes. */
		rc = await_lock(l->file, err);
		if (rc)
			return rc;
	}
	return fstat(l->file, &st) || !st.st_nlink ? -EAGAIN : 0;
}

static int open_file(struct hes_undo_file *l, bool create, struct hes_err *err)
{
	int rc;

	do {
		l->file = openat(l->folder, FILE_NAME,
				 O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
					 (create ? O_CREAT : 0),
				 0600);
		if (l->file < 0)
			return hes_fail(err, -errno, "%s: %s", FILE_NAME, strerror(errno));
		rc = undo_file_lock(l, err);
		if (rc)
			close(l->file);
		if (rc)
			l->file = -1;
	} while (rc == -EAGAIN);
	return rc;
}

int hes_undo_file_open(struct hes_undo_file *out, const char *folder,
		       const struct hes_process *program, struct hes_err *err)
{
	struct hes_undo_file l = { .folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				   .file = -1 };
	struct hes_process before = { 0 };
	size_t complete;
	int rc;

	if (l.folder < 0)
		return hes_fail(err, -errno, "%s: %s", folder, strerror(errno));
	hes_undo_facts_get(&l.facts, l.folder);
	rc = hes_process_boot(l.boot, err);
	if (!rc)
		rc = open_file(&l, program != NULL, err);
	if (!rc)
		rc = undo_file_load(&l, &before, &complete, err);
	if (!rc && ftruncate(l.file, (off_t)complete))
		rc = hes_fail(err, -errno, "%s: %s", FILE_NAME, strerror(errno));
	l.program = program ? *program : before;
	if (rc) {
		if (l.file >= 0)
			close(l.file);
		close(l.folder);
		hes_undo_log_free(&l.log);
		return err ? hes_fail_in(err, "%s", folder) : rc;
	}
	*out = l;
	return 0;
}

/* Append a line, or nothing if it does not fit. */
static int undo_file_append(struct hes_undo_file *l, const char *line, struct hes_err *err)
{
	off_t end = lseek(l->file, 0, SEEK_END);
	size_t n = strlen(line);
	ssize_t done = write(l->file, line, n);
	int rc = done < 0 ? -errno : -ENOSPC;

	if (done == (ssize_t)n)
		return 0;
	if (done > 0 && ftruncate(l->file, end))
		rc = -errno;
	return hes_fail(err, rc, "%s: %s", FILE_NAME, strerror(-rc));
}

int hes_undo_file_begin(struct hes_undo_file *l, struct hes_err *err)
{
	char text[128];
	int n = 0;

	if (!l->log.n) {
		if (ftruncate(l->file, 0))
			return hes_fail(err, -errno, "%s: %s", FILE_NAME, strerror(errno));
		n = snprintf(text, sizeof(text), TITLE " %s\n", l->boot);
	}
	snprintf(text + n, sizeof(text) - (size_t)n, "= %d %" PRIu64 "\n", (int)l->program.pid,
		 l->program.started);
	return undo_file_append(l, text, err);
}

static int write_change(struct hes_undo_file *l, char sign, const struct hes_undo *d,
			struct hes_err *err)
{
	char entry[HES_UNDO_LINE_MAX], line[HES_UNDO_LINE_MAX + 4];
	int rc = hes_undo_format(d, entry, err);

	if (rc)
		return rc;
	snprintf(line, sizeof(line), "%c %s\n", sign, entry);
	return undo_file_append(l, line, err);
}

int hes_undo_file_add(struct hes_undo_file *l, const struct hes_undo *d, struct hes_err *err)
{
	struct hes_undo entry = *d;
	long i = hes_undo_log_find(&l->log, d);
	int rc;

	if (i >= 0) {
		l->log.v[i].from_program = true;
		return 0;
	}
	entry.from_program = true;
	rc = undo_file_check(l, &entry, err);
	if (!rc)
		rc = write_change(l, '+', &entry, err);
	return rc ? rc : hes_undo_log_add(&l->log, &entry, err);
}

void hes_undo_file_remove(struct hes_undo_file *l, const struct hes_undo *d)
{
	long i = hes_undo_log_find(&l->log, d);
	struct hes_undo gone;

	if (i < 0)
		return;
	gone = l->log.v[i];
	write_change(l, '-', &gone, NULL);
	hes_undo_log_remove(&l->log, (size_t)i);
}

void hes_undo_file_note(const struct hes_undo_file *l, const char *text)
{
	int fd = openat(l->folder, LOG_NAME,
			O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	char when[32] = "", line[HES_ERR_MAX + 64];
	time_t now = time(NULL);
	struct tm t;
	int n;

	if (fd < 0)
		return;
	if (gmtime_r(&now, &t))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &t);
	n = snprintf(line, sizeof(line), "%s %.*s\n", when, HES_ERR_MAX, text);
	/* Undoing goes on without a log. */
	if (write(fd, line, (size_t)n) < 0)
		n = 0;
	close(fd);
}

void hes_undo_file_close(struct hes_undo_file *l)
{
	/* First: a program that waits for the file needs the claims. */
	hes_claims_free(&l->claims);
	if (l->file >= 0) {
		if (!l->log.n)
			unlinkat(l->folder, FILE_NAME, 0);
		close(l->file);
	}
	if (l->folder >= 0)
		close(l->folder);
	hes_undo_log_free(&l->log);
	*l = (struct hes_undo_file){ .folder = -1, .file = -1 };
}
