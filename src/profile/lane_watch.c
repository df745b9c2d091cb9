/*
 * lane_watch.c - watch the processes of a GPU, and wait for their progress; see session.h.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "profile/session.h"

#define WHOLE       100 /* percent */
#define LOOK_MS     500 /* how often to check for a stop */
#define USE_MS      100 /* the same while a process has not used the GPU yet */
#define MARKED_PART 0.5 /* of a window that must lie between marks */

/* It had the whole GPU and did nothing: with less it will do no better. */
static bool never_worked(const struct session *s, const struct lane *l)
{
	return s->n == 1 && l->sm_pct == WHOLE && !l->marks && (!l->lines || l->job->iterations);
}

/* Fail if a job has made no progress for too long. @return 1; -ETIME */
static int await_progress(const struct session *s, struct lane *l, double now_s,
			  struct hes_err *err)
{
	char what[64];

	if (now_s - l->moved_s <= s->all->p->timing.patience_s)
		return 1;
	l->broken = never_worked(s, l);
	snprintf(what, sizeof(what), "has made no progress for %.0f s", now_s - l->moved_s);
	return lane_no_progress(l, -ETIME, what, err);
}

static int look_at_lanes(struct session *s, double until_s)
{
	struct pollfd fds[2 * SESSION_POOL];
	const double left_ms = (until_s - hes_monotonic_s()) * 1e3,
		     most_ms = pool_awaits_use(s) ? USE_MS : LOOK_MS;
	size_t n = 0;

	for (size_t k = 0; k < SESSION_POOL; k++) {
		const struct lane *l = &s->pool[k];

		if (l->state == LANE_ON || (l->state == LANE_AHEAD && !l->failed)) {
			fds[n++] = (struct pollfd){ .fd = l->fd, .events = POLLIN };
			fds[n++] = (struct pollfd){ .fd = l->child.pidfd, .events = POLLIN };
		}
	}
	return poll(fds, n, (int)ceil(left_ms > 0 ? fmin(left_ms, most_ms) : most_ms)) < 0 &&
			       errno != EINTR
		       ? -errno
		       : 0;
}

/* A look is due every LOOK_MS. For what is beyond that this program was stopped or had no time, and
 * no job is to blame. */
void session_note_look(struct session *s, double now_s)
{
	const double late_s = fmax(now_s - s->looked_s - LOOK_MS * 1e-3, 0);

	s->late_s = fmax(s->late_s, late_s);
	s->looked_s = now_s;
	for (size_t k = 0; k < SESSION_POOL; k++)
		s->pool[k].moved_s += late_s;
}

/* @return 0; 1 stopped; -errno */
static int session_look(struct session *s, double until_s, struct hes_err *err)
{
	int rc = look_at_lanes(s, until_s);
	double now_s = hes_monotonic_s();

	session_note_look(s, now_s);
	if (rc)
		return hes_fail(err, rc, "poll: %s", strerror(-rc));
	for (size_t i = 0; i < s->n && !rc; i++)
		rc = lane_look(s->lanes[i], now_s, err);
	if (!rc)
		pool_look(s);
	return rc ? rc : profiling_stopped(s->all);
}

int session_await_starts(struct session *s, struct hes_err *err)
{
	int rc = 0;

	while (!rc && pool_starting(s))
		rc = session_look(s, INFINITY, err);
	return rc;
}

int session_wait(struct session *s, double until_s, uint64_t marks, struct hes_err *err)
{
	for (;;) {
		double now_s = hes_monotonic_s();
		bool more = now_s < until_s;
		int rc = 0;

		for (size_t i = 0; i < s->n && !(rc < 0); i++)
			if (s->lanes[i]->marks < marks) {
				rc = await_progress(s, s->lanes[i], now_s, err);
				more = true;
			}
		if (rc < 0 || !more)
			return rc < 0 ? rc : 0;
		rc = session_look(
			s, until_s > now_s ? until_s : now_s + s->all->p->timing.patience_s, err);
		if (rc)
			return rc;
	}
}

/* Wait until the window's time is over and every job has made progress in it. */
int session_pass_window(struct session *s, struct hes_err *err)
{
	double start_s = hes_monotonic_s(), window_s = s->all->p->timing.window_s;
	int rc = 0;

	for (size_t i = 0; i < s->n; i++)
		lane_window(s->lanes[i]);
	while (rc >= 0) {
		double now_s = hes_monotonic_s();
		bool more = now_s < start_s + window_s;

		rc = 0;
		for (size_t i = 0; i < s->n && rc >= 0; i++)
			if (!s->lanes[i]->gaps || s->lanes[i]->seconds < MARKED_PART * window_s) {
				rc = s->lanes[i]->gaps && now_s > start_s + 2 * window_s
					     ? 0
					     : await_progress(s, s->lanes[i], now_s, err);
				more |= rc > 0;
			}
		if (rc < 0 || !more)
			break;
		rc = session_look(
			s, now_s < start_s + window_s ? start_s + window_s : now_s + window_s, err);
		if (rc > 0)
			return 1;
	}
	return rc < 0 ? rc : 0;
}
