/*
 * head_begin.c - the start of a run on several nodes: one head at a time, the nodes are queried,
 * what earlier heads began is found; see head_state.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "app/run_identity.h"
#include "cluster/node.h"
#include "cluster/part.h"

#define LOCK_WAIT_S 60

/* @return 0; -EAGAIN another process has it; -errno */
static int try_lock(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (!fcntl(fd, F_OFD_SETLK, &whole))
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

/* One head at a time, on whatever machine. After a requeue the one before may still be at its end.
 */
static int lock_folder(struct head *h, struct hes_err *err)
{
	static const struct timespec tenth = { 0, 100000000 };
	int rc;

	/* Who may not write it cannot lock it. */
	h->lock = openat(h->folder.fd, RUN_HEAD_LOCK,
			 O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (h->lock < 0)
		return hes_fail(err, -errno, "%s/" RUN_HEAD_LOCK ": %s", h->run->folder,
				strerror(errno));
	for (int waited = 0;
	     (rc = try_lock(h->lock)) == -EAGAIN && h->run->id && waited < LOCK_WAIT_S * 10;
	     waited++) {
		if (!waited)
			run_tell(&h->log,
				 "waiting for the process to end that carries out a run in "
				 "this folder");
		nanosleep(&tenth, NULL);
	}
	if (rc == -EAGAIN)
		return hes_fail(err, -EBUSY, "%s: another process carries out a run in this folder",
				h->run->folder);
	return rc ? hes_fail(err, rc,
			     "%s/" RUN_HEAD_LOCK
			     ": it cannot be locked, so another head could not be seen: %s",
			     h->run->folder, strerror(-rc))
		  : 0;
}

static int note_new_run(struct head *h, struct hes_err *err)
{
	const struct hes_jobs *jobs = h->q->jobs;
	struct hes_run_job *rows = calloc(jobs->n + 1, sizeof(*rows));
	int rc = rows ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", jobs->n);

	for (size_t i = 0; i < jobs->n && !rc; i++) {
		memcpy(rows[i].job, jobs->v[i].id, sizeof(rows[i].job));
		memcpy(rows[i].workload, jobs->v[i].workload, sizeof(rows[i].workload));
		rows[i].sm_pct = 100;
	}
	h->run->started_us = hes_wall_us();
	if (!rc)
		rc = hes_journal_new_run(h->q->journal, h->run, NULL, 0, rows, jobs->n, err);
	h->taken_over = !rc;
	free(rows);
	return rc;
}

static int find_earlier(struct head *h, struct hes_err *err)
{
	for (size_t i = 0; i < h->q->launcher->n; i++)
		node_skip_messages(h, i);
	return part_find_left(h, err);
}

int head_begin(struct head *h, struct hes_err *err)
{
	const struct launcher *l = h->q->launcher;
	const bool resumed = h->run->id != 0;
	int rc = lock_folder(h, err);

	for (size_t i = 0; i < l->n && !rc && resumed; i++)
		node_request_stop(h, l->nodes[i]);
	if (!rc)
		rc = offers_load(l, resumed ? h->run->folder : NULL, &h->offers, err);
	for (size_t i = 0; i < l->n && !rc; i++)
		if (h->offers[i].busy)
			rc = hes_fail(err, -EBUSY, "node %s: %.400s", l->nodes[i],
				      h->offers[i].why);
		else if (!h->offers[i].good)
			run_tell(&h->log, "node %s is left out: %s", l->nodes[i], h->offers[i].why);
	if (!rc)
		rc = hes_run_note_runner(h->run, err);
	if (!rc)
		rc = resumed ? find_earlier(h, err) : note_new_run(h, err);
	return rc;
}
