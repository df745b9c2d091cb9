/*
 * lane.c - start a job, read its progress, start it again; see lane.h.
 */
#include "profile/lane.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VARIABLES 6
#define LEAST_S   1e-6  /* between two marks that count */
#define END_MS    10000 /* for all jobs of a GPU, once they are killed */
#define LOOK_MS   20
#define NOT_RUN   126 /* exit statuses of shells */
#define NOT_FOUND 127
#define READS     64 /* of one job at a time, so that endless output does not block the others */

static void close_output(struct lane *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* Environment: the GPU, its MPS daemon and the share. */
static void variables_of(const struct lane *l, char rows[VARIABLES][HES_MPS_VARIABLE_MAX],
			 const char **out)
{
	size_t n = l->host->mps ? hes_mps_variables(l->host->mps, l->sm_pct, 0, rows) : 0;

	snprintf(rows[n++], HES_MPS_VARIABLE_MAX, "CUDA_VISIBLE_DEVICES=%s", l->host->uuid);
	for (size_t i = 0; i < n; i++)
		out[i] = rows[i];
	out[n] = NULL;
}

static int run_command(struct lane *l, int out, struct hes_err *err)
{
	char rows[VARIABLES][HES_MPS_VARIABLE_MAX];
	const char *variables[VARIABLES + 1];
	const struct hes_launch launch = { .shell = l->job->command,
					   .variables = variables,
					   .output_fd = out };
	int rc;

	variables_of(l, rows, variables);
	pthread_mutex_lock(l->host->guard_lock);
	rc = hes_guard_fork(l->host->guard, &launch, &l->child, err);
	if (!rc)
		rc = hes_guard_go(l->host->guard, &l->child, err);
	pthread_mutex_unlock(l->host->guard_lock);
	return rc;
}

static int start_run(struct lane *l, double now_s, struct hes_err *err)
{
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return hes_fail(err, -errno, "a pipe: %s", strerror(errno));
	/* The job's end of the pipe must block when it is full. */
	fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) & ~O_NONBLOCK);
	rc = run_command(l, ends[1], err);
	close(ends[1]);
	if (rc) {
		close(ends[0]);
		return rc;
	}
	l->fd = ends[0];
	l->used = 0;
	l->count = (struct hes_progress_count){ 0 };
	l->runs++;
	l->moved_s = now_s;
	return 0;
}

int lane_start(struct lane *l, double now_s, struct hes_err *err)
{
	int rc = 0;

	*l = (struct lane){ .state = l->state,
			    .host = l->host,
			    .job = l->job,
			    .sm_pct = l->sm_pct,
			    .fd = -1,
			    .since_s = INFINITY,
			    .begun_s = now_s,
			    .first_use_s = NAN,
			    .start_s = NAN };
	if (l->job->progress[0])
		rc = hes_count_pattern_make(&l->pattern, "--progress", l->job->progress, err);
	if (!rc)
		rc = start_run(l, now_s, err);
	if (rc) {
		hes_count_pattern_free(&l->pattern);
		l->state = LANE_NONE;
	}
	return rc;
}

/*
 * Count from mark to mark. A job that buffers its output prints several lines at once: then only
 * the first line of each block counts.
 */
static void count_mark(struct lane *l, const struct lane_mark *m)
{
	const struct lane_mark *last = &l->last;
	double own = m->own_s - last->own_s, took = isnan(own) ? m->at_s - last->at_s : own;
	bool restarted =
		!l->marks || m->run != last->run || m->iterations < last->iterations || took < 0;

	/* A clock of the job's own says how long the work took that the line reports. */
	if (isnan(l->start_s) && !l->job->iterations)
		l->start_s = fmax(0, m->at_s - l->begun_s - (isnan(m->own_s) ? 0 : m->own_s));
	l->marks++;
	if (!restarted && (m->iterations == last->iterations || took <= LEAST_S))
		return;
	if (!restarted && last->at_s >= l->since_s) {
		l->iterations += (double)(m->iterations - last->iterations);
		l->seconds += took;
		l->gaps++;
	}
	l->moved_s = m->at_s;
	l->last = *m;
}

static void take_line(struct lane *l, double now_s)
{
	struct lane_mark m = { .at_s = now_s, .run = l->runs };

	l->line[l->used] = '\0';
	l->used = 0;
	if (!hes_progress_find(&l->count, &l->pattern, l->line, &m.iterations, &m.own_s)) {
		if (l->line[0])
			strcpy(l->last_line, l->line);
		return;
	}
	l->lines++;
	if (!l->job->iterations)
		count_mark(l, &m);
}

/* @return false: no more output now */
static bool read_some(struct lane *l, double now_s)
{
	char text[4096];
	ssize_t n = read(l->fd, text, sizeof(text));

	l->bytes += n > 0 ? (uint64_t)n : 0;
	for (ssize_t i = 0; i < n; i++) {
		/* Progress bars return to the beginning of the line. */
		if (text[i] == '\n' || text[i] == '\r')
			take_line(l, now_s);
		else if (l->used < sizeof(l->line) - 1)
			l->line[l->used++] = text[i];
	}
	l->line[l->used] = '\0';
	/* End of file: poll() would return at once from now on. */
	if (!n)
		close_output(l);
	return n > 0;
}

static void read_output(struct lane *l, double now_s)
{
	l->count.left = HES_PROGRESS_SEARCHES;
	for (int i = 0; i < READS && read_some(l, now_s); i++)
		;
}

