/*
 * point_rows.c - measure the running jobs in windows until their means are known well enough; write
 * rows of points. See session.h.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/gpu_point.h"
#include "measure/steady.h"
#include "profile/session.h"
#include "profile/setting.h"

#define LOOK_MS     500  /* how often to check for a stop */
#define MARKED_PART 0.5  /* of a window that must lie between marks */
#define LATE_PART   0.25 /* of a window: without a look for longer, the window does not count */

/* The windows of a point. */
struct series {
	size_t n;
	uint32_t late;                               /* windows that do not count */
	double us[HES_MAX_SHARING][SESSION_WINDOWS]; /* a job's time of an iteration */
	double iterations[HES_MAX_SHARING][SESSION_WINDOWS],
		job_s[HES_MAX_SHARING][SESSION_WINDOWS];
	double power_w[SESSION_WINDOWS];
	struct hes_measured looked[SESSION_WINDOWS]; /* the GPU */
};

/* Fail if a job has made no progress for too long. @return 1; -ETIME */
static int await_progress(const struct session *s, const struct lane *l, double now_s,
			  struct hes_err *err)
{
	char what[64];

	if (now_s - l->moved_s <= s->all->p->timing.patience_s)
		return 1;
	snprintf(what, sizeof(what), "has made no progress for %.0f s", now_s - l->moved_s);
	return lane_no_progress(l, -ETIME, what, err);
}

static int look_at_lanes(struct session *s, double until_s)
{
	struct pollfd fds[2 * HES_MAX_SHARING];
	double left_ms = (until_s - hes_monotonic_s()) * 1e3;

	for (size_t i = 0; i < s->n; i++) {
		fds[2 * i] = (struct pollfd){ .fd = s->lanes[i].fd, .events = POLLIN };
		fds[2 * i + 1] = (struct pollfd){ .fd = s->lanes[i].child.pidfd, .events = POLLIN };
	}
	return poll(fds, 2 * s->n,
		    left_ms > 0 && left_ms < LOOK_MS ? (int)ceil(left_ms) : LOOK_MS) < 0 &&
			       errno != EINTR
		       ? -errno
		       : 0;
}

/* A look is due every LOOK_MS. For what is beyond that this program was stopped or had no time, and
 * no job is to blame. */
static void session_note_look(struct session *s, double now_s)
{
	const double late_s = fmax(now_s - s->looked_s - LOOK_MS * 1e-3, 0);

	s->late_s = fmax(s->late_s, late_s);
	s->looked_s = now_s;
	for (size_t i = 0; i < s->n; i++)
		s->lanes[i].moved_s += late_s;
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
		rc = lane_look(&s->lanes[i], now_s, err);
	return rc ? rc : profiling_stopped(s->all);
}

