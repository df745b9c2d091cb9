/*
 * head_begin.c - the start of a run on several nodes: one head at a time, what earlier heads began
 * is taken over; see head_state.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "cluster/head_state.h"

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
static int lock_folder(struct nodes *s, struct hes_err *err)
{
	static const struct timespec tenth = { 0, 100000000 };
	char path[HES_JOURNAL_PATH_MAX + 16];
	int rc;

	snprintf(path, sizeof(path), "%s/" NODES_LOCK_FILE, s->run->folder);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	for (int waited = 0;
	     (rc = try_lock(s->lock)) == -EAGAIN && s->run->id && waited < LOCK_WAIT_S * 10;
	     waited++) {
		if (!waited)
			nodes_tell(s, "waiting for the process to end that carries out a run in "
				      "this folder");
		nanosleep(&tenth, NULL);
	}
	if (rc == -EAGAIN)
		return hes_fail(err, -EBUSY, "%s: another process carries out a run in this folder",
				s->run->folder);
	return rc ? hes_fail(err, rc,
			     "%s: it cannot be locked, so another head could not be seen: %s", path,
			     strerror(-rc))
		  : 0;
}

static int note_new_run(struct nodes *s, struct hes_err *err)
{
	const struct hes_jobs *jobs = s->q->jobs;
	struct hes_run_job *rows = calloc(jobs->n + 1, sizeof(*rows));
	int rc = rows ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", jobs->n);

	for (size_t i = 0; i < jobs->n && !rc; i++) {
		memcpy(rows[i].job, jobs->v[i].id, sizeof(rows[i].job));
		memcpy(rows[i].workload, jobs->v[i].workload, sizeof(rows[i].workload));
		rows[i].sm_pct = 100;
	}
	s->run->started_us = hes_wall_us();
	if (!rc)
		rc = hes_journal_new_run(s->q->journal, s->run, NULL, 0, rows, jobs->n, err);
	free(rows);
	return rc;
}

/* What earlier heads began is stopped, read, and free to be planned again. Jobs that were given up,
 * or ended early and are not accepted, get another chance. */
static int take_over(struct nodes *s, struct hes_err *err)
{
	size_t done = 0;
	int rc = hes_journal_take_over(s->q->journal, s->run, err);

	if (!rc)
		rc = hes_journal_begin(s->q->journal, err);
	if (!rc) {
		rc = hes_journal_clear(s->q->journal, s->run->id, err);
		rc = hes_journal_end(s->q->journal, rc, err);
	}
	if (!rc)
		rc = parts_find(s, err);
	for (size_t i = 0; i < s->q->jobs->n && !rc; i++) {
		done += s->state[i] == HES_RUN_JOB_DONE;
		if (s->state[i] == HES_RUN_JOB_FAILED ||
		    (s->state[i] == HES_RUN_JOB_EARLY && !s->q->early_ok))
			s->state[i] = HES_RUN_JOB_WAITING;
	}
	for (size_t i = 0; i < s->q->launcher->n && !rc; i++)
		nodes_skip_messages(s, i);
	if (!rc)
		nodes_tell(s, "run %lld is resumed on %zu node%s: done are %zu of %zu job%s",
			   (long long)s->run->id, s->q->launcher->n, hes_s(s->q->launcher->n), done,
			   s->q->jobs->n, hes_s(s->q->jobs->n));
	return rc;
}

int nodes_begin(struct nodes *s, struct hes_err *err)
{
	const bool resumed = s->run->id != 0;
	int rc = lock_folder(s, err);

	for (size_t i = 0; i < s->q->launcher->n && !rc && resumed; i++)
		nodes_stop(s, s->q->launcher->nodes[i]);
	if (!rc)
		rc = offers_load(s->q->launcher, resumed ? s->run->folder : NULL, &s->offers, err);
	for (size_t i = 0; i < s->q->launcher->n && !rc; i++)
		if (s->offers[i].busy)
			rc = hes_fail(err, -EBUSY, "node %s: %.400s", s->q->launcher->nodes[i],
				      s->offers[i].why);
	for (size_t i = 0; i < s->q->launcher->n && !rc; i++)
		if (!s->offers[i].good)
			nodes_tell(s, "node %s is left out: %s", s->q->launcher->nodes[i],
				   s->offers[i].why);
	if (!rc)
		rc = hes_run_note_runner(s->run, err);
	if (!rc)
		rc = resumed ? take_over(s, err) : note_new_run(s, err);
	return rc;
}