static int lane_failed(struct lane *l, const struct hes_child_end *end, struct hes_err *err)
{
	const struct hes_profiled *j = l->job;

	l->broken = !l->lines && (end->code == NOT_RUN || end->code == NOT_FOUND);
	l->status = l->lines || l->runs > 1 ? 0 : end->signal ? 128 + end->signal : end->code;
	if (end->signal)
		return hes_fail(err, -ECHILD, "%s at batch size %u was ended by signal %d%s%s",
				j->workload, j->batch_size, end->signal,
				l->last_line[0] ? ": " : "", l->last_line);
	return hes_fail(err, -ECHILD, "%s at batch size %u ended with status %d%s%s", j->workload,
			j->batch_size, end->code, l->last_line[0] ? ": " : "", l->last_line);
}

int lane_no_progress(const struct lane *l, int rc, const char *what, struct hes_err *err)
{
	const struct hes_profiled *j = l->job;
	const char *last = l->used ? l->line : l->last_line;
	char hint[HES_PROGRESS_HINT_MAX], named[160] = "";

	if (*last)
		snprintf(named, sizeof(named), "; its last line: %.120s", last);
	hes_progress_hint(j->progress[0] ? j->progress : NULL, l->bytes, last, hint);
	if (j->iterations)
		return hes_fail(err, rc,
				"%s at batch size %u %s: with --iterations (-n) only the ends of "
				"its runs count, and progress lines are ignored%s; it printed "
				"%" PRIu64 " bytes%s",
				j->workload, j->batch_size, what,
				l->lines ? ", though it prints some: leave --iterations out" : "",
				l->bytes, named);
	if (l->lines)
		return hes_fail(err, rc,
				"%s at batch size %u %s: its last progress line says %" PRIu64
				" iterations%s",
				j->workload, j->batch_size, what, l->last.iterations, named);
	return hes_fail(err, rc,
			"%s at batch size %u %s: %s; without such lines, say by --iterations how "
			"many a run makes",
			j->workload, j->batch_size, what, hint);
}

/* The job has ended: count the run if the job prints no progress, and start it again. */
static int lane_ended(struct lane *l, const struct hes_child_end *end, double now_s,
		      struct hes_err *err)
{
	struct lane_mark m = { .at_s = now_s,
			       .own_s = NAN,
			       .iterations = l->job->iterations * l->runs };

	if (end->code != 0)
		return lane_failed(l, end, err);
	if (l->job->iterations)
		count_mark(l, &m);
	else if (l->runs > 1 ? l->last.run != l->runs : !l->lines) {
		l->broken = !l->lines;
		return lane_no_progress(l, -ECHILD, "ended without a progress line", err);
	}
	return start_run(l, now_s, err);
}

int lane_look(struct lane *l, double now_s, struct hes_err *err)
{
	struct pollfd fd = { .fd = l->child.pidfd, .events = POLLIN };
	struct hes_child_end end;
	int rc;

	read_output(l, now_s);
	if (poll(&fd, 1, 0) <= 0 || !fd.revents)
		return 0;
	read_output(l, now_s);
	if (l->used)
		take_line(l, now_s);
	close_output(l);
	pthread_mutex_lock(l->host->guard_lock);
	rc = hes_guard_reap(l->host->guard, &l->child, &end, err);
	pthread_mutex_unlock(l->host->guard_lock);
	return rc < 0 ? rc : lane_ended(l, &end, now_s, err);
}

int lane_stop(struct lane *l, double now_s)
{
	int rc = hes_child_stop(&l->child);

	if (rc)
		return rc;
	read_output(l, now_s);
	l->state = LANE_STOPPED;
	return 0;
}

void lane_continue(struct lane *l, double now_s)
{
	l->was_stopped = true;
	l->marks = 0;
	l->moved_s = now_s;
	l->since_s = INFINITY;
	hes_child_continue(&l->child);
}

void lane_settle(struct lane *l, double now_s)
{
	l->since_s = now_s;
	lane_window(l);
}

void lane_window(struct lane *l)
{
	l->iterations = l->seconds = 0;
	l->gaps = 0;
}

/* @return 1 the job and all its processes have ended; 0, -EBUSY not yet */
static int lane_reap(struct lane *l)
{
	struct hes_child_end end;
	int rc;

	pthread_mutex_lock(l->host->guard_lock);
	rc = hes_guard_reap(l->host->guard, &l->child, &end, NULL);
	pthread_mutex_unlock(l->host->guard_lock);
	return rc;
}

int lanes_end(struct lane *const *l, size_t n, struct hes_err *err)
{
	int waited = 0, rc = 0;

	for (size_t i = 0; i < n; i++)
		if (l[i]->child.id.pid)
			hes_child_kill(&l[i]->child, l[i]->host->mps);
	for (size_t i = 0; i < n; i++) {
		struct pollfd fd = { .fd = l[i]->child.pidfd, .events = POLLIN };
		int ended = l[i]->child.id.pid ? lane_reap(l[i]) : 1;

		/*
		 * Once the job has ended its descriptor stays readable, so only sleep while
		 * processes that it left remain.
		 */
		for (; (ended == 0 || ended == -EBUSY) && waited < END_MS;
		     waited += LOOK_MS, ended = lane_reap(l[i]))
			poll(&fd, ended == 0, LOOK_MS);
		if (ended == 0 || ended == -EBUSY)
			rc = hes_fail(
				err, -EBUSY,
				"process %d is killed and does not end: it waits in the driver",
				(int)l[i]->child.id.pid);
		else
			l[i]->state = LANE_NONE;
		close_output(l[i]);
		hes_count_pattern_free(&l[i]->pattern);
	}
	return rc;
}