int session_wait(struct session *s, double until_s, uint64_t marks, struct hes_err *err)
{
	for (;;) {
		double now_s = hes_monotonic_s();
		bool more = now_s < until_s;
		int rc = 0;

		for (size_t i = 0; i < s->n && !(rc < 0); i++)
			if (s->lanes[i].marks < marks) {
				rc = await_progress(s, &s->lanes[i], now_s, err);
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
static int pass_window(struct session *s, struct hes_err *err)
{
	double start_s = hes_monotonic_s(), window_s = s->all->p->timing.window_s;
	int rc = 0;

	for (size_t i = 0; i < s->n; i++)
		lane_window(&s->lanes[i]);
	while (rc >= 0) {
		double now_s = hes_monotonic_s();
		bool more = now_s < start_s + window_s;

		rc = 0;
		for (size_t i = 0; i < s->n && rc >= 0; i++)
			if (!s->lanes[i].gaps || s->lanes[i].seconds < MARKED_PART * window_s) {
				rc = s->lanes[i].gaps && now_s > start_s + 2 * window_s
					     ? 0
					     : await_progress(s, &s->lanes[i], now_s, err);
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

/* From here on the lanes count. */
static int settle_lanes(struct session *s, struct hes_err *err)
{
	int rc = session_wait(s, hes_monotonic_s() + s->all->p->timing.settle_s, 0, err);

	s->looked_s = hes_monotonic_s();
	for (size_t i = 0; i < s->n; i++)
		lane_settle(&s->lanes[i], s->looked_s);
	return rc;
}

/* Tell once what sensors of the GPU say that is not possible. */
static void tell_left_out(struct session *s, unsigned left_out)
{
	char note[160];

	for (size_t i = 0; i < HES_LEFT_OUTS; i++) {
		if (!(left_out & ~s->left_out & 1u << i))
			continue;
		snprintf(note, sizeof(note), "GPU %zu: left out: %s", s->gpu, hes_left_out_text(i));
		profiling_report(s->all, note);
	}
	s->left_out |= left_out;
}

/* Whether the window counts: jobs may have waited for this program meanwhile. On a machine that
 * never has time all windows count from some number on, and the point is uncertain. */
static bool window_counts(struct session *s, struct series *w)
{
	char note[160];

	if (s->late_s <= LATE_PART * s->all->p->timing.window_s ||
	    w->late >= s->all->p->timing.most)
		return true;
	w->late++;
	if (s->late)
		return false;
	s->late = true;
	snprintf(note, sizeof(note),
		 "GPU %zu: heshare was stopped, or had no time, for %.3g s: that window is "
		 "measured again",
		 s->gpu, s->late_s);
	profiling_report(s->all, note);
	return false;
}

/* @return 0, also for a window that does not count; 1 stopped; -errno */
static int take_window(struct session *s, struct series *w, struct hes_err *err)
{
	struct hes_measured all[s->all->p->n_gpus], m;
	struct hes_window *window;
	int rc = hes_window_begin(s->all->meter, &window, err);

	if (rc)
		return rc;
	s->late_s = 0;
	rc = pass_window(s, err);
	hes_window_end(window, all);
	session_note_look(s, hes_monotonic_s());
	m = all[s->at];
	if (rc)
		return rc;
	if (m.lost)
		return hes_fail(err, -ENODEV, "GPU %zu was lost", s->gpu);
	tell_left_out(s, m.left_out);
	if (!window_counts(s, w))
		return settle_lanes(s, err);
	if (m.from == HES_ENERGY_UNKNOWN || !(m.mean_w > 0))
		return hes_fail(err, -ENODATA, "GPU %zu does not report its power", s->gpu);
	for (size_t i = 0; i < s->n; i++) {
		w->us[i][w->n] = 1e6 * s->lanes[i].seconds / s->lanes[i].iterations;
		w->iterations[i][w->n] = s->lanes[i].iterations;
		w->job_s[i][w->n] = s->lanes[i].seconds;
	}
	w->power_w[w->n] = m.mean_w;
	w->looked[w->n] = m;
	w->n++;
	return 0;
}

/* The values of a job, or of power if @job is the number of jobs, in windows from @from on. */
static size_t values_of(const struct session *s, const struct series *w, size_t job, size_t from,
			double out[SESSION_WINDOWS])
{
	for (size_t k = from; k < w->n; k++)
		out[k - from] = job < s->n ? w->us[job][k] : w->power_w[k];
	return w->n - from;
}

/* The largest standard error of the jobs' times and of power. */
static double largest_se(const struct session *s, const struct series *w, size_t from)
{
	double v[SESSION_WINDOWS], se = 0;

	for (size_t i = 0; i <= s->n && !isnan(se); i++) {
		const double of = steady_se(v, values_of(s, w, i, from, v));

		se = isnan(of) ? NAN : fmax(se, of);
	}
	return se;
}

/*
 * Windows at the beginning are warm-up as far as the rest has a smaller standard error without them
 * (the marginal standard error rule: White, 1997). At least half of the windows count.
 * @param se  written: the largest standard error of the rest; NaN: unknown
 */
static size_t warm_from(const struct session *s, const struct series *w, double *se)
{
	const size_t least = s->all->p->timing.least;
	size_t from = 0;

	*se = w->n < least ? NAN : largest_se(s, w, 0);
	for (size_t k = 1; k <= w->n / 2 && w->n - k >= least; k++) {
		const double of = largest_se(s, w, k);

		if (of < *se) {
			*se = of;
			from = k;
		}
	}
	return from;
}

static void name_others(const struct session *s, size_t but, char out[HES_CO_RUN_TEXT_MAX])
{
	char jobs[HES_MAX_SHARING][HES_CO_RUN_JOB_MAX];
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (i != but)
			hes_co_run_text_job(jobs[n++], s->lanes[i].job->workload,
					    s->lanes[i].job->batch_size, s->lanes[i].sm_pct);
	hes_co_run_text_join(jobs, n, out, HES_CO_RUN_TEXT_MAX);
}

/* The columns that all jobs of the point share. */
static struct hes_point gpu_row(const struct session *s, const struct series *w, size_t from,
				uint32_t clock_mhz)
{
	struct hes_point row = hes_gpu_point(w->looked + from, w->n - from);
	struct hes_reading r;

	row.clock_mhz = clock_mhz;
	snprintf(row.gpu_type, sizeof(row.gpu_type), "%s", s->type->name);
	if (hes_device_read(s->all->p->devices, s->gpu, HES_HAS_MEMORY | HES_HAS_TEMPERATURE, &r,
			    NULL))
		return row;
	if (r.has & HES_HAS_TEMPERATURE)
		row.temperature_c = r.temperature_c;
	if (s->n == 1 && s->idle_known && r.has & HES_HAS_MEMORY &&
	    r.memory_used_bytes > s->idle_bytes)
		row.memory_mib = (double)((r.memory_used_bytes - s->idle_bytes) >> 20);
	return row;
}

static void fill_rows(const struct session *s, const struct series *w, size_t from,
		      uint32_t clock_mhz, struct hes_point *rows)
{
	const struct hes_point gpu = gpu_row(s, w, from, clock_mhz);

	for (size_t i = 0; i < s->n; i++) {
		double iterations = 0, seconds = 0;

		for (size_t k = from; k < w->n; k++) {
			iterations += w->iterations[i][k];
			seconds += w->job_s[i][k];
		}
		rows[i] = gpu;
		strcpy(rows[i].workload, s->lanes[i].job->workload);
		strcpy(rows[i].command, s->lanes[i].job->command);
		strcpy(rows[i].progress, s->lanes[i].job->progress);
		rows[i].batch_size = s->lanes[i].job->batch_size;
		rows[i].sm_pct = s->lanes[i].sm_pct;
		rows[i].iteration_us = 1e6 * seconds / iterations;
		rows[i].cv = steady_cv(w->us[i] + from, w->n - from);
		rows[i].time_se = steady_se(w->us[i] + from, w->n - from);
		name_others(s, i, rows[i].co_runners);
	}
}

int session_measure(struct session *s, uint32_t clock_mhz, struct hes_point *rows, bool *sure,
		    struct hes_err *err)
{
	const struct hes_profile_timing *m = &s->all->p->timing;
	struct series *w = calloc(1, sizeof(*w));
	double se = NAN;
	size_t from = 0;
	int rc;

	if (!w)
		return hes_fail(err, -ENOMEM, "out of memory for the windows of a point");
	rc = settle_lanes(s, err);
	while (!rc && !(se < m->error) && w->n < m->most) {
		rc = take_window(s, w, err);
		from = rc ? 0 : warm_from(s, w, &se);
	}
	if (!rc) {
		*sure = se < m->error && w->late < m->most;
		fill_rows(s, w, from, clock_mhz, rows);
	}
	free(w);
	return rc;
}
