/*
 * point_rows.c - measure the running jobs in windows until their means are known well enough; write
 * rows of points. See session.h.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/gpu_point.h"
#include "profile/point_windows.h"
#include "profile/session.h"

#define LATE_PART 0.25 /* of a window: without a look for longer, the window does not count */

/* From here on the lanes count. */
static int settle_lanes(struct session *s, struct hes_err *err)
{
	int rc = session_wait(s, s->quiet_s, 0, err);

	s->looked_s = hes_monotonic_s();
	for (size_t i = 0; i < s->n; i++)
		lane_settle(s->lanes[i], s->looked_s);
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
	struct series_window v = { .start = pool_starting(s) > 0 };
	struct hes_window *window;
	struct hes_reading r;
	int rc = hes_window_begin(s->all->meter, &window, err);

	if (rc)
		return rc;
	s->late_s = 0;
	rc = session_pass_window(s, err);
	hes_window_end(window, all);
	session_note_look(s, hes_monotonic_s());
	m = all[s->at];
	if (rc)
		return rc;
	if (m.lost)
		return hes_fail(err, -ENODEV, "GPU %zu was lost", s->gpu);
	tell_left_out(s, m.left_out);
	if (!window_counts(s, w)) {
		s->quiet_s = hes_monotonic_s() + s->all->p->timing.settle_s;
		return settle_lanes(s, err);
	}
	if (m.from == HES_ENERGY_UNKNOWN || !(m.mean_w > 0))
		return hes_fail(err, -ENODATA, "GPU %zu does not report its power", s->gpu);
	v.gpu = m;
	v.temperature_c =
		!hes_device_read(s->all->p->devices, s->gpu, HES_HAS_TEMPERATURE, &r, NULL) &&
				r.has & HES_HAS_TEMPERATURE
			? (double)r.temperature_c
			: NAN;
	for (size_t i = 0; i < s->n; i++) {
		v.iterations[i] = s->lanes[i]->iterations;
		v.job_s[i] = s->lanes[i]->seconds;
	}
	series_add(w, &v);
	return 0;
}

static void name_others(const struct session *s, size_t but, char out[HES_CO_RUN_TEXT_MAX])
{
	char jobs[HES_MAX_SHARING][HES_CO_RUN_JOB_MAX];
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (i != but)
			hes_co_run_text_job(jobs[n++], s->lanes[i]->job->workload,
					    s->lanes[i]->job->batch_size, s->lanes[i]->sm_pct);
	hes_co_run_text_join(jobs, n, out, HES_CO_RUN_TEXT_MAX);
}

/* The columns that all jobs of the point share. */
static struct hes_point gpu_row(const struct session *s, const struct series *w, size_t from,
				uint32_t clock_mhz)
{
	struct hes_measured gpu[SERIES_WINDOWS];
	struct hes_point row;
	double celsius = 0;

	for (size_t k = from; k < w->n; k++) {
		gpu[k - from] = w->v[k].gpu;
		celsius += w->v[k].temperature_c;
	}
	row = hes_gpu_point(gpu, w->n - from);
	row.clock_mhz = clock_mhz;
	row.temperature_c = celsius / (double)(w->n - from);
	snprintf(row.gpu_type, sizeof(row.gpu_type), "%s", s->type->name);
	return row;
}

/* Device memory of a job; NaN: unknown. What the GPU has more in use than without jobs is that of
 * the only process, where NVML does not tell. */
static double memory_of(struct session *s, const struct lane *l)
{
	struct hes_reading r;
	double mib = pool_memory_mib(s, l);

	if (isnan(mib) && s->n == 1 && !pool_waiting(s) && s->idle_known &&
	    !hes_device_read(s->all->p->devices, s->gpu, HES_HAS_MEMORY, &r, NULL) &&
	    r.has & HES_HAS_MEMORY && r.memory_used_bytes > s->idle_bytes)
		mib = (double)((r.memory_used_bytes - s->idle_bytes) >> 20);
	if (!isnan(mib)) {
		struct job_facts *f = &s->all->facts[l->job - s->all->p->jobs];

		pthread_mutex_lock(&s->all->lock);
		f->memory_mib = mib > f->memory_mib ? (uint32_t)mib : f->memory_mib;
		pthread_mutex_unlock(&s->all->lock);
	}
	return mib;
}

static void fill_job(struct session *s, const struct series *w, size_t from, size_t i,
		     struct hes_point *row)
{
	struct lane *l = s->lanes[i];
	double v[SERIES_WINDOWS], iterations = 0, seconds = 0, mib = memory_of(s, l);
	const size_t n = series_values(w, i, from, v);

	for (size_t k = from; k < w->n; k++) {
		iterations += w->v[k].iterations[i];
		seconds += w->v[k].job_s[i];
	}
	strcpy(row->workload, l->job->workload);
	strcpy(row->command, l->job->command);
	strcpy(row->progress, l->job->progress);
	row->batch_size = l->job->batch_size;
	row->sm_pct = l->sm_pct;
	row->iteration_us = 1e6 * seconds / iterations;
	row->cv = steady_cv(v, n);
	row->time_se = steady_se(v, n);
	row->memory_mib = s->n == 1 ? mib : NAN;
	/* The look may come later than the progress. */
	row->first_use_s = l->first_use_s > l->start_s ? l->start_s : l->first_use_s;
	row->start_s = l->start_s;
	name_others(s, i, row->co_runners);
	l->warm = true;
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
	w->jobs = s->n;
	rc = settle_lanes(s, err);
	while (!rc && !series_done(w, m, se)) {
		rc = take_window(s, w, err);
		series_compare(w, m->least, m->error);
		from = series_from(w, m->least, &se);
	}
	if (!rc) {
		*sure = se < m->error && w->late < m->most;
		rows[0] = gpu_row(s, w, from, clock_mhz);
		for (size_t i = s->n; i-- > 0;) {
			rows[i] = rows[0];
			fill_job(s, w, from, i, &rows[i]);
		}
	}
	free(w);
	return rc;
}
